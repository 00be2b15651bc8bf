package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/process"
	"github.com/hocket-run/hocket/internal/tool"
)

// Config is the configuration that all toolsets of a process share.
type Config struct {
	// Dir is the folder against which relative folders are resolved; "" means the working directory
	// of the process.
	Dir string
	// Environ returns the environment of the process, from which programs get a few harmless
	// variables; nil means os.Environ.
	Environ func() []string
	// Expand returns text with its references (${NAME}, ${env.NAME}) replaced by their values; if
	// nil, text is used as written.
	Expand func(text string) (string, error)
}

const (
	// DefaultTimeout is the default time limit of a program.
	DefaultTimeout = 30 * time.Second
	// DefaultBytes is the default limit on how much is kept of each of standard output and standard
	// error.
	DefaultBytes = 32 << 10
	// outputReserve is reserved at the end of a call's time, so that the output of a program that
	// timed out can be returned.
	outputReserve = 1500 * time.Millisecond
	grace         = 500 * time.Millisecond
)

// Runner runs the programs of one toolset. Run and Close are safe for concurrent use; Expand is
// not.
type Runner struct {
	cfg     Config
	secrets []string
	red     process.Redactor

	life  context.Context // ends with the toolset
	end   context.CancelFunc
	mu    sync.Mutex
	shut  bool
	calls sync.WaitGroup
}

// New returns a Runner.
func New(cfg Config) *Runner {
	if cfg.Environ == nil {
		cfg.Environ = os.Environ
	}
	if cfg.Expand == nil {
		cfg.Expand = func(text string) (string, error) { return text, nil }
	}
	r := &Runner{cfg: cfg}
	r.life, r.end = context.WithCancel(context.Background())
	return r
}

// Expand replaces the references in the values of variables. Values that came from references, and
// values of names that look like secrets, are redacted in the output of programs.
func (r *Runner) Expand(env map[string]string) (map[string]string, error) {
	out := maps.Clone(env)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, fmt.Errorf("env: %q is not a valid variable name", name)
		}
		value, err := r.cfg.Expand(env[name])
		if err != nil {
			return nil, fmt.Errorf("env %s: %w", name, err)
		}
		out[name] = value
		if (process.LooksSecret(name) || value != env[name] && !isInherited(name)) &&
			len(value) >= process.MinSecretLen {
			r.secrets = append(r.secrets, value)
		}
	}
	r.red = process.NewRedactor(r.secrets)
	return out, nil
}

// isInherited reports whether programs get the variable anyway: `PATH: "${PATH}:/opt/bin"` does not
// make the path a secret.
func isInherited(name string) bool { return len(process.Inherited([]string{name + "="})) > 0 }

// Folder returns the absolute form of a folder; each part is relative to the previous one.
func (r *Runner) Folder(parts ...string) (string, error) {
	dir := r.cfg.Dir
	for _, p := range parts {
		if filepath.IsAbs(p) {
			dir = p
		} else {
			dir = filepath.Join(dir, p)
		}
	}
	return filepath.Abs(cmp.Or(dir, "."))
}

// Request is one program to run.
type Request struct {
	// Argv is the program with its arguments; Shell is a command line for the system's shell
	// instead.
	Argv  []string
	Shell string
	Dir   string
	// Env contains the variables that the program gets in addition to the basic ones; later maps
	// take precedence.
	Env   []map[string]string
	Stdin string
	// Key is the idempotency key of the call, which the program gets in the variable tool.EnvKey;
	// if "", it gets none.
	Key string
	// Timeout limits the program's run time; 0 means DefaultTimeout.
	Timeout time.Duration
	// MaxBytes limits how much is kept of each of standard output and standard error; 0 means
	// DefaultBytes.
	MaxBytes int
	// Started is as in process.Program.
	Started func(said func() process.Outcome)
}

// Limit returns the time limit of a program, a little less than the call may take, so that the
// answer can include the program's output. spec is the timeout of the toolset's spec and asked is
// the one that the caller requests; 0 means that there is none.
func Limit(spec, asked time.Duration) time.Duration {
	most := cmp.Or(spec, 5*time.Minute)
	if most > 2*outputReserve {
		most -= outputReserve
	}
	return min(cmp.Or(asked, spec, DefaultTimeout), most)
}

// Answer is the structured form of an answer. ExitCode is -1 if a signal ended the program.
type Answer struct {
	ExitCode int    `json:"exitCode"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	// TimedOut reports whether the program timed out; Dropped is the number of omitted bytes.
	TimedOut bool  `json:"timedOut,omitempty"`
	Dropped  int64 `json:"droppedBytes,omitempty"`
}

var errTime = errors.New("timed out")

// Run runs a program and returns its output. The result is the tool's own error if the exit status
// is not 0, if the program timed out, or if it cannot be started.
//
// Errors are tool.ErrClosed, and one that wraps the cause of ctx if ctx is done.
func (r *Runner) Run(ctx context.Context, q Request) (tool.Result, error) {
	out, err := r.Outcome(ctx, q)
	switch {
	case err == nil:
		return r.Result(out, ""), nil
	case errors.Is(err, errTime):
		return r.Result(out, fmt.Sprintf("it timed out after %s and was stopped", cmp.Or(q.Timeout, DefaultTimeout))),
			nil
	case ctx.Err() != nil || errors.Is(err, tool.ErrClosed):
		return tool.Result{}, err
	}
	return tool.Result{Text: r.red.Text("the program was not run: " + err.Error()), IsError: true}, nil
}

// Outcome runs a program and returns how it ended. Errors are those of Run, the error that kept the
// program from starting, and one for a program that timed out.
func (r *Runner) Outcome(ctx context.Context, q Request) (process.Outcome, error) {
	if ctx.Err() != nil {
		return process.Outcome{}, context.Cause(ctx)
	}
	r.mu.Lock()
	if r.shut {
		r.mu.Unlock()
		return process.Outcome{}, tool.ErrClosed
	}
	r.calls.Add(1)
	r.mu.Unlock()
	defer r.calls.Done()
	if st, err := os.Stat(q.Dir); err != nil || !st.IsDir() {
		// otherwise the program would seem to be missing
		return process.Outcome{}, fmt.Errorf("folder %s not found", q.Dir)
	}
	vars := process.Inherited(r.cfg.Environ())
	for _, env := range q.Env {
		maps.Copy(vars, env)
	}
	delete(vars, tool.EnvKey) // nothing else sets it
	if q.Key != "" {
		vars[tool.EnvKey] = q.Key
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(r.life, func() { stop(tool.ErrClosed) })()
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(q.Timeout, DefaultTimeout), errTime)
	defer cancel()
	return process.Run(ctx, process.Program{
		Argv: q.Argv, Shell: q.Shell, Dir: q.Dir, Env: process.Environ(vars), Stdin: []byte(q.Stdin),
		MaxBytes: cmp.Or(q.MaxBytes, DefaultBytes), Grace: grace, Started: q.Started,
	})
}

// Result formats an outcome. why says what ended the program, if the program did not end by itself.
func (r *Runner) Result(o process.Outcome, why string) tool.Result {
	a := Answer{ExitCode: o.Code, Stdout: r.red.Text(o.Stdout), Stderr: r.red.Text(o.Stderr), TimedOut: why != "",
		Dropped: o.Dropped}
	var parts []string
	if text := strings.TrimRight(a.Stdout, "\n"); text != "" {
		parts = append(parts, text)
	}
	if text := strings.TrimRight(a.Stderr, "\n"); text != "" {
		parts = append(parts, "[standard error]\n"+text)
	}
	failed := o.Code != 0 || why != ""
	switch {
	case why != "":
		parts = append(parts, "["+why+"]")
	case failed:
		parts = append(parts, "["+o.State+"]")
	case len(parts) == 0:
		parts = append(parts, "[no output]")
	}
	b, err := json.Marshal(a)
	if err != nil {
		b = nil // numbers and strings always marshal
	}
	return tool.Result{Text: strings.Join(parts, "\n"), IsError: failed, Structured: b}
}

// Close terminates all programs and waits for them to exit.
func (r *Runner) Close() {
	r.mu.Lock()
	r.shut = true
	r.mu.Unlock()
	r.end()
	r.calls.Wait()
}

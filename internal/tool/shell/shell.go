package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/command"
)

// Type returns the tool type that opens toolsets of type `shell`.
func Type(cfg command.Config) tool.Type {
	return tool.Type{Open: func(spec tool.Spec) (tool.Toolset, error) { return New(cfg, spec) }}
}

// options holds the keys of the type. Commands are the only programs that may be run: files by
// path, resolved against WorkingDir, and names that are looked up on PATH; if empty, any program
// may be run.
type options struct {
	Env        tool.Variables `json:"env"`
	WorkingDir string         `json:"working_dir"`
	Commands   []string       `json:"commands"`
}

// Toolset runs programs on this machine. It implements [tool.Toolset] and [tool.Instructor].
type Toolset struct {
	name   string
	opts   options
	listed []program // resolved from opts.Commands
	env    map[string]string
	dir    string
	limit  time.Duration // from the spec; 0 means none
	runner *command.Runner

	mu     sync.Mutex
	closed bool
	jobs   jobs
}

// New creates the toolset that spec describes. It starts nothing. It returns a *tool.UntrustedError
// for an untrusted spec and a *tool.Error for invalid options.
func New(cfg command.Config, spec tool.Spec) (*Toolset, error) {
	if err := spec.CheckTrusted(); err != nil {
		return nil, err
	}
	t := &Toolset{name: spec.Title(), limit: spec.Timeout, runner: command.New(cfg)}
	fail := func(err error) (*Toolset, error) {
		return nil, tool.Errorf(tool.KindFailed, t.name, "toolset %q: %w", t.name, err)
	}
	if len(spec.Options) > 0 {
		dec := json.NewDecoder(bytes.NewReader(spec.Options))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&t.opts); err != nil {
			return fail(err)
		}
	}
	var err error
	if t.env, err = t.runner.Expand(t.opts.Env); err != nil {
		return fail(err)
	}
	if t.dir, err = t.runner.Folder(t.opts.WorkingDir); err != nil {
		return fail(err)
	}
	t.listed = t.programs()
	return t, nil
}

// Name implements tool.Toolset.
func (t *Toolset) Name() string { return t.name }

// Instructions implements tool.Instructor.
func (t *Toolset) Instructions() string {
	if len(t.opts.Commands) > 0 {
		return "## Programs\n\nWith exec you can run these programs in " + t.dir + ": " + strings.Join(t.opts.Commands,
			", ") +
			". Each item of argv is passed to the program unchanged, without a shell."
	}
	return "## Shell\n\nCommands run in " + t.dir +
		`, each in its own shell: folders and variables are not kept between commands.
- use exec where an argument comes from elsewhere: no shell interprets it
- start long-running commands with run_background_job and check them with view_background_job; jobs are stopped when ` +
		`the run ends`
}

// Tools implements tool.Toolset.
func (t *Toolset) Tools(context.Context) ([]tool.Tool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, tool.ErrClosed
	}
	var out []tool.Tool
	for _, e := range catalog {
		if e.def.Name == "exec" || len(t.opts.Commands) == 0 {
			out = append(out, shellTool{t, e})
		}
	}
	return out, nil
}

// Close stops all programs, including background jobs.
func (t *Toolset) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.runner.Close()
	t.jobs.wait()
	return nil
}

type arguments struct {
	Cmd     string   `json:"cmd"`
	Argv    []string `json:"argv"`
	Cwd     string   `json:"cwd"`
	Stdin   string   `json:"stdin"`
	Timeout float64  `json:"timeout"`
	JobID   string   `json:"job_id"`
}

// entry is one tool of the toolset.
type entry struct {
	def    chat.ToolDef
	policy tool.Policy
	run    func(ctx context.Context, t *Toolset, key string, a arguments) (tool.Result, error)
}

type shellTool struct {
	set *Toolset
	entry
}

func (s shellTool) Def() chat.ToolDef { return s.def }

func (s shellTool) Policy() tool.Policy { return s.policy }

func (s shellTool) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if ctx.Err() != nil {
		return tool.Result{}, context.Cause(ctx)
	}
	s.set.mu.Lock()
	closed := s.set.closed
	s.set.mu.Unlock()
	if closed {
		return tool.Result{}, tool.ErrClosed
	}
	var a arguments
	if err := c.Decode(&a); err != nil {
		return tool.Result{}, err
	}
	return s.run(ctx, s.set, c.Key, a)
}

// request converts arguments into a command request.
func (t *Toolset) request(a arguments) (command.Request, error) {
	dir, err := t.folder(a.Cwd)
	if err != nil {
		return command.Request{}, err
	}
	if p, ok := t.program(first(a.Argv)); ok {
		if p.err != nil {
			return command.Request{}, p.err
		}
		a.Argv = append([]string{p.path}, a.Argv[1:]...)
	}
	return command.Request{
		Argv: a.Argv, Shell: a.Cmd, Dir: dir, Env: []map[string]string{t.env}, Stdin: a.Stdin,
		Timeout: command.Limit(t.limit, time.Duration(a.Timeout*float64(time.Second))),
	}, nil
}

func run(ctx context.Context, t *Toolset, key string, a arguments) (tool.Result, error) {
	if refused, no := t.checkAllowed(a); no {
		return refused, nil
	}
	q, err := t.request(a)
	if err != nil {
		return notRun(err), nil
	}
	q.Key = key
	return t.runner.Run(ctx, q)
}

// notRun tells the model why nothing was started.
func notRun(err error) tool.Result {
	return tool.Result{Text: "the program was not run: " + err.Error(), IsError: true}
}

// first returns the first word, or "" if there is none.
func first(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	return argv[0]
}

// checkAllowed rejects programs that the spec does not list, and requests that name no program.
func (t *Toolset) checkAllowed(a arguments) (_ tool.Result, no bool) {
	switch {
	case len(a.Argv) == 0 && strings.TrimSpace(a.Cmd) == "" || len(a.Argv) > 0 && a.Argv[0] == "":
		return tool.Result{Text: "no program given", IsError: true}, true
	case len(t.opts.Commands) == 0:
		return tool.Result{}, false
	}
	if _, ok := t.program(first(a.Argv)); !ok {
		return tool.Result{Text: "this program is not allowed; allowed programs: " + strings.Join(t.opts.Commands,
			", "), IsError: true}, true
	}
	return tool.Result{}, false
}

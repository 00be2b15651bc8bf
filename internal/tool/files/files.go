package files

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/process"
	"github.com/hocket-run/hocket/internal/tool"
)

// Config holds the settings shared by all toolsets of a process.
type Config struct {
	// Dir is the folder against which a relative `path` is resolved, and the folder that is served
	// if a spec names none. Empty means the working directory of the process.
	Dir string
	// Environ returns the environment of the process, from which post_edit commands get a few
	// harmless variables. If nil, os.Environ is used.
	Environ func() []string
	// Own reports which files no toolset can reach unless its own_files names them; nil means no
	// files. Files in a .git folder that start programs are always protected.
	Own Own
}

// Type returns the tool type that opens toolsets of type `filesystem`.
func Type(cfg Config) tool.Type {
	return tool.Type{Open: func(spec tool.Spec) (tool.Toolset, error) { return New(cfg, spec) }}
}

// options holds the keys of the type. IgnoreVCS leaves out of lists, trees and searches what git
// would ignore; nil means true.
type options struct {
	Path      string          `json:"path"`
	ReadOnly  bool            `json:"read_only"`
	IgnoreVCS *bool           `json:"ignore_vcs"`
	PostEdit  []tool.PostEdit `json:"post_edit"`
	// OwnFiles are files of the operator that are served nevertheless, as paths relative to the
	// folder.
	OwnFiles []string `json:"own_files"`
}

// Toolset serves the files of one folder. It implements [tool.Toolset] and [tool.Instructor].
type Toolset struct {
	name    string
	dir     string
	opts    options
	environ func() []string
	own     Own
	after   []postEdit

	life context.Context // cancelled when the toolset is closed
	end  context.CancelFunc

	edit sync.Mutex // held while files change

	mu     sync.Mutex
	root   *os.Root // nil until the first listing
	closed bool
	// realDir is dir with links resolved; it is set with root.
	realDir string
	calls   sync.WaitGroup
}

// New creates the toolset that spec describes. It opens nothing. It returns a *tool.UntrustedError
// for an untrusted spec and a *tool.Error for invalid options.
func New(cfg Config, spec tool.Spec) (*Toolset, error) {
	if err := spec.CheckTrusted(); err != nil {
		return nil, err
	}
	t := &Toolset{name: spec.Title(), environ: cfg.Environ, own: cfg.Own}
	if t.environ == nil {
		t.environ = os.Environ
	}
	if len(spec.Options) > 0 {
		dec := json.NewDecoder(bytes.NewReader(spec.Options))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&t.opts); err != nil {
			return nil, tool.Errorf(tool.KindFailed, t.name, "toolset %q: read options: %w", t.name, err)
		}
	}
	for _, p := range t.opts.PostEdit {
		compiled, err := newPostEdit(p)
		if err != nil {
			return nil, tool.Errorf(tool.KindFailed, t.name, "toolset %q: post_edit: %w", t.name, err)
		}
		t.after = append(t.after, compiled)
	}
	base := cfg.Dir
	if filepath.IsAbs(t.opts.Path) {
		base = ""
	}
	dir, err := filepath.Abs(filepath.Join(cmp.Or(base, "."), t.opts.Path))
	if filepath.IsAbs(t.opts.Path) {
		dir, err = filepath.Clean(t.opts.Path), nil
	}
	if err != nil {
		return nil, tool.Errorf(tool.KindFailed, t.name, "toolset %q: path: %w", t.name, err)
	}
	t.dir = dir
	t.life, t.end = context.WithCancel(context.Background())
	return t, nil
}

// Name implements tool.Toolset.
func (t *Toolset) Name() string { return t.name }

// Instructions implements tool.Instructor.
func (t *Toolset) Instructions() string {
	text := `## Filesystem tools

Paths are relative to the folder ` + t.dir + `; only paths inside it are accessible.`
	if t.opts.ReadOnly {
		return text + " Files can be read, not changed."
	}
	return text + `
- read several files at once with read_multiple_files
- look for text with search_files_content before you read whole files
- change a part of a file with edit_file; write_file replaces the whole`
}

// Tools lists the tools and opens the folder, which must exist.
func (t *Toolset) Tools(context.Context) ([]tool.Tool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, tool.ErrClosed
	}
	if t.root == nil {
		root, err := os.OpenRoot(t.dir)
		if err != nil {
			return nil, tool.Errorf(tool.KindFailed, t.name, "toolset %q: open folder: %w", t.name, err)
		}
		t.root = root
		if t.realDir, err = filepath.EvalSymlinks(t.dir); err != nil {
			t.realDir = t.dir
		}
	}
	var out []tool.Tool
	for _, d := range catalog {
		if d.writes && t.opts.ReadOnly {
			continue
		}
		policy := d.policy
		if d.writes && len(t.after) > 0 {
			policy = tool.PolicyAsk // effects of running its commands twice are unknown
		}
		out = append(out, fileTool{set: t, entry: d, policy: policy})
	}
	return out, nil
}

// Close cancels running calls and closes the folder.
func (t *Toolset) Close() error {
	t.mu.Lock()
	t.closed = true
	root := t.root
	t.root = nil
	t.mu.Unlock()
	t.end()
	t.calls.Wait()
	if root == nil {
		return nil
	}
	return root.Close()
}

// begin returns the folder and a context for a call, which must call done when it ends.
func (t *Toolset) begin(ctx context.Context) (root *os.Root, _ context.Context, done func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.root == nil {
		return nil, nil, nil, tool.ErrClosed
	}
	t.calls.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(t.life, func() { cancel(tool.ErrClosed) })
	return t.root, ctx, func() {
		stop()
		cancel(nil)
		t.calls.Done()
	}, nil
}

// call is a call in flight.
type call struct {
	set  *Toolset
	root *os.Root
	// scope is what the permissions let the call reach; at describes where its paths are.
	scope *tool.Scope
	at    places
	key   string // idempotency key of the call
}

// entry is one tool of the toolset. run returns what the model reads; an error of type *refusal is
// the tool's own report of a failure.
type entry struct {
	def    chat.ToolDef
	policy tool.Policy
	writes bool
	run    func(ctx context.Context, c call, args json.RawMessage) (string, error)
}

type fileTool struct {
	set *Toolset
	entry
	policy tool.Policy
}

func (f fileTool) Def() chat.ToolDef { return f.def }

func (f fileTool) Policy() tool.Policy { return f.policy }

// Concurrent implements tool.Concurrent.
func (f fileTool) Concurrent() bool { return !f.writes }

func (f fileTool) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if err := ctx.Err(); err != nil {
		return tool.Result{}, context.Cause(ctx)
	}
	root, ctx, done, err := f.set.begin(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	defer done()
	args := c.Arguments
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	text, err := f.run(ctx, call{f.set, root, c.Scope, placesOf[f.def.Name], c.Key}, args)
	switch {
	case err == nil:
		return tool.Result{Text: text}, nil
	case ctx.Err() != nil:
		return tool.Result{}, context.Cause(ctx)
	}
	return report(c.Name, err)
}

// decoded adapts a function that takes its arguments as a value to a function that takes them as
// JSON.
func decoded[A any](run func(ctx context.Context, c call, args A) (string, error)) func(context.Context, call,
	json.RawMessage) (string, error) {
	return func(ctx context.Context, c call, raw json.RawMessage) (string, error) {
		var args A
		if err := json.Unmarshal(raw, &args); err != nil {
			return "", fmt.Errorf("read arguments: %w", err)
		}
		return run(ctx, c, args)
	}
}

// environment returns the environment of post_edit commands: basic variables and the path of the
// file.
func (t *Toolset) environment(file, key string) []string {
	vars := process.Inherited(t.environ())
	vars["file"] = file
	if key != "" {
		vars[tool.EnvKey] = key
	}
	return process.Environ(vars)
}

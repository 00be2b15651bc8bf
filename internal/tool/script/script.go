package script

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/command"
)

// maxOutputBytes is the maximum output of a script that declares its output. Longer output is a
// failure and is not truncated, because a partial value would be a wrong one.
const maxOutputBytes = 1 << 20

// maxValueBytes is the maximum size of one argument: operating systems reject longer variables and
// words.
const maxValueBytes = 100_000

// Type returns the tool type that opens toolsets of type `script`.
func Type(cfg command.Config) tool.Type {
	return tool.Type{Open: func(spec tool.Spec) (tool.Toolset, error) { return New(cfg, spec) }}
}

// options holds the keys of the type. Env and WorkingDir apply to all scripts; a script's own take
// precedence.
type options struct {
	Shell      map[string]tool.Script `json:"shell"`
	Env        tool.Variables         `json:"env"`
	WorkingDir string                 `json:"working_dir"`
}

// Toolset holds the declared commands. It implements [tool.Toolset].
type Toolset struct {
	name   string
	runner *command.Runner
	tools  []tool.Tool

	mu     sync.Mutex
	closed bool
}

// New creates the toolset that spec describes. It starts nothing. It returns a *tool.UntrustedError
// for an untrusted spec and a *tool.Error for invalid options.
func New(cfg command.Config, spec tool.Spec) (*Toolset, error) {
	if err := spec.CheckTrusted(); err != nil {
		return nil, err
	}
	t := &Toolset{name: spec.Title(), runner: command.New(cfg)}
	if err := t.read(spec); err != nil {
		return nil, tool.Errorf(tool.KindFailed, t.name, "toolset %q: %w", t.name, err)
	}
	return t, nil
}

func (t *Toolset) read(spec tool.Spec) error {
	var o options
	if len(spec.Options) > 0 {
		dec := json.NewDecoder(bytes.NewReader(spec.Options))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&o); err != nil {
			return err
		}
	}
	if len(o.Shell) == 0 {
		return errors.New("no commands are declared under the key shell")
	}
	common, err := t.runner.Expand(o.Env)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(o.Shell)) {
		sc := o.Shell[name]
		if problems := sc.Problems(name, runtime.GOOS == "windows"); len(problems) > 0 {
			return errors.New(strings.Join(problems, "; "))
		}
		own, err := t.runner.Expand(sc.Env)
		if err != nil {
			return fmt.Errorf("script %q: %w", name, err)
		}
		dir, err := t.runner.Folder(o.WorkingDir, sc.WorkingDir)
		if err != nil {
			return err
		}
		def, err := definition(name, sc)
		if err != nil {
			return err
		}
		t.tools = append(t.tools, scriptTool{set: t, script: sc, def: def, dir: dir,
			env: []map[string]string{common, own}, limit: command.Limit(spec.Timeout, 0)})
	}
	return nil
}

// definition returns the definition of a script for the model. The arguments are the properties of
// a schema; all are required unless the script lists the required ones.
func definition(name string, sc tool.Script) (chat.ToolDef, error) {
	required := sc.Required
	if required == nil {
		required = slices.Sorted(maps.Keys(sc.Args))
	}
	args := sc.Args
	if args == nil {
		args = map[string]json.RawMessage{}
	}
	params, err := json.Marshal(map[string]any{"type": "object", "properties": args,
		"required": append([]string{}, required...), "additionalProperties": false})
	if err != nil {
		return chat.ToolDef{}, fmt.Errorf("script %q: %w", name, err)
	}
	shown := sc.Cmd
	if len(sc.Argv) > 0 {
		shown = strings.Join(sc.Argv, " ")
	}
	return chat.ToolDef{Name: name, Description: cmp.Or(sc.Description, "Runs "+shown), Parameters: params}, nil
}

// Name implements tool.Toolset.
func (t *Toolset) Name() string { return t.name }

// Tools implements tool.Toolset.
func (t *Toolset) Tools(context.Context) ([]tool.Tool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, tool.ErrClosed
	}
	return slices.Clone(t.tools), nil
}

// Close stops all programs.
func (t *Toolset) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.runner.Close()
	return nil
}

type scriptTool struct {
	set    *Toolset
	script tool.Script
	def    chat.ToolDef
	dir    string
	env    []map[string]string
	limit  time.Duration
}

func (s scriptTool) Def() chat.ToolDef { return s.def }

func (s scriptTool) Policy() tool.Policy { return cmp.Or(s.script.Policy, tool.PolicyAsk) }

// Resources returns what the strings of a call could be interpreted as in the folder of the script,
// which may use them in any way.
func (s scriptTool) Resources(ctx context.Context, c tool.Call) ([]tool.Resource, error) {
	return tool.Guess(ctx, s.dir, s.def.Name, c.Arguments)
}

func (s scriptTool) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if ctx.Err() != nil {
		return tool.Result{}, context.Cause(ctx)
	}
	values, err := s.values(c.Arguments)
	if err != nil {
		return notRun(err), nil
	}
	q := command.Request{Shell: s.script.Cmd, Dir: s.dir, Env: append(slices.Clone(s.env), values), Timeout: s.limit,
		Key: c.Key}
	if len(s.script.Argv) > 0 {
		if q.Argv, err = s.script.Words(values); err != nil {
			return notRun(err), nil
		}
		q.Env = s.env
	}
	if s.script.Output == "" {
		return s.set.runner.Run(ctx, q)
	}
	q.MaxBytes = maxOutputBytes
	res, err := s.set.runner.Run(ctx, q)
	if err != nil || res.IsError {
		return res, err
	}
	return output(res, s.script.Output)
}

// notRun tells the model why nothing was run.
func notRun(err error) tool.Result {
	return tool.Result{Text: "the script was not run: " + err.Error(), IsError: true}
}

// values returns the arguments as strings: strings as they are, other values as JSON; null counts
// as absent. Names that the script does not declare are rejected here too, even if a caller checked
// before, because they would become variables.
func (s scriptTool) values(raw json.RawMessage) (map[string]string, error) {
	var args map[string]json.RawMessage
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &args); err != nil {
			return nil, fmt.Errorf("read arguments: %w", err)
		}
	}
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if _, ok := s.script.Args[name]; !ok {
			return nil, fmt.Errorf("it has no argument %q", name)
		}
		value := string(args[name])
		switch {
		case value == "null":
			continue
		case strings.HasPrefix(value, `"`):
			if err := json.Unmarshal(args[name], &value); err != nil {
				return nil, fmt.Errorf("argument %q: %w", name, err)
			}
		}
		switch {
		case strings.Contains(value, "\x00"):
			return nil, fmt.Errorf("argument %q contains a NUL character, which programs do not accept", name)
		case len(value) > maxValueBytes:
			return nil, fmt.Errorf("argument %q has %d bytes, more than the limit of %d", name, len(value),
				maxValueBytes)
		}
		out[name] = value
	}
	return out, nil
}

package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/child"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/internal/service/resources"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

const (
	// workflowTimeout is the timeout of a workflow call whose toolset sets none (P11): such calls
	// wait for whole runs, and for people in them.
	workflowTimeout = 24 * time.Hour
	// maxNesting is the maximum depth of runs started by workflow tools, so that a workflow that
	// calls itself ends.
	maxNesting = 8
	// metaNesting is the nesting depth of a run, in decimal; 0 if absent.
	metaNesting = "nesting"
)

// workflowOptions are the keys of a toolset of type `workflow`.
type workflowOptions struct {
	// Workflow is the id of a stored workflow, Branch one of its branches.
	Workflow string `json:"workflow"`
	Branch   string `json:"branch"`
	// Version is one of its versions; 0 means the version that was pinned when the run began, or
	// else the published one.
	Version int `json:"version"`
	// File is the path of a workflow that the definition contains, in place of Workflow: a step
	// runs it.
	File string `json:"file"`
	// Input is the form of the argument: inputText (also if ""), or inputValue for any JSON.
	Input string `json:"input"`
	// Tool is the name under which it is offered; "" means the id. Description tells the model what
	// it does; "" means the workflow's own description.
	Tool        string `json:"tool"`
	Description string `json:"description"`
}

const (
	inputText  = "text"
	inputValue = "value"
)

// title returns the name of the workflow in messages.
func (o workflowOptions) title() string { return cmp.Or(o.File, o.Workflow) }

// workflowType opens toolsets of type `workflow`: one tool that runs a published workflow of the
// catalog and returns its output.
func (s *Runner) workflowType(info driver.Info) tool.Type {
	return tool.Type{CallTimeout: workflowTimeout, Open: func(spec tool.Spec) (tool.Toolset, error) {
		var o workflowOptions
		dec := json.NewDecoder(strings.NewReader(cmp.Or(string(spec.Options), "{}")))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&o); err != nil {
			return nil, tool.Errorf(tool.KindFailed, spec.Title(), "toolset %q: %w", spec.Title(), err)
		}
		switch {
		case o.File != "" && definition.CalledOf(info.Workflow, o.File) == nil:
			return nil, tool.Errorf(tool.KindFailed, spec.Title(),
				"toolset %q: no step of the document runs the file %s", spec.Title(), o.File)
		case o.Workflow == "" && o.File == "":
			return nil, tool.Errorf(tool.KindFailed, spec.Title(), "toolset %q: `workflow` must name a stored workflow",
				spec.Title())
		case !slices.Contains([]string{"", inputText, inputValue}, o.Input):
			return nil, tool.Errorf(tool.KindFailed, spec.Title(), "toolset %q: input is %q, not one of text, value",
				spec.Title(), o.Input)
		case o.Version < 0:
			return nil, tool.Errorf(tool.KindFailed, spec.Title(), "toolset %q: version must not be negative",
				spec.Title())
		}
		return &workflowToolset{spec: spec, options: o, runner: s, info: info}, nil
	}}
}

// workflowToolset is one stored workflow as a tool. Its run is a child of the calling run, with an
// id derived from the call, so that a call repeated after a crash resumes it. It is safe for
// concurrent use.
type workflowToolset struct {
	spec    tool.Spec
	options workflowOptions
	runner  *Runner
	info    driver.Info
}

// Name implements tool.Toolset.
func (t *workflowToolset) Name() string { return t.spec.Title() }

// Close implements tool.Toolset.
func (t *workflowToolset) Close() error { return nil }

// Tools implements tool.Toolset. It returns a *tool.Error if there is no such workflow.
func (t *workflowToolset) Tools(ctx context.Context) ([]tool.Tool, error) {
	name, title := t.options.File, t.options.File
	if name == "" {
		e, err := t.runner.definitions.Entry(ctx, t.options.Workflow)
		if err != nil {
			return nil, tool.Errorf(tool.KindUnsupported, t.Name(), "toolset %q: %w", t.Name(), err)
		}
		name, title = e.ID, cmp.Or(e.Name, e.ID)
	}
	about := t.options.Description
	if about == "" {
		about = "Runs the workflow " + strconv.Quote(title) + " and gives its output."
	}
	typ := `"type":"string",`
	if t.options.Input == inputValue {
		typ = ""
	}
	return []tool.Tool{&workflowTool{t, chat.ToolDef{
		Name: cmp.Or(t.options.Tool, name), Description: about,
		Parameters: json.RawMessage(`{"type":"object","properties":{"input":{` + typ +
			`"description":"What the workflow is given as its ` +
			`input."}},"required":["input"],"additionalProperties":false}`),
	}}}, nil
}

type workflowTool struct {
	*workflowToolset
	def chat.ToolDef
}

// Def implements tool.Tool.
func (t *workflowTool) Def() chat.ToolDef { return t.def }

// Policy implements tool.Tool: a repeated call finds its run.
func (t *workflowTool) Policy() tool.Policy { return tool.PolicyRetry }

// Concurrent implements tool.Concurrent: the runs of several workflows are independent.
func (t *workflowTool) Concurrent() bool { return true }

// Call implements tool.Tool. The failure of a workflow is reported in the result. If the workflow
// waits for a person, the parent run mirrors its wait ([Runner.Answer]), and the call continues
// after the answer.
func (t *workflowTool) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	var args struct {
		Input json.RawMessage `json:"input"`
	}
	if err := c.Decode(&args); err != nil {
		return tool.Result{}, err
	}
	var input string
	if json.Unmarshal(args.Input, &input) != nil { // a value other than a string is passed as JSON
		input = string(args.Input)
	}
	depth, _ := strconv.Atoi(t.info.Meta[metaNesting]) // absent means 0
	if depth++; depth > maxNesting {
		return tool.Result{},
			tool.Errorf(tool.KindFailed, c.Name, "workflow %s was not run: workflows call each other more than %d "+
				"deep (max_nesting)", t.options.title(), maxNesting)
	}
	run := driver.ChildRunID(c.Run, "", childKey(c.Key, c.Retry))
	isStored, err := t.runner.isStored(ctx, run)
	if err != nil {
		return tool.Result{}, err
	}
	families := &t.runner.family
	leave, ok, err := families.enter(t.root(), !isStored, func(most int) (int, error) {
		return t.runner.descendants(ctx, t.root(), most)
	})
	switch {
	case err != nil:
		return tool.Result{}, err
	case !ok:
		return tool.Result{},
			tool.Errorf(tool.KindFailed, c.Name, "workflow %s was not run: more than %d runs of workflows are "+
				"active below run %s, or twice as many in this process (max_family)", t.options.title(),
				families.bound(), t.root())
	}
	defer leave()
	err = t.runner.children.Drive(ctx, child.Work{
		Parent: c.Run, Run: run, Caller: driver.CallerOf(c),
		Start: func(ctx context.Context, parent *workflow.Budget) error {
			return t.start(ctx, run, depth, input, parent)
		},
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return tool.Result{}, err
	case err != nil:
		return tool.Result{}, tool.Errorf(tool.KindFailed, c.Name, "workflow %s: %w%s", t.options.title(), err,
			details(err))
	}
	return t.result(ctx, run)
}

// details returns the problems that an error has in addition to its text, to be appended to it.
func details(err error) string {
	var invalid *failure.InvalidError
	if !errors.As(err, &invalid) || invalid.Err == nil || len(invalid.Diagnostics) == 0 {
		return ""
	}
	texts := make([]string, len(invalid.Diagnostics))
	for i, d := range invalid.Diagnostics {
		texts[i] = d.Message
	}
	return ": " + strings.Join(texts, "; ")
}

// root returns the root run.
func (t *workflowTool) root() string { return cmp.Or(t.info.Meta[metaRoot], t.info.Run) }

// start starts the run of the published version, with the model, tools and replies of the parent
// run.
func (t *workflowTool) start(ctx context.Context, run string, depth int, input string, above *workflow.Budget) error {
	info := t.info
	q := StartRequest{Workflow: definition.CalledOf(info.Workflow, t.options.File)}
	if t.options.File == "" {
		which := definition.Which{
			Version: cmp.Or(t.options.Version, definition.Pinned(info.Meta[metaPins], t.options.Workflow)),
		}
		w, d, problems, err := t.runner.definitions.LoadStored(ctx, t.options.Workflow, which, definition.LoadOptions{})
		if err != nil {
			return err
		}
		if err := problems.Err(); err != nil {
			return err
		}
		q = StartRequest{Workflow: w, Stored: d.Entry.ID, Version: d.Version}
	} else {
		q.Trust = info.Meta[resources.MetaTrusted] != "" // what it requests was approved with the document
		q.Place = siblingPath(info.Meta[resources.MetaOrigin], t.options.File)
	}
	q = StartRequest{
		Workflow: q.Workflow, Branch: t.options.Branch, Stored: q.Stored, Version: q.Version, Trust: q.Trust,
		Place: q.Place, Input: input, RunID: run, Model: info.Model, ParentRun: info.Run, Above: above,
		meta: map[string]string{metaNesting: strconv.Itoa(depth), metaRoot: t.root()},
	}
	if info.Meta[resources.MetaUnattended] != "" {
		q.meta[resources.MetaUnattended] = "true"
	}
	for name, into := range map[string]*[]byte{resources.FileTools: &q.Tools, resources.FileReplies: &q.Replies} {
		switch data, err := info.File(ctx, name); {
		case err == nil:
			*into = data
		case !errors.Is(err, journal.ErrNotFound):
			return err
		}
	}
	_, err := t.runner.Start(ctx, q)
	return err
}

func (t *workflowTool) result(ctx context.Context, run string) (tool.Result, error) {
	rec, err := t.runner.Read(ctx, run)
	if err != nil {
		return tool.Result{}, err
	}
	o, id := rec.Object(), t.options.title()
	switch {
	case o.Status == event.StatusCompleted:
		return outputResult(o.Output), nil
	case o.Status == event.StatusPaused:
		if hold := rec.hold(); hold != nil {
			return tool.Result{}, &tool.HoldError{Hold: *hold}
		}
	case o.Error != nil:
		return tool.Result{IsError: true, Text: fmt.Sprintf("Workflow %s failed in run %s: %s (%s)", id, run,
			o.Error.Message, o.Error.Code)}, nil
	}
	return tool.Result{IsError: true, Text: fmt.Sprintf("Workflow %s is %s, in run %s", id, o.Status, run)}, nil
}

// outputResult returns the output of a run as a tool result: a string unchanged, any other value as
// JSON.
func outputResult(v event.Value) tool.Result {
	var text string
	switch {
	case v == nil:
		return tool.Result{}
	case json.Unmarshal(v, &text) == nil:
		return tool.Result{Text: text}
	}
	return tool.Result{Text: string(v), Structured: v}
}

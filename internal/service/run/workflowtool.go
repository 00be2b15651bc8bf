package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/child"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/service/resources"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

const (
	// workflowTime bounds a call of a workflow whose toolset says nothing (P11): such calls wait for whole runs, and for people in them.
	workflowTime = 24 * time.Hour
	// maxNesting bounds how deep runs may start runs of workflows by tools: a workflow that calls itself ends.
	maxNesting = 8
	// metaNesting is how deep a run is, in decimal; absent: 0.
	metaNesting = "nesting"
)

// workflowOptions are the keys of a toolset of type `workflow`.
type workflowOptions struct {
	// Workflow is the id of a stored workflow, Branch one of its branches.
	Workflow string `json:"workflow"`
	Branch   string `json:"branch"`
	// Tool is the name under which it is offered; "": the id. Description tells the model what it does; "": what the workflow says of itself.
	Tool        string `json:"tool"`
	Description string `json:"description"`
}

// workflowType opens toolsets of type `workflow`: one tool that runs a published workflow of the catalog and gives its output.
func (s *Runner) workflowType(info driver.Info) tool.Type {
	return tool.Type{CallTimeout: workflowTime, Open: func(spec tool.Spec) (tool.Toolset, error) {
		var o workflowOptions
		dec := json.NewDecoder(strings.NewReader(cmp.Or(string(spec.Options), "{}")))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&o); err != nil {
			return nil, tool.Errorf(tool.KindFailed, spec.Title(), "toolset %q: %w", spec.Title(), err)
		}
		if o.Workflow == "" {
			return nil, tool.Errorf(tool.KindFailed, spec.Title(), "toolset %q: `workflow` must name a stored workflow", spec.Title())
		}
		return &workflowToolset{spec: spec, options: o, runner: s, info: info}, nil
	}}
}

// workflowToolset is one stored workflow as a tool. Its run is a child of the run that calls it, under an id that follows from the call, so that a call
// which is made again after a crash takes it up. Safe for concurrent use.
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

// Tools implements tool.Toolset. Errors: *tool.Error where there is no such workflow.
func (t *workflowToolset) Tools(ctx context.Context) ([]tool.Tool, error) {
	e, err := t.runner.definitions.Entry(ctx, t.options.Workflow)
	if err != nil {
		return nil, tool.Errorf(tool.KindUnsupported, t.Name(), "toolset %q: %w", t.Name(), err)
	}
	about := t.options.Description
	if about == "" {
		about = "Runs the workflow " + strconv.Quote(cmp.Or(e.Name, e.ID)) + " and gives its output."
	}
	return []tool.Tool{&workflowTool{t, chat.ToolDef{
		Name: cmp.Or(t.options.Tool, e.ID), Description: about,
		Parameters: json.RawMessage(`{"type":"object","properties":{"input":{"type":"string","description":"What the workflow is given as its input."}},"required":["input"],"additionalProperties":false}`),
	}}}, nil
}

type workflowTool struct {
	*workflowToolset
	def chat.ToolDef
}

// Def implements tool.Tool.
func (t *workflowTool) Def() chat.ToolDef { return t.def }

// Policy implements tool.Tool: a call that is made again finds its run.
func (t *workflowTool) Policy() tool.Policy { return tool.PolicyRetry }

// Call implements tool.Tool. A workflow that fails is a result that says so. Where one waits for a person the run above repeats its wait ([Runner.Answer]),
// and the call goes on after the answer.
func (t *workflowTool) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	var args struct {
		Input string `json:"input"`
	}
	if err := c.Decode(&args); err != nil {
		return tool.Result{}, err
	}
	depth, _ := strconv.Atoi(t.info.Meta[metaNesting]) // absent is 0
	if depth++; depth > maxNesting {
		return tool.Result{}, tool.Errorf(tool.KindFailed, c.Name, "workflow %s was not run: workflows call each other more than %d deep (max_nesting)", t.options.Workflow, maxNesting)
	}
	families := &t.runner.family
	leave, ok := families.enter(t.root())
	if !ok {
		return tool.Result{}, tool.Errorf(tool.KindFailed, c.Name, "workflow %s was not run: more than %d runs of workflows were called for below run %s (max_family)", t.options.Workflow, families.bound(), t.root())
	}
	defer leave()
	run := driver.ChildRunID(c.Run, "", c.Key)
	err := t.runner.children.Drive(ctx, child.Work{
		Parent: c.Run, Run: run, Caller: driver.CallerOf(c), Start: func(ctx context.Context, parent *workflow.Budget) error {
			return t.start(ctx, run, depth, args.Input, parent)
		},
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return tool.Result{}, err
	case err != nil:
		return tool.Result{}, tool.Errorf(tool.KindFailed, c.Name, "workflow %s: %w", t.options.Workflow, err)
	}
	return t.result(ctx, run)
}

// root is the run at the top.
func (t *workflowTool) root() string { return cmp.Or(t.info.Meta[metaRoot], t.info.Run) }

// start begins the run of the published version, with the model, tools and replies of the run above.
func (t *workflowTool) start(ctx context.Context, run string, depth int, input string, above *workflow.Budget) error {
	info := t.info
	w, d, problems, err := t.runner.definitions.LoadStored(ctx, t.options.Workflow, definition.Which{}, definition.LoadOptions{})
	if err != nil {
		return err
	}
	if err := problems.Err(); err != nil {
		return err
	}
	q := StartRequest{
		Workflow: w, Branch: t.options.Branch, Stored: d.Entry.ID, Version: d.Version, Input: input, RunID: run, Model: info.Model, ParentRun: info.Run, Above: above,
		meta: map[string]string{metaNesting: strconv.Itoa(depth), metaRoot: t.root()},
	}
	for name, into := range map[string]*[]byte{resources.FileTools: &q.Tools, resources.FileReplies: &q.Replies} {
		switch data, err := info.File(ctx, name); {
		case err == nil:
			*into = data
		case !errors.Is(err, journal.ErrNotFound):
			return err
		}
	}
	_, err = t.runner.Start(ctx, q)
	return err
}

func (t *workflowTool) result(ctx context.Context, run string) (tool.Result, error) {
	rec, err := t.runner.Read(ctx, run)
	if err != nil {
		return tool.Result{}, err
	}
	o, id := rec.Object(), t.options.Workflow
	switch {
	case o.Status == engine.StatusCompleted:
		return outputResult(o.Output), nil
	case o.Status == engine.StatusPaused:
		if hold := rec.hold(); hold != nil {
			return tool.Result{}, &tool.HoldError{Hold: *hold}
		}
	case o.Error != nil:
		return tool.Result{IsError: true, Text: fmt.Sprintf("Workflow %s failed in run %s: %s (%s)", id, run, o.Error.Message, o.Error.Code)}, nil
	}
	return tool.Result{IsError: true, Text: fmt.Sprintf("Workflow %s is %s, in run %s", id, o.Status, run)}, nil
}

// outputResult is the output of a run as a tool's result: a text as it is, any other value as JSON.
func outputResult(v engine.Value) tool.Result {
	var text string
	switch {
	case v == nil:
		return tool.Result{}
	case json.Unmarshal(v, &text) == nil:
		return tool.Result{Text: text}
	}
	return tool.Result{Text: string(v), Structured: v}
}

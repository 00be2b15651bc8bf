package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/documents"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service/child"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/service/resources"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// Meta keys of a run that runs branches together.
const (
	// metaTogether marks such a run.
	metaTogether = "together"
	// metaLimits holds the limits for the runs of the branches, as JSON.
	metaLimits = "branchLimits"
)

// branchRuns executes the tool calls of a run that runs branches together: each starts the run of
// one branch and waits for its end. The id of a branch's run is derived from its parent's, so that
// a call that is repeated after a crash finds it (P12): the call is idempotent. It is safe for
// concurrent use.
type branchRuns struct {
	s    *Runner
	info driver.Info
}

var _ driver.Tools = (*branchRuns)(nil)

// Defs implements driver.Tools: no tools are offered to agents.
func (b *branchRuns) Defs(context.Context, string) ([]chat.ToolDef, error) { return nil, nil }

// Instructions implements driver.Tools.
func (b *branchRuns) Instructions(context.Context, string) (string, error) { return "", nil }

// Policy implements driver.Tools.
func (b *branchRuns) Policy(context.Context, tool.Call) (tool.Policy, error) {
	return tool.PolicyRetry, nil
}

// Order implements driver.Tools.
func (b *branchRuns) Order(context.Context, tool.Call) (concurrent, asks bool) { return true, false }

// Restore implements driver.Tools.
func (b *branchRuns) Restore(context.Context, []tool.Finished) error { return nil }

// Close implements driver.Tools.
func (b *branchRuns) Close() error { return nil }

// Call implements driver.Tools. The node determines the branch.
func (b *branchRuns) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	i := slices.IndexFunc(b.info.Workflow.Branches, func(w *workflow.Workflow) bool { return w.ID == c.Node })
	if i < 0 {
		return tool.Result{}, tool.Errorf(tool.KindUnknownTool, c.Name, "branch %q is not in the definition", c.Node)
	}
	run := branchRun(b.info.Run, b.info.Workflow.Branches[i].ID, i)
	err := b.s.children.Drive(ctx, child.Work{
		Parent: b.info.Run, Run: run, Caller: driver.CallerOf(c),
		Start: func(ctx context.Context, parent *workflow.Budget) error {
			spec, err := b.spec(ctx, run, b.info.Workflow.Branches[i], c)
			if spec.Above = parent; err == nil {
				err = b.s.opener.Price(&spec)
			}
			if err == nil {
				_, err = b.s.startTraced(ctx, spec)
			}
			return err
		},
	})
	if err != nil {
		return tool.Result{}, err
	}
	return b.result(ctx, run, c.Node)
}

// open opens what the calls of a run need. It is a driver.OpenFunc.
func (s *Runner) open(ctx context.Context, info driver.Info) (*driver.RunResources, error) {
	if s.cfg.Documents.Formats == nil && definition.IsDocument(info.Workflow.Format) {
		return nil, documents.ErrNone
	}
	r := resources.FromRuns{Trace: s.tracing(info), Workflows: s.workflowType(info)}
	if info.Meta[metaTogether] != "" {
		r.Tools = &branchRuns{s, info}
	}
	return s.opener.Open(ctx, info, r)
}

// plainID matches ids of branches that become part of a run id unchanged. An id with a dot could
// result in the id of a child run.
var plainID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// branchRun returns the id of the run of branch number i.
func branchRun(parent, branch string, i int) string {
	name := branch
	if !plainID.MatchString(branch) {
		name = fmt.Sprintf("#%d", i+1)
	}
	return driver.ChildRunID(parent, name, parent+"\x00"+branch)
}

func (b *branchRuns) spec(ctx context.Context, run string, w *workflow.Workflow, c tool.Call) (driver.Spec, error) {
	spec := driver.Spec{
		Run: run, Workflow: w, WorkflowID: b.info.Workflow.ID, WorkflowName: b.info.Workflow.Name, Model: b.info.Model,
		Meta: maps.Clone(b.info.Meta), Files: map[string][]byte{}, ParentRun: b.info.Run,
	}
	created, err := b.s.created(ctx, b.info.Run)
	if err != nil {
		return spec, err
	}
	spec.Trigger, spec.Labels = TriggerRun, w.Labels.Below(created.Labels)
	spec.Facts = created.Facts // the same facts for all branches
	delete(spec.Meta, metaTogether)
	delete(spec.Meta, metaLimits)
	spec.Meta[project.MetaTargetBranchID] = w.ID
	if b.info.Meta[resources.MetaTrusted] != "" {
		specs, problems := definition.DocumentSpecs(w)
		problems.AllowUnknown() // as decided at the start of the run
		if err := problems.Err(); err != nil {
			return spec, err
		}
		spec.Meta[resources.MetaTrusted] = resources.TrustOf(specs)
	}
	if text := b.info.Meta[metaLimits]; text != "" {
		if err := json.Unmarshal([]byte(text), &spec.Limits); err != nil {
			return spec, fmt.Errorf("read limits of run %s: %w", b.info.Run, err)
		}
	}
	for _, name := range []string{resources.FileTools, resources.FileReplies} {
		data, err := b.info.File(ctx, name)
		switch {
		case err == nil:
			spec.Files[name] = data
		case !errors.Is(err, journal.ErrNotFound):
			return spec, err
		}
	}
	if spec.Place, err = b.s.placeOf(w, resources.Files{Tools: spec.Files[resources.FileTools]}); err != nil {
		return spec, err
	}
	var args struct {
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(c.Arguments, &args); err != nil {
		return spec, fmt.Errorf("read arguments: %w", err)
	}
	if spec.Input = args.Input; spec.Input == nil {
		spec.Input = expr.Quote("")
	}
	return spec, nil
}

// result returns the result of the run of a branch.
func (b *branchRuns) result(ctx context.Context, run, branch string) (tool.Result, error) {
	rec, err := b.s.Read(ctx, run)
	if err != nil {
		return tool.Result{}, err
	}
	o := rec.Object()
	switch {
	case o.Status == event.StatusCompleted && o.Output == nil:
		return tool.Result{Structured: json.RawMessage(`null`)}, nil
	case o.Status == event.StatusCompleted:
		return tool.Result{Structured: o.Output}, nil
	case o.Status == event.StatusPaused:
		return tool.Result{}, tool.Errorf(tool.KindFailed, definition.TogetherTool,
			"branch %q waits for a person, in run %s: answer it there", branch, run)
	case o.Error != nil:
		return tool.Result{}, tool.Errorf(tool.KindFailed, definition.TogetherTool, "branch %q: %s (%s), in run %s",
			branch, o.Error.Message, o.Error.Code, run)
	}
	return tool.Result{}, tool.Errorf(tool.KindFailed, definition.TogetherTool, "branch %q is %s, in run %s", branch,
		o.Status, run)
}

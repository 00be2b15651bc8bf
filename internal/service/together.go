package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// Keys of Meta of a run that runs branches together.
const (
	// metaTogether marks it.
	metaTogether = "together"
	// metaLimits holds the limits that were given for the runs of the branches, as JSON.
	metaLimits = "branchLimits"
)

// branchRuns carries out the tool calls of a run that runs branches together: each starts the run of one branch and waits for its end. The run of a
// branch has an id that follows from its parent's, so that a call which is made again after a crash finds it (P12): the call is idempotent. Safe for
// concurrent use.
type branchRuns struct {
	s    *Service
	info driver.Info
}

var _ driver.Tools = (*branchRuns)(nil)

// Defs implements driver.Tools: no agent is offered anything.
func (b *branchRuns) Defs(context.Context, string) ([]chat.ToolDef, error) { return nil, nil }

// Instructions implements driver.Tools.
func (b *branchRuns) Instructions(context.Context, string) (string, error) { return "", nil }

// Policy implements driver.Tools.
func (b *branchRuns) Policy(context.Context, string, string) (tool.Policy, error) {
	return tool.PolicyRetry, nil
}

// Restore implements driver.Tools.
func (b *branchRuns) Restore(context.Context, []tool.Finished) error { return nil }

// Close implements driver.Tools.
func (b *branchRuns) Close() error { return nil }

// Call implements driver.Tools. The branch is the one of the node.
func (b *branchRuns) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	i := slices.IndexFunc(b.info.Workflow.Branches, func(w *workflow.Workflow) bool { return w.ID == c.Node })
	if i < 0 {
		return tool.Result{}, tool.Errorf(tool.KindUnknownTool, c.Name, "branch %q is not in the definition", c.Node)
	}
	run := branchRun(b.info.Run, b.info.Workflow.Branches[i].ID, i)
	if err := b.begin(ctx, run, b.info.Workflow.Branches[i], c); err != nil {
		return tool.Result{}, err
	}
	for {
		st, err := b.s.driver.Wait(ctx, run)
		switch {
		case err != nil:
			b.stopped(ctx, run)
			return tool.Result{}, err
		case st.Interrupted: // its owner died
			if err := b.takeUp(ctx, run); err != nil {
				return tool.Result{}, err
			}
			continue
		}
		return b.result(ctx, run, c.Node)
	}
}

// plainID is what may stand in the id of a run as it is.
var plainID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// branchRun gives the id of the run of branch number i.
func branchRun(parent, branch string, i int) string {
	if plainID.MatchString(branch) {
		return parent + "." + branch
	}
	return fmt.Sprintf("%s.#%d", parent, i+1)
}

// begin starts the run of a branch, or takes it up where it was started before.
func (b *branchRuns) begin(ctx context.Context, run string, w *workflow.Workflow, c tool.Call) error {
	if g := b.s.kits.givenTo(b.info.Run); g != nil {
		b.s.kits.give(run, g)
	}
	_, err := b.s.store.Head(ctx, run)
	if errors.Is(err, journal.ErrNotFound) {
		var spec driver.Spec
		if spec, err = b.spec(ctx, run, w, c); err == nil {
			_, err = b.s.driver.Start(ctx, spec)
		}
		if !errors.Is(err, journal.ErrExists) {
			return err
		}
		err = nil
	}
	if err != nil {
		return err
	}
	return b.takeUp(ctx, run)
}

func (b *branchRuns) takeUp(ctx context.Context, run string) error {
	err := b.s.driver.Resume(ctx, run)
	if errors.Is(err, journal.ErrOwned) || errors.Is(err, engine.ErrEnded) {
		return nil
	}
	return err
}

func (b *branchRuns) spec(ctx context.Context, run string, w *workflow.Workflow, c tool.Call) (driver.Spec, error) {
	spec := driver.Spec{
		Run: run, Workflow: w, WorkflowID: b.info.Workflow.ID, WorkflowName: b.info.Workflow.Name, Model: b.info.Model,
		Meta: maps.Clone(b.info.Meta), Files: map[string][]byte{}, ParentRun: b.info.Run,
	}
	delete(spec.Meta, metaTogether)
	delete(spec.Meta, metaLimits)
	spec.Meta[project.MetaTargetBranchID] = w.ID
	if b.info.Meta[metaTrusted] != "" {
		specs, problems := documentSpecs(w)
		if err := problems.Err(); err != nil {
			return spec, err
		}
		spec.Meta[metaTrusted] = trustOf(specs)
	}
	if text := b.info.Meta[metaLimits]; text != "" {
		if err := json.Unmarshal([]byte(text), &spec.Limits); err != nil {
			return spec, fmt.Errorf("read limits of run %s: %w", b.info.Run, err)
		}
	}
	for _, name := range []string{fileTools, fileReplies} {
		data, err := b.info.File(ctx, name)
		switch {
		case err == nil:
			spec.Files[name] = data
		case !errors.Is(err, journal.ErrNotFound):
			return spec, err
		}
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

// cancelTime bounds how long the run of a branch is told to stop.
const cancelTime = time.Second

// stopped cancels the run of a branch where its parent was cancelled. Where the parent is only interrupted the branch is too, and goes on with it.
func (b *branchRuns) stopped(ctx context.Context, run string) {
	if ctx.Err() == nil || !errors.Is(context.Cause(ctx), context.Canceled) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	if err := b.s.driver.Cancel(ctx, run, ""); err != nil && !errors.Is(err, engine.ErrEnded) {
		b.s.cfg.Logger.Warn("branch was not cancelled with its parent", "run", run, "error", err)
	}
}

// result gives what the run of a branch came to.
func (b *branchRuns) result(ctx context.Context, run, branch string) (tool.Result, error) {
	o, err := b.s.Show(ctx, run)
	if err != nil {
		return tool.Result{}, err
	}
	switch {
	case o.Status == engine.StatusCompleted && o.Output == nil:
		return tool.Result{Structured: json.RawMessage(`null`)}, nil
	case o.Status == engine.StatusCompleted:
		return tool.Result{Structured: o.Output}, nil
	case o.Status == engine.StatusPaused:
		return tool.Result{}, tool.Errorf(tool.KindFailed, togetherTool, "branch %q waits for a person, in run %s: answer it there", branch, run)
	case o.Error != nil:
		return tool.Result{}, tool.Errorf(tool.KindFailed, togetherTool, "branch %q: %s (%s), in run %s", branch, o.Error.Message, o.Error.Code, run)
	}
	return tool.Result{}, tool.Errorf(tool.KindFailed, togetherTool, "branch %q is %s, in run %s", branch, o.Status, run)
}

// cancelBranches cancels the runs that a run started and that have not ended, and tells whether there were any.
func (s *Service) cancelBranches(ctx context.Context, run, reason string) (bool, error) {
	q := journal.Query{Parent: run, Statuses: []journal.Status{journal.StatusPending, journal.StatusRunning, journal.StatusPaused}}
	found := false
	for {
		heads, next, err := s.store.List(ctx, q)
		if err != nil {
			return found, err
		}
		for _, h := range heads {
			err := s.driver.Cancel(ctx, h.Run, reason)
			switch {
			case err == nil:
				found = true
			case !errors.Is(err, engine.ErrEnded):
				return found, fmt.Errorf("cancel run %s: %w", h.Run, err)
			}
		}
		if q.Cursor = next; next == "" {
			return found, nil
		}
	}
}

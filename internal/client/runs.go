package client

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/client/api"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/view"
	"github.com/hocket-run/hocket/workflow"
)

// Start specifies what to run on the server: a stored workflow, or a document, which needs the role
// edit (D33).
type Start struct {
	Workflow         string
	Draft            bool
	Document, Format string
	AllowUnknown     bool
	// Name is the name for a document that has none.
	Name          string
	Branch, Input string
	// Inputs are the named inputs as a JSON object; nil means none.
	Inputs json.RawMessage
	Limits workflow.Limits
	Labels workflow.Labels
}

// Start starts a run and returns its object. The error may be a *service.InvalidError with the
// locations of problems in the document.
func (r *Remote) Start(ctx context.Context, s Start) (project.Run, error) {
	body := api.StartBody{
		Workflow: optional(s.Workflow), Draft: optional(s.Draft), Document: optional(s.Document),
		Name:         optional(s.Name),
		AllowUnknown: optional(s.AllowUnknown), Branch: optional(s.Branch), Limits: limits(s.Limits),
	}
	if len(s.Labels) > 0 {
		body.Labels = new(map[string]string(s.Labels))
	}
	if s.Format != "" {
		f := api.StartBodyFormat(s.Format)
		body.Format = &f
	}
	if s.Input != "" {
		var in any = s.Input
		body.Input = &in
	}
	if s.Inputs != nil {
		var in any = s.Inputs
		body.Inputs = &in
	}
	res, err := r.api.StartRun(ctx, nil, body)
	var o view.Run
	err = r.read(res, err, (*shortRun)(&o))
	return o.Run, err
}

func limits(l workflow.Limits) *api.Limits {
	if l == (workflow.Limits{}) {
		return nil
	}
	out := api.Limits{MaxTokens: optional(l.MaxTokens), MaxCalls: optional(l.MaxCalls),
		MaxCostUSD:     optional(l.MaxCostUSD),
		MaxConcurrency: optional(int64(l.MaxConcurrency)), MaxLoopIterations: optional(int64(l.MaxLoopIterations))}
	if l.MaxSteps != nil {
		n := int64(*l.MaxSteps)
		out.MaxSteps = &n
	}
	if l.Timeout > 0 {
		out.Timeout = optional(time.Duration(l.Timeout).String())
	}
	return &out
}

// optional returns a pointer to v, or nil if v is the zero value.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// maxPage is the maximum page size of runs on a server.
const maxPage = 200

// List returns a page of runs, newest first. Filters that servers do not support are not sent, such
// as the one by kind.
func (r *Remote) List(ctx context.Context, q journal.Query) (heads []journal.Head, next string, err error) {
	p := api.ListRunsParams{
		Status: optional(statuses(q)), Prefix: optional(q.Prefix), Workflow: optional(q.Workflow),
		Parent:      optional(q.Parent),
		Interrupted: optional(q.Interrupted), Cursor: optional(q.Cursor),
		Limit: optional(int64(min(q.Limit, maxPage))), CreatedFrom: optional(q.CreatedFrom),
		CreatedBefore: optional(q.CreatedBefore),
		Q:             optional(q.SearchText), Label: selectors(q), Format: optional(q.Format),
		Branch:  optional(q.Branch),
		Trigger: optional(q.Trigger), Code: optional(q.Code),
		MinCost: cost(q.MinCost), MaxCost: cost(q.MaxCost), MinDuration: duration(q.MinDuration),
		MaxDuration: duration(q.MaxDuration),
	}
	var page struct {
		Items []view.RunLine
		Next  string
	}
	res, err := r.api.ListRuns(ctx, &p)
	if err := r.read(res, err, &page); err != nil {
		return nil, "", err
	}
	for _, l := range page.Items {
		heads = append(heads, l.Head())
	}
	return heads, page.Next, nil
}

// RunCounts counts runs.
func (r *Remote) RunCounts(ctx context.Context, q journal.Query) (c view.RunCounts, err error) {
	p := api.CountRunsParams{
		Status: optional(statuses(q)), Prefix: optional(q.Prefix), Workflow: optional(q.Workflow),
		Parent:      optional(q.Parent),
		Interrupted: optional(q.Interrupted),
		CreatedFrom: optional(q.CreatedFrom), CreatedBefore: optional(q.CreatedBefore),
		Q: optional(q.SearchText), Label: selectors(q), Format: optional(q.Format), Branch: optional(q.Branch),
		Trigger: optional(q.Trigger), Code: optional(q.Code),
		MinCost: cost(q.MinCost), MaxCost: cost(q.MaxCost), MinDuration: duration(q.MinDuration),
		MaxDuration: duration(q.MaxDuration),
	}
	res, err := r.api.CountRuns(ctx, &p)
	return c, r.read(res, err, &c)
}

func statuses(q journal.Query) string {
	var words []string
	for _, s := range q.Statuses {
		words = append(words, string(s))
	}
	return strings.Join(words, ",")
}

func selectors(q journal.Query) *[]string {
	var texts []string
	for _, s := range q.Labels {
		texts = append(texts, s.String())
	}
	if texts == nil {
		return nil
	}
	return &texts
}

func cost(m *journal.Money) *float64 {
	if m == nil {
		return nil
	}
	return new(m.USD())
}

func duration(d *time.Duration) *string {
	if d == nil {
		return nil
	}
	return new(d.String())
}

// Proceed continues a run as service.Service does: it rejects the same requests with the same
// messages, some of them before anything is sent.
func (r *Remote) Proceed(ctx context.Context, rec service.Recorded, p service.Proceed) error {
	p, err := rec.Addressed(p)
	if err != nil {
		return err
	}
	var body api.ResumeBody
	switch {
	case p.Answer != nil:
		return r.Answer(ctx, rec.Head.Run, *p.Answer)
	case p.Limits != nil:
		body.Limits = limits(*p.Limits)
	}
	return r.resume(ctx, rec.Head.Run, body)
}

// Answer answers a wait.
func (r *Remote) Answer(ctx context.Context, run string, a service.AnswerRequest) error {
	body := api.ResumeBody{Wait: optional(a.Wait), Node: optional(a.Node), Note: optional(a.Note)}
	if a.Decision {
		body.Decision = optional(expr.Text(a.Value))
	} else {
		var v any = a.Value
		body.Input = &v
	}
	if len(a.Arguments) > 0 {
		var v any = a.Arguments
		body.Arguments = &v
	}
	return r.resume(ctx, run, body)
}

// TakeUp resumes an interrupted run.
func (r *Remote) TakeUp(ctx context.Context, run string) error {
	err := r.resume(ctx, run, api.ResumeBody{})
	if o, oerr := r.Show(ctx, run); err != nil && oerr == nil && (o.Status.Ended() || !o.Interrupted) {
		return nil
	}
	return err
}

func (r *Remote) resume(ctx context.Context, run string, body api.ResumeBody) error {
	res, err := r.api.ResumeRun(ctx, run, nil, body)
	stored := err == nil && res.StatusCode == http.StatusAccepted
	if err = r.read(res, err, nil); err == nil {
		r.stored.Store(&storedAnswer{run, stored})
	}
	return err
}

// storedAnswer records whether the last answer is stored for a program that is not running.
type storedAnswer struct {
	run     string
	pending bool
}

// Left reports whether the last answer to a run is stored for a program that does not drive the run
// now. The name of the program is always ""; only the run itself has it.
func (r *Remote) Left(_ context.Context, run string) (program string, left bool, _ error) {
	last := r.stored.Load()
	return "", last != nil && last.run == run && last.pending, nil
}

// Interrupt leaves a run alone: the server drives it.
func (r *Remote) Interrupt(context.Context, string) error { return nil }

// Stopped waits for a run that was cancelled.
func (r *Remote) Stopped(ctx context.Context, run string) (driver.State, error) {
	return r.Wait(ctx, run)
}

// pollInterval is the polling interval for a run without news.
const pollInterval = time.Second

// Wait waits until the run has ended, or is paused or interrupted; no step of a paused run is in
// progress. A Watch of the same run makes it check immediately.
func (r *Remote) Wait(ctx context.Context, run string) (driver.State, error) {
	for {
		o, err := r.Show(ctx, run)
		if err != nil {
			return driver.State{}, err
		}
		if o.Status.Ended() || o.Interrupted || o.Status == event.StatusPaused {
			return driver.State{Status: o.Status, Interrupted: o.Interrupted}, nil
		}
		t := time.NewTimer(pollInterval)
		select {
		case <-t.C:
		case <-r.woken:
		case <-ctx.Done():
			t.Stop()
			return driver.State{}, ctx.Err()
		}
		t.Stop()
	}
}

// Prune deletes runs at rest: old ones, and named ones. If a named run does not exist, it returns
// journal.ErrNotFound and deletes nothing.
func (r *Remote) Prune(ctx context.Context, q journal.PruneQuery) (journal.PruneResult, error) {
	var body api.PruneBody
	if len(q.Runs) > 0 {
		body.Runs = &q.Runs
	}
	if !q.EndedBefore.IsZero() {
		body.EndedBefore = &q.EndedBefore
	}
	if !q.PausedBefore.IsZero() {
		body.PausedBefore = &q.PausedBefore
	}
	var out api.Pruned
	res, err := r.api.PruneRuns(ctx, body)
	if err := r.read(res, err, &out); err != nil {
		return journal.PruneResult{}, err
	}
	return journal.PruneResult{Runs: int(out.Runs), Blobs: int(out.Values), Freed: out.FreedBytes}, nil
}

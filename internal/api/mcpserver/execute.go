package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/view"
	"github.com/hocket-run/hocket/workflow"
)

// Limits on waiting for a run, in seconds. Clients abandon requests after a minute unless they
// receive progress.
const (
	defaultWait = 30
	maxWait     = 600
)

var waitProp = opt("waitSeconds", fmt.Sprintf(`{"type":"integer","minimum":0,"maximum":%d}`, maxWait),
	fmt.Sprintf("How long to wait for the run to end or to need an answer; default %d, 0 returns at once. Progress "+
		"is reported meanwhile.", defaultWait))

type executeArgs struct {
	workflowArgs
	BranchID       string          `json:"branchId"`
	Input          json.RawMessage `json:"input"`
	WaitSeconds    *int            `json:"waitSeconds"`
	Wait           *int            `json:"wait"`
	Session        string          `json:"session"`
	Labels         workflow.Labels `json:"labels"`
	IfBusy         service.IfBusy  `json:"ifBusy"`
	IdempotencyKey string          `json:"idempotencyKey"`
}

func executeWorkflow(ctx context.Context, c *call) (any, error) {
	var args executeArgs
	if err := c.decode(&args); err != nil {
		return nil, err
	}
	return c.execute(ctx, args)
}

func (c *call) execute(ctx context.Context, args executeArgs) (any, error) {
	id, err := args.id()
	if err != nil {
		return nil, err
	}
	if _, err := c.Service.VisibleEntry(ctx, id, c.SeesDrafts()); err != nil {
		return nil, err
	}
	w, d, problems, err := c.Service.LoadStored(ctx, id, service.Which{}, service.LoadOptions{})
	if err == nil {
		err = refused(problems)
	}
	if err != nil {
		return nil, err
	}
	started, err := c.Service.Begin(ctx, service.StartRequest{
		Trigger:  service.TriggerMCP,
		Workflow: w, Stored: d.Entry.ID, Version: d.Version, Branch: args.BranchID, Input: inputText(args.Input),
		Key: args.IdempotencyKey, Session: args.Session, IfBusy: args.IfBusy, Labels: args.Labels,
	})
	if err != nil {
		return nil, err
	}
	c.recordChange("runs.start", started.Run)
	out, err := c.await(ctx, started.Run, seconds(cmp.Or(args.WaitSeconds, args.Wait)), 0)
	if err != nil {
		return nil, err
	}
	out.Again = started.Again
	return c.render(ctx, started.Run, out)
}

// inputText returns the input of a run: a string as is, any other value as JSON.
func inputText(raw json.RawMessage) string {
	var text string
	if raw == nil || json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

func seconds(n *int) time.Duration {
	if n == nil {
		return defaultWait * time.Second
	}
	return time.Duration(*n) * time.Second
}

// outcome is the state of a run as reported by the tools that start and continue runs.
type outcome struct {
	RunID       string         `json:"runId"`
	Status      event.Status   `json:"status"`
	Interrupted bool           `json:"interrupted,omitempty"`
	WaitingFor  string         `json:"waitingFor,omitempty"`
	Turn        *project.Turn  `json:"turn,omitempty"`
	Output      event.Value    `json:"output,omitempty"`
	Error       *project.Error `json:"error,omitempty"`
	Waiting     []waiting      `json:"waiting,omitempty"`
	Next        string         `json:"next"`
	Again       bool           `json:"again,omitempty"`

	reader *view.Reader // reads long values
}

// waiting is an open wait; a flag marks the waits that only a person may answer.
type waiting struct {
	project.Waiting
	Person bool `json:"person,omitempty"`
}

// await waits until the run has ended or needs an answer or the limit has passed, and asks the
// client's user for approvals if the client supports that. Events up to after are not reported as
// progress.
func (c *call) await(ctx context.Context, run string, limit time.Duration, after uint64) (outcome, error) {
	left := map[string]bool{} // waits that the user did not answer
	for {
		st, err := c.follow(ctx, run, limit, &after)
		if err != nil {
			return outcome{}, err
		}
		if st.Status != event.StatusPaused || limit == 0 || !c.canAsk() {
			return c.outcome(ctx, run)
		}
		rec, err := c.Service.ReadShort(ctx, run)
		if err != nil {
			return outcome{}, err
		}
		w := nextDecision(rec, left)
		if w == nil {
			return c.outcome(ctx, run)
		}
		answered, err := c.elicitAnswer(ctx, rec, w)
		if err != nil {
			return outcome{}, err
		}
		left[w.Wait] = !answered
	}
}

// nextDecision returns the oldest open wait that only a person may answer and that is not in left.
func nextDecision(rec service.Recorded, left map[string]bool) *event.WaitOpened {
	for _, w := range rec.Object().Waiting {
		if d := rec.Opened(w.ID); d != nil && service.NeedsPerson(d) && !left[w.ID] {
			return d
		}
	}
	return nil
}

// follow waits for a run and reports its steps to the client if the client requested progress.
// Nothing that happens here ends the run.
func (c *call) follow(ctx context.Context, run string, limit time.Duration, after *uint64) (driver.State, error) {
	open, cancel := c.untilClosing(ctx)
	defer cancel()
	waits, cancel := context.WithTimeout(open, limit)
	defer cancel()
	var (
		st  driver.State
		err error
	)
	if token := c.req.Params.GetProgressToken(); token != nil && limit > 0 {
		p := progress{c: c, ctx: ctx, token: token, after: after}
		if _, w, err := c.Service.RunDefinition(ctx, run); err == nil {
			p.name(w)
		}
		st, err = c.Service.Follow(waits, run, p.event)
	} else {
		st, err = c.Service.Wait(waits, run)
	}
	if err != nil && waits.Err() != nil && ctx.Err() == nil { // the limit has passed
		h, err := c.Service.Head(ctx, run)
		return driver.State{Status: h.Status, Interrupted: h.Interrupted}, err
	}
	return st, err
}

// untilClosing returns a context that is also done when the surrounding server starts to shut down,
// or this one is closed. The caller must call cancel.
func (c *call) untilClosing(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	closing := c.visit.closing()
	go func() {
		select {
		case <-closing:
			cancel()
		case <-c.server.ctx.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// progress reports the steps of a run to a client.
type progress struct {
	c      *call
	ctx    context.Context
	token  any
	after  *uint64
	sent   float64
	titles map[string]string
}

// name records the titles of the nodes.
func (p *progress) name(w *workflow.Workflow) {
	p.titles = map[string]string{}
	for _, n := range w.Nodes {
		p.titles[n.ID] = n.Name
	}
}

func (p *progress) event(e *event.Event) error {
	if e.Seq <= *p.after {
		return nil
	}
	*p.after = e.Seq
	if text := p.words(e); text != "" {
		p.sent++
		// If the client has disconnected, the run continues nevertheless.
		_ = p.c.req.Session.NotifyProgress(p.ctx, &sdk.ProgressNotificationParams{ProgressToken: p.token,
			Progress: p.sent, Message: text})
	}
	return nil
}

// words describes an event for people, or returns "" if the event is of no interest to them.
func (p *progress) words(e *event.Event) string {
	node := escaped(cmp.Or(p.titles[e.Node], e.Node))
	switch d := e.Data.(type) {
	case *event.StepStarted:
		if d.Kind == workflow.KindJoin {
			return ""
		}
		return node + " started"
	case *event.StepCompleted:
		return node + " completed"
	case *event.StepFailed:
		return node + " failed: " + truncate(escaped(d.Error.Message), maxProgress)
	case *event.StepRetrying:
		return fmt.Sprintf("%s is retried (attempt %d)", node, d.Attempt)
	case *event.ToolCalled:
		return node + " calls the tool " + escaped(d.Tool)
	case *event.WaitOpened:
		if d.Kind == workflow.WaitSignal {
			return node + " waits for the signal " + d.Signal
		}
		return node + " waits for a person (" + d.Kind + ")"
	}
	return ""
}

// maxProgress is the maximum size in bytes of model and tool output in progress messages.
const maxProgress = 200

// outcome returns the current state of a run.
func (c *call) outcome(ctx context.Context, run string) (outcome, error) {
	r, err := c.Service.View(ctx, run)
	if err != nil {
		return outcome{}, noSuchRun(err, run)
	}
	o, err := r.Run(ctx, view.Page{})
	if err != nil {
		return outcome{}, noSuchRun(err, run)
	}
	out := outcome{RunID: run, Status: o.Status, Interrupted: o.Interrupted, WaitingFor: o.WaitingFor, Turn: o.Turn,
		Error: o.Error, reader: r}
	if o.Status == event.StatusCompleted {
		out.Output = o.Output
	}
	for _, w := range o.Waiting {
		d, err := c.Service.Opened(ctx, run, w.ID)
		if err != nil {
			return outcome{}, err
		}
		out.Waiting = append(out.Waiting, waiting{w, service.NeedsPerson(d)})
	}
	out.Next = c.nextAction(out)
	if o.Status == event.StatusPaused {
		program, left, err := c.Service.Left(ctx, run)
		if err != nil {
			return outcome{}, err
		}
		if left {
			out.Next = "Nothing: the answer is stored. The program " + escaped(program) + " applies it when it runs."
		}
	}
	return out, nil
}

// nextAction returns what a model should do next.
func (c *call) nextAction(o outcome) string {
	switch {
	case o.Status == event.StatusCompleted:
		return "Nothing: the run has completed."
	case o.Status == event.StatusFailed:
		return "get_run shows which step failed, with its input and error; fix it with update_workflow or " +
			"update_agent and run it again."
	case o.Status == event.StatusCancelled:
		return "Nothing: the run was cancelled."
	case o.WaitingFor != "":
		return "The run waits for place " + o.WaitingFor +
			", where no process is running. It continues when one is started there."
	case o.Turn != nil && o.Turn.Before == 0:
		return fmt.Sprintf("The run is next: it begins when run %s, or another one of its concurrency key, has "+
			"ended. Call get_run later.", o.Turn.Run)
	case o.Turn != nil:
		return fmt.Sprintf("The run waits for its turn, behind run %s: %d of its concurrency key wait before it. "+
			"Call get_run later.", o.Turn.Run, o.Turn.Before)
	case o.Interrupted:
		return "No process drives the run. resume_run continues it."
	case o.Status != event.StatusPaused:
		return "The run is in progress. Call get_run later."
	}
	for _, w := range o.Waiting {
		if w.Person {
			return c.personText(o.RunID, w.ID)
		}
	}
	if !slices.ContainsFunc(o.Waiting, func(w waiting) bool { return w.Kind != workflow.WaitSignal }) {
		return "The run waits for a signal of another program, and continues when it comes; signal_run sends one " +
			"(id, signal, value)."
	}
	return "The run waits for an answer: give it with resume_run (id, input, and wait if several are open)."
}

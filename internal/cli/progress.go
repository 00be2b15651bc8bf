package cli

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/workflow"
)

// progress shows a run while it goes on. Safe for concurrent use; after done it shows nothing.
type progress interface {
	// past takes an event in without showing it.
	past(e engine.Event)
	event(e engine.Event)
	delta(d driver.Delta)
	// say writes whole lines of something else.
	say(text string)
	// hide takes what is drawn away until the run goes on, so that a person may be asked.
	hide()
	done()
}

type silent struct{}

func (silent) past(engine.Event)  {}
func (silent) event(engine.Event) {}
func (silent) delta(driver.Delta) {}
func (silent) say(string)         {}
func (silent) hide()              {}
func (silent) done()              {}

// activity is one running step as it is shown.
type activity struct {
	step    int
	node    string
	kind    workflow.Kind
	iter    int
	started time.Time
	usage   chat.Usage
	doing   string // what it does now, where that is worth a word
	said    string // the last of what its model says
}

func (a *activity) title() string {
	if a.iter > 1 {
		return fmt.Sprintf("%s (%d)", clean(a.node), a.iter)
	}
	return clean(a.node)
}

// board keeps the running steps and words finished ones. It is the part that both forms share.
type board struct{ running []*activity }

func (b *board) find(step int) *activity {
	for _, a := range b.running {
		if a.step == step {
			return a
		}
	}
	return nil
}

// line is what an event is worth: a mark, a text, and how it is meant.
type line struct {
	mark string // one of the marks below
	text string
}

const (
	markDone  = "✓"
	markFail  = "✗"
	markWait  = "?"
	markRetry = "↻"
	markStop  = "-"
)

// add takes an event in and gives the line that it is worth, if any.
func (b *board) add(e engine.Event) *line {
	a := b.find(e.Step)
	switch d := e.Data.(type) {
	case *engine.StepStarted:
		if d.Kind == workflow.KindJoin {
			return nil
		}
		b.running = append(b.running, &activity{step: e.Step, node: e.Node, kind: d.Kind, iter: d.Iteration, started: e.At})
	case *engine.ModelCalled:
		if a != nil {
			a.doing, a.said = "", ""
		}
	case *engine.ModelReplied:
		if a != nil && d.Usage != nil {
			a.usage = a.usage.Add(*d.Usage)
		}
		if a != nil {
			a.said = ""
		}
	case *engine.ToolCalled:
		if a != nil {
			a.doing = "tool " + clean(d.Tool)
		}
	case *engine.SubagentStarted:
		if a != nil {
			a.doing = "sub-agent " + clean(d.Agent)
		}
	case *engine.StepRetrying:
		if a != nil {
			a.doing = fmt.Sprintf("tries again (attempt %d)", d.Attempt)
			return &line{markRetry, fmt.Sprintf("%s  attempt %d follows: %s (%s)", a.title(), d.Attempt, clean(d.Error.Message), d.Error.Code)}
		}
	case *engine.StepCompleted:
		return b.end(a, e, markDone, "")
	case *engine.StepFailed:
		return b.end(a, e, markFail, clean(d.Error.Message)+" ("+d.Error.Code+")")
	case *engine.StepCancelled:
		return b.end(a, e, markStop, "cancelled")
	case *engine.StepSkipped:
		return b.end(a, e, markStop, "skipped: "+d.Reason)
	case *engine.WaitOpened:
		if a != nil {
			a.doing = "waits for a person"
		}
		return &line{markWait, fmt.Sprintf("%s  waits for a person (%s)", clean(e.Node), d.Kind)}
	case *engine.LimitReached:
		if d.Limit != "max_rounds" {
			return &line{markStop, "limit reached: " + limitText(d)}
		}
	}
	return nil
}

// limitText words a bound that was met.
func limitText(d *engine.LimitReached) string {
	switch {
	case d.Limit == engine.CodeTimeout:
		return duration(time.Duration(d.Max)*time.Millisecond) + " of running time"
	case d.Limit == engine.CodeBudget && d.Detail == "tokens":
		return counted(d.Max, "token")
	case d.Limit == engine.CodeBudget:
		return fmt.Sprintf("%.2f USD", float64(d.Max)/1e6)
	}
	return fmt.Sprintf("%s %d", d.Limit, d.Max)
}

func (b *board) end(a *activity, e engine.Event, mark, text string) *line {
	if a == nil {
		return nil
	}
	b.running = slices.DeleteFunc(b.running, func(x *activity) bool { return x == a })
	parts := []string{a.title()}
	if d := e.At.Sub(a.started); a.kind != workflow.KindStart && a.kind != workflow.KindDecide {
		parts = append(parts, duration(d))
	}
	if t := a.usage.InputTokens + a.usage.OutputTokens; t > 0 {
		parts = append(parts, counted(t, "token"))
	}
	if text != "" {
		parts = append(parts, text)
	}
	return &line{mark, strings.Join(parts, "  ")}
}

// plain writes a line for each step that ends, for logs and pipes.
type plain struct {
	mu    sync.Mutex
	app   *app
	board board
	ended bool
}

func newPlain(a *app) *plain { return &plain{app: a} }

func (p *plain) past(e engine.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.board.add(e)
}

func (p *plain) event(e engine.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.board.add(e); l != nil && !p.ended {
		fmt.Fprintf(p.app.Err, "%s %s\n", l.mark, l.text)
	}
}

func (p *plain) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprint(p.app.Err, text)
}

func (p *plain) delta(driver.Delta) {}
func (p *plain) hide()              {}

func (p *plain) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
}

package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/workflow"
)

// progress shows a run in progress. It is safe for concurrent use; after done it shows nothing.
type progress interface {
	// name sets the names of the run's nodes. It is called before any event.
	name(w *workflow.Workflow)
	// skip processes an event without showing it.
	skip(e event.Event)
	event(e event.Event)
	delta(d driver.Delta)
	// say writes other whole lines.
	say(text string)
	// hide erases the display until the run continues, so that a person can be asked.
	hide()
	done()
}

type silent struct{}

func (silent) name(*workflow.Workflow) {}
func (silent) skip(event.Event)        {}
func (silent) event(event.Event)       {}
func (silent) delta(driver.Delta)      {}
func (silent) say(string)              {}
func (silent) hide()                   {}
func (silent) done()                   {}

// activity is one running step in the display.
type activity struct {
	step     int
	name     string
	kind     workflow.Kind
	iter     int
	started  time.Time
	usage    chat.Usage
	cost     chat.Money      // as far as known
	calls    map[string]bool // tool calls, and whether the last attempt failed
	items    int             // of a map: the number of its items, if known
	ended    int             // and how many of them ended
	doing    string          // current activity, if worth mentioning
	waits    bool            // for a person
	output   string          // the end of its model output
	fallback string          // the current fallback of its agent; "" means its own model
	handedTo string          // the agent that the conversation was handed over to
	subs     []int           // frames of its sub-agents
}

func (a *activity) title() string {
	if a.iter > 1 {
		return fmt.Sprintf("%s (%d)", a.name, a.iter)
	}
	return a.name
}

// board tracks the running steps and formats the lines of finished ones. Both displays share it.
type board struct {
	titles  map[string]string // by node path
	hidden  map[string]bool   // paths of nodes that are in no document (D13)
	tools   toolBoard
	agents  map[string]string // titles of agents by id, including those of sub-flows
	running []*activity
}

// name fills titles: a node is shown by its title, with its id if several nodes share the title.
func (b *board) name(w *workflow.Workflow) {
	b.titles, b.hidden, b.agents = map[string]string{}, map[string]bool{}, map[string]string{}
	count := map[string]int{}
	var walk func(w *workflow.Workflow, prefix string, depth int)
	walk = func(w *workflow.Workflow, prefix string, depth int) {
		for i := range w.Agents {
			b.agents[w.Agents[i].ID] = w.Agents[i].Title()
		}
		for i := range w.Nodes {
			n := &w.Nodes[i]
			b.titles[prefix+n.ID] = n.Title()
			if n.Hidden {
				b.hidden[prefix+n.ID] = true
				continue
			}
			count[n.Title()]++
			if n.Subflow != nil && w.Flows[n.Subflow.Flow] != nil && depth < workflow.MaxFlowDepth {
				walk(w.Flows[n.Subflow.Flow], prefix+n.ID+"/", depth+1)
			}
		}
	}
	walk(w, "", 0)
	for path, title := range b.titles {
		if count[title] > 1 {
			b.titles[path] = title + " [" + path + "]"
		}
	}
}

func (b *board) title(path string) string {
	if t := b.titles[path]; t != "" {
		return clean(t)
	}
	return clean(path)
}

func (b *board) find(step int) *activity {
	for _, a := range b.running {
		if a.step == step {
			return a
		}
	}
	return nil
}

// line is the output line for an event.
type line struct {
	mark  string // one of the marks below
	title string
	facts string // duration, tokens
	text  string
}

// anyWidth is the width used if the output is not a terminal.
const anyWidth = 1 << 20

// fit returns the line without its mark in at most width columns. The title is truncated in favor
// of the facts, and the text in favor of both.
func (l *line) fit(width int) string {
	parts := []string{l.title}
	if l.facts != "" {
		parts = []string{short(l.title, max(width-2-columns(l.facts), minTail)), l.facts}
	}
	if l.text != "" {
		parts = append(parts, l.text)
	}
	return short(strings.Join(parts, "  "), width)
}

// minTail is the minimum width at which a text is worth showing.
const minTail = 8

const (
	markDone    = "✓"
	markFail    = "✗"
	markWait    = "?"
	markRetry   = "↻"
	markWarning = "!"
	markStop    = "-"
	markTool    = "·"
)

// add processes an event and returns the line for it, if any.
func (b *board) add(e event.Event) *line {
	a := b.find(e.Step)
	if a != nil {
		b.follow(a, e.Data)
	}
	if l := b.tools.add(a, e); l != nil {
		return l
	}
	switch d := e.Data.(type) {
	case *event.StepStarted:
		if d.Kind != workflow.KindJoin && !b.hidden[e.Node] {
			a = &activity{step: e.Step, name: b.title(e.Node), kind: d.Kind, iter: d.Iteration, started: e.At}
			b.running = append(b.running, a)
			if d.Kind == workflow.KindMap {
				var list []json.RawMessage
				if json.Unmarshal(d.Input, &list) == nil {
					a.items = len(list)
				}
			}
			if d.Until != nil {
				a.doing = "sleeps until " + d.Until.Local().Format("15:04:05")
				if d.Until.Sub(e.At) >= 24*time.Hour {
					a.doing = "sleeps until " + d.Until.Local().Format("2006-01-02 15:04")
				}
				return &line{markTool, a.title(), a.doing, ""}
			}
		}
	case *event.AgentCompacted:
		if a != nil && d.Error == nil {
			return &line{markTool, a.title(), "shortened its conversation",
				fmt.Sprintf("%d messages became %d", d.Before, d.After)}
		} else if a != nil {
			return &line{markWarning, a.title(), "", "its conversation was not shortened: " + clean(d.Error.Message)}
		}
	case *event.ModelCalled:
		if in := d.Instead; a != nil && in != nil && a.fallback != d.Model {
			a.fallback = d.Model
			return &line{markWarning, a.title(), "asks " + clean(d.Model), "instead of " + clean(in.Model) + " (" +
				in.Code + ")"}
		} else if a != nil && in == nil {
			a.fallback = ""
		}
	case *event.ModelReplied:
		if a != nil && d.Stop == string(model.StopLength) {
			return &line{markWarning, a.title(), "", "the model's answer was cut off at its token limit"}
		}
	case *event.StepRetrying:
		if a != nil {
			in, at := "", ""
			if wait := d.Until.Sub(e.At); wait >= time.Second { // the provider may request an hour
				in, at = " in "+duration(wait), " at "+d.Until.Local().Format("15:04:05")
			}
			a.doing = fmt.Sprintf("retries%s (attempt %d)", at, d.Attempt)
			return &line{markRetry, a.title(), fmt.Sprintf("attempt %d follows%s", d.Attempt, in),
				clean(d.Error.Message) + " (" + d.Error.Code + ")"}
		}
	case *event.StepCompleted:
		return b.end(a, e, markDone, a.ending(d))
	case *event.StepFailed:
		return b.end(a, e, markFail, clean(d.Error.Message)+" ("+d.Error.Code+")")
	case *event.StepCancelled:
		return b.end(a, e, markStop, "cancelled")
	case *event.StepSkipped:
		return b.end(a, e, markStop, "skipped: "+d.Reason)
	case *event.WaitOpened:
		return &line{markWait, b.title(e.Node), awaited(d, " ("+d.Kind+")"), ""}
	case *event.LimitReached:
		if d.Limit != "max_rounds" {
			return &line{mark: markStop, title: "limit reached: " + limitText(d)}
		}
	}
	return nil
}

// follow records what an activity is doing now.
func (b *board) follow(a *activity, data event.Data) {
	switch d := data.(type) {
	case *event.ModelCalled:
		if a.doing, a.output = "", ""; d.Compaction != nil {
			a.doing = "shortens its conversation"
		}
	case *event.ModelFailed:
		a.use(d.Usage, d.CostUSD)
	case *event.ModelReplied:
		a.use(d.Usage, d.CostUSD)
		a.output = ""
	case *event.EdgeTaken:
		if a.kind == workflow.KindMap && d.Edge < 0 && d.Token == 0 { // an item returns to its map
			a.ended++
			a.doing = a.done()
		}
	case *event.ToolCalled:
		a.doing = "tool " + clean(d.Tool)
		a.count(d.Call, false)
	case *event.ToolReturned:
		if d.IsError {
			a.count(d.Call, true)
		}
	case *event.ToolFailed:
		if !d.Unknown && !d.Kept {
			a.count(d.Call, true)
		}
	case *event.SubagentStarted:
		a.doing = "sub-agent " + clean(d.Agent)
		a.subs = append(a.subs, d.Frame)
	case *event.AgentHanded:
		to := clean(cmp.Or(b.agents[d.Agent], d.Agent))
		a.doing = "agent " + to
		if !slices.Contains(a.subs, d.Frame) {
			a.handedTo = to
		}
	case *event.StepRetrying:
		if d.Call == "" {
			a.handedTo = "" // the step's own agent starts again
		}
	case *event.WaitOpened:
		a.doing, a.waits = awaited(d, ""), true
	}
}

// awaited describes what a step waits for.
func awaited(d *event.WaitOpened, kind string) string {
	if d.Kind == workflow.WaitSignal {
		return "waits for the signal " + clean(d.Signal)
	}
	return "waits for a person" + kind
}

// ending describes the outcome of a completed step: which agent answered, or which port was
// taken. It returns "" if a is nil.
func (a *activity) ending(d *event.StepCompleted) string {
	if a == nil {
		return ""
	}
	if (a.kind == workflow.KindDecide || a.kind == workflow.KindWait) && len(d.Ports) > 0 {
		if way := strings.Join(d.Ports, ", "); way != workflow.PortOut { // the only port is not worth mentioning
			return "→ " + clean(strings.TrimPrefix(way, workflow.NextPort("")))
		}
	}
	if a.handedTo != "" {
		return "answered by " + a.handedTo
	}
	return ""
}

// limitText describes a limit that was reached.
func limitText(d *event.LimitReached) string {
	switch {
	case d.Limit == event.CodeWorkflowBudget:
		return d.Detail
	case d.Limit == event.CodeTimeout:
		return duration(time.Duration(d.Max)*time.Millisecond) + " of running time"
	case (d.Limit == event.CodeBudget || d.Limit == event.CodeNodeBudget || d.Limit == event.CodeParentBudget) &&
		d.Detail != ledger.DetailMoney:
		return pluralize(d.Max, strings.TrimSuffix(d.Detail, "s"))
	case d.Limit == event.CodeBudget, d.Limit == event.CodeNodeBudget, d.Limit == event.CodeParentBudget:
		return fmt.Sprintf("%.2f USD", ledger.USD(d.Max))
	case d.Limit == event.CodeOscillation: // Max are allowed; the next one reaches the limit (S3-15)
		return fmt.Sprintf("the same reply on the same path, %d times", d.Max+1)
	}
	return fmt.Sprintf("%s %d", d.Limit, d.Max)
}

func (b *board) end(a *activity, e event.Event, mark, text string) *line {
	if a == nil {
		return nil
	}
	b.running = slices.DeleteFunc(b.running, func(x *activity) bool { return x == a })
	if a.kind == workflow.KindStart {
		return nil
	}
	if a.kind == workflow.KindDecide {
		return &line{mark: mark, title: a.title(), text: text}
	}
	return &line{mark, a.title(), a.facts(e.At), text}
}

// facts returns the duration until now, the tokens and the tool calls.
func (a *activity) facts(now time.Time) string {
	s := duration(now.Sub(a.started))
	if t := a.usage.InputTokens + a.usage.OutputTokens; t > 0 {
		s += "  " + pluralize(t, "token")
	}
	if a.cost > 0 {
		s += "  " + money(a.cost)
	}
	if n := len(a.calls); n > 0 {
		s += "  " + pluralize(int64(n), "tool call")
	}
	failed := 0
	for _, f := range a.calls {
		if f {
			failed++
		}
	}
	if failed > 0 {
		s += fmt.Sprintf(", %d failed", failed)
	}
	return s
}

// count records a tool call, and whether its last attempt failed. A call that was refused is not
// made before it fails.
func (a *activity) count(call string, failed bool) {
	if a.calls == nil {
		a.calls = map[string]bool{}
	}
	a.calls[call] = failed
}

// done returns how many items of a map have ended.
func (a *activity) done() string {
	if a.items == 0 {
		return fmt.Sprintf("done %d", a.ended)
	}
	return fmt.Sprintf("done %d/%d", a.ended, a.items)
}

// use adds the usage of a call, as far as it is known.
func (a *activity) use(u *chat.Usage, costUSD *float64) {
	if u != nil {
		a.usage = a.usage.Add(*u)
	}
	if costUSD != nil {
		a.cost = a.cost.Plus(chat.ToMoney(*costUSD))
	}
}

// plain writes one line per finished step, for logs and pipes.
type plain struct {
	mu    sync.Mutex
	app   *app
	board board
	ended bool
}

func newPlain(a *app) *plain { return &plain{app: a} }

func (p *plain) name(w *workflow.Workflow) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.board.name(w)
}

func (p *plain) skip(e event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.board.add(e)
}

func (p *plain) event(e event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.board.add(e); l != nil && !p.ended {
		fmt.Fprintf(p.app.Err, "%s %s\n", l.mark, l.fit(anyWidth))
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

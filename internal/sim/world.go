package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/tool"
)

// World is everything outside the processes of a test: models, tools and the log of calls. It is
// the same world across crashes. Set the functions before it is used; they may be called
// concurrently by many goroutines.
type World struct {
	// Model answers model calls; nil means an echo of the last message.
	Model func(ctx context.Context, q model.Request) (model.Reply, error)
	// Tools answer tool calls, by name.
	Tools map[string]Tool
	// Func answers node functions; rec stores their notes.
	Func func(ctx context.Context, run string, c *engine.CallFunc, rec driver.Caller) engine.FuncResult

	mu       sync.Mutex
	calls    []Call
	journal  func(run string) []event.Event
	begun    map[string]int
	notes    map[string]int
	wrong    []string
	restored []tool.Finished
	infos    map[string]driver.Info
}

// Tool is a tool of the world.
type Tool struct {
	Policy tool.Policy
	Do     func(ctx context.Context, c tool.Call) (tool.Result, error)
	// Asks means that a person must approve each call first, as with permissions (P8).
	Asks bool
	// Alone means that calls are not in flight together with others of the same reply.
	Alone bool
}

// binding identifies one call of a tool that asks for approval.
func binding(c tool.Call) string { return tool.Binding(c, "sim", "hash of "+c.Name) }

// Call is one call that reached the world.
type Call struct {
	Key  string
	Node string
	// Kind is `model`, `tool` or `func`; Name is the tool or function.
	Kind, Name string
	Text       string
}

// Process is a simulated process: a driver that may stop at any point.
type Process struct {
	w *World
	// overtaken reports whether others have claimed its runs; nil means never.
	overtaken func() bool
}

// Process returns a process. overtaken reports whether it is dead or considered dead, so that
// others may own its runs. Without knowing that, it may still start calls that it journaled before;
// such a call is not reported as wrong because of a result that the next owner has stored.
func (w *World) Process(overtaken func() bool) *Process { return &Process{w, overtaken} }

// Open implements driver.OpenFunc, for a process that is never overtaken.
func (w *World) Open(ctx context.Context, info driver.Info) (*driver.RunResources, error) {
	return w.Process(nil).Open(ctx, info)
}

// Open implements driver.OpenFunc.
func (p *Process) Open(_ context.Context, info driver.Info) (*driver.RunResources, error) {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.infos == nil {
		w.infos = map[string]driver.Info{}
	}
	w.infos[info.Run] = info
	return &driver.RunResources{Models: worldModels{p, info.Run}, Tools: &worldTools{p}, DefaultModel: "sim/default",
		Program: p.Program()}, nil
}

// Models returns the models of the world as a run sees them.
func (w *World) Models(run string) model.Client { return worldModels{w.Process(nil), run} }

// Program implements Config.Program of drivers, for workflows with functions.
func (w *World) Program() driver.Program { return w.Process(nil).Program() }

// Program implements Config.Program of drivers, for workflows with functions.
func (p *Process) Program() driver.Program { return program{p: p} }

// Info returns the driver's description of a run from when it was last opened.
func (w *World) Info(run string) driver.Info {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.infos[run]
}

// Started returns how often calls with this key were made.
func (w *World) Started(key string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.begun[key]
}

// Calls returns the calls so far, in the order in which they started.
func (w *World) Calls() []Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

// Count returns how many calls of a kind came from a node; "" counts all nodes.
func (w *World) Count(kind, node string) int {
	n := 0
	for _, c := range w.Calls() {
		if c.Kind == kind && (node == "" || c.Node == node) {
			n++
		}
	}
	return n
}

// Restored returns what was passed to tools after restarts.
func (w *World) Restored() []tool.Finished {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.restored)
}

// Check makes the world check every call against what read returns as the stored journal of its
// run, see Wrong. Calling it again has no effect.
func (w *World) Check(read func(run string) []event.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.journal == nil {
		w.journal = read
	}
}

// Wrong returns the calls that should not have been made when they were (D7, D8). It requires
// Check.
func (w *World) Wrong() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.wrong)
}

// begin logs a call and checks it against the journal, which must contain the request (D7) but no
// result (D8).
func (p *Process) begin(run string, c Call) {
	w := p.w
	problem, again := "", false
	w.mu.Lock()
	journal := w.journal
	w.mu.Unlock()
	if journal != nil {
		problem, again = check(journal(run), strings.TrimPrefix(c.Key, run+"/"))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if again && p.overtaken != nil && p.overtaken() {
		problem = ""
	}
	if w.begun == nil {
		w.begun = map[string]int{}
	}
	w.begun[c.Key]++
	w.calls = append(w.calls, c)
	if problem != "" {
		w.wrong = append(w.wrong, fmt.Sprintf("%s call %s of %s %s", c.Kind, c.Key, c.Node, problem))
	}
}

// check returns the problem with making a call now, or "" if there is none; again reports whether
// the problem is that the call already has its result.
func check(events []event.Event, call string) (problem string, again bool) {
	asked := false
	for _, e := range events {
		switch d := e.Data.(type) {
		case *event.ModelCalled:
			asked = asked || d.Call == call
		case *event.ToolCalled:
			asked = asked || d.Call == call
		case *event.FuncCalled:
			asked = asked || d.Call == call
		case *event.ModelReplied:
			again = again || d.Call == call
		case *event.ToolReturned:
			again = again || d.Call == call
		case *event.FuncReturned:
			again = again || d.Call == call && d.Error == nil
		}
	}
	switch {
	case again:
		return "was made again though its result is in the journal (D8)", true
	case !asked:
		return "was made before the journal has it (D7)", false
	}
	return "", false
}

type worldModels struct {
	p   *Process
	run string
}

// Call implements model.Client.
func (m worldModels) Call(ctx context.Context, q model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	m.p.begin(m.run, Call{Key: q.IdempotencyKey, Node: q.Node, Kind: "model", Name: q.Agent, Text: q.LastText()})
	reply := Reply("%s", q.LastText())
	if m.p.w.Model != nil {
		var err error
		if reply, err = m.p.w.Model(ctx, q); err != nil {
			return model.Reply{}, err
		}
	}
	if onDelta != nil && !reply.Message.Text.IsZero() {
		half := int(reply.Message.Text.Len()) / 2
		onDelta(model.Delta{Text: reply.Message.Text.String()[:half]})
		onDelta(model.Delta{Text: reply.Message.Text.String()[half:]})
	}
	return reply, nil
}

// Reply returns a reply with a formatted text.
func Reply(format string, args ...any) model.Reply {
	return model.Reply{
		Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(fmt.Sprintf(format, args...))},
		Usage:   &chat.Usage{InputTokens: 2, OutputTokens: 1},
	}
}

// worldTools implements driver.Tools; every agent has every tool.
type worldTools struct{ p *Process }

func (t *worldTools) Defs(context.Context, string) ([]chat.ToolDef, error) {
	var defs []chat.ToolDef
	for name := range t.p.w.Tools {
		defs = append(defs, chat.ToolDef{Name: name})
	}
	slices.SortFunc(defs, func(a, b chat.ToolDef) int { return strings.Compare(a.Name, b.Name) })
	return defs, nil
}

func (t *worldTools) Instructions(context.Context, string) (string, error) { return "", nil }

func (t *worldTools) Policy(_ context.Context, c tool.Call) (tool.Policy, error) {
	if t.p.w.Tools[c.Name].Asks && c.Approved == "" {
		return tool.PolicyRetry, nil // it was not run
	}
	return t.p.w.Tools[c.Name].Policy, nil
}

func (t *worldTools) Order(_ context.Context, c tool.Call) (concurrent, asks bool) {
	return !t.p.w.Tools[c.Name].Alone, !c.Delegates && t.p.w.Tools[c.Name].Asks
}

func (t *worldTools) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if t.p.w.Tools[c.Name].Asks && c.Approved != binding(c) {
		return tool.Result{}, &tool.HoldError{Hold: tool.Hold{Kind: tool.HoldApproval, Prompt: "Allow it?",
			Arguments: tool.Canonical(c.Arguments), Binding: binding(c)}}
	}
	if c.CheckOnly {
		return tool.Result{Permitted: true}, nil
	}
	t.p.begin(c.Run, Call{Key: c.Key, Node: c.Node, Kind: "tool", Name: c.Name, Text: string(c.Arguments)})
	do := t.p.w.Tools[c.Name].Do
	if do == nil {
		return tool.Result{Text: "done"}, nil
	}
	return do(ctx, c)
}

func (t *worldTools) Restore(_ context.Context, calls []tool.Finished) error {
	t.p.w.mu.Lock()
	defer t.p.w.mu.Unlock()
	t.p.w.restored = slices.Clone(calls)
	return nil
}

func (t *worldTools) Close() error { return nil }

// program implements driver.Program; the host's pure functions are not used.
type program struct {
	engine.Host
	p *Process
}

func (p program) Call(ctx context.Context, run string, c *engine.CallFunc, rec driver.Caller) engine.FuncResult {
	p.p.begin(run, Call{Key: c.Key, Node: c.Node, Kind: "func", Name: c.Func, Text: string(c.Input)})
	if p.p.w.Func == nil {
		return engine.FuncResult{Output: c.Input}
	}
	return p.p.w.Func(ctx, run, c, rec)
}

package engine

import (
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

// A line is the part of a run in which one plain function follows another: functions of a typed
// state that return nothing but a changed state, with decisions and counters between them. A driver
// may run it without the engine and keep one [LineRecord] for each function. The records are the
// history of the run, and an [Expander] makes the events of them: it passes the results to a run,
// which decides as it always does.

// Line is a plan as a line sees it: the nodes of the run's own graph, at the indexes of the plan. It
// is immutable.
type Line struct {
	Nodes []LineNode
	Entry int
}

// LineKind is what a line does at a node.
type LineKind uint8

// The kinds of nodes of a line. At a node of kind LineNone the line ends.
const (
	LineNone LineKind = iota
	LineFunc
	LineCount
	LineDecide
)

// Targets that are no node: the run completes, or the engine decides what follows.
const (
	LineEnd   = -1
	LineLeave = -2
)

// LineNode is a node of a [Line]. After it, the first of Checks that holds decides which node is
// next, otherwise Else does.
type LineNode struct {
	ID     string
	Kind   LineKind
	Hidden bool   // the node does not count as a step
	Func   string // of LineFunc
	// Counter is what a node of kind LineCount counts.
	Counter *Counter
	Checks  []LineCheck
	Else    int
}

// LineCheck is a condition of a program, and the node that follows if it holds.
type LineCheck struct {
	Func string
	Next int
}

// MaxLineChecks is the maximum number of conditions between two functions of a line.
const MaxLineChecks = 32

// LineRecord is what a line records of one function, or of the start of a run: all that follows from
// it.
type LineRecord struct {
	// State is the program's own form of the state afterwards; nil for the start of a run.
	State any
	// At is when the function returned, in microseconds since the time from which the line counts.
	At int64
	// Checks holds the results of the conditions that were evaluated before the next function, in
	// order, from the lowest bit on; Count is their number.
	Checks uint32
	Count  uint8
}

// Line returns the plan as a line sees it, or nil if no run of it has a line.
func (p *Plan) Line() *Line { return p.line }

// newLine returns the line of a plan, nil if it can have none.
func newLine(f *plan.Flow) *Line {
	rules := &f.Workflow.Rules
	if !rules.InputIsState || rules.DefaultInput != nil || rules.Handoff != "" || rules.SharedConversation ||
		f.Workflow.Limits.MaxRounds > 0 || f.Output != nil || f.OutputSchema != nil {
		return nil
	}
	entry, ok := f.Index[f.Workflow.Entry]
	if !ok {
		return nil
	}
	l := &Line{Nodes: make([]LineNode, len(f.Nodes)), Entry: entry}
	found := false
	for i := range f.Nodes {
		l.Nodes[i] = lineNode(f, &f.Nodes[i])
		found = found || l.Nodes[i].Kind == LineFunc
	}
	if !found {
		return nil
	}
	return l
}

func lineNode(f *plan.Flow, n *plan.Node) LineNode {
	l := LineNode{ID: n.ID, Hidden: n.Hidden, Else: LineLeave}
	if n.Header || n.Parent != "" || n.Node.If != nil || n.Timeout > 0 || n.CallTimeout > 0 || n.Budget != nil {
		return l
	}
	var ok bool
	switch n.Kind {
	case workflow.KindFunc:
		if l.Checks, l.Else, ok = lineEdges(f, n); !ok {
			return l
		}
		if l.Kind, l.Func = LineFunc, n.Func.Func; n.Counter != nil {
			l.Kind, l.Counter = LineCount, n.Counter
		}
	case workflow.KindDecide:
		for i := range n.Decide.Cases {
			c := &n.Decide.Cases[i]
			next, ok := lineNext(f, n.Ports[c.Port])
			if !ok || c.When.Language != workflow.LangFunc {
				return l
			}
			l.Checks = append(l.Checks, LineCheck{c.When.Func, next})
		}
		if n.Decide.Else == "" {
			return l
		}
		if l.Else, ok = lineNext(f, n.Ports[n.Decide.Else]); ok {
			l.Kind = LineDecide
		}
	}
	return l
}

// lineNext returns the node to which the edges of a port lead, or false if the engine must decide.
func lineNext(f *plan.Flow, edges []int) (next int, ok bool) {
	switch {
	case len(edges) == 0:
		return LineEnd, true
	case len(edges) > 1 || f.Workflow.Edges[edges[0]].When != nil:
		return LineLeave, false
	}
	return f.Index[f.Workflow.Edges[edges[0]].To], true
}

// lineEdges returns what follows a function, or false if the engine must decide.
func lineEdges(f *plan.Flow, n *plan.Node) (checks []LineCheck, next int, ok bool) {
	edges := n.Ports[workflow.PortOut]
	if !n.First {
		next, ok = lineNext(f, edges)
		return nil, next, ok
	}
	for _, e := range edges {
		to := f.Index[f.Workflow.Edges[e].To]
		w := f.Workflow.Edges[e].When
		if w == nil {
			return checks, to, true
		}
		if w.Language != workflow.LangFunc {
			return nil, LineLeave, false
		}
		checks = append(checks, LineCheck{w.Func, to})
	}
	return checks, LineEnd, true
}

// LinePlace is where a run is as its line begins.
type LinePlace struct {
	Node  int // of the function to be called next; the entry for a run that starts
	Steps int // number of steps so far, that of the function included
	// Used is the number of steps that count, MaxSteps the maximum number.
	Used, MaxSteps int
	Seq            uint64 // the last event
	At             time.Time
	// Spent is what the run has used, which a line does not change.
	Spent event.Spent
	State typed.State
	Input event.Value // of the run
}

// StartLine returns the place of a run that starts with d, or false if the engine must start it:
// also if the start would be rejected. d's input must be JSON.
func (p *Plan) StartLine(d *Start, at time.Time) (place LinePlace, ok bool) {
	c := &d.Created
	if p.line == nil || d.Queued || isEmptyInput(c.Input) || checkParameters(c) != nil {
		return place, false
	}
	limits := MergeLimits(p.root.Workflow.Limits, c.Limits)
	if !lineLimits(&limits) || limits.Timeout > 0 {
		return place, false
	}
	state, ok := typed.Split(c.Input)
	if !ok {
		return place, false
	}
	return LinePlace{Node: p.line.Entry, MaxSteps: maxSteps(p, &limits, 0), At: microseconds(at), State: state,
		Input: c.Input}, true
}

// lineLimits reports whether the limits of a run are ones that a line can keep.
func lineLimits(l *workflow.Limits) bool { return l.MaxBytes == 0 && l.MaxRounds == 0 }

// LinePlace returns the place of a run whose only open command is c, or false if anything but a line
// follows.
func (r *Run) LinePlace(c *CallFunc) (place LinePlace, ok bool) {
	g, s := r.graph, &r.state
	if s.plan.line == nil || s.Status != event.StatusRunning || s.Ending != nil || r.cut || !lineLimits(s.Limits) ||
		len(g.Running) != 1 || g.Running[0] != c.Step || len(g.Ready)+len(g.Queued) > 0 || s.Waits.IsOpen() ||
		s.Loop.Out() != 1 || s.Loop.Late()+s.Timers.Retries()+s.Loop.Due() > 0 {
		return place, false
	}
	st := g.Step(c.Step)
	if st.Scope != 0 || c.Attempt != 1 || st.Retries > 0 || st.Loop.Tries != 1 || len(c.Notes) > 0 ||
		s.plan.line.Nodes[st.Node].Kind != LineFunc {
		return place, false
	}
	return LinePlace{Node: st.Node, Steps: c.Step, Used: g.Used, MaxSteps: r.maxSteps(), Seq: s.Seq, At: s.At,
		Spent: r.Spent(), State: c.State, Input: g.Input}, true
}

// lineChecks are results of conditions that a line has recorded.
type lineChecks struct {
	results uint32
	left    uint8
}

// next returns the next result, or false if there is none.
func (c *lineChecks) next() (holds, ok bool) {
	if c == nil || c.left == 0 {
		return false, false
	}
	holds = c.results&1 != 0
	c.results >>= 1
	c.left--
	return holds, true
}

// Expander makes the events of a line's records. It is not safe for concurrent use.
type Expander struct {
	run    *Run
	call   *CallFunc
	state  any
	begin  time.Time
	result func(c *CallFunc, before, after any) FuncResult
}

// NewExpander returns an expander of the records that follow the events of run. call is the open
// command of the run, nil for a run that has not started; state is the state in the program's own
// form. The times of records count from begin. result returns the result of a call by which the state
// became after. The run belongs to the expander until [Expander.Run] returns it.
func NewExpander(run *Run, call *CallFunc, state any, begin time.Time,
	result func(c *CallFunc, before, after any) FuncResult) *Expander {
	run.due = nil // an activation that a line has recorded is not cut short
	return &Expander{run: run, call: call, state: state, begin: begin, result: result}
}

// Run returns the run, with all the events that were made so far, and its open command; nil if it has
// none.
func (e *Expander) Run() (*Run, *CallFunc) { return e.run, e.call }

// Start returns the events of the start of the run, as its first record describes it.
func (e *Expander) Start(d Start, rec *LineRecord) ([]event.Event, error) { return e.activate(d, rec) }

// Next returns the events of the next record.
func (e *Expander) Next(rec *LineRecord) ([]event.Event, error) {
	if e.call == nil {
		return nil, &DivergenceError{Seq: e.run.Seq() + 1, Reason: "a record of a function that was not called"}
	}
	r := e.result(e.call, e.state, rec.State)
	r.ID = e.call.ID
	e.state = rec.State
	return e.activate(&r, rec)
}

func (e *Expander) activate(d InputData, rec *LineRecord) ([]event.Event, error) {
	checks := &lineChecks{results: rec.Checks, left: rec.Count}
	e.run.state.checks, e.call = checks, nil
	dec, err := e.run.Activate([]Input{{At: e.begin.Add(time.Duration(rec.At) * time.Microsecond), Data: d}})
	e.run.state.checks = nil
	if err == nil && checks.left > 0 {
		err = &DivergenceError{Seq: e.run.Seq(), Reason: fmt.Sprintf("%d conditions more than were evaluated",
			checks.left)}
	}
	for _, c := range dec.Commands {
		if call, ok := c.(*CallFunc); ok {
			e.call = call
		}
	}
	return dec.Events, err
}

// Size returns the number of events that follow at a node: those that its step begins with, or, if
// ends is set, those with which it ends after checks conditions, and the edge to the next node, if
// there is one.
func (n *LineNode) Size(ends bool, checks int, last bool) int {
	call := 0
	if n.Kind != LineDecide {
		call = 1 // func.called, func.returned
	}
	switch {
	case !ends:
		return 1 + call
	case last:
		return call + checks + 1
	}
	return call + checks + 2
}

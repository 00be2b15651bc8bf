package project

import (
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// Folder folds the events of one run. It is not safe for concurrent use.
type Folder struct {
	id  string
	def *workflow.Workflow

	created        event.RunCreated
	status         event.Status
	startedAt      time.Time
	endedAt        time.Time
	failure        *event.Failure
	reason         string      // of the cancellation
	output         int         // step whose output is the run's; 0 means none
	declaredOutput event.Value // the run's output if the workflow specifies it

	steps     map[int]*step
	order     []*step // in start order
	scopes    map[int]*scope
	waits     []*wait
	answers   []Answer
	calls     map[string]*call // calls without a result
	childRuns map[string]*childRun
	total     tally

	outputs   map[string]*step            // last output, by node
	decisions map[string]approvalDecision // last answer, by approval node
	state     typed.State                 // as the run's own scope sees it

	round int
	seen  map[string]bool // nodes that ran in this round

	nodes map[*workflow.Workflow]map[string]*workflow.Node
	// visible is the number of steps that are shown.
	visible int
	// forget is set by Forget; nil means that nothing is forgotten.
	forget *forgetting
	// keepsCalls is set by KeepCalls.
	keepsCalls bool
	// texts holds the strings assembled from recipes; show is the argument of Assembled.
	texts prompt.Texts
	show  func(*prompt.Recipe, text.Text) event.Value
	// values is set by Short.
	values Values
	// ended is the step that the last event completed; its result is kept for Expand until
	// the next event.
	ended *step
}

// scope corresponds to a scope of the engine: the run itself (0), a branch of a fork, or a
// sub-flow.
type scope struct {
	n      int
	flow   *workflow.Workflow
	prefix string // of the node ids in events
	owner  *step  // nil for the run
	// arrived is the step that reached the join last, last the step that completed last, fork the
	// fork that started last.
	arrived, last, fork *step
	failed              bool // a step failed without an error edge
	failure             *event.Failure
	// item is the map item that the scope belongs to, and place its position in the list, from 1; 0
	// means that the scope belongs to no map.
	item  event.Value
	place int
	// entries are the last completed steps by node, at the position of the node's first completion
	// (S4-4).
	entries []*step
}

// step is one execution of a node.
type step struct {
	n     int
	index int // index in the list of steps
	// in is the input; before is the number of forgotten trail entries that precede the step's;
	// pending counts its calls without a result, its open child runs, and later steps that have yet
	// to begin with its output. Only folders that forget use these fields.
	in              event.Value
	passed          event.Value // the output that arrived; of agent steps of a forgetting folder
	before, pending int
	// reported means that the step was already passed to Keep.Leave as final.
	reported bool
	// from is the step whose output is the input of the steps in its branches; it is set while the
	// step is running.
	from *step

	node  string         // as named in events
	def   *workflow.Node // never nil
	scope *scope
	data  *event.StepStarted

	startedAt, endedAt time.Time
	status             StepStatus
	attempt            int
	round              int

	output  event.Value
	text    text.Text // the output as text, if hasText
	hasText bool
	failure *event.Failure
	// hasDefault means that the step failed and output is the default used in place of a result.
	hasDefault bool
	reason     string // of the cancellation or skip
	sentTo     string
	waiting    int // number of open waits
	// decision is a person's decision at an approval.
	decision approvalDecision
	stop     string // of the last reply of the step's agent

	model string
	tally tally
	// handoffAgent is the agent that took over the conversation last; "" while the step's own agent
	// has it.
	handoffAgent string
	// root is the frame of the agent's own loop; a retried step has a new root.
	root   int
	frames map[int]*frame
	// branches are the scopes of a fork's branches, from 1, in the current attempt; child is the
	// scope of a sub-flow.
	branches map[int]*scope
	// items are the items of a map.
	items *items
	child *scope
	// modelError is the message of the last failed model call.
	modelError string
	// warnings holds the warnings about replies and about fallback models. fallbackWarning is the
	// last warning about a fallback model.
	warnings        []string
	fallbackWarning string
	// toolCalls are the step's tool calls, if they are kept.
	toolCalls []trailCall
	// lastResult is the last result of the step while it is running, and inputState the typed state
	// that it received; inputState is set only for steps of the run's own scope.
	lastResult event.Data
	inputState typed.State
}

// frame is one agent loop in a step.
type frame struct {
	sub   *event.SubagentStarted // the step's own agent if nil
	reply *chat.Message          // most recent reply
	// closed means that the log already shows its end.
	closed bool
}

// call is a model, tool or function call without a result.
type call struct {
	step  *step
	frame int
	model bool
}

type wait struct {
	event.WaitOpened
	step  *step
	node  string
	since time.Time
	seq   uint64
	done  bool
}

// childRun is a child run, started by a call of this run.
type childRun struct {
	isOpen bool // counted in step.pending
	step   *step
	used   tally // as last reported
	ended  bool
}

// tally sums usage.
type tally struct {
	input, output int64
	cost          chat.Money
	unknown       int // calls whose cost is not known
	models, tools int
}

// NewFolder returns a folder for the run with the given id and definition. It only reads the
// definition. If def is nil, names are ids, no node is hidden, and the outputs of blocks are
// unknown.
func NewFolder(run string, def *workflow.Workflow) *Folder {
	if def == nil {
		def = &workflow.Workflow{}
	}
	return &Folder{
		id: run, def: def, status: event.StatusPending,
		steps: map[int]*step{}, scopes: map[int]*scope{0: {flow: def}}, calls: map[string]*call{},
		childRuns: map[string]*childRun{},
		outputs:   map[string]*step{}, decisions: map[string]approvalDecision{}, values: fullValues{},
		seen: map[string]bool{}, nodes: map[*workflow.Workflow]map[string]*workflow.Node{},
	}
}

// Fold returns a folder to which events have been added.
func Fold(run string, def *workflow.Workflow, events []event.Event) *Folder {
	f := NewFolder(run, def)
	for _, e := range events {
		f.Add(e)
	}
	return f
}

// Add folds the next event. It keeps the event's data, which must not be changed afterwards.
func (f *Folder) Add(e event.Event) {
	if f.ended != nil {
		f.ended.lastResult, f.ended = nil, nil
	}
	switch d := e.Data.(type) {
	case *event.RunCreated, *event.RunStarted, *event.RunPaused, *event.RunResumed, *event.RunCompleted,
		*event.RunFailed, *event.RunCancelled:
		f.addRun(e)
	case *event.StepStarted:
		f.startStep(e, d)
	case *event.WaitOpened, *event.WaitAnswered, *event.WaitClosed:
		f.addWait(e)
	default:
		st := f.find(e.Step)
		if st == nil {
			if d, ok := d.(*event.StepSkipped); ok {
				f.skip(e, d)
			}
			return
		}
		switch d := d.(type) {
		case *event.StepRetrying, *event.StepCompleted, *event.StepFailed, *event.StepCancelled,
			*event.StepSkipped:
			f.addStep(st, e)
		case *event.EdgeTaken:
			f.addEdge(st, d)
		default:
			f.addCall(st, e)
		}
	}
}

func (f *Folder) addRun(e event.Event) {
	f.status = event.StatusOf(e.Data)
	if f.status.Ended() {
		f.endedAt = e.At
	}
	switch d := e.Data.(type) {
	case *event.RunCreated:
		f.created = *d
		f.initState(d)
	case *event.RunStarted:
		f.startedAt = e.At
		if f.created.Retry {
			f.startedAt = f.created.ForkedAt
		}
	case *event.RunResumed:
		f.endedAt, f.failure, f.reason = time.Time{}, nil, ""
	case *event.RunCompleted:
		f.output, f.declaredOutput = d.OutputStep, d.Output
		if st := f.find(d.OutputStep); st != nil {
			if st.sentTo != "" && f.isForgotten(st.n) {
				f.forget.missed[st.n] = true
			}
			st.sentTo = "" // no rounds were left: it was not received
		}
	case *event.RunFailed:
		f.failure = &d.Error
	case *event.RunCancelled:
		f.reason = d.Reason
	}
}

func (f *Folder) addWait(e event.Event) {
	switch d := e.Data.(type) {
	case *event.WaitOpened:
		w := &wait{WaitOpened: *d, step: f.find(e.Step), node: e.Node, since: e.At, seq: e.Seq}
		if w.step != nil {
			w.step.waiting++
			f.countCalls(w.step, d)
		}
		f.waits = append(f.waits, w)
	case *event.WaitAnswered:
		w := f.endWait(d.Wait)
		if w != nil && w.step != nil {
			w.step.result(d)
		}
		f.answered(w, Answer{Decision: d.Decision, Answer: d.Answer, Note: d.Note, Arguments: d.Arguments, By: d.By,
			At: e.At})
		if w != nil && d.Decision != "" && w.Call == "" {
			decision := approvalDecision{Decision: d.Decision, Note: d.Note}
			f.decisions[w.node] = decision
			if w.step != nil && w.step.def.Kind == workflow.KindWait {
				w.step.decision = decision
			}
		}
	case *event.WaitClosed:
		if w := f.endWait(d.Wait); d.By.IsKnown() {
			f.answered(w, Answer{By: d.By, At: e.At})
		}
	}
}

func (f *Folder) endWait(id string) *wait {
	w := f.wait(id)
	if w == nil || w.done {
		return nil
	}
	w.done = true
	if f.forget != nil {
		f.waits = slices.DeleteFunc(f.waits, func(v *wait) bool { return v == w })
	}
	if w.step != nil {
		w.step.waiting--
	}
	return w
}

// wait returns the last wait with the given id.
func (f *Folder) wait(id string) *wait {
	for _, v := range slices.Backward(f.waits) {
		if v.Wait == id {
			return v
		}
	}
	return nil
}

// speaker returns the id of the agent that has the conversation of st or that produced its output;
// "" for steps without an agent.
func (st *step) speaker() string {
	switch {
	case st.handoffAgent != "":
		return st.handoffAgent
	case st.data.Agent != "":
		return st.data.Agent
	case st.def.Agent != nil:
		return st.def.Agent.Agent
	}
	return ""
}

// agent returns the title of an agent of the workflow that st belongs to.
func (st *step) agent(id string) string {
	if a := st.scope.flow.Agent(id); a != nil {
		return a.Title()
	}
	return id
}

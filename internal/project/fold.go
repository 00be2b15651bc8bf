package project

import (
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// Folder folds the events of one run. Not safe for concurrent use.
type Folder struct {
	id  string
	def *workflow.Workflow

	created   engine.RunCreated
	status    engine.Status
	startedAt time.Time
	endedAt   time.Time
	failure   *engine.Failure
	reason    string       // of a cancellation
	output    int          // the step whose output is the run's; 0: none
	said      engine.Value // the run's output where the workflow says it

	steps   map[int]*step
	order   []*step // as they started
	scopes  map[int]*scope
	waits   []*wait
	answers []Answer
	calls   map[string]*call // those without result
	below   map[string]*below
	total   tally

	outputs   map[string]*step            // last output, by node
	decisions map[string]approvalDecision // last answer, by approval node
	state     typed.State                 // as the run's own scope sees it

	round int
	seen  map[string]bool // nodes run in this round

	nodes map[*workflow.Workflow]map[string]*workflow.Node
	// visible counts the steps that are shown.
	visible int
	// forget: see Forget; nil: nothing is forgotten.
	forget *forgetting
	// keepsCalls: see KeepCalls.
	keepsCalls bool
	// texts are those of recipes; show is that of Assembled.
	texts prompt.Texts
	show  func(*prompt.Recipe, text.Text) engine.Value
	// values: see Short.
	values Values
	// ended is the step that the last event completed: its result is kept for Expand until the next event.
	ended *step
}

// scope is what the engine calls a scope: the run's own (0), a branch of a fork, a sub-flow.
type scope struct {
	n      int
	flow   *workflow.Workflow
	prefix string // of the node ids in events
	owner  *step  // nil for the run
	// arrived is the step that reached the join last, last the one that completed last, fork the last fork that started.
	arrived, last, fork *step
	failed              bool // by a step that no error edge took over
	failure             *engine.Failure
	// item is that of a map which the scope belongs to, place its place in the list from 1; 0: it is of no map.
	item  engine.Value
	place int
	// entries are the last completed steps by node, at the place of the node's first (S4-4).
	entries []*step
}

// step is one execution of a node.
type step struct {
	n     int
	index int // in the list of steps
	// Of folders that forget: in is the input, before how many entries of the trail were forgotten that come before the step's, and pending counts its calls without result,
	// its runs that go on, and what others have yet to begin with.
	in              engine.Value
	before, pending int
	// isGiven: it was given away as it is.
	isGiven bool
	// from is the step whose output the steps in its branches begin with, while it is at work.
	from *step

	node  string         // as events name it
	def   *workflow.Node // never nil
	scope *scope
	data  *engine.StepStarted

	startedAt, endedAt time.Time
	status             StepStatus
	attempt            int
	round              int

	output  engine.Value
	text    text.Text // that of output, once hasText
	hasText bool
	failure *engine.Failure
	// hasDefault: the step failed, and output is the default that takes the place of one.
	hasDefault bool
	reason     string // of a cancellation or skip
	sentTo     string
	waiting    int // open waits
	// decision is what a person decided at an approval.
	decision approvalDecision

	model string
	tally tally
	// by is the agent that took the conversation over last; "" while the step's own agent has it.
	by string
	// root is the frame of the agent's own loop; a step that is tried again has a new one.
	root   int
	frames map[int]*frame
	// branches are the scopes of a fork's branches, from 1, in the present attempt; child is that of a sub-flow.
	branches map[int]*scope
	// items are those of a map.
	items *items
	child *scope
	// modelError is the text of the last failed model call.
	modelError string
	// warnings are those of replies, and of models that were asked instead of others. asked is the last of the latter.
	warnings []string
	asked    string
	// made are its tool calls, where they are kept.
	made []trailCall
	// given is the last result of the step while it is at work, view the typed state that it was given; the latter for steps of the run's own scope alone.
	given engine.Data
	view  typed.State
}

// frame is one agent loop in a step.
type frame struct {
	sub   *engine.SubagentStarted // nil for the step's own
	reply *chat.Message           // the last one
	// closed: the log tells of its end.
	closed bool
}

// call is a model, tool or function call without result.
type call struct {
	step  *step
	frame int
	model bool
}

type wait struct {
	engine.WaitOpened
	step  *step
	node  string
	since time.Time
	seq   uint64
	done  bool
}

// below is a run that a call of this one started.
type below struct {
	isOpen bool // it is counted in step.pending
	step   *step
	used   tally // as it was told last
	ended  bool
}

// tally sums what was used.
type tally struct {
	input, output int64
	cost          chat.Money
	unknown       int // calls whose cost is not known
	models, tools int
}

// NewFolder gives a folder for the run with that id of that definition, which it only reads. Without a definition (nil) names are ids, no node is
// hidden, and the outputs of blocks are not known.
func NewFolder(run string, def *workflow.Workflow) *Folder {
	if def == nil {
		def = &workflow.Workflow{}
	}
	return &Folder{
		id: run, def: def, status: engine.StatusPending,
		steps: map[int]*step{}, scopes: map[int]*scope{0: {flow: def}}, calls: map[string]*call{}, below: map[string]*below{},
		outputs: map[string]*step{}, decisions: map[string]approvalDecision{}, values: whole{},
		seen: map[string]bool{}, nodes: map[*workflow.Workflow]map[string]*workflow.Node{},
	}
}

// Fold gives a folder that has seen events.
func Fold(run string, def *workflow.Workflow, events []engine.Event) *Folder {
	f := NewFolder(run, def)
	for _, e := range events {
		f.Add(e)
	}
	return f
}

// Add folds the next event. It keeps the event's data, which must not be changed afterwards.
func (f *Folder) Add(e engine.Event) {
	if f.ended != nil {
		f.ended.given, f.ended = nil, nil
	}
	switch d := e.Data.(type) {
	case *engine.RunCreated, *engine.RunStarted, *engine.RunPaused, *engine.RunResumed, *engine.RunCompleted, *engine.RunFailed, *engine.RunCancelled:
		f.addRun(e)
	case *engine.StepStarted:
		f.startStep(e, d)
	case *engine.WaitOpened, *engine.WaitAnswered, *engine.WaitClosed:
		f.addWait(e)
	default:
		st := f.find(e.Step)
		if st == nil {
			if d, ok := d.(*engine.StepSkipped); ok {
				f.skip(e, d)
			}
			return
		}
		switch d := d.(type) {
		case *engine.StepRetrying, *engine.StepCompleted, *engine.StepFailed, *engine.StepCancelled, *engine.StepSkipped:
			f.addStep(st, e)
		case *engine.EdgeTaken:
			f.addEdge(st, d)
		default:
			f.addCall(st, e)
		}
	}
}

func (f *Folder) addRun(e engine.Event) {
	f.status = event.StatusOf(e.Data)
	if f.status.Ended() {
		f.endedAt = e.At
	}
	switch d := e.Data.(type) {
	case *engine.RunCreated:
		f.created = *d
		f.initState(d)
	case *engine.RunStarted:
		f.startedAt = e.At
		if f.created.Retry {
			f.startedAt = f.created.ForkedAt
		}
	case *engine.RunResumed:
		f.endedAt, f.failure, f.reason = time.Time{}, nil, ""
	case *engine.RunCompleted:
		f.output, f.said = d.OutputStep, d.Output
		if st := f.find(d.OutputStep); st != nil {
			if st.sentTo != "" && f.isForgotten(st.n) {
				f.forget.missed[st.n] = true
			}
			st.sentTo = "" // the rounds were over: it was not received
		}
	case *engine.RunFailed:
		f.failure = &d.Error
	case *engine.RunCancelled:
		f.reason = d.Reason
	}
}

func (f *Folder) addWait(e engine.Event) {
	switch d := e.Data.(type) {
	case *engine.WaitOpened:
		w := &wait{WaitOpened: *d, step: f.find(e.Step), node: e.Node, since: e.At, seq: e.Seq}
		if w.step != nil {
			w.step.waiting++
			f.countCalls(w.step, d)
		}
		f.waits = append(f.waits, w)
	case *engine.WaitAnswered:
		w := f.endWait(d.Wait)
		if w != nil && w.step != nil {
			w.step.result(d)
		}
		f.answered(w, Answer{Decision: d.Decision, Answer: d.Answer, Note: d.Note, Arguments: d.Arguments, By: d.By, At: e.At})
		if w != nil && d.Decision != "" && w.Call == "" {
			decision := approvalDecision{Decision: d.Decision, Note: d.Note}
			f.decisions[w.node] = decision
			if w.step != nil && w.step.def.Kind == workflow.KindWait {
				w.step.decision = decision
			}
		}
	case *engine.WaitClosed:
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

// wait gives the last wait with that id.
func (f *Folder) wait(id string) *wait {
	for _, v := range slices.Backward(f.waits) {
		if v.Wait == id {
			return v
		}
	}
	return nil
}

// speaker gives the id of the agent that has the conversation of st, or that gave its output; "" for steps without agent.
func (st *step) speaker() string {
	switch {
	case st.by != "":
		return st.by
	case st.data.Agent != "":
		return st.data.Agent
	case st.def.Agent != nil:
		return st.def.Agent.Agent
	}
	return ""
}

// agent gives the title of an agent of the workflow in which st stands.
func (st *step) agent(id string) string {
	if a := st.scope.flow.Agent(id); a != nil {
		return a.Title()
	}
	return id
}

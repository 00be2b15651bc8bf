package project

import (
	"maps"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

// GraphStep is a settled node of a Go graph: it ended, failed permanently, was cancelled, or waits
// for a person.
type GraphStep struct {
	// Seq is the position at which the node settled.
	Seq  uint64
	Node string
	// Step is the step's number; 0 for an entry that only reports how the run ended.
	Step int
	// State is the typed state after the step, as its own branch sees it.
	State   map[string]event.Value
	Update  map[string]event.Value
	Output  event.Value
	Goto    []string
	Signals []event.SignalRaised
	// Emitted are the program's own events that the node sent, each with its time.
	Emitted []event.SignalRaised
	// Status is the status of the run as of this step: StatusRunning or, for the last step, how the
	// run ended or that it is paused.
	Status event.Status
	// Failure is why the node failed; on the last step of a run that failed for another reason, it
	// is that reason.
	Failure  *event.Failure
	Duration time.Duration
	// Attempts is the number of attempts, counted from 1.
	Attempts int
}

// GraphError is a failed attempt of a node.
type GraphError = engine.FailedAttempt

// GraphState is the complete state of a run of a Go graph at one moment (S2-63).
type GraphState struct {
	Status event.Status
	// Outputs are the outputs that the run itself sees, in the engine's form.
	Outputs map[string]event.Value
	Current string
	// Visited are the nodes in the order in which they ended, without cancelled ones.
	Visited []string
	Pending []string
	Errors  []GraphError
	Signals []event.SignalRaised
	Waits   []engine.WaitInfo
	// Failure is why the run failed, or that it was cancelled; nil otherwise.
	Failure *event.Failure
	Seq     uint64
	// EndedAt is zero until the run ends.
	StartedAt, UpdatedAt, EndedAt time.Time
}

// GraphFolder folds the events of a run of a Go graph into its steps. Only visible nodes of the
// graph itself count, not nodes of sub-flows, whose signals belong to the enclosing step. It is not
// safe for concurrent use.
type GraphFolder struct {
	run   *engine.Run
	entry string
	open  map[int]*graphStep
	// pending is a settled step that may be the last one; the next event of the run decides.
	pending *GraphStep
	state   GraphState
	// stateOnly means that no steps are returned.
	stateOnly bool
	// settled, if not nil, is called with each step as it settles, possibly long before the step is
	// returned.
	settled func(*GraphStep)
	buf     [1]event.Event
}

// graphStep is a running step.
type graphStep struct {
	node     string
	started  time.Time
	attempts int
	signals  []event.SignalRaised
	emitted  []event.SignalRaised
	// lastResult is the last result of a function.
	lastResult event.Data
	// failed is the last attempt whose failure was recorded.
	failed int
}

// NewGraphFolder returns a folder for a run that has no events yet.
func NewGraphFolder(id string, p *engine.Plan) *GraphFolder {
	return &GraphFolder{run: engine.New(p, id), entry: p.Workflow().Entry, open: map[int]*graphStep{}}
}

// NewGraphStateFolder returns a folder whose Add returns no steps, for callers that need only
// State.
func NewGraphStateFolder(id string, p *engine.Plan) *GraphFolder {
	f := NewGraphFolder(id, p)
	f.stateOnly = true
	return f
}

// Add folds the next event and returns the steps whose outcome is now known. A step that may be the
// run's last is returned with the event that settles this. The last step of a run never has
// StatusRunning: if a run ends without a node settling with it (a limit, a cancellation between two
// nodes), a separate step reports how.
//
// If the event does not continue the journal, Add returns an *engine.DivergenceError and the folder
// must be discarded.
func (f *GraphFolder) Add(ev event.Event) ([]GraphStep, error) {
	f.buf[0] = ev
	if err := f.run.Apply(f.buf[:]); err != nil {
		return nil, err
	}
	f.state.UpdatedAt = ev.At
	var out []GraphStep
	if s := f.settle(&ev); s != nil {
		out = f.release(out, event.StatusRunning)
		f.pending = s
	}
	out = f.applyRunEvent(&ev, out)
	if f.pending != nil && f.run.IsBusy() {
		out = f.release(out, event.StatusRunning)
	}
	return out, nil
}

// NewGraphObserver returns a folder of a run that another folder folds; it is fed with Observe
// instead of Add.
func NewGraphObserver(p *engine.Plan) *GraphFolder {
	return &GraphFolder{entry: p.Workflow().Entry, stateOnly: true}
}

// Observe records events that run has already folded, starting with the first event of the run. It
// is only for folders made by NewGraphObserver. State shows run as of the call of State, and must
// not be called before Observe.
func (f *GraphFolder) Observe(run *engine.Run, events []event.Event) {
	f.run = run
	for i := range events {
		ev := &events[i]
		f.state.UpdatedAt = ev.At
		f.settle(ev)
		f.applyRunEvent(ev, nil)
	}
}

// release returns out with the pending step appended.
func (f *GraphFolder) release(out []GraphStep, status event.Status) []GraphStep {
	if f.pending == nil {
		return out
	}
	f.pending.Status = status
	out = append(out, *f.pending)
	f.pending = nil
	return out
}

// applyRunEvent processes what the event says about the run as a whole.
func (f *GraphFolder) applyRunEvent(ev *event.Event, out []GraphStep) []GraphStep {
	switch d := ev.Data.(type) {
	case *event.RunCreated:
		f.state.StartedAt = ev.At
	case *event.RunResumed:
		f.state.EndedAt, f.state.Failure = time.Time{}, nil
	case *event.SignalRaised:
		if ev.Step == 0 { // of the run itself: its failure (S2-59)
			f.state.Signals = append(f.state.Signals, *d)
		}
	case *event.RunPaused:
		return f.appendLast(ev, out, event.StatusPaused, nil)
	case *event.RunCompleted:
		f.state.EndedAt = ev.At
		return f.appendLast(ev, out, event.StatusCompleted, nil)
	case *event.RunFailed:
		why := d.Error
		if why.Code == event.CodeMaxSteps { // a Go graph blames its first node (S2-32)
			why.Node = f.entry
		}
		f.state.EndedAt, f.state.Failure = ev.At, &why
		return f.appendLast(ev, out, event.StatusFailed, &why)
	case *event.RunCancelled:
		reason := d.Reason
		if reason == "" {
			reason = cancelText
		}
		failure := &event.Failure{Code: event.CodeCancelled, Message: reason}
		f.state.EndedAt, f.state.Failure = ev.At, failure
		return f.appendLast(ev, out, event.StatusCancelled, failure)
	}
	return out
}

// appendLast appends the last step. It is the pending step if that explains how the run ended.
func (f *GraphFolder) appendLast(ev *event.Event, out []GraphStep, status event.Status,
	why *event.Failure) []GraphStep {
	if f.stateOnly {
		return nil
	}
	if why != nil && f.pending != nil && f.pending.Failure == nil {
		out = f.release(out, event.StatusRunning)
	}
	if f.pending == nil {
		s := GraphStep{Seq: ev.Seq, State: f.run.State(), Failure: why, Node: f.state.Current}
		if why != nil && why.Node != "" {
			s.Node = why.Node
		}
		if waits := f.run.Waits(); status == event.StatusPaused && len(waits) > 0 {
			s.Node = waits[0].Node
		}
		f.pending = f.notifySettled(&s)
	}
	return f.release(out, status)
}

// settle tracks the steps and returns a step that settled.
func (f *GraphFolder) settle(ev *event.Event) *GraphStep {
	if ev.Step == 0 {
		return nil
	}
	switch ev.Data.(type) {
	case *event.FuncCalled, *event.EdgeTaken, *event.ConditionChecked:
		return nil // most events have no effect
	case *event.StepStarted:
		if f.stateOnly {
			return nil
		}
	}
	look := f.run.StepView
	if f.stateOnly {
		look = f.run.StepPlace
	}
	v, ok := look(ev.Step)
	if ok && v.Nested {
		f.applyInner(ev, v)
	}
	if !ok || v.Nested || v.Hidden {
		return nil
	}
	st := f.open[ev.Step]
	if st == nil && !f.plain(ev) {
		st = &graphStep{node: v.Node, started: ev.At, attempts: 1}
		if f.open == nil {
			f.open = map[int]*graphStep{}
		}
		f.open[ev.Step] = st
	}
	var (
		update  map[string]event.Value
		output  event.Value
		gotos   []string
		failure *event.Failure
		waits   bool
	)
	switch d := ev.Data.(type) {
	case *event.FuncReturned:
		f.returned(ev, st, d)
		return nil
	case *event.SignalRaised:
		f.signal(ev, st, *d)
		return nil
	case *event.StepRetrying:
		f.failed(ev, st, d.Error.Message)
		st.attempts++
		return nil
	case *event.WaitOpened:
		waits = true
		if !f.stateOnly && v.Kind == workflow.KindFunc {
			made := &event.StepCompleted{Given: true, Update: d.Update, Edits: d.Edits}
			update, gotos = st.changed(made, v.State), made.Next(st.lastResult)
		}
	case *event.WaitAnswered:
		if st != nil && v.Kind == workflow.KindFunc {
			st.lastResult, st.signals, st.emitted = d, nil, nil // what the step did was shown when it asked
		}
		return nil
	case *event.StepCompleted:
		for _, to := range d.Missing {
			f.state.Errors = append(f.state.Errors, GraphError{Node: to, Message: event.NotFound(to), At: ev.At,
				Attempt: 1})
		}
		if !f.stateOnly {
			update, output, gotos = st.changed(d, v.State), v.Output, d.Next(st.lastResult)
		}
	case *event.StepFailed:
		f.failed(ev, st, d.Error.Message)
		failure = &d.Error
	case *event.StepCancelled:
		failure = &event.Failure{Code: event.CodeCancelled, Message: d.Reason}
	default:
		return nil
	}
	f.state.Current = v.Node
	if !waits {
		delete(f.open, ev.Step)
		if _, cut := ev.Data.(*event.StepCancelled); !cut {
			f.state.Visited = append(f.state.Visited, v.Node)
		}
	}
	if f.stateOnly {
		return nil
	}
	return f.notifySettled(&GraphStep{
		Seq: ev.Seq, Node: v.Node, Step: ev.Step, State: v.State.Map(), Update: update, Output: output, Goto: gotos,
		Signals: st.signals, Emitted: st.emitted,
		Status: event.StatusRunning, Failure: failure, Duration: ev.At.Sub(st.started), Attempts: st.attempts,
	})
}

// plain reports whether an event needs no knowledge of its step beyond what the run provides; for
// State, most events are plain.
func (f *GraphFolder) plain(ev *event.Event) bool {
	if !f.stateOnly {
		return false
	}
	switch d := ev.Data.(type) {
	case *event.FuncReturned:
		return !d.HasFailed()
	case *event.SignalRaised, *event.StepRetrying, *event.StepFailed:
		return false
	}
	return true
}

func (f *GraphFolder) notifySettled(s *GraphStep) *GraphStep {
	if f.settled != nil {
		f.settled(s)
	}
	return s
}

// applyInner handles what is visible outside a sub-flow: signals and the program's own events count
// for the enclosing step, and a question is the current position of the run.
func (f *GraphFolder) applyInner(ev *event.Event, v engine.StepView) {
	switch d := ev.Data.(type) {
	case *event.SignalRaised:
		if st := f.open[v.Outer]; st != nil || f.stateOnly {
			f.signal(ev, st, *d)
		}
	case *event.WaitOpened:
		f.state.Current = ev.Node
	}
}

// returned records the result of a function.
func (f *GraphFolder) returned(ev *event.Event, st *graphStep, d *event.FuncReturned) {
	switch {
	case d.HasFailed():
		f.failed(ev, st, d.Error.Message)
	case st != nil && event.IsResult(d):
		st.lastResult = d // its signals arrive as separate events
	}
}

// changed returns the fields that a step changed, with their values in the state after it.
func (st *graphStep) changed(d *event.StepCompleted, after typed.State) map[string]event.Value {
	update, edits, _ := d.Changes(st.lastResult)
	if len(update)+len(edits) == 0 {
		return nil
	}
	out := make(map[string]event.Value, len(update)+len(edits))
	maps.Copy(out, update)
	for i := range edits {
		out[edits[i].Field] = after.Get(edits[i].Field)
	}
	return out
}

func (f *GraphFolder) signal(ev *event.Event, st *graphStep, s event.SignalRaised) {
	if s.At.IsZero() && s.Event {
		s.At = ev.At
	}
	switch {
	case !s.Event:
		f.state.Signals = append(f.state.Signals, s)
		if !f.stateOnly {
			st.signals = append(st.signals, s)
		}
	case !f.stateOnly:
		st.emitted = append(st.emitted, s)
	}
}

// failed records a failed attempt, once.
func (f *GraphFolder) failed(ev *event.Event, st *graphStep, message string) {
	if st.failed == st.attempts {
		return
	}
	st.failed = st.attempts
	f.state.Errors = append(f.state.Errors, GraphError{Node: st.node, Message: message, At: ev.At,
		Attempt: st.attempts})
}

// Step returns a step as of the last event, or false if there is no step with that number.
func (f *GraphFolder) Step(id int) (engine.StepView, bool) { return f.run.StepView(id) }

// Outputs returns the outputs that the run itself sees, in the engine's form. The caller owns the
// map.
func (f *GraphFolder) Outputs() map[string]event.Value { return f.run.Outputs() }

// Waits returns the open questions, oldest first.
func (f *GraphFolder) Waits() []engine.WaitInfo { return f.run.Waits() }

// State returns the complete state of the run as of the last event. The caller owns the slices.
func (f *GraphFolder) State() GraphState {
	s := f.state
	s.Status, s.Seq = f.run.Status(), f.run.Seq()
	s.Outputs, s.Pending, s.Waits = f.run.Outputs(), f.run.Pending(), f.run.Waits()
	s.Visited, s.Errors, s.Signals = slices.Clone(s.Visited), slices.Clone(s.Errors), slices.Clone(s.Signals)
	return s
}

// Status returns the status of the run as of the last event.
func (f *GraphFolder) Status() event.Status { return f.run.Status() }

// Typed returns the typed state of the run itself as of the last event.
func (f *GraphFolder) Typed() typed.State { return f.run.TypedState() }

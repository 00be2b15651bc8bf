package hocket

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/program"
	"github.com/hocket-run/hocket/internal/project"
)

// observer receives the events of a run that is followed, in order, from one goroutine.
type observer interface {
	// folded is called after the folder has folded the event.
	folded(ev *event.Event, f *project.GraphFolder)
	// unfollowed is called when the last follower leaves.
	unfollowed()
}

// observing implements what the options of a run request in addition to running it: checkpoints,
// progress, telemetry. Failures are logged, and the run continues.
type observing[S any] struct {
	ctx     context.Context //nolint:containedctx,nolintlint // trackers are given that of the call
	options RunOptions
	engine  *Engine
	run     string
	graph   *graph.Compiled[S]
	// after is the number of the event up to which the run was observed before: events up to it are
	// only folded.
	after uint64

	steps    map[int]*observed
	executed int // nodes that settled, over all resumes
	waiting  int
	maxSteps int
	// started is when telemetry was notified of the start; it is zero before the start and after
	// the end.
	started, now time.Time
}

// observed is a step in progress.
type observed struct {
	node    TrackedNode
	attempt int
	// reportedAttempt is the last attempt whose failure was reported.
	reportedAttempt int
	waits           bool
	signals         []event.SignalRaised
}

// observe returns the observer that the options request, or nil if they request none.
func observe[S any](ctx context.Context, e *Engine, g *graph.Compiled[S], run string, after uint64,
	o RunOptions) observer {
	if o.Checkpointer == nil && o.OnProgress.fn == nil && o.Telemetry == nil {
		return nil
	}
	return &observing[S]{
		ctx: ctx, options: o, engine: e, run: run, graph: g, after: after, steps: map[int]*observed{},
	}
}

func (o *observing[S]) folded(ev *event.Event, f *project.GraphFolder) {
	o.now = ev.At
	if l := event.LimitsOf(ev.Data); l != nil {
		o.maxSteps = l.Steps()
	}
	if ev.Seq > o.after {
		o.begin()
	}
	if ev.Step != 0 {
		if v, ok := f.Step(ev.Step); ok && !v.Nested && !v.Hidden {
			o.step(ev, v, f)
		}
	}
	if ev.Seq <= o.after {
		return
	}
	switch d := ev.Data.(type) {
	case *event.RunPaused:
		o.complete(StatusPaused)
	case *event.RunCompleted:
		o.complete(StatusCompleted)
	case *event.RunCancelled:
		o.complete(StatusCancelled)
	case *event.RunFailed:
		o.track(func(t Tracker) {
			t.Error(o.ctx, TrackedError{ExecutionID: o.run, Err: runError(&d.Error, ""), At: o.now})
		})
		o.complete(StatusFailed)
	}
}

// step follows one step.
func (o *observing[S]) step(ev *event.Event, v engine.StepView, f *project.GraphFolder) {
	st := o.steps[ev.Step]
	if st == nil {
		if _, starts := ev.Data.(*event.StepStarted); !starts {
			return
		}
		parent := v.Block
		if o.steps[parent] == nil {
			parent = 0
		}
		st = &observed{attempt: 1, node: TrackedNode{
			ExecutionID: o.run, NodeID: v.Node, Type: o.graph.Running().NodeType(v.Node), Step: ev.Step, Parent: parent,
			At: ev.At,
		}}
		o.steps[ev.Step] = st
		if ev.Seq > o.after {
			o.track(func(t Tracker) { t.NodeEnter(o.ctx, st.node) })
			o.progress(ProgressNodeStarted, v, 1, "", nil)
		}
		return
	}
	live := ev.Seq > o.after
	switch d := ev.Data.(type) {
	case *event.FuncReturned:
		if d.HasFailed() {
			o.failed(st, v, d.Error, live)
		}
	case *event.SignalRaised:
		st.signals = append(st.signals, *d)
	case *event.StepRetrying:
		o.failed(st, v, &d.Error, live)
		st.attempt++
	case *event.WaitOpened:
		if !st.waits {
			st.waits = true
			o.waiting++
		}
		if live {
			o.checkpoint(v, f, nil)
		}
	case *event.StepCompleted:
		o.settled(ev.Step, st)
		if live {
			o.exit(st, StatusCompleted)
			o.progress(ProgressNodeCompleted, v, st.attempt, "", nil)
			o.checkpoint(v, f, st.signals)
		}
	case *event.StepFailed:
		o.settled(ev.Step, st)
		o.failed(st, v, &d.Error, live)
		if live {
			o.exit(st, StatusFailed)
		}
	case *event.StepCancelled:
		o.settled(ev.Step, st)
		o.executed-- // it did not finish
		if live {
			o.exit(st, StatusCancelled)
		}
	}
}

func (o *observing[S]) settled(step int, st *observed) {
	delete(o.steps, step)
	o.executed++
	if st.waits {
		o.waiting--
	}
}

// failed reports a failed attempt, once.
func (o *observing[S]) failed(st *observed, v engine.StepView, f *event.Failure, live bool) {
	if st.reportedAttempt == st.attempt {
		return
	}
	st.reportedAttempt = st.attempt
	if !live {
		return
	}
	err := runError(f, v.Node)
	o.track(func(t Tracker) {
		t.Error(o.ctx, TrackedError{ExecutionID: o.run, NodeID: v.Node, Step: st.node.Step, Err: err, At: o.now})
	})
	o.progress(ProgressNodeError, v, st.attempt, "", err)
}

// checkpoint saves the state for each signal that requests it, and automatically. Waiting nodes
// count as executed.
func (o *observing[S]) checkpoint(v engine.StepView, f *project.GraphFolder, signals []event.SignalRaised) {
	if o.options.Checkpointer == nil {
		return
	}
	n := o.executed + o.waiting
	for _, s := range signals {
		if s.Event || graph.SignalType(s.Signal) != graph.SignalCheckpoint {
			continue
		}
		label := fmt.Sprintf("checkpoint_%d", n)
		var own string
		if json.Unmarshal(s.Data["label"], &own) == nil && own != "" {
			label = own
		}
		o.save(v, f, label)
	}
	if auto := o.options.AutoCheckpoint; auto == nil || *auto {
		o.save(v, f, fmt.Sprintf("step_%d", n))
	}
}

func (o *observing[S]) save(v engine.StepView, f *project.GraphFolder, label string) {
	err := o.guard(func() error {
		state, err := o.state(v, f)
		if err != nil {
			return err
		}
		// Progress is saved even if the run is being interrupted.
		return o.options.Checkpointer.Save(context.WithoutCancel(o.ctx), o.run, state, label)
	})
	if err != nil {
		o.engine.log.Warn("cannot save checkpoint", "run", o.run, "label", label, "err", err)
		return
	}
	o.progress(ProgressCheckpointSaved, v, 0, label, nil)
}

// state encodes the state of a step as JSON, with what the graph keeps in addition to it.
func (o *observing[S]) state(v engine.StepView, f *project.GraphFolder) (json.RawMessage, error) {
	folded := program.Folded{Run: o.run, Updated: o.now, State: v.State, Outputs: f.Outputs()}
	for _, w := range f.Waits() {
		folded.Waits = append(folded.Waits, program.Wait{ID: w.ID, Node: w.Node})
	}
	_, base, err := o.graph.Running().Split(folded)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(base)
	if err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	maps.Copy(fields, o.graph.Running().Changes(v.State.Map()))
	return json.Marshal(fields)
}

// progress calls the progress callback.
func (o *observing[S]) progress(kind ProgressType, v engine.StepView, attempt int, label string, cause error) {
	fn, ok := o.options.OnProgress.fn.(func(Progress[S]))
	if !ok {
		return
	}
	err := o.guard(func() error {
		state, err := decode(o.graph, v.State.Map())
		if err == nil {
			fn(Progress[S]{Type: kind, NodeID: v.Node, State: state, Error: cause, Attempt: attempt, Label: label,
				Timestamp: o.now})
		}
		return err
	})
	if err != nil {
		o.engine.log.Warn("cannot report progress", "run", o.run, "node", v.Node, "err", err)
	}
}

// begin notifies telemetry that the run starts or continues; nodes in progress are entered
// again.
func (o *observing[S]) begin() {
	if !o.started.IsZero() {
		return
	}
	o.started = o.now
	o.track(func(t Tracker) {
		t.WorkflowStart(o.ctx, TrackedStart{
			ExecutionID: o.run, WorkflowName: o.name(), MaxSteps: o.maxSteps, Resuming: o.after > 0, At: o.now,
		})
	})
	for _, step := range slices.Sorted(maps.Keys(o.steps)) {
		o.track(func(t Tracker) {
			n := o.steps[step].node
			n.At = o.now
			t.NodeEnter(o.ctx, n)
		})
	}
}

func (o *observing[S]) name() string { return cmp.Or(o.options.WorkflowName, unnamed) }

func (o *observing[S]) exit(st *observed, status Status) {
	o.track(func(t Tracker) {
		n := st.node
		n.At = o.now
		t.NodeExit(o.ctx, TrackedExit{TrackedNode: n, Duration: o.now.Sub(st.node.At), Status: status})
	})
}

// complete sends the last notification to telemetry until the run continues.
func (o *observing[S]) complete(status Status) {
	if o.started.IsZero() {
		return
	}
	for _, step := range slices.Backward(slices.Sorted(maps.Keys(o.steps))) {
		o.exit(o.steps[step], status)
	}
	o.track(func(t Tracker) {
		t.WorkflowComplete(o.ctx, TrackedEnd{ExecutionID: o.run, WorkflowName: o.name(), Status: status,
			Duration: o.now.Sub(o.started), At: o.now})
	})
	o.started = time.Time{}
	o.after = 1<<63 - 1 // later events belong to the run's next follower
}

func (o *observing[S]) unfollowed() { o.complete(StatusRunning) }

// track calls fn with the tracker.
func (o *observing[S]) track(fn func(Tracker)) {
	if o.options.Telemetry == nil {
		return
	}
	err := o.guard(func() error {
		fn(o.options.Telemetry)
		return nil
	})
	if err != nil {
		o.engine.log.Warn("cannot report telemetry", "run", o.run, "err", err)
	}
}

// guard calls a user's function and converts a panic in it into an error.
func (o *observing[S]) guard(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return fn()
}

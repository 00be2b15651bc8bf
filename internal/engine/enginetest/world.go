package enginetest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/workflow"
)

// Epoch is the time at which every World starts.
var Epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// World runs one run. Pending holds the open commands in the order in which they were issued,
// except timers, which are in Timers.
type World struct {
	T    testing.TB
	Plan *engine.Plan
	Run  *engine.Run
	// Model, Tool and Func answer commands. A nil answer leaves the command pending.
	Model func(*engine.CallModel) *engine.ModelResult
	Tool  func(*engine.CallTool) *engine.ToolResult
	Func  func(*engine.CallFunc) *engine.FuncResult

	Now    time.Time
	Events []event.Event
	// Last holds the commands of the last activation, or of the recovery of a run that was not
	// running.
	Last      []engine.Command
	Pending   []engine.Command
	Timers    []*engine.StartTimer
	Cancelled map[string]bool
	// Batches holds the length of the journal after each activation, Inputs the inputs of each.
	Batches []int
	Inputs  [][]engine.Input
	// Calls counts the issued commands, by command id.
	Calls map[string]int
	// SkipLaws skips the checks, for long runs.
	SkipLaws bool
	// Store holds the strings that runs free. Folded runs free all of them, the live run only if
	// Stored is set.
	Store  Store
	Stored bool
	// Stop, if not nil, is set with Run.StopWhen.
	Stop func() bool
}

// New creates a world for a workflow; host may be nil.
func New(t testing.TB, w *workflow.Workflow, host engine.Host) *World {
	t.Helper()
	p, err := engine.Compile(w, host, celexpr.Compiler{})
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	return &World{T: t, Plan: p, Run: engine.New(p, "run1"), Store: Store{}, Now: Epoch, Cancelled: map[string]bool{},
		Calls: map[string]int{}}
}

// Start starts the run with a string as input.
func (w *World) Start(input string) { w.StartWith(event.RunCreated{Input: Text(input)}) }

// StartWith starts the run.
func (w *World) StartWith(c event.RunCreated) {
	w.T.Helper()
	w.Feed(engine.Start{Created: c})
}

// Feed activates the run with one input and fails the test on an error.
func (w *World) Feed(in engine.InputData) {
	w.T.Helper()
	if err := w.Try(in); err != nil {
		w.T.Fatalf("activate %T: %v\n%s", in, err, w.Log())
	}
}

// Try activates the run with inputs. An error must leave the run unchanged.
func (w *World) Try(data ...engine.InputData) error {
	w.T.Helper()
	w.Now = w.Now.Add(time.Millisecond)
	inputs := make([]engine.Input, len(data))
	for i, in := range data {
		inputs[i] = engine.Input{At: w.Now, Data: in}
	}
	var before []byte
	if !w.SkipLaws {
		before = State(w.Run)
	}
	if w.Stored && w.Run.Seq() == 0 {
		w.Run.StoreTexts(0)
	}
	w.Run.StopWhen(w.Stop)
	d, err := w.Run.Activate(inputs)
	if err != nil {
		if after := State(w.Run); before != nil && !bytes.Equal(after, before) {
			w.T.Fatalf("%v changed the run\nbefore %s\nafter  %s", err, before, after)
		}
		return err
	}
	w.Events = append(w.Events, d.Events...)
	w.Batches = append(w.Batches, len(w.Events))
	w.Inputs = append(w.Inputs, inputs)
	w.Store.Release(w.Run)
	w.addNotes(d.Events)
	w.accept(d.Commands)
	if !w.SkipLaws {
		w.checkLaws()
	}
	return nil
}

func (w *World) accept(cmds []engine.Command) {
	w.Last = cmds
	for _, c := range cmds {
		switch c := c.(type) {
		case *engine.StartTimer:
			w.Timers = append(slices.DeleteFunc(w.Timers, func(t *engine.StartTimer) bool { return t.ID == c.ID }), c)
		case *engine.CancelCalls:
			for _, id := range c.IDs {
				w.Cancelled[id] = true
			}
		case *engine.OpenWait, *engine.Finish:
		default:
			w.Calls[engine.CallID(c)]++
			w.Pending = append(w.Pending, c)
		}
	}
}

// Record records a note of a pending function call, as drivers do.
func (w *World) Record(note engine.FuncNote) error { return w.Try(note) }

// addNotes adds the notes of an activation to the pending commands, as a fold does.
func (w *World) addNotes(events []event.Event) {
	for _, e := range events {
		d, ok := e.Data.(*event.FuncNoted)
		if !ok {
			continue
		}
		for i, c := range w.Pending {
			if c, ok := c.(*engine.CallFunc); ok && c.Step == e.Step && c.Attempt == d.Attempt {
				next := *c
				next.Notes = append(slices.Clip(c.Notes), loop.Note{Key: d.Key, Value: d.Value})
				w.Pending[i] = &next
			}
		}
	}
}

// Answer returns the result of a command from the world's script; nil leaves it pending.
func (w *World) Answer(c engine.Command) engine.InputData {
	if w.Cancelled[engine.CallID(c)] {
		f := &event.Failure{Code: event.CodeCancelled, Message: "cancelled"}
		switch c := c.(type) {
		case *engine.CallModel:
			return engine.ModelResult{ID: c.ID, Failure: f}
		case *engine.CallTool:
			return engine.ToolResult{ID: c.ID, Failure: f}
		case *engine.CallFunc:
			return engine.FuncResult{ID: c.ID, Failure: f}
		}
	}
	switch c := c.(type) {
	case *engine.CallModel:
		if w.Model != nil {
			if r := w.Model(c); r != nil {
				r.ID = c.ID
				return *r
			}
		}
	case *engine.CallTool:
		if w.Tool != nil {
			if r := w.Tool(c); r != nil {
				r.ID = c.ID
				return *r
			}
		}
	case *engine.CallFunc:
		if w.Func != nil {
			if r := w.Func(c); r != nil {
				r.ID = c.ID
				return *r
			}
		}
	}
	return nil
}

// Go answers pending commands until none can be answered, starting with the one at index pick(n) of
// the n pending ones; if pick is nil, it starts with the oldest. Timers fire when no command is
// left, earliest first; deadlines of waits never fire.
func (w *World) Go(pick func(n int) int) {
	w.T.Helper()
	for range 100_000 {
		if !w.step(pick) {
			return
		}
	}
	w.T.Fatalf("the run does not come to rest\n%s", w.Log())
}

func (w *World) step(pick func(n int) int) bool {
	w.T.Helper()
	n := len(w.Pending)
	for i := range n {
		at := i
		if pick != nil && i == 0 {
			at = pick(n)
		}
		c := w.Pending[at]
		in := w.Answer(c)
		if in == nil {
			continue
		}
		w.Pending = slices.Delete(w.Pending, at, at+1)
		w.Feed(in)
		return true
	}
	var next *engine.StartTimer
	for _, t := range w.Timers {
		if !t.Deadline && t.ID != "timeout" && (next == nil || t.At.Before(next.At)) {
			next = t
		}
	}
	if next == nil || w.Run.Status().Ended() {
		return false
	}
	w.Fire(next.ID)
	return true
}

// Fire advances the clock to a timer and fires it.
func (w *World) Fire(id string) {
	w.T.Helper()
	i := slices.IndexFunc(w.Timers, func(t *engine.StartTimer) bool { return t.ID == id })
	if i < 0 {
		w.T.Fatalf("no timer %q\n%s", id, w.Log())
	}
	if at := w.Timers[i].At; at.After(w.Now) {
		w.Now = at
	}
	w.Timers = slices.Delete(w.Timers, i, i+1)
	w.Feed(engine.TimerDue{ID: id})
}

// Fold returns the run as it is after the first n events.
func (w *World) Fold(n int) *engine.Run {
	w.T.Helper()
	r := engine.New(w.Plan, "run1")
	r.StoreTexts(0)
	if err := r.Apply(w.Events[:n]); err != nil {
		w.T.Fatalf("fold: %v\n%s", err, w.Log())
	}
	w.Store.Release(r)
	return r
}

// Crash discards the live run and every call in flight, folds the journal and recovers it with the
// given lost calls.
func (w *World) Crash(lost ...engine.Lost) {
	w.T.Helper()
	w.Run = w.Fold(len(w.Events))
	w.Pending, w.Timers, w.Cancelled = nil, nil, map[string]bool{}
	if w.Run.Status() == event.StatusRunning {
		w.Feed(engine.Recovered{Lost: lost})
		return
	}
	w.accept(w.Run.Open())
}

// Log formats the journal, one event per line.
func (w *World) Log() string { return Print(w.Events) }

// Reply returns a model result with a text.
func Reply(text string) *engine.ModelResult {
	return &engine.ModelResult{Message: chat.Message{Text: chat.NewText(text)},
		Usage: &chat.Usage{InputTokens: 1, OutputTokens: 1}}
}

// Fails returns a failed model result.
func Fails(code, message string) *engine.ModelResult {
	return &engine.ModelResult{Failure: &event.Failure{Code: code, Message: message}}
}

// Store holds strings by their SHA-256, in place of a journal.
type Store map[[sha256.Size]byte]string

// Release takes the strings that a run has produced since the last call: from now on they are
// loaded.
func (s Store) Release(r *engine.Run) {
	for _, t := range r.TakeStored() {
		sum := t.Text().Sum()
		s[sum] = t.Text().String()
		t.Release(func() (string, error) {
			v, ok := s[sum]
			if !ok {
				return "", fmt.Errorf("text %x is gone", sum[:4])
			}
			return v, nil
		})
	}
}

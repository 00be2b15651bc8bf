package waits

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/workflow"
)

// Limits on signals. The first two apply to the signals that a run keeps because no step has taken
// them.
const (
	MaxKept      = 100
	MaxKeptBytes = 1 << 20
	// MaxSignalBytes is the maximum size of one signal's value.
	MaxSignalBytes = 256 << 10
)

// Errors returned for signals.
var (
	// ErrSignalName is returned when no step of the workflow waits for a signal with that name.
	ErrSignalName = errors.New("no step of the workflow waits for the signal")
	// ErrSignal is returned when the value is too large, is not JSON or does not match the schema
	// of the open waits, or when the key was used for something else. The error text says which.
	ErrSignal = errors.New("the signal cannot be taken")
	// ErrSignalsFull is returned when the run already keeps as many signals as it may (MaxKept,
	// MaxKeptBytes).
	ErrSignalsFull = errors.New("the run keeps too many signals that no step has taken")
)

// Kept is a signal that no wait has taken.
type Kept struct {
	*event.SignalReceived
	Seq uint64 // the event
}

// keptSignals is a list of signals in order of arrival.
type keptSignals struct {
	list  []Kept
	bytes int
}

// Takes reports whether a wait takes a signal with that value, and returns the value as adapted to
// the wait. An error says why the value does not match the schema of the wait.
type Takes func(w *Wait, value event.Value) (fitted event.Value, ok bool, err error)

// isSignal reports whether a signal ends the wait.
func (w *Wait) isSignal() bool { return w.Kind == workflow.WaitSignal }

// ReadSignal returns the event that a signal produces: the answer to the oldest wait that takes it,
// or else that it is kept. A wait of a held call is not a wait for a signal of this
// run. Both are nil if the same signal arrived before with the same key. Errors: ErrSignal,
// ErrSignalsFull.
func (s *Waits) ReadSignal(d Answer, takes Takes) (*event.WaitAnswered, *event.SignalReceived, error) {
	d.Key = event.Clean(d.Key)
	if len(d.Value) > MaxSignalBytes {
		return nil, nil, fmt.Errorf("%w: its value has %d bytes, and at most %d are allowed", ErrSignal, len(d.Value),
			MaxSignalBytes)
	}
	value := event.Compact(d.Value)
	if known, err := s.hasSignal(d.Signal, d.Key, value); known || err != nil {
		return nil, nil, err
	}
	var misfit error
	for _, w := range s.Open(func(w *Wait) bool { return w.isSignal() && w.Below == nil && w.Signal == d.Signal }) {
		fitted, ok, err := takes(w, value)
		if ok {
			return &event.WaitAnswered{Wait: w.Wait, Answer: fitted, Key: d.Key, By: d.By.Clean(),
				Trace: event.Clean(d.Trace)}, nil, nil
		}
		if misfit == nil {
			misfit = err
		}
	}
	if misfit != nil {
		return nil, nil, misfit
	}
	in := &event.SignalReceived{Signal: d.Signal, Value: value, Key: d.Key, By: d.By.Clean(),
		Trace: event.Clean(d.Trace)}
	switch k := s.kept; {
	case k == nil:
	case len(k.list) >= MaxKept:
		return nil, nil, fmt.Errorf("%w: %d signals at most", ErrSignalsFull, MaxKept)
	case k.bytes+in.Size() > MaxKeptBytes:
		return nil, nil, fmt.Errorf("%w: %d bytes at most", ErrSignalsFull, MaxKeptBytes)
	}
	return nil, in, nil
}

// HasSignal reports whether the signal arrived before with the same key (P24). It returns ErrSignal
// if the key was used for something else.
func (s *Waits) HasSignal(d Answer) (bool, error) {
	return s.hasSignal(d.Signal, event.Clean(d.Key), event.Compact(d.Value))
}

// hasSignal reports whether a signal arrived before with the same key. It returns ErrSignal if the
// key was used for something else.
func (s *Waits) hasSignal(name, key string, value event.Value) (bool, error) {
	used := fmt.Errorf("%w: the key %q was used for something else", ErrSignal, key)
	if w := s.answeredWith(key); w != nil {
		if same := w.isSignal() && w.Signal == name; !same || !bytes.Equal(w.Answer.Answer, value) && !fits(w, value) {
			return false, used
		}
		return true, nil
	}
	i := slices.IndexFunc(s.Signals(), func(k Kept) bool { return key != "" && k.Key == key })
	if i < 0 {
		return false, nil
	}
	if k := s.kept.list[i]; k.Signal != name || !bytes.Equal(k.Value, value) {
		return false, used
	}
	return true, nil
}

// fits reports whether a value, adapted to the schema of a wait, equals its recorded answer.
func fits(w *Wait, value event.Value) bool {
	s, err := schema.Compile(w.Schema)
	if err != nil {
		return false // then answers are not adapted, and the caller has compared them
	}
	fitted, why := fit(s, value)
	return why == "" && bytes.Equal(fitted, w.Answer.Answer)
}

// TakeKept returns the oldest kept signal that answers a wait that has just been opened, as its
// answer; nil if there is none.
func (s *Waits) TakeKept(id string, takes Takes) *event.WaitAnswered {
	w := s.Get(id)
	for _, k := range s.Signals() {
		if k.Signal != w.Signal {
			continue
		}
		if fitted, ok, _ := takes(w, k.Value); ok {
			return &event.WaitAnswered{Wait: id, Answer: fitted, Key: k.Key, By: k.By, Trace: k.Trace, Kept: int(k.Seq)}
		}
	}
	return nil
}

// FitSignal returns the value of a signal adapted to a wait with that schema; a nil schema accepts
// any value. Errors: ErrSignal.
func FitSignal(s *schema.Schema, value event.Value) (event.Value, error) {
	if s == nil {
		return value, nil
	}
	fitted, why := fit(s, value)
	if why != "" {
		return nil, fmt.Errorf("%w: %s", ErrSignal, why)
	}
	return fitted, nil
}

// Signals returns the signals that no wait has taken, in order of arrival. The slice must not be
// modified, and is valid until the next event.
func (s *Waits) Signals() []Kept {
	if s.kept == nil {
		return nil
	}
	return s.kept.list
}

// ApplySignal stores a signal.
func (s *Waits) ApplySignal(ev *event.Event, d *event.SignalReceived) {
	if s.kept == nil {
		s.kept = &keptSignals{}
	}
	s.kept.list = append(s.kept.list, Kept{d, ev.Seq})
	s.kept.bytes += d.Size()
}

func (s *Waits) checkKept(d *event.WaitAnswered) string {
	i := s.keptAt(d.Kept)
	if i < 0 {
		return "the signal that it names is not kept"
	}
	if w := s.Get(d.Wait); !w.isSignal() || w.Signal != s.kept.list[i].Signal {
		return "the wait takes no such signal"
	}
	return ""
}

// release removes a kept signal.
func (s *Waits) release(seq int) {
	if i := s.keptAt(seq); i >= 0 {
		s.kept.bytes -= s.kept.list[i].Size()
		s.kept.list = slices.Delete(s.kept.list, i, i+1)
	}
}

func (s *Waits) keptAt(seq int) int {
	return slices.IndexFunc(s.Signals(), func(k Kept) bool { return seq != 0 && k.Seq == uint64(seq) })
}

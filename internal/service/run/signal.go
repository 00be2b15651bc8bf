package run

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/engine"
)

// SignalRequest is a signal to a run.
type SignalRequest struct {
	Name string
	// Value is any JSON value; nil means null.
	Value engine.Value
	// Key identifies the signal, in at most MaxKey printable bytes, so that it can be sent again:
	// with the key of a signal that the run already has, the same signal changes nothing and a
	// different one results in engine.ErrSignal. "" means that a key is generated.
	Key string
	// By is the sender. It must be known.
	By Actor
}

// Signalled is the outcome of a signal.
type Signalled struct {
	// Run is the run that received it: the run to which it was sent, or a descendant.
	Run    string `json:"run"`
	Signal string `json:"signal"`
	Key    string `json:"key"`
	// Wait and Node identify the step that consumed it; "" if none has yet, and it is kept.
	Wait string `json:"wait,omitempty"`
	Node string `json:"node,omitempty"`
}

// Signal sends a signal to a run, and returns when it is durable: consumed by the longest-waiting
// step that accepts it, or kept for a later one. If a child run waits for it, and this run mirrors
// that wait, it is sent to the child run. A run that consumed it is then driven here, unless
// another process drives it.
//
// If it returns an error, nothing has changed: engine.ErrEnded, engine.ErrSignalName,
// engine.ErrSignal, engine.ErrSignalsFull, or an error of the driver.
func (s *Runner) Signal(ctx context.Context, run string, q SignalRequest) (Signalled, error) {
	out := Signalled{Run: run, Signal: q.Name, Key: q.Key}
	if err := checkKey("the idempotency key", q.Key); err != nil {
		return out, err
	}
	if !q.By.IsKnown() {
		return out, errNoActor
	}
	if q.Key == "" {
		out.Key = rand.Text()
	}
	if len(q.Value) == 0 {
		q.Value = engine.Value("null")
	}
	var err error
	if out.Run, err = s.signalTarget(ctx, run, q.Name, q.Key); err != nil {
		return out, err
	}
	if err := s.mayDrive(ctx, out.Run); err != nil {
		return out, err
	}
	if err := s.driver.Answer(ctx, out.Run, engine.Answer{Signal: q.Name, Value: q.Value, Key: out.Key,
		By: q.By}); err != nil {
		return out, err
	}
	rec, err := s.ReadShort(ctx, out.Run)
	if err != nil {
		return out, err
	}
	i := slices.IndexFunc(rec.Waits, func(w *Asked) bool { return w.Answer != nil && w.Answer.Key == out.Key })
	if i < 0 {
		return out, nil
	}
	out.Wait, out.Node = rec.Waits[i].Wait, rec.Waits[i].Node
	if err := s.answerAbove(ctx, out.Run, AnswerRequest{Wait: out.Wait, Value: q.Value, Key: out.Key,
		By: q.By}); err != nil {
		return out, err
	}
	return out, s.TakeUpAnswered(ctx, out.Run)
}

// signalTarget returns the run to which a signal goes: the one to which it was sent, unless a
// descendant waits for it and this run only mirrors that wait, or the descendant consumed it under
// the same key.
func (s *Runner) signalTarget(ctx context.Context, run, name, key string) (string, error) {
	at := run
	for range maxNesting + 1 {
		rec, err := s.ReadShort(ctx, at)
		if err != nil {
			return run, err
		}
		if i := slices.IndexFunc(rec.Waits, func(w *Asked) bool {
			return key != "" && w.Below != nil && w.Answer != nil && w.Answer.Key == key
		}); i >= 0 {
			at = rec.Waits[i].Below.Run // it is sent again
			continue
		}
		if w := rec.endedBySignal(name, key); w != nil && w.Below != nil {
			at = w.Below.Run
			continue
		}
		open := slices.DeleteFunc(rec.open(), func(w *Asked) bool { return w.Signal != name })
		if len(open) == 0 || slices.ContainsFunc(open, func(w *Asked) bool { return w.Below == nil }) {
			break
		}
		below := open[0].Below.Run
		asks, err := s.IsAskedBelow(ctx, at, open[0].Below)
		if err == nil && !asks { // this run may not know yet that it arrived
			rec, err = s.ReadShort(ctx, below)
			asks = rec.endedBySignal(name, key) != nil
		}
		if err != nil || !asks {
			return at, err
		}
		at = below
	}
	return at, nil
}

// endedBySignal returns the wait that a signal with the given key ended, or nil if there is none.
func (r Recorded) endedBySignal(name, key string) *Asked {
	i := slices.IndexFunc(r.Waits, func(w *Asked) bool {
		return key != "" && w.Signal == name && w.Answer != nil && w.Answer.Key == key
	})
	if i < 0 {
		return nil
	}
	return r.Waits[i]
}

// noAnswer returns the error of an answer to a wait that accepts only a signal.
func noAnswer(w Asked) error {
	return fmt.Errorf("%w: wait %s at %s takes %q", engine.ErrWaitSignal, w.Wait, w.Node, w.Signal)
}

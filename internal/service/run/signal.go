package run

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
)

// SignalRequest is a signal to a run.
type SignalRequest struct {
	Name string
	// Value is any JSON value; nil means null.
	Value event.Value
	// Key identifies the signal, in at most MaxKey printable bytes, so that it can be sent again:
	// with the key of a signal that the run already has, the same signal changes nothing and a
	// different one results in waits.ErrSignal. "" means that a key is generated.
	Key string
	// By is the sender. It must be known.
	By Actor
}

// SignalResult is the outcome of a signal.
type SignalResult struct {
	Run    string `json:"run" doc:"Run that has the signal: this one, or one that it started and that waits for it"`
	Signal string `json:"signal"`
	Key    string `json:"key" doc:"Key of the signal: that of the request, or a generated one"`
	Wait   string `json:"wait,omitempty" doc:"Wait that took it; absent: it is kept"`
	Node   string `json:"node,omitempty" doc:"Node that took it; absent: it is kept"`
}

// Later reports whether no step has taken the signal, which the run keeps.
func (r SignalResult) Later() bool { return r.Wait == "" }

// Signal sends a signal to a run, and returns when it is durable: consumed by the longest-waiting
// step that accepts it, or kept for a later one. If that step is in a child run, and this run
// mirrors its wait, the signal is sent to the child run. A run that consumed it is then driven
// here, unless another process drives it.
//
// If it returns an error, nothing has changed: engine.ErrEnded, waits.ErrSignalName,
// waits.ErrSignal, waits.ErrSignalsFull, or an error of the driver.
func (s *Runner) Signal(ctx context.Context, run string, q SignalRequest) (SignalResult, error) {
	out := SignalResult{Run: run, Signal: q.Name, Key: q.Key}
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
		q.Value = event.Value("null")
	}
	var err error
	answer := engine.Answer{Signal: q.Name, Value: q.Value, Key: out.Key, By: q.By}
	if out.Run, _, err = s.signalTarget(ctx, run, answer, false, 0); err != nil {
		return out, err
	}
	if err := s.mayDrive(ctx, out.Run); err != nil {
		return out, err
	}
	if err := s.driver.Answer(ctx, out.Run, answer); err != nil {
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

// signalTarget returns the run to which a signal goes: the one to which it was sent or, if this run
// only mirrors the wait, the descendant whose step has waited longest of those that take the signal
// . If none does, it is the run itself if a step of its own waits for the signal, and
// otherwise the child run that has waited longest. A signal that is sent again goes to the run that
// has it. If several waits come into question or sure is set, takes reports whether a step takes
// the signal; otherwise it is meaningless.
func (s *Runner) signalTarget(ctx context.Context, run string, d engine.Answer, sure bool, depth int) (target string,
	takes bool, err error) {
	rec, err := s.ReadShort(ctx, run)
	if err != nil || depth > maxNesting {
		return run, false, err
	}
	if i := slices.IndexFunc(rec.Waits, func(w *Asked) bool {
		return w.Answer != nil && w.Answer.Key == d.Key && (w.Below != nil || w.Signal == d.Signal)
	}); i >= 0 { // it is sent again
		if w := rec.Waits[i]; w.Below != nil {
			return s.signalTarget(ctx, w.Below.Run, d, sure, depth+1)
		}
		return run, true, nil
	}
	open := slices.DeleteFunc(rec.open(), func(w *Asked) bool { return w.Signal != d.Signal })
	isOwn := len(open) == 0
	for _, w := range open {
		isOwn = isOwn || w.Below == nil
	}
	sure = sure || len(open) > 1
	own := ""
	if sure && isOwn {
		// Without the functions of the program whose filters decide, no own step is preferred.
		var known bool
		if own, known, err = s.runs.TakesSignal(ctx, run, d); known {
			return run, true, nil
		} else if foreign := new(driver.ForeignError); err != nil && !errors.As(err, &foreign) {
			return run, false, err
		}
	}
	for _, w := range open {
		if w.Below == nil {
			if own == w.Wait {
				return run, true, nil
			}
			continue
		}
		if asks, err := s.IsAskedBelow(ctx, run, w.Below); err != nil {
			return run, false, err
		} else if !asks {
			continue
		}
		below, ok, err := s.signalTarget(ctx, w.Below.Run, d, sure, depth+1)
		if err != nil || ok {
			return below, ok, err
		}
		if target == "" {
			target = below
		}
	}
	if isOwn || target == "" {
		target = run
	}
	return target, false, nil
}

// noAnswer returns the error of an answer to a wait that accepts only a signal.
func noAnswer(w Asked) error {
	return fmt.Errorf("%w: wait %s at %s takes %q", waits.ErrSignalWait, w.Wait, w.Node, w.Signal)
}

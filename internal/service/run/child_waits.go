package run

import (
	"context"
	"errors"
	"slices"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// A person is asked only once, however many nested workflow tools separate the waiting run from the
// outermost run: each run mirrors the wait of the run that its call started (event.Below). An
// answer to any of these waits goes to the innermost wait, which decides whether it is valid, and
// then to the waits above it, from the inside out, whose calls then continue (ADR 37).

// hold returns a hold that mirrors the first open wait of a run that a call started, or nil if
// there is none.
func (r Recorded) hold() *tool.Hold {
	for _, w := range r.open() {
		return &tool.Hold{
			Kind: w.Kind, Prompt: w.Prompt, Options: w.Options, Schema: w.Schema, Tool: w.Tool, Arguments: w.Arguments,
			Changed: w.Changed, Input: r.waitInput(w.Wait), Signal: w.Signal, Roles: w.Roles,
			Below: &tool.Below{Run: r.Head.Run, Wait: w.Wait, Person: NeedsPerson(w.WaitOpened)},
		}
	}
	return nil
}

// waitInput returns the input of the node that opened a wait; nil for tool calls and for waits that
// are not open.
func (r Recorded) waitInput(wait string) event.Value {
	for _, w := range r.Object().Waiting {
		if w.ID == wait {
			return w.Input
		}
	}
	return nil
}

// innermost follows mirrored waits from a wait of a run down to the original wait.
func (s *Runner) innermost(ctx context.Context, run string, a AnswerRequest) (string, AnswerRequest, error) {
	for range maxNesting + 1 {
		rec, err := s.ReadShort(ctx, run)
		if err != nil {
			return run, a, err
		}
		w, err := rec.Asked(a)
		if err != nil {
			return run, a, err
		}
		if w.Kind == workflow.WaitSignal {
			return run, a, noAnswer(w)
		}
		a.Wait, a.Node = w.Wait, ""
		if w.Below == nil {
			break
		}
		if asks, err := s.IsAskedBelow(ctx, run, w.Below); err != nil || !asks {
			return run, a, err
		}
		run, a.Wait = w.Below.Run, w.Below.Wait
	}
	return run, a, nil
}

// IsAskedBelow reports whether a wait of run that mirrors a wait of another run is answered in that
// other run. A fork mirrors what a run of its origin asks, but its own call starts another run,
// which asks again. IsAskedBelow returns false for nil.
func (s *Runner) IsAskedBelow(ctx context.Context, run string, below *event.Below) (bool, error) {
	if below == nil {
		return false, nil
	}
	head, err := s.store.Head(ctx, below.Run)
	if errors.Is(err, journal.ErrNotFound) {
		return false, nil
	}
	return err == nil && head.Parent == run, err
}

// answerAbove submits an answer to the waits that mirror a wait of run, from the inside out. Waits
// that already have it are skipped: a process may have died between two of them, and repeating the
// same answer reaches the rest.
func (s *Runner) answerAbove(ctx context.Context, run string, a AnswerRequest) error {
	for {
		head, err := s.store.Head(ctx, run)
		if err != nil || head.Parent == "" {
			return err
		}
		rec, err := s.ReadShort(ctx, head.Parent)
		if errors.Is(err, journal.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		wait := ""
		for _, w := range rec.Waits { // the latest: a repeated call mirrors the wait once more
			if w.Below != nil && w.Below.Run == run && w.Below.Wait == a.Wait {
				wait = w.Wait
			}
		}
		if wait == "" {
			return nil
		}
		run, a.Wait = head.Parent, wait
		if !slices.ContainsFunc(rec.open(), func(w *Asked) bool { return w.Wait == wait }) {
			continue
		}
		if err := s.mayDrive(ctx, run); err != nil {
			return err
		}
		if err := s.driver.Answer(ctx, run, engine.Answer{Wait: wait, Value: a.Value, Arguments: a.Arguments,
			Note: a.Note, Key: a.Key, By: a.By}); err != nil && !isWaitClosed(err) {
			return err
		}
	}
}

// isWaitClosed reports whether an error means that the wait is no longer open.
func isWaitClosed(err error) bool {
	return errors.Is(err, waits.ErrAnswered) || errors.Is(err, waits.ErrClosed) || errors.Is(err,
		waits.ErrNotFound) || errors.Is(err, engine.ErrEnded) || errors.Is(err, journal.ErrNotFound)
}

// resumeSettledCalls continues the calls of a run whose child runs no longer wait although this run
// was not notified: a deadline closed the wait, the child run was cancelled, or a process died
// between the answer there and the one here.
func (s *Runner) resumeSettledCalls(ctx context.Context, run string, depth int) error {
	if depth > maxNesting {
		return nil
	}
	head, err := s.store.Head(ctx, run)
	if err != nil || head.Waiting == 0 || head.Status != journal.StatusPaused {
		return err
	}
	rec, err := s.ReadShort(ctx, run)
	if err != nil {
		return err
	}
	for _, w := range rec.open() {
		if w.Below == nil {
			continue
		}
		if err := s.resumeSettledCalls(ctx, w.Below.Run, depth+1); err != nil && !isWaitClosed(err) {
			return err
		}
		below, err := s.ReadShort(ctx, w.Below.Run)
		if err != nil && !errors.Is(err, journal.ErrNotFound) {
			return err
		}
		if below.Head.Parent != run {
			below = Recorded{} // belongs to the run from which this one was forked
		}
		waits := false
		for _, b := range below.open() {
			waits = waits || b.Wait == w.Below.Wait
		}
		if waits {
			continue
		}
		value := expr.Quote("over")
		if w.Kind == workflow.WaitApproval {
			value = Decide(workflow.PortReject)
		}
		answer := engine.Answer{Wait: w.Wait, Value: value, Note: "run " + w.Below.Run + " is no longer waiting",
			By: Actor{Channel: event.ChannelClock}}
		if slices.ContainsFunc(below.Waits, func(b *Asked) bool { return b.Answer != nil && b.Wait == w.Below.Wait }) {
			if below, err = s.Read(ctx, w.Below.Run); err != nil { // the answer given there is passed on whole
				return err
			}
			for _, d := range below.Object().Answers {
				if d.Wait != w.Below.Wait {
					continue
				}
				answer.Value, answer.Arguments, answer.Note, answer.By = d.Answer, d.Arguments, d.Note, d.By
				if d.Decision != "" {
					answer.Value = Decide(d.Decision)
				}
			}
		}
		if err := s.driver.Answer(ctx, run, answer); err != nil && !isWaitClosed(err) {
			return err
		}
	}
	return nil
}

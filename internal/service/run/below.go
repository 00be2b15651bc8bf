package run

import (
	"context"
	"errors"
	"slices"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// A person is asked once, however many workflows that are tools of one another stand above the run that waits: each run above repeats the wait of the run
// that its call started (engine.Below). An answer to any of them is given to the innermost wait, which decides whether it holds, and then to those above it,
// from the inside out, whose calls go on (ADR 37).

// hold repeats the first open wait of a run that a call started; nil where there is none.
func (r Recorded) hold() *tool.Hold {
	for _, w := range r.open() {
		return &tool.Hold{
			Kind: w.Kind, Prompt: w.Prompt, Options: w.Options, Schema: w.Schema, Tool: w.Tool, Arguments: w.Arguments, Changed: w.Changed, Input: r.judged(w.Wait), Signal: w.Signal, Roles: w.Roles,
			Below: &tool.Below{Run: r.Head.Run, Wait: w.Wait, Person: NeedsPerson(w.WaitOpened)},
		}
	}
	return nil
}

// judged gives what the node was given that opened a wait; nil for tool calls and for waits that are not open.
func (r Recorded) judged(wait string) engine.Value {
	for _, w := range r.Object().Waiting {
		if w.ID == wait {
			return w.Input
		}
	}
	return nil
}

// innermost follows the waits that repeat others, from one of a run down to the one that is asked by itself.
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

// IsAskedBelow tells whether a wait of run that repeats another one is asked about in the run of that one. A fork repeats what a run of its origin asks: its own call
// begins a run of its own, which asks anew. False for nil.
func (s *Runner) IsAskedBelow(ctx context.Context, run string, below *engine.Below) (bool, error) {
	if below == nil {
		return false, nil
	}
	head, err := s.store.Head(ctx, below.Run)
	if errors.Is(err, journal.ErrNotFound) {
		return false, nil
	}
	return err == nil && head.Parent == run, err
}

// answerAbove gives an answer to the waits that repeat one of run, from the inside out. Those that have it already are passed: a process may have died between two
// of them, and the same answer given again reaches the rest.
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
		for _, w := range rec.Waits { // the latest: a call that is made again repeats the wait once more
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
		if err := s.driver.Answer(ctx, run, engine.Answer{Wait: wait, Value: a.Value, Arguments: a.Arguments, Note: a.Note, Key: a.Key, By: a.By}); err != nil && !isOver(err) {
			return err
		}
	}
}

// isOver tells of errors of waits that nothing is waited for at any more.
func isOver(err error) bool {
	return errors.Is(err, engine.ErrWaitAnswered) || errors.Is(err, engine.ErrWaitClosed) || errors.Is(err, engine.ErrWaitNotFound) || errors.Is(err, engine.ErrEnded) || errors.Is(err, journal.ErrNotFound)
}

// catchUp lets calls of a run go on whose runs wait no more, although nothing told this run of it: a deadline closed the wait, the run was cancelled, or a process
// died between the answer there and the one here.
func (s *Runner) catchUp(ctx context.Context, run string, depth int) error {
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
		if err := s.catchUp(ctx, w.Below.Run, depth+1); err != nil && !isOver(err) {
			return err
		}
		below, err := s.ReadShort(ctx, w.Below.Run)
		if err != nil && !errors.Is(err, journal.ErrNotFound) {
			return err
		}
		if below.Head.Parent != run {
			below = Recorded{} // that of the run from which this one was forked
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
		answer := engine.Answer{Wait: w.Wait, Value: value, Note: "run " + w.Below.Run + " is no longer waiting", By: Actor{Channel: engine.ChannelClock}}
		if slices.ContainsFunc(below.Waits, func(b *Asked) bool { return b.Answer != nil && b.Wait == w.Below.Wait }) {
			if below, err = s.Read(ctx, w.Below.Run); err != nil { // what was answered there is given on whole
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
		if err := s.driver.Answer(ctx, run, answer); err != nil && !isOver(err) {
			return err
		}
	}
	return nil
}

package hocket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// goOn answers a run, continues one that exceeded its budget if larger is set, or resumes it.
func (e *Engine) goOn(ctx context.Context, run string, answer *Answer, larger graph.Limits) error {
	if answer != nil && !reflect.ValueOf(*answer).IsZero() {
		return e.Answer(ctx, run, *answer)
	}
	if larger != (graph.Limits{}) {
		h, err := e.service.Head(ctx, run)
		if err != nil {
			return known(err)
		}
		if h.Status.Ended() {
			return e.Reopen(ctx, run, budgetOf(larger))
		}
	}
	return e.Resume(ctx, run)
}

// Reopen continues a run that ended because of a limit, such as its budget, under larger limits. It
// returns as soon as the run has resumed; follow it with [Engine.Wait]. Only limits that are set
// apply. Completed work is kept: finished nodes do not run again, and no answered model call is
// repeated. For a graph with progress or telemetry, use [Run] with RunOptions.ResumeFrom and
// RunOptions.Limits.
//
// Errors: [ErrNotFound]; [ErrNotReopenable], if the limits are not those that ended the run or are
// no larger; [ErrNotRegistered]; [ErrClosed]. On error the run is unchanged.
func (e *Engine) Reopen(ctx context.Context, run string, larger Limits) error {
	limits := larger.lowered()
	if err := workflow.CheckLimits(limits); err != nil {
		return err
	}
	rec, err := e.service.ReadShort(ctx, run)
	if err != nil {
		return known(err)
	}
	by := engine.LocalBy(engine.ChannelProgram)
	p, err := rec.Addressed(service.Proceed{Limits: &limits, By: by})
	switch {
	case err != nil:
		return known(err)
	case p.Answer != nil:
		return known(e.service.Answer(ctx, run, *p.Answer))
	}
	return known(e.service.Reopen(ctx, run, limits, by))
}

// Answer answers a question of a run, driven by any process, and returns once the answer is stored.
// The run then continues; follow it with [Engine.Wait]. Sending the same answer to an answered
// question is not an error.
//
// Errors: [ErrNotFound], [ErrAnswer], [ErrEnded], [ErrNotRegistered], [ErrClosed].
func (e *Engine) Answer(ctx context.Context, run string, a Answer) error {
	value, err := json.Marshal(a.Value)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	var arguments json.RawMessage
	if a.Arguments != nil {
		if arguments, err = json.Marshal(a.Arguments); err != nil {
			return fmt.Errorf("encode arguments: %w", err)
		}
	}
	err = known(e.service.Answer(ctx, run, service.AnswerRequest{Wait: a.Wait, Node: a.Node, Value: value,
		Arguments: arguments, Note: a.Note, By: engine.LocalBy(engine.ChannelProgram)}))
	if !errors.Is(err, ErrAnswer) {
		return err
	}
	if h, headErr := e.service.Head(ctx, run); headErr == nil && h.Status.Ended() {
		return fmt.Errorf("answer run %s: %w", run, ErrEnded)
	}
	return err
}

// Signal sends a signal to a run, driven by any process, and returns once the signal is stored. The
// longest-waiting step that accepts the value receives it; if there is none, the run keeps it for a
// later step. A child run that waits for the signal receives it, too. key identifies the signal so
// that it can be resent: a repeated key has no effect. If key is "", each call sends a new signal.
//
// Errors: [ErrNotFound], [ErrEnded], [ErrNotRegistered], [ErrClosed]; [ErrAnswer] if no step of the
// run has the name, the value does not fit, or the key was used for another signal.
func (e *Engine) Signal(ctx context.Context, run, name string, value any, key string) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode signal: %w", err)
	}
	_, err = e.service.Signal(ctx, run, service.SignalRequest{Name: name, Value: data, Key: key,
		By: engine.LocalBy(engine.ChannelProgram)})
	return known(err)
}

// Resume resumes an interrupted run and returns as soon as the run has resumed; follow it with
// [Engine.Wait]. The function [Resume] does both, for a graph.
//
// Errors: [ErrNotFound], [ErrPaused], [ErrEnded], [ErrBusy], [ErrNotRegistered], [ErrClosed].
func (e *Engine) Resume(ctx context.Context, run string) error {
	before, err := e.service.Head(ctx, run)
	if err != nil {
		return known(err)
	}
	if err := e.service.Resume(ctx, run); err != nil {
		return known(err)
	}
	if before.Status != engine.StatusPaused {
		return nil // it continues, and may already wait
	}
	after, err := e.service.Head(ctx, run)
	if err != nil {
		return known(err)
	}
	if after.Status == engine.StatusPaused && after.LastSeq == before.LastSeq {
		return fmt.Errorf("resume run %s: %w", run, ErrPaused)
	}
	return nil
}

// Cancel cancels a run, driven by any process, together with its child runs, and returns once the
// cancellation is stored. The contexts of running functions are cancelled. reason may be "".
// Errors: [ErrNotFound], [ErrEnded], [ErrClosed].
func (e *Engine) Cancel(ctx context.Context, run, reason string) error {
	return known(e.service.Cancel(ctx, run, reason))
}

// errAbandoned is the reason for no longer following a run that another process drove.
var errAbandoned = errors.New("no process drives it any longer")

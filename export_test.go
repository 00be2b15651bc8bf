package hocket

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/service/run"
	"github.com/hocket-run/hocket/workflow"
)

// AgentDefinition returns the agent as workflows represent it.
func AgentDefinition(a Agent) (workflow.Agent, error) { return a.definition() }

// JournalOf returns the events of a run as stored, for tests.
func (e *Engine) JournalOf(ctx context.Context, run string) ([]event.Event, error) {
	return e.service.Events(ctx, run, 0)
}

// called is a program that records that it was called.
type called struct{ driver.Program }

func (called) Call(context.Context, string, *engine.CallFunc, driver.Caller) engine.FuncResult {
	return engine.FuncResult{Output: event.Value("1")}
}

// TestFollowers_CallAfterLastFollowerLeft checks that a call waits for a follower of the run that
// is about to interrupt it, and for no other follower: if the follower has left and another process
// has resumed the run meanwhile, the call is made (P18).
func TestFollowers_CallAfterLastFollowerLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &Engine{service: &service.Service{Runner: &run.Runner{}}}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f := follow(ctx, e, nil, "r")
		var got *engine.FuncResult
		call, stop := context.WithCancel(t.Context())
		defer stop()
		go func() {
			res := functions{Program: called{}, engine: e}.Call(call, "r", &engine.CallFunc{}, nil)
			got = &res
		}()
		synctest.Wait()
		if got != nil {
			t.Fatalf("a call was made though the run is about to be interrupted: %+v", got)
		}
		f.done()
		synctest.Wait()
		if got == nil || got.Failure != nil {
			t.Errorf("the call is not made: %+v", got)
		}
	})
}

package embedded_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/workflow"
)

// TestNote_AfterInterrupt checks that a function that ignores its interruption can record no note
// once its run has left memory: the note would reload the run without a request (ADR 12).
func TestNote_AfterInterrupt(t *testing.T) {
	var (
		gone chan struct{}
		told chan error
	)
	w := &sim.World{Func: func(_ context.Context, _ string, f *engine.CallFunc, rec driver.Caller) engine.FuncResult {
		<-gone
		told <- rec.Record(engine.FuncNote{ID: f.ID, Key: "k"})
		return engine.FuncResult{}
	}}
	one := &workflow.Workflow{Name: "test", Entry: "n",
		Nodes: []workflow.Node{{ID: "n", Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: "n"}}}}
	cfg := embedded.Config{Expressions: celexpr.Compiler{}, Open: w.Open,
		Program: func(*workflow.Workflow) (driver.Program, error) { return w.Program(), nil }}
	bubble(t, cfg, func(t *testing.T, d *embedded.Driver, m *journal.Memory) {
		gone = make(chan struct{})
		told = make(chan error, 1)
		run, err := d.Start(t.Context(), driver.Spec{Workflow: one, Input: event.Value(`1`)})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := d.Interrupt(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		close(gone)
		if err := <-told; err == nil || errors.Is(err, loop.ErrNote) {
			t.Errorf("the note was answered with %v", err)
		}
		synctest.Wait()
		head, err := m.Open("").Head(t.Context(), run)
		if err != nil || !head.Interrupted {
			t.Errorf("the run stands at %+v, %v; want it interrupted", head, err)
		}
	})
}

package embedded_test

import (
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// slowExpressions compiles expressions whose evaluation takes a millisecond.
type slowExpressions struct{ celexpr.Compiler }

func (c slowExpressions) Compile(s *expr.Source, opts expr.Options, test bool) (expr.Program, []expr.Problem) {
	p, problems := c.Compiler.Compile(s, opts, test)
	return slowProgram{p}, problems
}

type slowProgram struct{ expr.Program }

func (p slowProgram) Test(env expr.Env) (value bool, reason string) {
	time.Sleep(time.Millisecond)
	return p.Program.Test(env)
}

// spin is a loop of n steps without calls.
func spin(n int) *workflow.Workflow {
	never := []workflow.Case{
		{Port: "out", When: workflow.Condition{Language: workflow.LangExpr, Text: `$input == "no such text"`}},
	}
	return &workflow.Workflow{
		Name: "test", Entry: "a", Limits: workflow.Limits{MaxSteps: new(n), MaxLoopIterations: n},
		Nodes: []workflow.Node{
			{ID: "a", Kind: workflow.KindDecide, Decide: &workflow.Decide{Cases: never, Else: "on"}},
			{ID: "b", Kind: workflow.KindDecide, Decide: &workflow.Decide{Cases: never, Else: "on"}},
		},
		Edges: []workflow.Edge{{From: "a", Port: "on", To: "b"}, {From: "b", Port: "on", To: "a", Loop: true}},
	}
}

// within fails the test if fn takes longer.
func within(t *testing.T, most time.Duration, what string, fn func() error) {
	t.Helper()
	began := time.Now()
	if err := fn(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if took := time.Since(began); took > most {
		t.Errorf("%s took %s, want at most %s", what, took, most)
	}
}

// TestDecision_Long checks that a run of steps that make no call starts before these end, can be
// cancelled, interrupted and resumed meanwhile, and ends as in one decision.
func TestDecision_Long(t *testing.T) {
	t.Parallel()
	const steps = 20_000 // 20 s
	ends := map[string]func(t *testing.T, m *journal.Memory, d *embedded.Driver, run string){
		"cancelled": func(t *testing.T, _ *journal.Memory, d *embedded.Driver, run string) {
			within(t, time.Second, "cancel", func() error { return d.Cancel(t.Context(), run, "") })
			if s := status(t, d, run); s.Status != event.StatusCancelled {
				t.Errorf("the run is %s", s.Status)
			}
		},
		"interrupted": func(t *testing.T, m *journal.Memory, d *embedded.Driver, run string) {
			within(t, time.Second, "interrupt", func() error { return d.Interrupt(t.Context(), run) })
			if s := status(t, d, run); s.Status != event.StatusRunning || !s.Interrupted {
				t.Errorf("the run is %+v", s)
			}
			other := open(t, m, embedded.Config{})
			if err := other.Resume(t.Context(), run); err != nil {
				t.Fatal(err)
			}
			if s := status(t, other, run); s.Status != event.StatusFailed {
				t.Errorf("the run is %s after it was resumed, want one that its limit ended", s.Status)
			}
		},
		"undisturbed": func(t *testing.T, _ *journal.Memory, d *embedded.Driver, run string) {
			if s := status(t, d, run); s.Status != event.StatusFailed {
				t.Errorf("the run is %s, want one that its limit ended", s.Status)
			}
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := journal.NewMemory()
				d := open(t, m, embedded.Config{Expressions: slowExpressions{}})
				var run string
				within(t, time.Second, "start", func() (err error) {
					run, err = d.Start(t.Context(), driver.Spec{Workflow: spin(steps)})
					return err
				})
				time.Sleep(3 * time.Second) // of a bubble
				end(t, m, d, run)
			})
		})
	}
}

// TestDecision_LongElsewhere checks that a process that drives no runs starts such a run, and that
// another one continues it where it was left.
func TestDecision_LongElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := journal.NewMemory()
		d := open(t, m, embedded.Config{Expressions: slowExpressions{}, NoDrive: true})
		var run string
		within(t, time.Second, "start", func() (err error) {
			run, err = d.Start(t.Context(), driver.Spec{Workflow: spin(2000)})
			return err
		})
		worker := open(t, m, embedded.Config{})
		go worker.Maintain(t.Context())
		synctest.Wait()
		if s := status(t, d, run); s.Status != event.StatusFailed {
			t.Errorf("the run is %s, want one that its limit ended", s.Status)
		}
	})
}

// TestDecision_LongCommon checks that a run held in common with such steps is created before these
// end, can be cancelled between them, and ends when a process continues it.
func TestDecision_LongCommon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := journal.NewMemory()
		h := m.Open(journal.KindServe)
		defer h.Close()
		plans := &held.Plans{Expressions: slowExpressions{}}
		cs := held.NewCommons(held.CommonConfig{Store: h, Plans: plans, Now: time.Now,
			Logger: slog.New(slog.DiscardHandler)})
		status := func(c *held.Common) (s event.Status) {
			if err := c.Look(t.Context(), func(run *engine.Run, _ journal.Head) { s = run.Status() }); err != nil {
				t.Error(err)
			}
			return s
		}
		for _, run := range []string{"ends", "cancelled"} {
			p, err := plans.Prepare(&driver.Spec{Run: run, Workflow: spin(20_000)}, journal.KindTemporal, time.Now, nil)
			if err != nil {
				t.Fatal(err)
			}
			within(t, time.Second, "create", func() error { return cs.Create(t.Context(), &p) })
		}
		c, done := cs.Use("ends")
		defer done()
		if err := c.Continue(t.Context()); err != nil || status(c) != event.StatusFailed {
			t.Errorf("the run is %s, %v; want one that its limit ended", status(c), err)
		}
		c, done = cs.Use("cancelled")
		defer done()
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := c.Continue(t.Context()); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(3 * time.Second) // of a bubble
		within(t, time.Second, "cancel", func() error {
			_, err := c.Decide(t.Context(), func(t *held.Turn) error { return t.Do(engine.Cancel{}) })
			return err
		})
		if wg.Wait(); status(c) != event.StatusCancelled {
			t.Errorf("the run is %s, want cancelled", status(c))
		}
	})
}

package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/workflow"
)

// goroutine identifies the calling goroutine.
func goroutine() string {
	buf := make([]byte, 64)
	name, _, _ := bytes.Cut(buf[:runtime.Stack(buf, false)], []byte("["))
	return string(name)
}

// row is a workflow of function nodes in sequence.
func row(ids ...string) *workflow.Workflow {
	w := &workflow.Workflow{Name: "row", Entry: ids[0]}
	for i, id := range ids {
		w.Nodes = append(w.Nodes, workflow.Node{ID: id, Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: id}})
		if i > 0 {
			w.Edges = append(w.Edges, workflow.Edge{From: ids[i-1], To: id})
		}
	}
	return w
}

// TestInlineCall checks that a lone function is called by the goroutine that drives its run, and
// that nothing that happens to the run meanwhile waits for it: a note, a cancellation, an
// interruption, the end of the driver, the end of the function's goroutine, and its time limit each
// let another goroutine drive.
func TestInlineCall(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		// within is the body of the second of three functions; drive does something to the run
		// meanwhile.
		within func(ctx context.Context, c *engine.CallFunc, rec driver.Caller, driven func())
		drive  func(ctx context.Context, d *embedded.Driver, run string) error
		limit  time.Duration
		// same means that the third function is called by the goroutine of the first; ends is how
		// the run ends, or "" if it stays interrupted.
		same bool
		ends event.Status
	}{
		"nothing comes": {same: true, ends: event.StatusCompleted},
		"a note": {within: func(_ context.Context, c *engine.CallFunc, rec driver.Caller, _ func()) {
			if err := rec.Record(engine.FuncNote{ID: c.ID, Key: "k", Value: event.Value("1")}); err != nil {
				panic(err)
			}
		}, ends: event.StatusCompleted},
		"its goroutine ends": {within: func(context.Context, *engine.CallFunc, driver.Caller, func()) {
			runtime.Goexit()
		}, ends: event.StatusFailed},
		"it panics": {within: func(context.Context, *engine.CallFunc, driver.Caller, func()) { panic("oops") },
			ends: event.StatusFailed},
		"it heeds no limit": {within: func(_ context.Context, _ *engine.CallFunc, _ driver.Caller, _ func()) {
			time.Sleep(time.Hour)
		},
			limit: time.Second, ends: event.StatusFailed},
		"cancelled": {within: func(ctx context.Context, _ *engine.CallFunc, _ driver.Caller, driven func()) {
			driven()
			<-ctx.Done()
		},
			drive: func(ctx context.Context, d *embedded.Driver, run string) error { return d.Cancel(ctx, run, "") },
			ends:  event.StatusCancelled},
		"interrupted": {within: func(ctx context.Context, _ *engine.CallFunc, _ driver.Caller, driven func()) {
			driven()
			<-ctx.Done()
		},
			drive: func(ctx context.Context, d *embedded.Driver, run string) error { return d.Interrupt(ctx, run) }},
		"the driver is closed": {within: func(ctx context.Context, _ *engine.CallFunc, _ driver.Caller, driven func()) {
			driven()
			<-ctx.Done()
		},
			drive: func(ctx context.Context, d *embedded.Driver, _ string) error { return d.Close(ctx) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var (
					mu  sync.Mutex
					ran = map[string]string{}
				)
				called, driven := make(chan struct{}), make(chan struct{})
				w := &sim.World{
					Func: func(ctx context.Context, _ string, c *engine.CallFunc, rec driver.Caller) engine.FuncResult {
						mu.Lock()
						ran[c.Func] = goroutine()
						mu.Unlock()
						if c.Func == "b" && tc.within != nil {
							close(called)
							tc.within(ctx, c, rec, func() { <-driven })
						}
						if ctx.Err() != nil {
							return engine.FuncResult{Failure: &event.Failure{Code: event.CodeCancelled,
								Message: "cancelled"}}
						}
						return engine.FuncResult{Output: event.Value("1")}
					}}
				m := journal.NewMemory()
				d, err := embedded.New(embedded.Config{Store: m.Open(journal.KindRun), Open: w.Open,
					Program: func(*workflow.Workflow) (driver.Program, error) { return w.Program(), nil }})
				if err != nil {
					t.Fatal(err)
				}
				def := row("a", "b", "c")
				def.Nodes[1].Timeout = workflow.Duration(tc.limit)
				var events int
				l, err := d.Launch(t.Context(), driver.Spec{Workflow: def,
					Observe: func(_ *engine.Run, batch []event.Event) { events += len(batch) }})
				if err != nil {
					t.Fatal(err)
				}
				if tc.drive != nil {
					<-called
					gone := make(chan error)
					go func() { gone <- tc.drive(t.Context(), d, l.ID()) }()
					synctest.Wait() // the driver has been told, and waits at most for the function
					close(driven)
					if err := <-gone; err != nil {
						t.Fatal(err)
					}
				}
				if begun, err := l.Wait(t.Context()); !begun || err != nil {
					t.Fatalf("begun %t, %v", begun, err)
				}
				time.Sleep(time.Hour) // until the abandoned call has ended
				if err := d.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				h, err := m.Open(journal.KindRun).Head(t.Context(), l.ID())
				if err != nil || int(h.LastSeq) != events {
					t.Fatalf("%d events were observed of %d: %v", events, h.LastSeq, err)
				}
				if got := h.Status; got != tc.ends && (tc.ends != "" || got.Ended()) {
					t.Errorf("the run is %s, not %s", got, tc.ends)
				}
				if same := ran["a"] == ran["b"] && ran["b"] == ran["c"]; same != tc.same {
					t.Errorf("the calls were made by %q", ran)
				}
			})
		})
	}
}

// TestInlineCall_Interrupted checks that the run is left unchanged and can be driven further,
// whichever way a result reaches a driver while its run is interrupted.
func TestInlineCall_Interrupted(t *testing.T) {
	t.Parallel()
	const runs = 200
	w := &sim.World{Func: func(ctx context.Context, _ string, _ *engine.CallFunc, _ driver.Caller) engine.FuncResult {
		runtime.Gosched()
		if ctx.Err() != nil {
			return engine.FuncResult{Failure: &event.Failure{Code: event.CodeCancelled, Message: "cancelled"}}
		}
		return engine.FuncResult{Output: event.Value("1")}
	}}
	d, err := embedded.New(embedded.Config{Store: journal.NewMemory().Open(journal.KindRun), Open: w.Open,
		Program: func(*workflow.Workflow) (driver.Program, error) { return w.Program(), nil }})
	if err != nil {
		t.Fatal(err)
	}
	def := row("a", "b", "c", "d", "e")
	var wg sync.WaitGroup
	for range runs {
		wg.Go(func() {
			id, err := d.Start(t.Context(), driver.Spec{Workflow: def})
			if err != nil {
				t.Error(err)
				return
			}
			for range 3 {
				if err := d.Interrupt(t.Context(), id); err != nil {
					t.Error(err)
				}
				if err := d.Resume(t.Context(), id); err != nil && !errors.Is(err, engine.ErrEnded) {
					t.Error(err)
				}
			}
			if st, err := d.Wait(t.Context(), id); err != nil || st.Status != event.StatusCompleted {
				t.Errorf("run %s: %+v, %v", id, st, err)
			}
		})
	}
	wg.Wait()
	if err := d.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestCalls_ForkRunsConcurrently checks that the calls of a fork run concurrently, however few
// goroutines there are: here each call waits for all others.
func TestCalls_ForkRunsConcurrently(t *testing.T) {
	t.Parallel()
	const branches = 100
	fork := &workflow.Fork{Join: "j", Shape: workflow.ShapeMap}
	def := &workflow.Workflow{Name: "fan", Entry: "f",
		Nodes: []workflow.Node{{ID: "f", Kind: workflow.KindFork, Fork: fork},
			{ID: "j", Kind: workflow.KindJoin, Hidden: true, Join: &workflow.Join{Fork: "f"}}}}
	for i := range branches {
		id := "n" + string(rune('A'+i/10)) + string(rune('0'+i%10))
		fork.Branches = append(fork.Branches, workflow.Branch{ID: id})
		def.Nodes = append(def.Nodes, workflow.Node{ID: id, Parent: "f", Kind: workflow.KindFunc,
			Func: &workflow.FuncNode{Func: id}})
		def.Edges = append(def.Edges, workflow.Edge{From: "f", Port: id, To: id}, workflow.Edge{From: id, To: "j"})
	}
	var here sync.WaitGroup
	here.Add(branches)
	w := &sim.World{Func: func(context.Context, string, *engine.CallFunc, driver.Caller) engine.FuncResult {
		here.Done()
		here.Wait()
		return engine.FuncResult{Output: event.Value("1")}
	}}
	d, err := embedded.New(embedded.Config{Store: journal.NewMemory().Open(journal.KindRun), Open: w.Open,
		Program: func(*workflow.Workflow) (driver.Program, error) { return w.Program(), nil }})
	if err != nil {
		t.Fatal(err)
	}
	id, err := d.Start(t.Context(), driver.Spec{Workflow: def})
	if err != nil {
		t.Fatal(err)
	}
	if st, err := d.Wait(t.Context(), id); err != nil || st.Status != event.StatusCompleted {
		t.Errorf("%+v, %v", st, err)
	}
	if err := d.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

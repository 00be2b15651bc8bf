package embedded_test

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/driver/stored"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/workflow"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// agents returns a chain of agents with these ids.
func agents(ids ...string) *workflow.Workflow {
	w := &workflow.Workflow{Name: "test", Entry: ids[0]}
	for i, id := range ids {
		w.Agents = append(w.Agents, workflow.Agent{ID: id, Name: id})
		w.Nodes = append(w.Nodes, workflow.Node{ID: id, Kind: workflow.KindAgent, Agent: &workflow.AgentNode{
			Agent: id, Prompt: workflow.Prompt{Mode: workflow.PromptTemplate},
		}})
		if i > 0 {
			w.Edges = append(w.Edges, workflow.Edge{From: ids[i-1], To: id})
		}
	}
	return w
}

func approval() *workflow.Workflow {
	return &workflow.Workflow{Name: "test", Entry: "ok", Nodes: []workflow.Node{
		{ID: "ok", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval}},
	}}
}

// bubble runs fn with a driver on its own store.
func bubble(t *testing.T, cfg embedded.Config, fn func(t *testing.T, d *embedded.Driver, m *journal.Memory)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := journal.NewMemory()
		fn(t, open(t, m, cfg), m)
	})
}

func open(t *testing.T, m *journal.Memory, cfg embedded.Config) *embedded.Driver {
	t.Helper()
	if cfg.Store == nil {
		cfg.Store = m.Open(journal.KindServe)
	}
	if cfg.Open == nil {
		cfg.Open = (&sim.World{}).Open
	}
	if cfg.Expressions == nil {
		cfg.Expressions = celexpr.Compiler{}
	}
	d, err := embedded.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
		cfg.Store.(io.Closer).Close()
	})
	return d
}

// runsOf returns the stored runs of m.
func runsOf(m *journal.Memory) *stored.Runs {
	return stored.New(stored.Config{Expressions: celexpr.Compiler{}, Journal: m.Open("")})
}

func start(t *testing.T, d *embedded.Driver, w *workflow.Workflow) string {
	t.Helper()
	run, err := d.Start(t.Context(), driver.Spec{Workflow: w})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func status(t *testing.T, d *embedded.Driver, run string) driver.State {
	t.Helper()
	s, err := d.Wait(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConfig(t *testing.T) {
	t.Parallel()
	if _, err := embedded.New(embedded.Config{}); err == nil {
		t.Error("a driver without store")
	}
	store := journal.NewMemory().Open("")
	if _, err := embedded.New(embedded.Config{Store: store, MaxCalls: -1}); err == nil {
		t.Error("a driver with a negative number of calls")
	}
}

// TestDriver_ZeroResources checks that a driver without models and tools fails calls and nothing
// else.
func TestDriver_ZeroResources(t *testing.T) {
	cfg := embedded.Config{Open: func(context.Context, driver.Info) (*driver.RunResources, error) { return nil, nil }}
	bubble(t, cfg, func(t *testing.T, d *embedded.Driver, _ *journal.Memory) {
		if s := status(t, d, start(t, d, agents("a"))); s.Status != event.StatusFailed {
			t.Errorf("%+v, want failed", s)
		}
		if s := status(t, d, start(t, d, approval())); s.Status != event.StatusPaused {
			t.Errorf("%+v, want paused", s)
		}
	})
}

// TestStart_InvalidJSON checks that values that are not JSON are rejected before they can corrupt a
// run.
func TestStart_InvalidJSON(t *testing.T) {
	bubble(t, embedded.Config{}, func(t *testing.T, d *embedded.Driver, _ *journal.Memory) {
		if _, err := d.Start(t.Context(), driver.Spec{Workflow: agents("a"), Input: event.Value("{")}); err == nil {
			t.Error("started with an input that is not JSON")
		}
		w := approval()
		w.Nodes[0].Wait.Kind = workflow.WaitQuestion
		run := start(t, d, w)
		status(t, d, run)
		if err := d.Answer(t.Context(), run, engine.Answer{Value: event.Value("{")}); !errors.Is(err,
			waits.ErrAnswer) {
			t.Errorf("answer that is not JSON: %v, want ErrAnswer", err)
		}
		if err := d.Answer(t.Context(), run, engine.Answer{Value: event.Value(`{"a": 1}`)}); err != nil {
			t.Error(err)
		}
		if s := status(t, d, run); s.Status != event.StatusCompleted {
			t.Errorf("%+v, want completed", s)
		}
	})
}

// TestStart_ReservedMeta checks that the caller of Start cannot assign a run the files of another
// one.
func TestStart_ReservedMeta(t *testing.T) {
	bubble(t, embedded.Config{}, func(t *testing.T, d *embedded.Driver, m *journal.Memory) {
		spec := driver.Spec{Run: "r", Workflow: agents("a"),
			Meta: map[string]string{"hocket.file.replies": journal.HashOf([]byte("another's"))}}
		if _, err := d.Start(t.Context(), spec); err == nil {
			t.Error("a run was started with a key that is the driver's")
		}
		if _, err := m.Open("").Head(t.Context(), "r"); !errors.Is(err, journal.ErrNotFound) {
			t.Errorf("the run: %v, want that it was not stored (D25)", err)
		}
	})
}

// TestInterrupt checks that one run is interrupted while the others continue (D22).
func TestInterrupt(t *testing.T) {
	w := &sim.World{Model: func(ctx context.Context, _ model.Request) (model.Reply, error) {
		select {
		case <-time.After(time.Minute):
			return sim.Reply("ok"), nil
		case <-ctx.Done():
			return model.Reply{}, ctx.Err()
		}
	}}
	bubble(t, embedded.Config{Open: w.Open}, func(t *testing.T, d *embedded.Driver, _ *journal.Memory) {
		one, two := start(t, d, agents("a")), start(t, d, agents("a"))
		synctest.Wait()
		if err := d.Interrupt(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		if s := status(t, d, one); !s.Interrupted {
			t.Errorf("%+v, want interrupted", s)
		}
		if s := status(t, d, two); s.Status != event.StatusCompleted {
			t.Errorf("%+v, want completed", s)
		}
		if err := d.Resume(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		if s := status(t, d, one); s.Status != event.StatusCompleted {
			t.Errorf("%+v, want completed", s)
		}
		if err := d.Interrupt(t.Context(), one); err != nil {
			t.Errorf("interrupt of a run that is not in memory: %v", err)
		}
	})
}

// TestOpenFails checks that a run whose models cannot be opened stays unchanged and can still be
// cancelled.
func TestOpenFails(t *testing.T) {
	bubble(t, embedded.Config{}, func(t *testing.T, d *embedded.Driver, m *journal.Memory) {
		run := start(t, d, approval())
		status(t, d, run)
		broken := errors.New("tools file is gone")
		e := open(t, m, embedded.Config{Open: func(context.Context, driver.Info) (*driver.RunResources, error) {
			return nil, broken
		}})
		if err := e.Answer(t.Context(), run, engine.Answer{Value: event.Value(`"yes"`)}); !errors.Is(err, broken) {
			t.Errorf("answer: %v, want the error of opening", err)
		}
		if s := status(t, e, run); s.Status != event.StatusPaused {
			t.Errorf("%+v, want paused", s)
		}
		if err := e.Cancel(t.Context(), run, ""); err != nil {
			t.Error(err)
		}
		if s := status(t, e, run); s.Status != event.StatusCancelled {
			t.Errorf("%+v, want cancelled", s)
		}
		if _, err := e.Start(t.Context(), driver.Spec{Run: "new", Workflow: agents("a")}); !errors.Is(err, broken) {
			t.Errorf("start: %v, want the error of opening", err)
		}
	})
}

// TestQuarantine checks that an invalid journal stops its own run, is logged once, and is not
// changed (P18).
func TestQuarantine(t *testing.T) {
	bubble(t, embedded.Config{}, func(t *testing.T, d *embedded.Driver, m *journal.Memory) {
		h := m.Open(journal.KindServe)
		events := []event.Event{
			{Seq: 1, Data: &event.RunCreated{Version: 1, Digest: "of another definition"}},
			{Seq: 2, Data: &event.RunStarted{}},
		}
		data, _, err := journal.Encode(events)
		if err != nil {
			t.Fatal(err)
		}
		canonical, err := agents("a").Canonical()
		if err != nil {
			t.Fatal(err)
		}
		def := journal.NewBlob(canonical)
		err = h.Append(t.Context(), journal.Append{
			Run: "bad", Create: &journal.NewRun{Kind: journal.KindServe, Definition: def.Hash},
			Record: journal.Record{First: 1, Last: 2, Data: data},
			Blobs:  []journal.Blob{def}, Status: journal.StatusRunning, Release: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		good := start(t, d, agents("a"))
		if err := d.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		var q *driver.QuarantineError
		var diverged *engine.DivergenceError
		if err := d.Resume(t.Context(), "bad"); !errors.As(err, &q) || !errors.As(err, &diverged) {
			t.Errorf("resume: %v, want a *QuarantineError of a *DivergenceError", err)
		}
		if _, err := d.Wait(t.Context(), "bad"); !errors.As(err, &q) {
			t.Errorf("wait: %v, want a *QuarantineError", err)
		}
		if s := status(t, d, good); s.Status != event.StatusCompleted {
			t.Errorf("the other run: %+v, want completed", s)
		}
		head, err := h.Head(t.Context(), "bad")
		if err != nil || head.Owner != "" || head.LastSeq != 2 {
			t.Errorf("head of the run: %+v, %v; want it as it was, without owner", head, err)
		}
	})
}

// TestRun_InternalError checks that data that no journal can hold is an internal error, which ends
// its own run as failed, and no other (P18).
func TestRun_InternalError(t *testing.T) {
	odd := func(_ context.Context, info driver.Info) (*driver.RunResources, error) {
		k := &driver.RunResources{Models: (&sim.World{}).Models(info.Run)}
		if info.Meta["odd"] != "" {
			k.Price = func(string, chat.Usage) *float64 { return new(math.NaN()) }
		}
		return k, nil
	}
	bubble(t, embedded.Config{Open: odd}, func(t *testing.T, d *embedded.Driver, m *journal.Memory) {
		run, err := d.Start(t.Context(), driver.Spec{Workflow: agents("a"), Meta: map[string]string{"odd": "yes"}})
		if err != nil {
			t.Fatal(err)
		}
		good := start(t, d, agents("a"))
		if s := status(t, d, run); s.Status != event.StatusFailed || s.Interrupted {
			t.Errorf("%+v, want failed", s)
		}
		if s := status(t, d, good); s.Status != event.StatusCompleted {
			t.Errorf("the other run: %+v, want completed", s)
		}
		var last event.Data
		for u, err := range d.Watch(t.Context(), run, 0) {
			if err != nil {
				t.Fatal(err)
			}
			last = u.Event.Data
		}
		if f, ok := last.(*event.RunFailed); !ok || f.Error.Code != "internal" {
			t.Errorf("the last event is %+v, want run.failed with the code internal", last)
		}
		if head, err := m.Open("").Head(t.Context(), run); err != nil || head.Owner != "" {
			t.Errorf("the run has an owner: %+v, %v", head, err)
		}
	})
}

// TestStoreDown checks that while the store is temporarily unavailable, callers wait for as long as
// they like, and that the run continues when the store is back.
func TestStoreDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := journal.NewMemory()
		var mu sync.Mutex
		down := false
		disk := sim.NewDisk(m.Open(journal.KindServe), m.Open(""), func(string, int) sim.Fault {
			mu.Lock()
			defer mu.Unlock()
			if down {
				return sim.FaultError
			}
			return sim.FaultNone
		}, nil)
		d := open(t, m, embedded.Config{Store: disk})
		run := start(t, d, approval())
		status(t, d, run)
		set := func(v bool) { mu.Lock(); down = v; mu.Unlock() }
		set(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := d.Answer(ctx, run, engine.Answer{Value: event.Value(`"yes"`)}); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("answer while the store is down: %v, want the caller's deadline", err)
		}
		set(false)
		if s := status(t, d, run); s.Status != event.StatusCompleted {
			t.Errorf("%+v, want completed", s)
		}
	})
}

// TestInterruptStoreDown checks that interrupting and closing do not wait for a store that accepts
// no writes.
func TestInterruptStoreDown(t *testing.T) {
	for name, leave := range map[string]func(ctx context.Context, d *embedded.Driver, run string) error{
		"interrupt": func(ctx context.Context, d *embedded.Driver, run string) error { return d.Interrupt(ctx, run) },
		"close":     func(ctx context.Context, d *embedded.Driver, _ string) error { return d.Close(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := journal.NewMemory()
				var down atomic.Bool
				disk := sim.NewDisk(m.Open(""), m.Open(""), func(op string, _ int) sim.Fault {
					if down.Load() && (op == "append" || name == "close") {
						return sim.FaultError
					}
					return sim.FaultNone
				}, nil)
				calls := 0
				w := &sim.World{Model: func(context.Context, model.Request) (model.Reply, error) {
					calls++
					down.Store(true)
					return sim.Reply("ok"), nil
				}}
				d := open(t, m, embedded.Config{Store: disk, Open: w.Open})
				run := start(t, d, agents("a"))
				time.Sleep(time.Minute) // in the bubble's time
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := leave(ctx, d, run); err != nil {
					t.Fatalf("%s while the store takes nothing: %v", name, err)
				}
				if calls != 1 {
					t.Errorf("the model was called %d times, want once however often the store refused", calls)
				}
				down.Store(false)
			})
		})
	}
}

// TestClose_Timeout checks that an adapter that ignores its context does not delay Close longer
// than its caller allows.
func TestClose_Timeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		w := &sim.World{Model: func(context.Context, model.Request) (model.Reply, error) {
			<-let
			return sim.Reply("ok"), nil
		}}
		d, err := embedded.New(embedded.Config{Store: journal.NewMemory().Open(""), Open: w.Open})
		if err != nil {
			t.Fatal(err)
		}
		start(t, d, agents("a"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := d.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v, want that calls are still running", err)
		}
		close(let)
		if err := d.Close(t.Context()); err != nil {
			t.Errorf("second close: %v", err)
		}
	})
}

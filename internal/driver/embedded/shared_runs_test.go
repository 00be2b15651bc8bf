package embedded_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// commonRun creates runs held in common that wait for an approval.
func commonRun(t *testing.T, store *journal.Memory, runs ...string) {
	t.Helper()
	h := store.Open(journal.KindServe)
	t.Cleanup(func() { h.Close() })
	w := &workflow.Workflow{Name: "test", Entry: "ok", Nodes: []workflow.Node{
		{ID: "ok", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval, Prompt: "go on?"}},
		{ID: "a", Kind: workflow.KindAgent,
			Agent: &workflow.AgentNode{Agent: "a", Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}},
	}, Agents: []workflow.Agent{{ID: "a", Name: "a"}},
		Edges: []workflow.Edge{{From: "ok", Port: workflow.PortApprove, To: "a"}}}
	plans := &held.Plans{}
	cs := held.NewCommons(held.CommonConfig{Store: h, Plans: plans, Now: time.Now})
	for _, run := range runs {
		p, err := plans.Prepare(&driver.Spec{Run: run, Workflow: w}, journal.KindTemporal, time.Now, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := cs.Create(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSharedRuns checks that any process can answer, cancel and reopen runs held in common, with
// the engine's errors, that it owns none of them, and that it notifies the processes that execute
// them.
func TestSharedRuns(t *testing.T) {
	t.Parallel()
	store := journal.NewMemory()
	commonRun(t, store, "r1", "r2", "r3")
	var mu sync.Mutex
	var told []string
	d, err := embedded.New(embedded.Config{Store: store.Open(journal.KindServe), Common: func(run string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, run)
	}})
	if err != nil {
		t.Fatal(err)
	}
	answer := func(run, value string) error {
		return d.Answer(t.Context(), run, engine.Answer{Wait: "w1", Value: event.Value(value)})
	}
	if err := answer("r1", `"approve"`); err != nil {
		t.Fatal(err)
	}
	if err := answer("r1", `"approve"`); err != nil {
		t.Errorf("the same answer again: %v", err)
	}
	if err := answer("r1", `"reject"`); !errors.Is(err, waits.ErrAnswered) {
		t.Errorf("another answer: %v, want ErrWaitAnswered", err)
	}
	if err := d.Cancel(t.Context(), "r2", "no"); err != nil {
		t.Error(err)
	}
	if err := d.Reopen(t.Context(), "r2", workflow.Limits{}, event.Actor{}); !errors.Is(err, engine.ErrNotReopenable) {
		t.Errorf("reopen: %v, want ErrNotReopenable", err)
	}
	if err := d.Resume(t.Context(), "r2"); !errors.Is(err, engine.ErrEnded) {
		t.Errorf("resume of an ended run: %v, want ErrEnded", err)
	}
	if err := d.Resume(t.Context(), "r3"); err != nil {
		t.Errorf("resume of a paused run: %v", err)
	}
	want := []string{"r1", "r1", "r2", "r3"}
	if !slices.Equal(told, want) {
		t.Errorf("told of %v, want %v", told, want)
	}
	reader := store.Open("")
	head, err := reader.Head(t.Context(), "r1")
	if err != nil || head.Owner != journal.CommonOwner || head.Status != journal.StatusRunning || head.Epoch != 1 {
		t.Errorf("the run is %+v, %v", head, err)
	}
	if s, err := d.Wait(t.Context(), "r2"); err != nil || s != (driver.State{Status: event.StatusCancelled}) {
		t.Errorf("the cancelled run is %+v, %v", s, err)
	}
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestSharedRuns_StoredRequest checks that a process that cannot notify any process that executes
// runs leaves a request for them, which another process takes.
func TestSharedRuns_StoredRequest(t *testing.T) {
	t.Parallel()
	store := journal.NewMemory()
	commonRun(t, store, "r1")
	d, err := embedded.New(embedded.Config{Store: store.Open(journal.KindServe)})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Answer(t.Context(), "r1", engine.Answer{Wait: "w1", Value: event.Value(`"approve"`)}); err != nil {
		t.Fatal(err)
	}
	var told []string
	other := store.Open(journal.KindServe)
	e, err := embedded.New(embedded.Config{Store: other, Common: func(run string) { told = append(told, run) }})
	if err != nil {
		t.Fatal(err)
	}
	open, err := other.Unclaimed(t.Context(), "r1")
	if err != nil || len(open) != 1 {
		t.Fatalf("open requests are %v, %v; want one", open, err)
	}
	if taken, err := e.TakeRequest(t.Context(), open[0]); !taken || err != nil || !slices.Equal(told, []string{"r1"}) {
		t.Errorf("taken %v, %v, told of %v", taken, err, told)
	}
	if open, err := other.Unclaimed(t.Context(), "r1"); err != nil || len(open) != 0 {
		t.Errorf("open requests are %v, %v; want none", open, err)
	}
	for _, p := range []*embedded.Driver{d, e} {
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestSharedRuns_StoreLosesEvents checks that a process that knows more of a run held in common
// than its store does ends the run as failed and says which events are lost. It does not continue
// from the shorter journal.
func TestSharedRuns_StoreLosesEvents(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(c *held.Common) error{
		"look":   func(c *held.Common) error { return c.Look(t.Context(), func(*engine.Run, journal.Head) {}) },
		"decide": func(c *held.Common) error { _, err := c.Decide(t.Context(), approve); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			full, replica := journal.NewMemory(), journal.NewMemory()
			commonRun(t, full, "r1")
			commonRun(t, replica, "r1")
			o := &stubStore{Backend: full.Open(journal.KindServe)}
			c, done := held.NewCommons(held.CommonConfig{Store: o, Plans: &held.Plans{}, Now: time.Now,
				Logger: slog.New(slog.DiscardHandler)}).Use("r1")
			defer done()
			if _, err := c.Decide(t.Context(), approve); err != nil {
				t.Fatal(err)
			}
			known, err := o.Head(t.Context(), "r1")
			if err != nil {
				t.Fatal(err)
			}
			o.Backend = replica.Open(journal.KindServe)
			before, err := o.Head(t.Context(), "r1")
			if err != nil {
				t.Fatal(err)
			}
			err = use(c)
			if lost, ok := errors.AsType[*held.LostError](err); !ok ||
				*lost != (held.LostError{Run: "r1", From: before.LastSeq + 1, To: known.LastSeq}) {
				t.Errorf("%v, want that events %d to %d are lost", err, before.LastSeq+1, known.LastSeq)
			}
			if _, ok := errors.AsType[*driver.QuarantineError](err); !ok {
				t.Errorf("%v, want a *QuarantineError", err)
			}
			events := (&cluster{reader: replica.Open("")}).Events(t, "r1")
			if end, ok := events[len(events)-1].Data.(*event.RunFailed); !ok || end.Error.Code != "events_lost" {
				t.Errorf("the run ends with %#v, want events_lost", events[len(events)-1].Data)
			}
		})
	}
}

// TestSharedRuns_ConcurrentInfo checks that a call's information about a run can be used while
// other goroutines load the run, which reads it again. The race detector verifies this.
func TestSharedRuns_ConcurrentInfo(t *testing.T) {
	t.Parallel()
	store := journal.NewMemory()
	commonRun(t, store, "r1")
	other := store.Open(journal.KindServe)
	open := func(context.Context, driver.Info) (*driver.RunResources, error) { return &driver.RunResources{}, nil }
	c, done := held.NewCommons(held.CommonConfig{Store: store.Open(journal.KindServe), Plans: &held.Plans{}, Open: open,
		Now: time.Now, Logger: slog.New(slog.DiscardHandler)}).Use("r1")
	defer done()
	look := func() {
		if err := c.Look(t.Context(), func(*engine.Run, journal.Head) {}); err != nil &&
			!errors.Is(err, journal.ErrNotFound) {
			t.Error(err)
		}
	}
	look()
	_, info, release, err := c.Kit(t.Context(), "c1")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 20 {
			if _, err := info.File(t.Context(), "notes"); !errors.Is(err, journal.ErrNotFound) {
				t.Errorf("a file that there is not: %v", err)
			}
			if h, err := info.History(t.Context()); err != nil || h == nil || info.Run != "r1" {
				t.Errorf("history of %s: %v", info.Run, err)
			}
		}
	})
	for range 20 {
		look()
	}
	// Another process takes the run out of common ownership and back: it is reloaded.
	if err := errors.Join(other.SetKind(t.Context(), "r1", journal.KindServe),
		other.SetKind(t.Context(), "r1", journal.KindTemporal)); err != nil {
		t.Error(err)
	}
	for range 20 {
		look()
	}
	wg.Wait()
}

// approve answers the approval of a run of commonRun.
func approve(t *held.Turn) error {
	return t.Do(engine.Answer{Wait: "w1", Value: event.Value(`"approve"`)})
}

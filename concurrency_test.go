package hocket_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/graph"
)

// TestConcurrency checks that runs with the same key execute up to the limit, in the order of their
// arrival, and that runs with other keys do not count.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"memory", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cfg := hocket.Config{}
			if kind == "sqlite" {
				cfg.DB = filepath.Join(t.TempDir(), "hocket.db")
			}
			e, err := hocket.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			var now, most atomic.Int32
			g := reports(t, func(context.Context, string) error {
				for n := now.Add(1); n > most.Load(); n = now.Load() {
					most.Store(n)
				}
				defer now.Add(-1)
				<-time.After(5 * time.Millisecond)
				return nil
			})
			var wg sync.WaitGroup
			for i := range 12 {
				wg.Go(func() {
					o := hocket.RunOptions{ID: fmt.Sprint("r", i), Concurrency: hocket.Concurrency{Key: "ulm", Max: 2}}
					if i%4 == 3 {
						o.OnProgress = hocket.OnProgress(func(hocket.Progress[report]) {})
					}
					if r, err := hocket.Run(t.Context(), e, g, report{}, o); err != nil ||
						r.Status != hocket.StatusCompleted {
						t.Errorf("%+v, %v", r, err)
					}
				})
			}
			wg.Wait()
			if most.Load() > 2 {
				t.Errorf("%d runs at once", most.Load())
			}
		})
	}
}

// TestConcurrencyIfBusy checks that a caller can abandon a queued run, that skip returns an error
// naming the blocking run, that cancel cancels that run, and that a schedule's time is skipped
//
func TestConcurrencyIfBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := reports(t, func(ctx context.Context, city string) error {
			if city != "Rome" {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		})
		of := func(id, policy string) hocket.RunOptions {
			return hocket.RunOptions{ID: id, Concurrency: hocket.Concurrency{Max: 1, IfBusy: policy}}
		}
		e, end := atWork(t, g, hocket.Schedule[report]{ID: "ulm", Schedule: "@hourly", State: report{"Ulm"},
			Concurrency: hocket.Concurrency{Max: 1, IfBusy: "skip"}})
		var first sync.WaitGroup
		first.Go(func() {
			if r, err := hocket.Run(t.Context(), e, g, report{"Rome"}, of("first", "")); err != nil ||
				r.Status != hocket.StatusCancelled {
				t.Errorf("the first: %+v, %v", r, err)
			}
		})
		synctest.Wait()
		_, err := hocket.Run(t.Context(), e, g, report{"Ulm"}, of("second", "skip"))
		if !errors.Is(err, hocket.ErrConcurrency) || !strings.Contains(err.Error(), "run first has not ended") {
			t.Errorf("skip: %v", err)
		}
		if _, err := e.Get(t.Context(), "second"); !errors.Is(err, hocket.ErrNotFound) {
			t.Errorf("a run that was skipped: %v", err)
		}
		ctx, leave := context.WithTimeout(t.Context(), time.Minute)
		defer leave()
		if r, err := hocket.Run(ctx, e, g, report{"Ulm"}, of("third", "queue")); err != nil ||
			r.Status != hocket.StatusCancelled {
			t.Errorf("a run that was left while it waited: %+v, %v", r, err)
		}
		time.Sleep(2 * time.Hour) // two scheduled times
		if r, err := hocket.Run(t.Context(), e, g, report{"Ulm"}, of("fourth", "cancel")); err != nil ||
			r.Status != hocket.StatusCompleted {
			t.Errorf("cancel: %+v, %v", r, err)
		}
		first.Wait()
		time.Sleep(time.Hour)
		runs, _, err := e.List(t.Context(), hocket.Filter{})
		var ids []string
		for _, r := range runs {
			if len(r.ID) < 10 {
				ids = append(ids, r.ID)
			}
		}
		slices.Sort(ids)
		if err != nil || fmt.Sprint(ids) != "[first fourth third]" || len(runs) != 4 {
			t.Errorf("%v of %d runs, %v; want that the schedule started one", ids, len(runs), err)
		}
		for name, c := range map[string]hocket.Concurrency{"the key has 1025 bytes": {Key: strings.Repeat("k", 1025)},
			"max is -1": {Max: -1}, "if_busy must be": {Max: 1, IfBusy: "drop"}} {
			if _, err := hocket.Run(t.Context(), e, g, report{}, hocket.RunOptions{Concurrency: c}); err == nil ||
				!strings.Contains(err.Error(), name) {
				t.Errorf("%+v: %v", c, err)
			}
		}
		end()
	})
}

// TestConcurrencyResume checks that a run interrupted in the queue is resumed, in this process or
// another one, and starts in its turn.
func TestConcurrencyResume(t *testing.T) {
	t.Parallel()
	e, err := hocket.Open(t.Context(), hocket.Config{DB: filepath.Join(t.TempDir(), "hocket.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	began, finish := make(chan struct{}), make(chan struct{})
	g := reports(t, func(ctx context.Context, city string) error {
		if city != "Rome" {
			return nil
		}
		close(began)
		select {
		case <-finish:
		case <-ctx.Done():
		}
		return ctx.Err()
	})
	one := hocket.Concurrency{Max: 1}
	var first sync.WaitGroup
	first.Go(func() {
		if r, err := hocket.Run(t.Context(), e, g, report{"Rome"}, hocket.RunOptions{Concurrency: one}); err != nil ||
			r.Status != hocket.StatusCompleted {
			t.Errorf("the first: %+v, %v", r, err)
		}
	})
	<-began
	ctx, leave := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer leave()
	if r, err := hocket.Run(ctx, e, g, report{"Ulm"}, hocket.RunOptions{ID: "second", Concurrency: one}); !errors.Is(
		err, hocket.ErrInterrupted) {
		t.Errorf("left: %+v, %v", r, err)
	}
	close(finish)
	first.Wait()
	if r, err := hocket.Resume(t.Context(), e, g, "second"); err != nil || r.Status != hocket.StatusCompleted {
		t.Errorf("resumed: %+v, %v", r, err)
	}
}

// TestConcurrencyOfDocumentLeft checks that a call abandoned while the run of a document is queued
// reports that the run was interrupted.
func TestConcurrencyOfDocumentLeft(t *testing.T) {
	t.Parallel()
	e, err := hocket.Open(t.Context(), hocket.Config{DB: filepath.Join(t.TempDir(), "hocket.db")}, documents.All())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	w, err := e.Parse("w.yaml", []byte(`{"concurrency": {}, "workflow": [{"type": "ask", "prompt": "go on?"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Start(t.Context(), w, hocket.StartOptions{ID: "first"}); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer leave()
	if r, err := e.Run(ctx, w, hocket.StartOptions{ID: "second"}); !errors.Is(err, hocket.ErrInterrupted) || r == nil ||
		r.Status != hocket.StatusPending {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestConcurrencyOfOwnKey checks that a function that starts a run with the key of its own run gets
// an error if there is no room for both, and its run is not replaced; if there is room, the other
// run starts.
func TestConcurrencyOfOwnKey(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"queue", "skip", "cancel"} {
		for _, room := range []int{1, 2} {
			t.Run(fmt.Sprint(policy, room), func(t *testing.T) {
				t.Parallel()
				e, err := hocket.Open(t.Context(), hocket.Config{})
				if err != nil {
					t.Fatal(err)
				}
				defer e.Close()
				var g *graph.Compiled[report]
				var inner error
				bound := hocket.Concurrency{Key: "ulm", Max: room, IfBusy: policy}
				g = reports(t, func(ctx context.Context, city string) error {
					if city == "Rome" {
						_, inner = hocket.Run(ctx, e, g, report{"Ulm"}, hocket.RunOptions{Concurrency: bound})
					}
					return nil
				})
				r, err := hocket.Run(t.Context(), e, g, report{"Rome"},
					hocket.RunOptions{ID: "outer", Concurrency: bound})
				if err != nil || r.Status != hocket.StatusCompleted {
					t.Fatalf("%+v, %v", r, err)
				}
				if room == 2 && inner != nil {
					t.Errorf("with room for two: %v", inner)
				}
				if room == 1 && (!errors.Is(inner, hocket.ErrConcurrency) || !strings.Contains(inner.Error(),
					"run outer, which starts this one, has the same key, and there is no room beside it")) {
					t.Errorf("with room for one: %v", inner)
				}
			})
		}
	}
}

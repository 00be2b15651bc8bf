package hocket_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// asking returns a graph that asks a question, with a deadline unless it is 0.
func asking(t *testing.T, deadline time.Duration) *graph.Compiled[tide] {
	t.Helper()
	g, err := graph.New[tide]("tides").Start(graph.WaitConfig[tide]{ID: "ask", Prompt: "High or low?",
		Deadline: deadline}).Compile()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// asksIn starts a run that asks a question.
func asksIn(t *testing.T, e *hocket.Engine, g *graph.Compiled[tide], id string) {
	t.Helper()
	if r, err := hocket.Run(t.Context(), e, g, tide{}, hocket.RunOptions{ID: id}); err != nil ||
		r.Status != hocket.StatusPaused {
		t.Fatalf("%+v, %v, want a run that waits", r, err)
	}
}

// outside opens the store as another process would, without any graphs.
func outside(t *testing.T, db string) *service.Service {
	t.Helper()
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: db})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func answerOutside(t *testing.T, s *service.Service, run, text string) error {
	rec, err := s.Read(t.Context(), run)
	if err != nil {
		return err
	}
	by := engine.LocalBy(engine.ChannelCLI)
	return s.Proceed(t.Context(), rec,
		service.Proceed{By: by, Answer: &service.AnswerRequest{Value: expr.Quote(text), By: by}})
}

// TestStoredAnswerMeetsDeadline checks that an answer stored before the deadline of its wait counts
// when the program comes back after the deadline (D21, D29), whatever a server on the store does
// meanwhile.
func TestStoredAnswerMeetsDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := filepath.Join(t.TempDir(), "hocket.db")
		g := asking(t, time.Hour)
		e, end := peer(t, db, g)
		for _, id := range []string{"answered", "late", "silent"} {
			asksIn(t, e, g, id)
		}
		end()
		s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: db, Kind: journal.KindServe})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ctx, stop := context.WithCancel(t.Context())
		var tending sync.WaitGroup
		defer tending.Wait()
		defer stop()
		tending.Go(func() { s.Tend(ctx) }) // a server on the store, which cannot fire the deadlines of Go graphs
		time.Sleep(30 * time.Minute)
		if err := answerOutside(t, s, "answered", "low"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if err := answerOutside(t, s, "late", "low"); err == nil {
			t.Error("an answer after the deadline was taken")
		}
		e, end = peer(t, db, g)
		defer end()
		time.Sleep(3 * time.Second)
		if r, err := e.Get(t.Context(), "answered"); err != nil || r.Status != hocket.StatusCompleted {
			t.Errorf("%+v, %v, want that the answer counts", r, err)
		}
		for _, id := range []string{"late", "silent"} {
			if s := status(t, e, id); s != hocket.StatusFailed {
				t.Errorf("run %s is %s, want that its deadline ends it", id, s)
			}
		}
	})
}

// TestWorkFiresDeadlines checks that a working engine fires the deadlines of runs that other
// processes of the program left paused, before it started and since (D21).
func TestWorkFiresDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := filepath.Join(t.TempDir(), "hocket.db")
		g := asking(t, time.Hour)
		first, endFirst := peer(t, db, g)
		asksIn(t, first, g, "before")
		e, end := peer(t, db, g)
		defer end()
		time.Sleep(10 * time.Second)
		asksIn(t, first, g, "since")
		time.Sleep(10 * time.Second)
		endFirst()
		for _, id := range []string{"before", "since"} {
			if s := status(t, e, id); s != hocket.StatusPaused {
				t.Errorf("run %s is %s before its deadline", id, s)
			}
		}
		time.Sleep(time.Hour + time.Second)
		for _, id := range []string{"before", "since"} {
			if s := status(t, e, id); s != hocket.StatusFailed {
				t.Errorf("run %s is %s, want that its deadline ended it", id, s)
			}
		}
	})
}

// TestStoredAnswersInConflict checks that of several different answers sent simultaneously to a
// program that is down, one is stored and the others are rejected (P24, D29).
func TestStoredAnswersInConflict(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "hocket.db")
	g := asking(t, 0)
	e, end := peer(t, db, g)
	asksIn(t, e, g, "r")
	end()
	services := make([]*service.Service, 4)
	for i := range services {
		services[i] = outside(t, db)
	}
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		stored []string
	)
	for i, s := range services {
		for j := range 2 {
			wg.Go(func() {
				text := fmt.Sprint(i, j)
				err := answerOutside(t, s, "r", text)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					stored = append(stored, text)
				case !errors.Is(err, engine.ErrWaitAnswered):
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if len(stored) != 1 {
		t.Fatalf("stored %q, want one answer", stored)
	}
	e, end = peer(t, db, g)
	defer end()
	for _, err := range e.Watch(t.Context(), "r", hocket.WatchOptions{UntilEnded: true}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := e.Get(t.Context(), "r")
	if err != nil || string(r.Outputs["ask"]) != fmt.Sprintf("%q", stored[0]) {
		t.Errorf("%+v, %v, want the answer %q", r, err, stored[0])
	}
}

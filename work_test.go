package hocket_test

import (
	"context"
	"errors"
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
	"github.com/hocket-run/hocket/internal/service"
)

// tide is the state of the graph of these tests.
type tide struct {
	Asked bool
	Done  int
}

// tides returns a graph that does something, asks, and does something again. first is called by the
// first node.
func tides(t *testing.T, first func(ctx context.Context) error) *graph.Compiled[tide] {
	t.Helper()
	g, err := graph.New[tide]("tides").
		Start(graph.Do("first", func(ctx context.Context, _ *tide) error { return first(ctx) })).
		Then(graph.WaitConfig[tide]{ID: "ask", Prompt: "High or low?"}).
		Then(graph.Do("last", func(_ context.Context, s *tide) error {
			s.Done++
			return nil
		})).
		Compile()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func atOnce(context.Context) error { return nil }

// peer returns a process of the program, which works until end is called.
func peer(t *testing.T, db string, g *graph.Compiled[tide]) (e *hocket.Engine, end func()) {
	t.Helper()
	e, err := hocket.Open(t.Context(), hocket.Config{DB: db, Program: "tides"})
	if err != nil {
		t.Fatal(err)
	}
	if err := hocket.Register(e, g); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() {
		if err := e.Work(ctx); err != nil {
			t.Error(err)
		}
	})
	return e, sync.OnceFunc(func() {
		stop()
		working.Wait()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

func status(t *testing.T, e *hocket.Engine, run string) hocket.Status {
	t.Helper()
	r, err := e.Get(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return r.Status
}

// TestWorkTakesUp checks that a run that one process of a program abandons continues in another one
// that works, without a call of Recover. A run that a process interrupted deliberately stays
// interrupted (D15, D22).
func TestWorkTakesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := filepath.Join(t.TempDir(), "hocket.db")
		hangs := tides(t, func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		dies, err := hocket.Open(t.Context(), hocket.Config{DB: db, Program: "tides"})
		if err != nil {
			t.Fatal(err)
		}
		e, end := peer(t, db, tides(t, atOnce))
		defer end()
		begun := make(chan error, 1)
		go func() {
			_, err := hocket.Run(t.Context(), dies, hangs, tide{}, hocket.RunOptions{ID: "r1"})
			begun <- err
		}()
		time.Sleep(time.Minute)
		if s := status(t, e, "r1"); s != hocket.StatusRunning {
			t.Fatalf("the run is %s, want that of the process that drives it", s)
		}
		if err := dies.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-begun; err == nil {
			t.Error("the process that ended has the run's end")
		}
		time.Sleep(6 * time.Second)
		if s := status(t, e, "r1"); s != hocket.StatusPaused {
			t.Fatalf("the run is %s, want that it goes on in the other process", s)
		}
		if err := hocket.Register(e, hangs); err != nil { // the same graph with other functions
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := hocket.Run(ctx, e, hangs, tide{}, hocket.RunOptions{ID: "r2"}); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("a run whose context is done: %v", err)
		}
		time.Sleep(time.Minute)
		if r, err := e.Get(t.Context(), "r2"); err != nil || !r.Interrupted {
			t.Errorf("a run that its own process interrupted: %+v, %v", r, err)
		}
	})
}

// TestAnswerForProgram checks that an answer from outside the program is validated and stored, that
// the program accepts it when it is running or restarts, and that it decides once (D29, P24).
func TestAnswerForProgram(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := filepath.Join(t.TempDir(), "hocket.db")
		g := tides(t, atOnce)
		e, end := peer(t, db, g)
		for _, id := range []string{"lives", "away"} {
			if r, err := hocket.Run(t.Context(), e, g, tide{}, hocket.RunOptions{ID: id}); err != nil ||
				r.Status != hocket.StatusPaused {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: db})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		answer := func(run, text string) error {
			rec, err := s.Read(t.Context(), run)
			if err != nil {
				return err
			}
			by := engine.LocalBy(engine.ChannelCLI)
			return s.Proceed(t.Context(), rec,
				service.Proceed{By: by, Answer: &service.AnswerRequest{Value: expr.Quote(text), By: by}})
		}
		left := func(want bool) {
			t.Helper()
			program, got, err := s.Left(t.Context(), "away")
			if err != nil || got != want || program != "tides" {
				t.Errorf("left for %s: %v, %v, want %v", program, got, err, want)
			}
		}
		if err := answer("lives", "high"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if s := status(t, e, "lives"); s != hocket.StatusCompleted {
			t.Errorf("answered while the program works: %s", s)
		}
		end()

		before, err := s.Head(t.Context(), "away")
		if err != nil {
			t.Fatal(err)
		}
		left(false)
		for range 2 {
			if err := answer("away", "low"); err != nil {
				t.Errorf("answer: %v", err)
			}
		}
		left(true)
		if err := answer("away", "high"); !errors.Is(err, engine.ErrWaitAnswered) {
			t.Errorf("another answer: %v", err)
		}
		if after, err := s.Head(t.Context(), "away"); err != nil || after.Epoch != before.Epoch ||
			after.LastSeq != before.LastSeq {
			t.Errorf("the run was touched: %+v, %v, want %+v", after, err, before)
		}
		e, end = peer(t, db, g)
		defer end()
		time.Sleep(3 * time.Second)
		r, err := e.Get(t.Context(), "away")
		if err != nil || r.Status != hocket.StatusCompleted || string(r.Outputs["ask"]) != `"low"` {
			t.Errorf("%+v, %v, want that the program took the answer", r, err)
		}
		left(false)
		if err := answer("away", "low"); err != nil {
			t.Errorf("the same answer afterwards: %v", err)
		}
	})
}

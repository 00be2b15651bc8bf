package mcpserver_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/mcpserver"
	"github.com/hocket-run/hocket/internal/service"
)

// tide is the state of the graph of these tests.
type tide struct{ Asked bool }

// tides opens a Go program with the graph `tides`, which asks a question.
func tides(t *testing.T, db string) (*hocket.Engine, *graph.Compiled[tide]) {
	t.Helper()
	e, err := hocket.Open(t.Context(), hocket.Config{DB: db, Program: "tides"})
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.New[tide]("tides").Start(graph.WaitConfig[tide]{ID: "ask", Prompt: "High or low?"}).Compile()
	if err != nil {
		t.Fatal(err)
	}
	if err := hocket.Register(e, g); err != nil {
		t.Fatal(err)
	}
	return e, g
}

// TestResumeRun_StoredAnswer checks that resume_run stores an answer for a Go program that is not
// running, reports so immediately, rejects a different answer, and that the program uses the answer
// when it runs again (D29).
func TestResumeRun_StoredAnswer(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "hocket.db")
	e, g := tides(t, db)
	for _, id := range []string{"r", "other"} {
		if r, err := hocket.Run(t.Context(), e, g, tide{}, hocket.RunOptions{ID: id}); err != nil ||
			r.Status != hocket.StatusPaused {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, mcpserver.Config{}, echoModel)
	w.with = func(c *service.Config) { c.DB = db }
	c := w.connect(w.token(access.RoleRun, false), nil)
	for range 2 { // repeating the same answer has no effect
		out := c.mustCall("resume_run", object{"id": "r", "input": "low"})
		if at(t, out, "status") != "paused" ||
			at(t, out, "next") != "Nothing: the answer is stored. The program tides applies it when it runs." {
			t.Errorf("%v", out)
		}
	}
	mustContain(t, c.mustFail("conflict", "resume_run", object{"id": "r", "input": "high"}), "r")
	if out := c.mustCall("get_run", object{"id": "other"}); at(t, out, "status") != "paused" {
		t.Errorf("%v", out)
	}
	e, _ = tides(t, db)
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() {
		if err := e.Work(ctx); err != nil {
			t.Error(err)
		}
	})
	for _, err := range e.Watch(t.Context(), "r", hocket.WatchOptions{UntilEnded: true}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if r, err := e.Get(t.Context(), "r"); err != nil || r.Status != hocket.StatusCompleted ||
		string(r.Outputs["ask"]) != `"low"` {
		t.Errorf("%+v, %v, want that the program took the answer", r, err)
	}
	if r, err := e.Get(t.Context(), "other"); err != nil || r.Status != hocket.StatusPaused {
		t.Errorf("%+v, %v, want that the other run waits", r, err)
	}
	stop()
	working.Wait()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

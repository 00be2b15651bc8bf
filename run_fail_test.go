package hocket_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// TestErrorsOfNodes checks that failed attempts are in the snapshot and that a failure keeps its
// kind (P7, S2-78).
func TestErrorsOfNodes(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{})
	g := compiled(t, graph.New[state]("t").Start(graph.NewNode("a", graph.TypeTool,
		func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
			return graph.Result[state]{},
				&graph.NodeExecutionError{NodeID: "a", Cause: fmt.Errorf("attempt %d", c.Attempt)}
		}, graph.NodeOptions{Retry: graph.Retry{MaxAttempts: 2, Backoff: time.Millisecond}})))
	r, err := hocket.Run(t.Context(), e, g, state{})
	if err != nil {
		t.Fatal(err)
	}
	var failed *hocket.RunError
	var node *graph.NodeExecutionError
	if !errors.As(r.Err, &failed) || !errors.As(r.Err, &node) || failed.Node != "a" || failed.Message != "attempt 2" ||
		failed.Code != "node_execution" {
		t.Errorf("%#v", r.Err)
	}
	var got []string
	for _, x := range r.Snapshot.Errors {
		got = append(got, fmt.Sprintf("%s %d %s", x.NodeID, x.Attempt, x.Message))
	}
	if d := cmp.Diff(got, []string{"a 1 attempt 1", "a 2 attempt 2"}); d != "" {
		t.Error(d)
	}
}

// TestRecover checks that a program resumes what a former process of it left once it has registered
// the graph, and that no other program does (D15).
func TestRecover(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "app.db")
	var again atomic.Bool
	started := make(chan struct{}, 1)
	g := compiled(t,
		graph.New[state]("t").Start(note("a")).Then(graph.Do("b", func(ctx context.Context, s *state) error {
			if again.Load() {
				s.Log = append(s.Log, "b")
				return nil
			}
			started <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		})))
	e, err := hocket.Open(t.Context(), hocket.Config{DB: db, Program: "app"})
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "r"})
		failed <- err
	}()
	<-started
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, hocket.ErrInterrupted) || !errors.Is(err, hocket.ErrClosed) {
		t.Errorf("a run whose engine was closed: %v", err)
	}
	again.Store(true)
	other := open(t, hocket.Config{DB: db, Program: "other"})
	if err := errors.Join(hocket.Register(other, g), other.Recover(t.Context())); err != nil {
		t.Error(err)
	}
	mine := open(t, hocket.Config{DB: db, Program: "app"})
	if err := mine.Resume(t.Context(), "r"); !errors.Is(err, hocket.ErrNotRegistered) ||
		!strings.HasPrefix(err.Error(), "run r belongs to the Go graph") ||
		!strings.Contains(err.Error(), "it continues in the program that registered it: app") {
		t.Errorf("resumed without functions: %v", err)
	}
	if err := errors.Join(hocket.Register(mine, g), mine.Recover(t.Context())); err != nil {
		t.Fatal(err)
	}
	// It may have ended by now; then there is nothing left to resume.
	r, err := hocket.Resume(t.Context(), mine, g, "r")
	if err == nil && (r.Status != hocket.StatusCompleted || cmp.Diff(r.State.Log, []string{"a", "b"}) != "") ||
		err != nil && !errors.Is(err, hocket.ErrEnded) {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestGoexit checks that a function that ends its goroutine, as t.FailNow does, has failed: the run
// neither waits for it forever nor treats a missing value as its result (P30).
func TestGoexit(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{})
	for name, n := range map[string]graph.Node[state]{
		"function": graph.Do("a", func(context.Context, *state) error { runtime.Goexit(); return nil }, once()),
		"tool": graph.ToolConfig[state, int, int]{ID: "a", Options: once(),
			Execute: func(context.Context, int) (int, error) {
				runtime.Goexit()
				return 0, nil
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			r, err := hocket.Run(ctx, e, compiled(t, graph.New[state](name).Start(n).Then(note("z"))), state{})
			if err != nil || r.Status != hocket.StatusFailed ||
				!strings.Contains(fmt.Sprint(r.Err), "exited its goroutine") || len(r.State.Log) > 0 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

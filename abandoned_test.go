package hocket_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// TestAbandoned checks that a caller following a run driven by another engine learns when no
// process drives the run any longer, and can resume it (P18).
func TestAbandoned(t *testing.T) {
	t.Parallel()
	for name, follow := range map[string]func(e *hocket.Engine, g *graph.Compiled[state], a hocket.Answer) error{
		"resume": func(e *hocket.Engine, g *graph.Compiled[state], a hocket.Answer) error {
			_, err := hocket.Resume(t.Context(), e, g, "r", a)
			return err
		},
		"stream": func(e *hocket.Engine, g *graph.Compiled[state], a hocket.Answer) error {
			var last error
			for _, err := range hocket.ResumeStream(t.Context(), e, g, "r", a) {
				last = err
			}
			return last
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := filepath.Join(t.TempDir(), "app.db")
			g := compiled(t, graph.New[state]("t").
				Parallel(graph.ParallelConfig[state]{Branches: []string{"ask", "busy"}}).
				Then(note("after")).
				Node(graph.WaitConfig[state]{ID: "ask", Prompt: "Well?"}).
				Node(graph.Do("busy", func(ctx context.Context, _ *state) error {
					<-ctx.Done()
					return context.Cause(ctx)
				}, once())))
			driving, err := hocket.Open(t.Context(), hocket.Config{DB: db})
			if err != nil {
				t.Fatal(err)
			}
			driven := make(chan error, 1)
			go func() {
				_, err := hocket.Run(context.Background(), driving, g, state{}, hocket.RunOptions{ID: "r"})
				driven <- err
			}()
			following := open(t, hocket.Config{DB: db})
			waiting := func(n int) {
				tick := time.NewTicker(5 * time.Millisecond) // changes made by another engine are only seen by polling
				defer tick.Stop()
				for {
					r, err := following.Get(t.Context(), "r")
					if err == nil && r.Status != hocket.StatusPending && len(r.Waiting) == n {
						return
					}
					if err != nil && !errors.Is(err, hocket.ErrNotFound) {
						t.Fatal(err)
					}
					<-tick.C
				}
			}
			waiting(1)
			followed := make(chan error, 1)
			go func() { followed <- follow(following, g, hocket.Answer{Value: "yes"}) }()
			waiting(0)
			if err := driving.Close(); err != nil {
				t.Error(err)
			}
			if err := <-driven; !errors.Is(err, hocket.ErrInterrupted) || !errors.Is(err, hocket.ErrClosed) {
				t.Errorf("who drove it: %v", err)
			}
			err = <-followed
			if !errors.Is(err, hocket.ErrInterrupted) || errors.Is(err, hocket.ErrClosed) ||
				err.Error() != "run r was interrupted: no process drives it any longer" {
				t.Errorf("who followed it: %v", err)
			}
			if err := following.Cancel(t.Context(), "r", ""); err != nil {
				t.Error(err)
			}
		})
	}
}

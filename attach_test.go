package hocket_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/graph"
)

// asked returns a graph that asks a question between two notes.
func asked(t *testing.T) *graph.Compiled[state] {
	t.Helper()
	return compiled(t, graph.New[state]("asked").Start(note("a")).Then(
		graph.WaitConfig[state]{ID: "w", Prompt: "Who?"}).Then(note("z")))
}

// TestWaitForTheEnd checks that Wait waits across pauses for the end, and returns at a pause if the
// options say so. A paused run is unchanged when ctx is done (issue 17, item 6).
func TestWaitForTheEnd(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		if r, err := hocket.Run(t.Context(), e, asked(t), state{}, hocket.RunOptions{ID: "r"}); err != nil ||
			r.Status != hocket.StatusPaused {
			t.Fatalf("%+v, %v", r, err)
		}
		if r, err := e.Wait(t.Context(), "r", hocket.WaitOptions{UntilPaused: true}); err != nil ||
			r.Status != hocket.StatusPaused {
			t.Errorf("until paused: %+v, %v", r, err)
		}
		short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		r, err := e.Wait(short, "r")
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, hocket.ErrInterrupted) || r == nil ||
			r.Status != hocket.StatusPaused || len(r.Waiting) != 1 {
			t.Errorf("a paused run, with a deadline: %+v, %v", r, err)
		}
		ended := make(chan error, 1)
		go func() {
			r, err := e.Wait(t.Context(), "r")
			if err == nil && r.Status != hocket.StatusCompleted {
				err = fmt.Errorf("the run is %s", r.Status)
			}
			ended <- err
		}()
		if err := e.Answer(t.Context(), "r", hocket.Answer{Value: "I"}); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if _, err := e.Wait(t.Context(), "r", hocket.WaitOptions{}, hocket.WaitOptions{}); err == nil ||
			!strings.Contains(err.Error(), "at most one WaitOptions") {
			t.Errorf("two options: %v", err)
		}
	})
}

// TestWaitOfAClosedEngine checks that a call that waits for an answer returns when the engine is
// closed.
func TestWaitOfAClosedEngine(t *testing.T) {
	t.Parallel()
	for _, db := range []string{"", filepath.Join(t.TempDir(), "app.db")} {
		e, err := hocket.Open(t.Context(), hocket.Config{DB: db}, documents.All())
		if err != nil {
			t.Fatal(err)
		}
		if r, err := hocket.Run(t.Context(), e, asked(t), state{}, hocket.RunOptions{ID: "r"}); err != nil ||
			r.Status != hocket.StatusPaused {
			t.Fatalf("%+v, %v", r, err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := e.Wait(t.Context(), "r")
			ended <- err
		}()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, hocket.ErrClosed) {
			t.Errorf("store %q: %v, want that the engine is closed", db, err)
		}
	}
}

// typesOf returns the types of events, and the number of the last one.
func typesOf(t *testing.T, events func(yield func(hocket.Event, error) bool)) (types []string, last uint64) {
	t.Helper()
	for ev, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		types, last = append(types, ev.Type), ev.Seq
	}
	return types, last
}

// TestWatchOfAPausedRun checks that Watch returns when the run is paused and continues after an
// answer, and that Events returns the events so far (issue 17, item 6).
func TestWatchOfAPausedRun(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		if r, err := hocket.Run(t.Context(), e, asked(t), state{}, hocket.RunOptions{ID: "r"}); err != nil ||
			r.Status != hocket.StatusPaused {
			t.Fatalf("%+v, %v", r, err)
		}
		first, last := typesOf(t, e.Watch(t.Context(), "r"))
		if first[0] != "run.created" || first[len(first)-1] != "run.paused" {
			t.Errorf("watched %v, want all up to the pause", first)
		}
		if there, seq := typesOf(t, e.Events(t.Context(), "r", 0)); seq != last ||
			strings.Join(there, " ") != strings.Join(first, " ") {
			t.Errorf("events %v, want %v", there, first)
		}
		if again, _ := typesOf(t, e.Watch(t.Context(), "r", hocket.WatchOptions{After: last})); len(again) > 0 {
			t.Errorf("after the last one: %v", again)
		}
		short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		var left error
		for _, left = range e.Watch(short, "r", hocket.WatchOptions{UntilEnded: true}) {
		}
		if !errors.Is(left, context.DeadlineExceeded) {
			t.Errorf("until ended: %v, want that it waited", left)
		}
		if err := e.Answer(t.Context(), "r", hocket.Answer{Value: "I"}); err != nil {
			t.Fatal(err)
		}
		rest, _ := typesOf(t, e.Watch(t.Context(), "r", hocket.WatchOptions{After: last}))
		if len(rest) == 0 || rest[len(rest)-1] != "run.completed" {
			t.Errorf("after the answer: %v, want all up to the end", rest)
		}
		if there, _ := typesOf(t, e.Events(t.Context(), "r", last)); strings.Join(there, " ") != strings.Join(rest,
			" ") {
			t.Errorf("events %v, want %v", there, rest)
		}
		for ev, err := range e.Events(t.Context(), "r", 0) {
			if ev.Seq != 1 || err != nil {
				t.Errorf("%+v, %v", ev, err)
			}
			break
		}
		for _, err := range e.Events(t.Context(), "none", 0) {
			if !errors.Is(err, hocket.ErrNotFound) {
				t.Errorf("%v", err)
			}
		}
	})
}

// TestAttachTogether checks that calls with the same id start one run, and that all of them get its
// result (issue 17, item 6).
func TestAttachTogether(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		var calls atomic.Int32
		g := compiled(t, graph.New[state]("t").Start(graph.Do("a", func(_ context.Context, s *state) error {
			s.N = int(calls.Add(1))
			return nil
		})))
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				o := hocket.RunOptions{ID: "r", Attach: true}
				if i%2 == 0 {
					r, err := hocket.Run(t.Context(), e, g, state{}, o)
					if err != nil || r.Status != hocket.StatusCompleted || r.State.N != 1 {
						t.Errorf("%+v, %v", r, err)
					}
					return
				}
				var last hocket.Step[state]
				for step, err := range hocket.Stream(t.Context(), e, g, state{}, o) {
					if err != nil {
						t.Error(err)
					}
					last = step
				}
				if last.Status != hocket.StatusCompleted || last.State.N != 1 {
					t.Errorf("%+v", last)
				}
			})
		}
		wg.Wait()
		if n := calls.Load(); n != 1 {
			t.Errorf("the node ran %d times", n)
		}
	})
}

// TestAttach checks that Attach returns a waiting or ended run as it is, resumes an interrupted
// one, and rejects another graph.
func TestAttach(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		g := asked(t)
		o := hocket.RunOptions{ID: "r", Attach: true}
		for range 2 {
			if r, err := hocket.Run(t.Context(), e, g, state{}, o); err != nil || r.Status != hocket.StatusPaused ||
				len(r.State.Log) != 1 {
				t.Fatalf("%+v, %v, want a run that waits", r, err)
			}
		}
		if r, err := hocket.Resume(t.Context(), e, g, "r", hocket.Answer{Value: "I"}); err != nil ||
			r.Status != hocket.StatusCompleted {
			t.Fatalf("%+v, %v", r, err)
		}
		seen := 0
		o.OnProgress = hocket.OnProgress(func(hocket.Progress[state]) { seen++ })
		if r, err := hocket.Run(t.Context(), e, g, state{}, o); err != nil || r.Status != hocket.StatusCompleted ||
			len(r.State.Log) != 2 || seen != 0 {
			t.Errorf("%+v, %v, want the run that has ended; progress %d times", r, err, seen)
		}
		if _, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "r"}); !errors.Is(err,
			hocket.ErrExists) {
			t.Errorf("without Attach: %v", err)
		}
		other := compiled(t, graph.New[state]("asked").Start(note("b")), graph.Config{Version: "2"})
		if r, err := hocket.Run(t.Context(), e, other, state{}, o); !errors.Is(err, hocket.ErrVersion) {
			t.Errorf("another graph: %+v, %v", r, err)
		}
		for want, bad := range map[string]hocket.RunOptions{
			"needs an ID":    {Attach: true},
			"call Resume":    {ID: "r", Attach: true, Answer: &hocket.Answer{Value: 1}},
			"without Resume": {ID: "r", Attach: true, ResumeFrom: &hocket.Snapshot[state]{ExecutionID: "r"}},
		} {
			if _, err := hocket.Run(t.Context(), e, g, state{}, bad); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		if _, err := hocket.Resume(t.Context(), e, g, "r", o); err == nil ||
			!strings.Contains(err.Error(), "Attach to Run") {
			t.Errorf("Resume: %v", err)
		}
	})
}

// TestAttachToAnInterruptedRun checks that an interrupted run continues when a call attaches to it.
func TestAttachToAnInterruptedRun(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{DB: filepath.Join(t.TempDir(), "app.db")})
	g, begun, gateway := gate(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	o := hocket.RunOptions{ID: "r", Attach: true}
	if r, err := hocket.Run(ctx, e, g, state{}, o); !errors.Is(err, hocket.ErrInterrupted) {
		t.Fatalf("%+v, %v", r, err)
	}
	close(gateway)
	if r, err := hocket.Run(t.Context(), e, g, state{}, o); err != nil || r.Status != hocket.StatusCompleted ||
		r.State.N != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestAttachToDocuments checks that documents are also started only once for an id.
func TestAttachToDocuments(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		plain := strings.NewReplacer("own/m", "openai/m", "[lookup]", "[]").Replace(writerDoc)
		parse := func(text string) *hocket.Workflow {
			w, err := e.Parse("w.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		w := parse(plain)
		o := hocket.StartOptions{ID: "r", Attach: true, Input: "x", Replies: hocket.Replies("first")}
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				if i%2 == 0 {
					if run, err := e.Start(t.Context(), w, o); run != "r" || err != nil {
						t.Errorf("%q, %v", run, err)
					}
					return
				}
				if r, err := e.Run(t.Context(), w, o); err != nil || r.Text() != "first" {
					t.Errorf("%+v, %v", r, err)
				}
			})
		}
		wg.Wait()
		if r, err := e.Wait(t.Context(), "r"); err != nil || r.Usage.ModelCalls != 1 {
			t.Errorf("%+v, %v", r, err)
		}
		if _, err := e.Run(t.Context(), w, hocket.StartOptions{Attach: true}); err == nil ||
			!strings.Contains(err.Error(), "needs an ID") {
			t.Errorf("%v", err)
		}
		other := parse(strings.Replace(plain, "You write.", "You read.", 1))
		if _, err := e.Start(t.Context(), other, o); !errors.Is(err, hocket.ErrConflict) {
			t.Errorf("another document: %v", err)
		}
	})
}

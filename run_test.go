package hocket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// state is the state of the graphs in these tests.
type state struct {
	N    int      `json:"n"`
	Text string   `json:"text,omitempty"`
	Log  []string `json:"log,omitempty"`
}

func open(t *testing.T, cfg hocket.Config) *hocket.Engine {
	t.Helper()
	e, err := hocket.Open(t.Context(), cfg, documents.All())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// stores runs a test with every configuration for which the rules of runs hold.
func stores(t *testing.T, test func(t *testing.T, e *hocket.Engine)) {
	t.Helper()
	for _, name := range []string{"memory", "sqlite"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := hocket.Config{}
			if name == "sqlite" {
				cfg.DB = filepath.Join(t.TempDir(), "app.db")
			}
			test(t, open(t, cfg))
		})
	}
}

func compiled(t *testing.T, b *graph.Builder[state], cfg ...graph.Config) *graph.Compiled[state] {
	t.Helper()
	g, err := b.Compile(cfg...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func note(id string, opts ...graph.NodeOptions) graph.Node[state] {
	return graph.Do(id, func(_ context.Context, s *state) error {
		s.Log = append(s.Log, id)
		return nil
	}, opts...)
}

func once() graph.NodeOptions {
	return graph.NodeOptions{Retry: graph.Retry{MaxAttempts: 1}}
}

func breaks(id, text string) graph.Node[state] {
	return graph.Do(id, func(context.Context, *state) error { return errors.New(text) }, once())
}

// trace returns a stream in short form: node, status and the log in its state, then its error.
func trace(t *testing.T, steps func(yield func(hocket.Step[state], error) bool)) string {
	t.Helper()
	var out []string
	for s, err := range steps {
		switch {
		case err != nil:
			out = append(out, err.Error())
		case s.Error != nil:
			out = append(out, fmt.Sprintf("%s %s (%v)", s.NodeID, s.Status, s.Error))
		default:
			out = append(out, fmt.Sprintf("%s %s %s", s.NodeID, s.Status, strings.Join(s.State.Log, "")))
		}
	}
	return strings.Join(out, "; ")
}

// TestStream_MatchesRun checks that Run and Stream report the same, and that the last step says how
// the run ended, or that it is paused (S2-30, S2-73, D13).
func TestStream_MatchesRun(t *testing.T) {
	t.Parallel()
	once := once()
	for name, tc := range map[string]struct {
		build   *graph.Builder[state]
		config  graph.Config
		steps   string
		visited string
		status  hocket.Status
		err     string
	}{
		"chain": {
			graph.New[state]("t").Start(note("a")).Then(note("b")), graph.Config{},
			"a running a; b completed ab", "a b", hocket.StatusCompleted, "",
		},
		"failure": {
			graph.New[state]("t").Start(note("a")).Then(breaks("b", "no luck")).Then(note("c")), graph.Config{},
			"a running a; b failed (no luck)", "a b", hocket.StatusFailed, "no luck",
		},
		"wait": {
			graph.New[state]("t").Start(note("a")).Wait("Go on?").Then(note("b")), graph.Config{},
			"a running a; wait_1 paused a", "a", hocket.StatusPaused, "",
		},
		"limit": {
			graph.New[state]("t").Start(note("a")).Then(note("b")).Then(note("c")), graph.Config{MaxSteps: 2},
			"a running a; b running ab; a failed (Exceeded maximum steps (2))", "a b", hocket.StatusFailed,
			"Exceeded maximum steps (2)",
		},
		"no steps": { // S2-32
			graph.New[state]("t").Start(note("a")), graph.Config{MaxSteps: graph.Zero},
			"a failed (Exceeded maximum steps (0))", "", hocket.StatusFailed, "Exceeded maximum steps (0)",
		},
		"branches": { // each branch sees its own changes; the block merges
			graph.New[state]("t").Start(note("s")).Parallel(graph.ParallelConfig[state]{Branches: []string{"x"}}).Node(
				note("x")).Then(note("z")),
			graph.Config{Reducers: map[string]graph.Reducer{"log": graph.Append()}},
			"s running s; x running sx; parallel_1 running sx; z completed sxz", "s x parallel_1 z",
			hocket.StatusCompleted, "",
		},
		"loop": { // S2-23
			graph.New[state]("t").Start(note("s")).
				Loop(graph.LoopConfig[state]{Until: func(v graph.View[state]) bool { return len(v.State.Log) > 2 }},
					note("b")).Then(note("z")), graph.Config{},
			"s running s; loop_start_1 running s; b running sb; loop_check_2 running sb; b running sbb; loop_check_2 " +
				"running sbb; z completed sbbz",
			"s loop_start_1 b loop_check_2 b loop_check_2 z", hocket.StatusCompleted, "",
		},
		"handled": { // S2-7: the run stays failed after its handler
			graph.New[state]("t").Start(breaks("a", "no luck")).Catch(note("h", once)), graph.Config{},
			"a running (no luck); h running h; a failed (no luck)", "a h", hocket.StatusFailed, "no luck",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stores(t, func(t *testing.T, e *hocket.Engine) {
				g := compiled(t, tc.build, tc.config)
				if got := trace(t, hocket.Stream(t.Context(), e, g, state{})); got != tc.steps {
					t.Errorf("steps %s\nwant  %s", got, tc.steps)
				}
				r, err := hocket.Run(t.Context(), e, g, state{})
				if err != nil {
					t.Fatal(err)
				}
				text := ""
				if r.Err != nil {
					text = r.Err.Error()
				}
				if got := strings.Join(r.Snapshot.VisitedNodes, " "); got != tc.visited || r.Status != tc.status ||
					text != tc.err {
					t.Errorf("%s (%s), visited %s", r.Status, text, got)
				}
			})
		})
	}
}

// TestResume_OtherEngine checks that a run that waits can be answered by another engine on the same
// file, that the snapshot counts over both, and that nothing that has ended runs again (S2-52,
// S2-63, P9).
func TestResume_OtherEngine(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	db := filepath.Join(t.TempDir(), "app.db")
	g := compiled(t, graph.New[state]("t").
		Start(graph.Do("a", func(_ context.Context, s *state) error {
			calls.Add(1)
			s.N = 1
			return nil
		})).
		Then(graph.WaitConfig[state]{ID: "w", Prompt: "Who?", Input: func(s *state, answer string) error {
			s.Text = answer
			return nil
		}}).
		Then(note("z")))
	first := open(t, hocket.Config{DB: db})
	r, err := hocket.Run(t.Context(), first, g, state{}, hocket.RunOptions{ID: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	if w := r.Snapshot.Waiting; r.Status != hocket.StatusPaused || len(w) != 1 || w[0].Prompt != "Who?" ||
		w[0].Node != "w" || r.Snapshot.ExecutionID != "mine" {
		t.Fatalf("%s, waiting %+v", r.Status, w)
	}
	second := open(t, hocket.Config{DB: db})
	if _, err := hocket.Resume(t.Context(), second, g, "mine"); !errors.Is(err, hocket.ErrPaused) {
		t.Errorf("resumed without an answer: %v", err)
	}
	got := trace(t, hocket.ResumeStream(t.Context(), second, g, "mine", hocket.Answer{Value: "me"}))
	if want := "w running ; z completed z"; got != want {
		t.Errorf("steps %s, want %s", got, want)
	}
	if _, err := hocket.Resume(t.Context(), second, g, "mine"); !errors.Is(err, hocket.ErrEnded) {
		t.Errorf("resumed an ended run: %v", err)
	}
	if calls.Load() != 1 {
		t.Errorf("the first node ran %d times", calls.Load())
	}
}

// TestRegister_GraphVersions checks that a run continues only under its own version of the graph,
// and that a name and version together identify one graph (D29).
func TestRegister_GraphVersions(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{DB: filepath.Join(t.TempDir(), "app.db")})
	build := func(version string) *graph.Compiled[state] {
		return compiled(t, graph.New[state]("t").Start(note("a")).Wait("?"), graph.Config{Version: version})
	}
	one, two := build("1"), build("2")
	if err := errors.Join(hocket.Register(e, one), hocket.Register(e, two),
		hocket.Register(e, build("1"))); err != nil {
		t.Fatal(err)
	}
	other := compiled(t, graph.New[state]("t").Start(note("b")), graph.Config{Version: "1"})
	var v *hocket.VersionError
	if err := hocket.Register(e, other); !errors.Is(err, hocket.ErrVersion) || !errors.As(err, &v) ||
		v.Want != one.Digest() {
		t.Errorf("another graph of that name and version: %v", err)
	}
	r, err := hocket.Run(t.Context(), e, one, state{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hocket.Resume(t.Context(), e, two, r.Snapshot.ExecutionID, hocket.Answer{Value: "yes"}); !errors.Is(
		err, hocket.ErrVersion) {
		t.Errorf("resumed under another version: %v", err)
	}
	if _, err := hocket.Resume(t.Context(), e, one, "none"); !errors.Is(err, hocket.ErrNotFound) {
		t.Errorf("resumed what is not there: %v", err)
	}
	if _, err := hocket.Run(t.Context(), e, one, state{}, hocket.RunOptions{ID: r.Snapshot.ExecutionID}); !errors.Is(
		err, hocket.ErrExists) {
		t.Errorf("ran under an id that is taken: %v", err)
	}
}

// TestDoneContext checks that a done context interrupts a run that is stored, and cancels one that
// is not, and that the node that cancels the context completes (D22, S2-36).
func TestDoneContext(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		kept := strings.HasSuffix(t.Name(), "sqlite")
		ctx, cancel := context.WithCancel(t.Context())
		g := compiled(t, graph.New[state]("t").Start(graph.Do("a", func(_ context.Context, s *state) error {
			if s.N++; ctx.Err() == nil {
				cancel()
			}
			return nil
		})).Then(note("z")))
		r, err := hocket.Run(ctx, e, g, state{})
		if r == nil || r.State.N != 1 || !slices.Equal(r.Snapshot.VisitedNodes, []string{"a"}) {
			t.Fatalf("%+v, %v", r, err)
		}
		if !kept {
			if r.Status != hocket.StatusCancelled || err != nil || !errors.Is(r.Err, context.Canceled) {
				t.Errorf("%s, %v, %v", r.Status, r.Err, err)
			}
			return
		}
		var left *hocket.InterruptedError
		if !errors.Is(err, hocket.ErrInterrupted) || !errors.Is(err, context.Canceled) || !errors.As(err, &left) ||
			r.Status != hocket.StatusRunning {
			t.Fatalf("%s, %v", r.Status, err)
		}
		r, err = hocket.Resume(t.Context(), e, g, left.Run)
		if err != nil || r.Status != hocket.StatusCompleted || r.State.N != 1 ||
			!slices.Equal(r.State.Log, []string{"z"}) {
			t.Errorf("resumed: %+v, %v", r, err)
		}
	})
}

// TestStream_BreakInterruptsRun checks that breaking out of the loop interrupts a run that is
// stored, and cancels one that is not (D22).
func TestStream_BreakInterruptsRun(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		block := make(chan struct{})
		g := compiled(t,
			graph.New[state]("t").Start(note("a")).Then(graph.Do("b", func(ctx context.Context, s *state) error {
				select {
				case <-block:
					s.Log = append(s.Log, "b")
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})))
		for s, err := range hocket.Stream(t.Context(), e, g, state{}, hocket.RunOptions{ID: "left"}) {
			if err != nil || s.NodeID != "a" {
				t.Fatalf("%+v, %v", s, err)
			}
			break
		}
		close(block)
		r, err := hocket.Resume(t.Context(), e, g, "left")
		if strings.HasSuffix(t.Name(), "memory") {
			if !errors.Is(err, hocket.ErrEnded) {
				t.Errorf("%v", err)
			}
			return
		}
		if err != nil || r.Status != hocket.StatusCompleted || cmp.Diff(r.State.Log, []string{"a", "b"}) != "" {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// TestRun_ContextDoneBeforeStart checks that a run whose context is done before it begins executes
// nothing (S2-36).
func TestRun_ContextDoneBeforeStart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		g := compiled(t, graph.New[state]("t").Start(note("a")))
		r, err := hocket.Run(ctx, e, g, state{N: 7})
		if strings.HasSuffix(t.Name(), "sqlite") {
			if r != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("%+v, %v", r, err)
			}
			return
		}
		if err != nil || r.Status != hocket.StatusCancelled || r.State.N != 7 || len(r.State.Log) > 0 {
			t.Errorf("%+v, %v", r, err)
		}
		w, err := e.Parse("w.yaml",
			[]byte("agents:\n  a: {model: own/m, instruction: Greet.}\nworkflow:\n  steps: [{id: s, type: agent, "+
				"name: a}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := e.Run(ctx, w, hocket.StartOptions{ID: "doc"})
		if err != nil || doc.Status != hocket.StatusCancelled || doc.ID != "doc" || doc.Err == nil ||
			!errors.Is(doc.Err, context.Canceled) || len(doc.Steps) > 0 {
			t.Errorf("document: %+v, %v", doc, err)
		}
		if _, err := e.Get(t.Context(), "doc"); !errors.Is(err, hocket.ErrNotFound) {
			t.Errorf("it is stored: %v", err)
		}
		if got, want := trace(t, hocket.Stream(ctx, e, g, state{})),
			"a cancelled (cancelled before it started)"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// TestQueue_ConcurrentNodesMerge checks that queued nodes that run together are merged like
// branches, and that without a reducer a field that both change is a conflict (P7, S2-62).
func TestQueue_ConcurrentNodesMerge(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{})
	for name, reducers := range map[string]map[string]graph.Reducer{"conflict": nil,
		"merged": {"log": graph.Append(), "n": graph.Sum()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var both sync.WaitGroup
			both.Add(2)
			meets := func(id string) graph.Node[state] {
				return graph.Do(id, func(_ context.Context, s *state) error {
					both.Done()
					both.Wait()
					s.Log, s.N = append(s.Log, id), s.N+1
					return nil
				}, once())
			}
			g := compiled(t, graph.New[state](name).Start(graph.NewNode("s", graph.TypeTool,
				func(context.Context, *graph.Context[state]) (graph.Result[state], error) {
					return graph.Result[state]{Goto: []string{"a", "b"}}, nil
				})).Node(meets("a")).Node(meets("b")), graph.Config{MaxConcurrency: 2, Reducers: reducers})
			r, err := hocket.Run(t.Context(), e, g, state{N: 5, Log: []string{"0"}})
			if err != nil {
				t.Fatal(err)
			}
			if name == "conflict" {
				if r.Status != hocket.StatusFailed ||
					!strings.Contains(fmt.Sprint(r.Err), `both changed field "log" at the same time`) {
					t.Errorf("%s, %v", r.Status, r.Err)
				}
				return
			}
			slices.Sort(r.State.Log)
			if r.Status != hocket.StatusCompleted || r.State.N != 7 ||
				!slices.Equal(r.State.Log, []string{"0", "a", "b"}) {
				t.Errorf("%+v, %v", r.State, r.Err)
			}
		})
	}
}

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

// TestRecover checks that a program resumes runs that an earlier process of the program left
// behind, once it has registered the graph, and that no other program does (D15).
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

// TestGoexit checks that a function that ends its goroutine, as t.FailNow does, counts as failed:
// the run neither waits for it forever nor treats a missing value as its result (P30).
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

// TestHandler checks that a handler shows the runs of its engine to authorized users, answers the
// wait of a Go graph, and ends its streams with the engine.
func TestHandler(t *testing.T) {
	t.Parallel()
	e, err := hocket.Open(t.Context(), hocket.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := hocket.Handler(nil, hocket.HandlerConfig{}); err == nil {
		t.Error("a handler without an engine")
	}
	if _, err := hocket.Handler(e, hocket.HandlerConfig{}); err == nil || !strings.Contains(err.Error(), "Authorize") {
		t.Errorf("a handler without Authorize: %v", err)
	}
	h, err := hocket.Handler(e, hocket.HandlerConfig{Authorize: func(r *http.Request, a hocket.Access) (string, error) {
		if user, _, _ := r.BasicAuth(); user == "ann" || a.Action == "show" && a.Run == "r" {
			return "ann", nil
		}
		return "", errors.New("no")
	}})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.StripPrefix("/ops", h))
	defer srv.Close()
	g := compiled(t, graph.New[state]("t").Start(graph.Ask("agree", func(graph.View[state]) string { return "Go on?" },
		nil)))
	if r, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "r"}); err != nil ||
		r.Status != hocket.StatusPaused {
		t.Fatalf("%+v, %v", r, err)
	}
	ask := func(method, path, body, user string, headers ...string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.SetBasicAuth(user, "")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		resp, err := srv.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	stream := ask(http.MethodGet, "/ops/runs/r/events", "", "", "Accept", "text/event-stream")
	defer stream.Body.Close()
	for user, want := range map[string]int{"bob": http.StatusForbidden, "ann": http.StatusOK} {
		resp := ask(http.MethodPost, "/ops/runs/r/resume", `{"input": "yes"}`, user)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d", user, resp.StatusCode)
		}
	}
	if r, err := e.Wait(t.Context(), "r"); err != nil || r.Text() != "yes" {
		t.Errorf("%+v, %v", r, err)
	}
	if text, err := io.ReadAll(stream.Body); err != nil || !strings.Contains(string(text), "event: run.completed") {
		t.Errorf("streamed %s, %v", text, err)
	}
	if r, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "r2"}); err != nil ||
		r.Status != hocket.StatusPaused {
		t.Fatalf("%+v, %v", r, err)
	}
	open := ask(http.MethodGet, "/ops/runs/r2/events", "", "ann", "Accept", "text/event-stream")
	defer open.Body.Close()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(open.Body); err != nil {
		t.Errorf("the stream of a closed engine ends with %v", err)
	}
}

// TestSignal_InvalidName checks that a value that a journal cannot hold fails the attempt that
// produced it and is not an internal error: another attempt may succeed.
func TestSignal_InvalidName(t *testing.T) {
	t.Parallel()
	e, err := hocket.Open(t.Context(), hocket.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	g := compiled(t, graph.New[state]("t").Start(graph.NewNode("a", graph.TypeTool,
		func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
			if c.Attempt == 1 {
				c.Emit("odd", map[string]any{"\xff": 1})
			}
			return graph.Result[state]{Output: c.Attempt}, nil
		}, graph.NodeOptions{Retry: graph.Retry{Backoff: graph.Zero}})))
	r, err := hocket.Run(t.Context(), e, g, state{})
	if err != nil || r.Status != hocket.StatusCompleted {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestLabels checks that runs of documents are found by their labels and by words that they
// contain, and that an invalid filter is rejected.
func TestLabels(t *testing.T) {
	t.Parallel()
	e, err := hocket.Open(t.Context(), hocket.Config{DB: hocket.Memory}, documents.All())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	w, err := e.Parse("poet.yaml",
		[]byte("agents:\n  poet: {model: openai/gpt-6.1-terra, instruction: Write.}\nworkflow:\n  - {type: agent, "+
			"name: poet}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, team := range []string{"news", "sport"} {
		o := hocket.StartOptions{Input: "about " + team, Replies: hocket.Replies("Köln"),
			Labels: map[string]string{"team": team}}
		if _, err := e.Run(t.Context(), w, o); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		f    hocket.Filter
		want string
	}{
		{hocket.Filter{Labels: []string{"team=news"}}, "about news"},
		{hocket.Filter{Labels: []string{"team!=news"}}, "about sport"},
		{hocket.Filter{Search: "koln spo*"}, "about sport"},
		{hocket.Filter{Search: "nothing"}, ""},
		{hocket.Filter{MinCostUSD: new(1.0)}, ""},
	} {
		runs, _, err := e.List(t.Context(), tt.f)
		got := ""
		for _, r := range runs {
			got += r.Input
		}
		if err != nil || got != tt.want {
			t.Errorf("%+v: %q, %v; want %q", tt.f, got, err, tt.want)
		}
	}
	full := map[string]string{}
	for i := range 32 {
		full["k"+strconv.Itoa(i)] = "x"
	}
	full["hocket/test-run"] = "true"
	if _, err := e.Run(t.Context(), w, hocket.StartOptions{ID: "full", Replies: hocket.Replies("x"),
		Labels: full}); err != nil {
		t.Errorf("as many labels as a run has, and one of Hocket: %v", err)
	}
	if runs, _, err := e.List(t.Context(), hocket.Filter{Labels: []string{"hocket/test-run"}}); err != nil ||
		len(runs) != 1 || len(runs[0].Labels) != 33 {
		t.Errorf("runs with the label of Hocket: %+v, %v", runs, err)
	}
	full["k32"] = "x"
	if _, err := e.Start(t.Context(), w, hocket.StartOptions{Replies: hocket.Replies("x"), Labels: full}); err == nil ||
		!strings.Contains(err.Error(), "33 labels, at most 32") {
		t.Errorf("a label too many: %v", err)
	}
	if _, _, err := e.List(t.Context(), hocket.Filter{Search: "!"}); err == nil ||
		!strings.Contains(err.Error(), "letter or digit") {
		t.Errorf("a search without words: %v", err)
	}
	if _, err := e.Start(t.Context(), w, hocket.StartOptions{Replies: hocket.Replies("x"),
		Labels: map[string]string{"a b": ""}}); err == nil || !strings.Contains(err.Error(), "a b") {
		t.Errorf("a label that is none: %v", err)
	}
}

// TestSignal checks that a program can send signals to its runs, including those that wait in a
// child run, and that errors are reported.
func TestSignal(t *testing.T) {
	t.Parallel()
	e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	w, err := e.Parse("order.yaml",
		[]byte("workflow:\n  - {id: p, type: signal, signal: paid, schema: {type: object}}\n  - {id: s, type: "+
			"signal, signal: sent}\n  - {type: end, output: \"{{ $steps.p.output.amount }} {{ $steps.s.output }}\"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Run(t.Context(), w, hocket.StartOptions{ID: "r"})
	if err != nil || r.Status != hocket.StatusPaused {
		t.Fatalf("%+v, %v", r, err)
	}
	for name, tt := range map[string]struct {
		run, signal string
		value       any
		want        error
	}{
		"another name":   {"r", "payd", 1, hocket.ErrAnswer},
		"a wrong value":  {"r", "paid", "much", hocket.ErrAnswer},
		"an unknown run": {"x", "paid", 1, hocket.ErrNotFound},
	} {
		if err := e.Signal(t.Context(), tt.run, tt.signal, tt.value, ""); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	if err := e.Answer(t.Context(), "r", hocket.Answer{Value: "yes"}); !errors.Is(err, hocket.ErrAnswer) {
		t.Errorf("an answer in the place of a signal: %v", err)
	}
	if err := e.Signal(t.Context(), "r", "paid", func() {}, ""); err == nil {
		t.Error("a function was sent")
	}
	for range 2 { // the second repeats the first
		if err := e.Signal(t.Context(), "r", "sent", "by boat", "k1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Signal(t.Context(), "r", "paid", map[string]int{"amount": 120}, ""); err != nil {
		t.Fatal(err)
	}
	if r, err = e.Wait(t.Context(), "r"); err != nil || r.Text() != "120 by boat" {
		t.Errorf("%+v, %v", r, err)
	}
	if err := e.Signal(t.Context(), "r", "paid", 1, ""); !errors.Is(err, hocket.ErrEnded) {
		t.Errorf("after the end: %v", err)
	}
}

// TestToolCall_Approval checks that a Go program is shown the call that waits for a person, with
// its real arguments, and that its answer decides: after approval the tool is called once, after
// rejection it is not, and the agent is told why (P8, SEC12).
func TestToolCall_Approval(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{"approve": "so tide is known", "reject": "Reason: not today"} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			var seen atomic.Pointer[hocket.ModelRequest]
			var calls atomic.Int32
			e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All(), hocket.WithModel("own", echo(&seen)),
				hocket.WithTool("lookup", "Looks up a word.", func(_ context.Context, in lookupArgs) (string, error) {
					calls.Add(1)
					return in.Word + " is known", nil
				}))
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			w, err := e.Parse("writer.yaml", []byte(writerDoc+"permissions: {ask: [lookup]}\n"))
			if err != nil {
				t.Fatal(err)
			}
			r, err := e.Run(t.Context(), w, hocket.StartOptions{Input: "the sea"})
			if err != nil || r.Status != hocket.StatusPaused || len(r.Waiting) != 1 || calls.Load() != 0 {
				t.Fatalf("%+v, %v, %d calls; want a run that waits", r, err, calls.Load())
			}
			q := r.Waiting[0]
			if q.Kind != "approval" || q.Tool != "lookup" || string(q.Arguments) != `{"word":"tide"}` || q.Changed {
				t.Errorf("the program is shown %+v", q)
			}
			if err := e.Answer(t.Context(), r.ID,
				hocket.Answer{Wait: q.ID, Value: answer, Note: "not today"}); err != nil {
				t.Fatal(err)
			}
			if r, err = e.Wait(t.Context(), r.ID); err != nil || r.Status != hocket.StatusCompleted ||
				!strings.Contains(r.Text(), want) {
				t.Errorf("%+v, %v; want %q", r, err, want)
			}
			if n := calls.Load(); (n == 1) != (answer == "approve") || n > 1 {
				t.Errorf("%d calls", n)
			}
		})
	}
}

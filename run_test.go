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

// TestStreamAndRun checks that Run and Stream report the same, and that the last step says how the
// run ended, or that it is paused (S2-30, S2-73, D13).
func TestStreamAndRun(t *testing.T) {
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

// TestResumeElsewhere checks that a run that waits can be answered by another engine on the same
// file, that the snapshot counts over both, and that nothing that has ended runs again (S2-52,
// S2-63, P9).
func TestResumeElsewhere(t *testing.T) {
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

// TestVersions checks that a run continues only under its own version of the graph, and that a name
// with its version belongs to one graph (D29).
func TestVersions(t *testing.T) {
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
// is not, and that the node that aborts it completes (D22, S2-36).
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

// TestLeavingTheLoop checks that breaking out of the loop interrupts a run that is stored, and
// cancels one that is not (D22).
func TestLeavingTheLoop(t *testing.T) {
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

// TestAbortedBefore checks that a run whose context is done before it begins executes nothing
// (S2-36).
func TestAbortedBefore(t *testing.T) {
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

// TestQueueTogether checks that queued nodes that run together are merged like branches, and that
// without a reducer a field that both change is a conflict (P7, S2-62).
func TestQueueTogether(t *testing.T) {
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

package hocket_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

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

// TestConcurrency_DocumentCallAbandoned checks that a call abandoned while the run of a document is
// queued reports that the run was interrupted.
func TestConcurrency_DocumentCallAbandoned(t *testing.T) {
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

// TestConcurrency_NestedRunSameKey checks that a function that starts a run with the key of its own
// run gets an error if there is no room for both, and its run is not replaced; if there is room,
// the other run starts.
func TestConcurrency_NestedRunSameKey(t *testing.T) {
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

// nested is a state that contains everything that could be shared.
type nested struct {
	Maps  map[string]map[string][]int `json:"maps"`
	Any   map[string]any              `json:"any"`
	Raw   json.RawMessage             `json:"raw"`
	Bytes []byte                      `json:"bytes"`
	Deep  *deep                       `json:"deep"`
	Seen  map[string]string           `json:"seen"`
}

type deep struct {
	Names []string       `json:"names"`
	Inner map[string]int `json:"inner"`
}

func firstNested(name string) nested {
	return nested{
		Maps: map[string]map[string][]int{"m": {"n": {1, 2, 3}}},
		Any:  map[string]any{"a": []any{"x", map[string]any{"y": "z"}}},
		Raw:  json.RawMessage(`{"r":[1]}`), Bytes: []byte(name),
		Deep: &deep{Names: []string{name, "b"}, Inner: map[string]int{"i": 1}}, Seen: map[string]string{},
	}
}

// scribble changes in place everything that a copy of the state refers to.
func scribble(s *nested, with string) {
	s.Maps["m"]["n"][0] = len(with)
	s.Maps["m"][with] = nil
	s.Any["a"].([]any)[1].(map[string]any)["y"] = with
	s.Any["a"].([]any)[0] = with
	for i := range s.Raw {
		s.Raw[i] = '!'
	}
	for i := range s.Bytes {
		s.Bytes[i] = '!'
	}
	s.Deep.Names[0] = with
	s.Deep.Inner["i"]++
}

// TestState_IsolatedCopies checks that what a node, a condition, a mapper or a reader of the steps
// does to its copy of the state changes nothing else (P26, S2-37): 64 branches with nested maps, in
// several concurrent runs of one compiled graph.
func TestState_IsolatedCopies(t *testing.T) {
	t.Parallel()
	const branches, runs = 64, 6
	branch := func(id string) graph.Node[nested] {
		return graph.NewNode(id, graph.TypeTool,
			func(_ context.Context, c *graph.Context[nested]) (graph.Result[nested], error) {
				name := c.State.Deep.Names[0]
				if d := cmp.Diff(c.State, firstNested(name)); d != "" {
					return graph.Result[nested]{}, fmt.Errorf("branch %s sees what is another's: %s", id, d)
				}
				update := firstNested(name)
				update.Seen[id] = name
				scribble(&c.State, id)
				return graph.Result[nested]{Update: &update, Output: id}, nil
			}, graph.NodeOptions{Retry: graph.Retry{MaxAttempts: 1}})
	}
	block := graph.ParallelConfig[nested]{Merge: func(s *nested, results []graph.BranchResult) error {
		if len(results) != branches || len(s.Seen) != branches {
			return fmt.Errorf("%d results, %d seen", len(results), len(s.Seen))
		}
		return nil
	}}
	var nodes []graph.Node[nested]
	for i := range branches {
		block.Branches = append(block.Branches, fmt.Sprintf("b%02d", i))
		nodes = append(nodes, branch(block.Branches[i]))
	}
	b := graph.New[nested]("copies").Start(graph.Do("s", func(context.Context, *nested) error { return nil })).
		If(func(v graph.View[nested]) bool { scribble(&v.State, "condition"); return true }).EndIf().Parallel(block)
	for _, n := range nodes {
		b.Node(n)
	}
	g, err := b.Compile(graph.Config{Reducers: map[string]graph.Reducer{"seen": graph.MergeMap()}})
	if err != nil {
		t.Fatal(err)
	}
	stores(t, func(t *testing.T, e *hocket.Engine) {
		var wg sync.WaitGroup
		for i := range runs {
			wg.Go(func() {
				name := fmt.Sprintf("run-%d", i)
				want := firstNested(name)
				for j := range branches {
					want.Seen[fmt.Sprintf("b%02d", j)] = name
				}
				o := hocket.RunOptions{OnProgress: hocket.OnProgress(func(p hocket.Progress[nested]) {
					scribble(&p.State, "progress")
				})}
				var last hocket.Step[nested]
				for s, err := range hocket.Stream(t.Context(), e, g, firstNested(name), o) {
					if err != nil || s.Error != nil {
						t.Errorf("%s: %v, %v", name, err, s.Error)
						return
					}
					if s.Status == hocket.StatusRunning {
						scribble(&s.State, "consumer")
					}
					last = s
				}
				if d := cmp.Diff(last.State, want); d != "" {
					t.Errorf("%s: got - want +\n%s", name, d)
				}
			})
		}
		wg.Wait()
	})
}

// TestWait_RunAbandoned checks that a caller following a run driven by another engine learns when
// no process drives the run any longer, and can resume it (P18).
func TestWait_RunAbandoned(t *testing.T) {
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
			for !runAbandoned(t, follow) {
			}
		})
	}
}

// runAbandoned closes the engine that drives a run while another engine follows it, and checks what
// both callers learn. It returns false if the other engine continued the run: it does so if its
// call was still delivering the answer.
func runAbandoned(t *testing.T,
	follow func(e *hocket.Engine, g *graph.Compiled[state], a hocket.Answer) error) bool {
	t.Helper()
	db := filepath.Join(t.TempDir(), "app.db")
	calls := make(chan struct{}, 2)
	g := compiled(t, graph.New[state]("t").
		Parallel(graph.ParallelConfig[state]{Branches: []string{"ask", "busy"}}).
		Then(note("after")).
		Node(graph.WaitConfig[state]{ID: "ask", Prompt: "Well?"}).
		Node(graph.Do("busy", func(ctx context.Context, _ *state) error {
			calls <- struct{}{}
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
	<-calls
	followed := make(chan error, 1)
	go func() { followed <- follow(following, g, hocket.Answer{Value: "yes"}) }()
	waiting(0)
	if err := driving.Close(); err != nil {
		t.Error(err)
	}
	if err := <-driven; !errors.Is(err, hocket.ErrInterrupted) || !errors.Is(err, hocket.ErrClosed) {
		t.Errorf("who drove it: %v", err)
	}
	abandoned := true
	select {
	case err := <-followed:
		if !errors.Is(err, hocket.ErrInterrupted) || errors.Is(err, hocket.ErrClosed) ||
			err.Error() != "run r was interrupted: no process drives it any longer" {
			t.Errorf("who followed it: %v", err)
		}
	case <-calls:
		abandoned = false
		defer func() { <-followed }()
	}
	if err := following.Cancel(t.Context(), "r", ""); err != nil {
		t.Error(err)
	}
	return abandoned
}

// TestDeadlines checks that questions of Go graphs have a deadline, at which the node fails with
// the code `deadline` unless its OnError leads elsewhere (P33).
func TestDeadlines(t *testing.T) {
	t.Parallel()
	late := graph.NodeOptions{OnError: graph.OnError(func(err error, _ *graph.Context[state]) graph.ErrorAction[state] {
		if !strings.Contains(err.Error(), "deadline") {
			return graph.ErrorAction[state]{Action: graph.ActionAbort}
		}
		return graph.ErrorAction[state]{Action: graph.ActionGoto, Node: "late"}
	})}
	for name, tc := range map[string]struct {
		ask  graph.Node[state]
		want hocket.Status
	}{
		"wait": {graph.WaitConfig[state]{ID: "w", Prompt: "Who?", Deadline: 30 * time.Millisecond},
			hocket.StatusFailed},
		"ask, with a way out": {graph.AskUserConfig[state]{
			ID: "w", Question: graph.Question{Text: "Who?"}, Deadline: 30 * time.Millisecond, Options: late,
		}, hocket.StatusCompleted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stores(t, func(t *testing.T, e *hocket.Engine) {
				g := compiled(t,
					graph.New[state]("t").Start(tc.ask).Node(note("late", graph.NodeOptions{Recovery: true})))
				// On a busy machine the deadline may have passed before the pause is seen, and the
				// run may already be ending.
				r, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "r"})
				if r == nil || r.Status != hocket.StatusPaused && r.Status != hocket.StatusRunning &&
					r.Status != tc.want {
					t.Fatalf("%+v, %v; want a run that waits", r, err)
				}
				var types []string
				for ev, err := range e.Watch(t.Context(), "r", hocket.WatchOptions{UntilEnded: true}) {
					if err != nil {
						t.Fatal(err)
					}
					types = append(types, ev.Type)
				}
				if !slices.Contains(types, "wait.closed") {
					t.Errorf("events %v; want the end of the wait", types)
				}
				info, err := e.Get(t.Context(), "r")
				if err != nil || info.Status != tc.want {
					t.Errorf("%+v, %v; want %s", info, err, tc.want)
				}
			})
		})
	}
}

// TestReminders checks that questions of Go graphs have a reminder, whether or not anybody answers
// (P33).
func TestReminders(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		g := compiled(t, graph.New[state]("t").Start(graph.WaitConfig[state]{ID: "w", Prompt: "Who?",
			RemindAfter: time.Millisecond}))
		if r, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "r"}); err != nil ||
			r.Status != hocket.StatusPaused {
			t.Fatalf("%+v, %v; want a run that waits", r, err)
		}
		for ev, err := range e.Watch(t.Context(), "r", hocket.WatchOptions{UntilEnded: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Type == "wait.reminded" {
				return
			}
		}
		t.Error("the run ended without a reminder")
	})
}

// contextValues lists the files that put values into contexts, or define contexts of their own,
// each with the reason why the value is not a parameter. What limits or records a call's work is a
// parameter (ADR 71).
var contextValues = map[string]string{
	"internal/program/caller.go": "functions of users have a context alone, and package graph and package " +
		"hocket find their call by it; the one carrier of a call",
	"models.go": "tools of users have a context alone; ToolCall tells them who calls",
	"internal/driver/embedded/context.go": "a context without values of its own, which costs less than one of the " +
		"standard library",
	"internal/model/timeouts.go": "a context without values of its own, which ends by silence",
	"internal/model/adapter/exchange.go": "SDKs of providers take a context alone between the adapter and its " +
		"HTTP client",
	"internal/tool/exchange/client.go": "the functions of net/http for redirects and dials take a context alone",
	"internal/api/transport/caller.go": "net/http, huma and the SDK of MCP give handlers a context alone; " +
		"handlers pass the caller on as a parameter",
	"internal/api/transport/request.go":     "as the caller",
	"internal/api/httpapi/operation.go":     "huma gives handlers a context alone",
	"internal/inflight/inflight.go":         "readers of bodies below net/http and huma take a context alone",
	"internal/tracecontext/tracecontext.go": "the API of OpenTelemetry carries spans in contexts",
}

// TestContextValues checks that every file that puts values into contexts is listed with its reason
// (ADR 71).
func TestContextValues(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || name == "node_modules" || name == "peers" ||
			strings.HasPrefix(name, ".") && name != "."):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if !putsValue(n) {
				return true
			}
			found[filepath.ToSlash(path)] = true
			if contextValues[filepath.ToSlash(path)] == "" {
				t.Errorf("%s: a value is put into a context: make it a parameter, or give the reason in contextValues",
					fset.Position(n.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range contextValues {
		if !found[path] {
			t.Errorf("%s puts no value into a context: delete its row", path)
		}
	}
}

// putsValue reports whether n is a call of a function WithValue, or a method Value of a context.
func putsValue(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "WithValue"
	case *ast.FuncDecl:
		if n.Recv == nil || n.Name.Name != "Value" || len(n.Type.Params.List) != 1 {
			return false
		}
		param, ok := n.Type.Params.List[0].Type.(*ast.Ident)
		return ok && param.Name == "any"
	}
	return false
}

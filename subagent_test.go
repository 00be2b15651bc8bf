package hocket_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/graph"
)

// verdict is the type that the tests ask agents for.
type verdict struct {
	Fine  bool   `json:"fine"`
	Words string `json:"words"`
}

// judge is an agent that answers each task with a verdict and counts how often it is asked.
func judge(asked *atomic.Int64) hocket.Option {
	return hocket.WithModel("own",
		hocket.ModelFunc(func(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
			asked.Add(1)
			task := r.Messages[0].Text
			if strings.Contains(task, "fails") {
				return hocket.ModelReply{}, &hocket.ModelError{Kind: "content_filter", Message: "no"}
			}
			text := fmt.Sprintf(`{"fine": %t, "words": %q}`, r.Schema != nil, task)
			if r.Schema == nil {
				text = "on " + task
			}
			return hocket.ModelReply{Text: text, Usage: &hocket.TokenUsage{InputTokens: 10, OutputTokens: 5}}, nil
		}))
}

var critic = hocket.WithAgent(hocket.Agent{Name: "critic", Model: "own/m"})

func do(t *testing.T, fn func(ctx context.Context, s *state) error, o ...graph.NodeOptions) *graph.Compiled[state] {
	t.Helper()
	return compiled(t, graph.New[state]("t").Start(graph.Do("n", fn, o...)))
}

// TestSubagentAs checks that a function can ask an agent for a value of a type, and learns its
// usage; if it asks for the same again in one execution, it gets the first answer.
func TestSubagentAs(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	e, err := hocket.Open(t.Context(), hocket.Config{MaxCalls: 1}, documents.All(), judge(&asked), critic)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	g := do(t, func(ctx context.Context, s *state) error {
		for range 2 {
			v, err := hocket.SubagentAs[verdict](ctx, "critic", s.Text)
			if d := cmp.Diff(v.Value, verdict{true, "tides"}); err != nil || d != "" ||
				v.Text != `{"fine":true,"words":"tides"}` {
				t.Errorf("%+v, %v\n%s", v, err, d)
			}
			if v.Usage.InputTokens != 10 || v.Usage.OutputTokens != 5 || v.Usage.ModelCalls != 1 ||
				!strings.HasPrefix(v.Run, "up.") {
				t.Errorf("usage %+v of %s", v.Usage, v.Run)
			}
		}
		text, err := hocket.SubagentAs[string](ctx, "critic", s.Text)
		if err != nil || text.Value != "on tides" || text.Text != text.Value {
			t.Errorf("%+v, %v", text, err)
		}
		again, err := hocket.SubagentAs[verdict](ctx, "critic", s.Text, hocket.SubagentOptions{Key: "another"})
		if err != nil || again.Run == text.Run {
			t.Errorf("%+v, %v", again, err)
		}
		s.N++
		return nil
	})
	r, err := hocket.Run(t.Context(), e, g, state{Text: "tides"}, hocket.RunOptions{ID: "up"})
	if err != nil || r.Err != nil || r.State.N != 1 || asked.Load() != 3 {
		t.Fatalf("%+v, %v; asked %d times", r, err, asked.Load())
	}
	if up, err := e.Get(t.Context(), "up"); err != nil || up.Usage.InputTokens != 30 || up.Usage.ModelCalls != 3 {
		t.Errorf("with its agents (P20) the run used %+v, %v", up.Usage, err)
	}
}

// TestSubagentAsFails checks that an invalid call returns an error that says why, and that an agent
// that failed is reported with its usage and asked again by the next attempt, which reuses the
// answers that already exist.
func TestSubagentAsFails(t *testing.T) {
	t.Parallel()
	var asked, attempts atomic.Int64
	e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All(), judge(&asked), critic)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := hocket.SubagentAs[verdict](t.Context(), "critic", "x"); err == nil ||
		!strings.Contains(err.Error(), "needs the context of a node function") {
		t.Errorf("outside of a run: %v", err)
	}
	var failed []string
	g := do(t, func(ctx context.Context, _ *state) error {
		attempts.Add(1)
		if _, err := hocket.SubagentAs[verdict](ctx, "critic", "good"); err != nil {
			t.Error(err)
		}
		if _, err := hocket.SubagentAs[int](ctx, "critic", "x"); err == nil ||
			err.Error() != "SubagentAs gives a struct or a string, not int" {
			t.Errorf("%v", err)
		}
		if _, err := hocket.SubagentAs[struct{ C chan int }](ctx, "critic", "x"); err == nil ||
			!strings.Contains(err.Error(), "the answer as struct { C chan int }: ") {
			t.Errorf("%v", err)
		}
		if _, err := hocket.SubagentAs[string](ctx, "missing", "x"); err == nil ||
			!strings.Contains(err.Error(), `agent "missing" not found`) {
			t.Errorf("%v", err)
		}
		if _, err := hocket.SubagentAs[string](ctx, "critic", "x", hocket.SubagentOptions{
			Key: strings.Repeat("k", 201),
		}); err == nil || !strings.Contains(err.Error(), "Key has 201 bytes") {
			t.Errorf("%v", err)
		}
		v, err := hocket.SubagentAs[verdict](ctx, "critic", "this fails")
		var why *hocket.RunError
		if !errors.As(err, &why) || why.Code != "content_filter" || v.Usage.ModelCalls != 1 {
			t.Errorf("%+v, %v", v, err)
		}
		failed = append(failed, v.Run)
		return err
	}, graph.NodeOptions{Retry: graph.Retry{MaxAttempts: 2, Backoff: graph.Zero}})
	r, err := hocket.Run(t.Context(), e, g, state{})
	if err != nil || r.Err == nil || !strings.Contains(r.Err.Error(), `sub-agent "critic": `) {
		t.Fatalf("%+v, %v", r, err)
	}
	if attempts.Load() != 2 || asked.Load() != 3 || len(failed) != 2 || failed[0] == failed[1] {
		t.Errorf("%d attempts, asked %d times, runs %v", attempts.Load(), asked.Load(), failed)
	}
}

// TestSubagentAs_AfterRestart checks that an answer survives the process, in a function and in a
// tool of a document: the agent is not asked again (X-152, P12).
func TestSubagentAs_AfterRestart(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "app.db")
	var asked atomic.Int64
	first, started := make(chan struct{}, 2), make(chan struct{}, 2)
	first <- struct{}{}
	first <- struct{}{}
	var mu sync.Mutex
	runs := map[string]bool{}
	work := func(ctx context.Context) (string, error) {
		v, err := hocket.SubagentAs[verdict](ctx, "critic", "tides")
		if err != nil {
			return "", err
		}
		mu.Lock()
		runs[v.Run] = true
		mu.Unlock()
		select {
		case <-first: // the first time in each run
			started <- struct{}{}
			<-ctx.Done()
			return "", ctx.Err()
		default:
			return v.Value.Words, nil
		}
	}
	open := func() *hocket.Engine {
		tooled := hocket.WithModel("doc",
			hocket.ModelFunc(func(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
				if last := r.Messages[len(r.Messages)-1]; last.Role == "tool" {
					return hocket.ModelReply{Text: "so " + last.Text}, nil
				}
				return hocket.ModelReply{
					ToolCalls: []hocket.ToolUse{{ID: "c", Name: "judge", Arguments: json.RawMessage(`{}`)}},
				}, nil
			}))
		e, err := hocket.Open(t.Context(), hocket.Config{DB: db}, documents.All(), judge(&asked), tooled, critic,
			hocket.WithTool("judge", "", func(ctx context.Context, _ struct{}) (string, error) { return work(ctx) },
				hocket.ToolOptions{Idempotent: true}))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	g := do(t, func(ctx context.Context, s *state) (err error) {
		s.Text, err = work(ctx)
		return err
	})
	const doc = "agents:\n  root: {model: doc/m, instruction: Judge., tools: [judge]}\n"
	former := open()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := hocket.Run(ctx, former, g, state{}, hocket.RunOptions{ID: "graph"}); !errors.Is(err,
			hocket.ErrInterrupted) {
			t.Error(err)
		}
	})
	wg.Go(func() {
		w, err := former.Parse("doc.yaml", []byte(doc))
		if err == nil {
			_, err = former.Run(ctx, w, hocket.StartOptions{ID: "doc", Input: "go"})
		}
		if !errors.Is(err, hocket.ErrInterrupted) {
			t.Error(err)
		}
	})
	<-started
	<-started
	cancel()
	wg.Wait()
	if err := former.Close(); err != nil {
		t.Fatal(err)
	}
	second := open()
	defer second.Close()
	r, err := hocket.Resume(t.Context(), second, g, "graph")
	if err != nil || r.Err != nil || r.State.Text != "tides" {
		t.Errorf("%+v, %v", r, err)
	}
	if err := second.Resume(t.Context(), "doc"); err != nil {
		t.Fatal(err)
	}
	d, err := second.Wait(t.Context(), "doc")
	if err != nil || d.Err != nil || d.Text() != "so tides" {
		t.Errorf("%+v, %v", d, err)
	}
	if asked.Load() != 2 || len(runs) != 2 {
		t.Errorf("asked %d times in runs %v", asked.Load(), runs)
	}
}

// TestSubagentAsWithinLimits checks that the limits of the call, and those of the run that asks,
// limit the agent's usage (X-152, P20).
func TestSubagentAsWithinLimits(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All(), judge(&asked), critic)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	g := do(t, func(ctx context.Context, s *state) error {
		limits := graph.Limits{Budget: graph.Budget{MaxTokens: int64(s.N)}}
		_, err := hocket.SubagentAs[verdict](ctx, "critic", "tides", hocket.SubagentOptions{Limits: limits})
		return err
	}, once())
	r, err := hocket.Run(t.Context(), e, g, state{N: 1})
	if err != nil || r.Err == nil || asked.Load() != 0 {
		t.Errorf("one token: %+v, %v; asked %d times", r, err, asked.Load())
	}
	r, err = hocket.Run(t.Context(), e, g, state{},
		hocket.RunOptions{Limits: graph.Limits{Budget: graph.Budget{MaxTokens: 1}}})
	if err != nil || r.Err == nil || asked.Load() != 0 {
		t.Errorf("a run of one token: %+v, %v; asked %d times", r, err, asked.Load())
	}
	if r, err = hocket.Run(t.Context(), e, g, state{N: 100_000}); err != nil || r.Err != nil || asked.Load() != 1 {
		t.Errorf("enough: %+v, %v; asked %d times", r, err, asked.Load())
	}
}

// subagent returns a graph with one sub-agent node that writes the agent's output into the state.
func subagent(t *testing.T, agent string) *graph.Compiled[state] {
	t.Helper()
	return compiled(t, graph.New[state]("t").Start(graph.SubagentConfig[state]{
		ID: "ask", Agent: agent, TaskFunc: func(v graph.View[state]) string { return v.State.Text }, Options: once(),
		Output: func(s *state, r graph.SubagentResult) error {
			s.Text, s.N = r.Output, r.ToolUses
			return nil
		},
	}))
}

var researcher = hocket.WithAgent(hocket.Agent{Name: "researcher", SystemPrompt: "You look things up.", Model: "own/m",
	Tools: []string{"lookup"}})

// TestSubagent checks that an agent of the engine does the task in a child run of the graph's run,
// with the tools that it lists (S2-71, S2-54).
func TestSubagent(t *testing.T) {
	t.Parallel()
	var seen atomic.Pointer[hocket.ModelRequest]
	e, err := hocket.Open(t.Context(), hocket.Config{MaxCalls: 1}, hocket.WithModel("own", echo(&seen)), researcher,
		hocket.WithTool("lookup", "Looks up a word.", lookup), hocket.WithTool("other", "Not asked for.", lookup))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	r, err := hocket.Run(t.Context(), e, subagent(t, "researcher"), state{Text: "tides"}, hocket.RunOptions{ID: "up"})
	if err != nil || r.Status != hocket.StatusCompleted || r.State.Text != "so tide is known" || r.State.N != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if q := seen.Load(); q.System != "You look things up." || len(q.Tools) != 1 || q.Messages[0].Text != "tides" {
		t.Errorf("asked %+v", q)
	}
	if up, err := e.Get(t.Context(), "up"); err != nil || up.Usage.ModelCalls != 2 || up.Usage.ToolCalls != 1 ||
		up.Usage.InputTokens != 3 || up.Usage.OutputTokens != 2 {
		t.Errorf("with its agent (P20) the run used %+v, %v", up.Usage, err)
	}
	runs, _, err := e.List(t.Context(), hocket.Filter{Parent: "up"})
	if err != nil || len(runs) != 1 || !strings.HasPrefix(runs[0].ID, "up.") ||
		runs[0].Status != hocket.StatusCompleted || runs[0].Workflow != "researcher" {
		t.Errorf("runs below %+v, %v", runs, err)
	}
	r, err = hocket.Run(t.Context(), e, subagent(t, "missing"), state{})
	if err != nil || r.Err == nil ||
		r.Err.Error() != `Sub-agent "missing" not found in registry. Available agents: researcher` {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestSubagents_Concurrent checks that agents work concurrently with fewer slots than there are
// agents, and that one that fails does not stop the others (S2-79, P14).
func TestSubagents_Concurrent(t *testing.T) {
	t.Parallel()
	e, err := hocket.Open(t.Context(), hocket.Config{MaxCalls: 1},
		hocket.WithAgent(hocket.Agent{Name: "good", Model: "own/good"}),
		hocket.WithAgent(hocket.Agent{Name: "bad", Model: "own/bad"}),
		hocket.WithModel("own",
			hocket.ModelFunc(func(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
				if r.Model == "bad" {
					return hocket.ModelReply{}, &hocket.ModelError{Kind: "auth", Message: "not you"}
				}
				return hocket.ModelReply{Text: "done " + r.Messages[0].Text}, nil
			})))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	g := compiled(t, graph.New[state]("t").Start(graph.ParallelSubagentConfig[state]{
		ID: "all", Agents: []graph.ParallelAgent[state]{{Agent: "good", Task: "one"}, {Agent: "bad", Task: "two"},
			{Agent: "good", Task: "three"}},
		Output: func(s *state, results []graph.AgentResult) error {
			for _, r := range results {
				s.Log = append(s.Log, fmt.Sprintf("%s %t %s%s", r.Key, r.Success, r.Output, r.Error))
			}
			return nil
		},
	}))
	r, err := hocket.Run(t.Context(), e, g, state{})
	if err != nil || r.Err != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if d := cmp.Diff(r.State.Log, []string{"good-0 true done one", "bad-1 false not you",
		"good-2 true done three"}); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
}

// TestSubagent_Resume checks that a run that is interrupted while its agent works continues where
// the agent was: replies of the model are not requested again (P12, D8). A tool call of the agent
// with an unknown outcome opens a question in the agent's own run, and the graph waits for the
// answer there.
func TestSubagent_Resume(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	model := hocket.WithModel("own",
		hocket.ModelFunc(func(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
			if asked.Add(1) == 1 {
				return hocket.ModelReply{ToolCalls: []hocket.ToolUse{
					{ID: "c1", Name: "lookup", Arguments: json.RawMessage(`{"word":"tide"}`)},
				}}, nil
			}
			return hocket.ModelReply{Text: "end: " + r.Messages[len(r.Messages)-1].Text}, nil
		}))
	started := make(chan struct{}, 1)
	stuck := hocket.WithTool("lookup", "", func(ctx context.Context, _ lookupArgs) (string, error) {
		started <- struct{}{}
		<-ctx.Done()
		return "", ctx.Err()
	})
	db := filepath.Join(t.TempDir(), "app.db")
	g := subagent(t, "researcher")
	first, err := hocket.Open(t.Context(), hocket.Config{DB: db}, model, researcher, stuck)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	if _, err := hocket.Run(ctx, first, g, state{Text: "tides"}, hocket.RunOptions{ID: "up"}); !errors.Is(err,
		hocket.ErrInterrupted) {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := hocket.Open(t.Context(), hocket.Config{DB: db}, model, researcher, stuck)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	answered := make(chan error, 1)
	go func() { answered <- answerBelow(t.Context(), second, "up", "skip") }()
	r, err := hocket.Resume(t.Context(), second, g, "up")
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	if err != nil || r.Status != hocket.StatusCompleted || !strings.HasPrefix(r.State.Text, "end: ") ||
		asked.Load() != 2 {
		t.Errorf("%+v, %v, %d model calls", r, err, asked.Load())
	}
}

// answerBelow answers the question of the child run of a run, as soon as it asks one.
func answerBelow(ctx context.Context, e *hocket.Engine, parent, answer string) error {
	runs, _, err := e.List(ctx, hocket.Filter{Parent: parent})
	if err != nil || len(runs) != 1 {
		return fmt.Errorf("%d runs below: %w", len(runs), err)
	}
	for ev, err := range e.Watch(ctx, runs[0].ID) {
		if err != nil {
			return err
		}
		if ev.Type == "wait.opened" {
			return e.Answer(ctx, runs[0].ID, hocket.Answer{Value: answer})
		}
	}
	return errors.New("nothing was asked")
}

// TestSubagentIsCancelled checks that cancelling a run cancels the runs of its agents (D22).
func TestSubagentIsCancelled(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	e, err := hocket.Open(t.Context(), hocket.Config{DB: filepath.Join(t.TempDir(), "app.db")}, researcher,
		hocket.WithTool("lookup", "", lookup),
		hocket.WithModel("own",
			hocket.ModelFunc(func(ctx context.Context, _ hocket.ModelRequest) (hocket.ModelReply, error) {
				started <- struct{}{}
				<-ctx.Done()
				return hocket.ModelReply{}, ctx.Err()
			})))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	cancelled := make(chan error, 1)
	go func() {
		<-started
		cancelled <- e.Cancel(t.Context(), "up", "enough")
	}()
	r, err := hocket.Run(t.Context(), e, subagent(t, "researcher"), state{}, hocket.RunOptions{ID: "up"})
	if err := <-cancelled; err != nil {
		t.Fatal(err)
	}
	if err != nil || r.Status != hocket.StatusCancelled {
		t.Errorf("%+v, %v", r, err)
	}
	runs, _, err := e.List(t.Context(), hocket.Filter{Parent: "up"})
	if err != nil || len(runs) != 1 {
		t.Fatalf("%+v, %v", runs, err)
	}
	if below, err := e.Wait(t.Context(), runs[0].ID); err != nil || below.Status != hocket.StatusCancelled {
		t.Errorf("%+v, %v", below, err)
	}
}

// TestCustomTool checks that custom tool nodes call the tools of the engine without an agent
// (S2-67, S2-71).
func TestCustomTool(t *testing.T) {
	t.Parallel()
	e, err := hocket.Open(t.Context(), hocket.Config{},
		hocket.WithTool("lookup", "", func(ctx context.Context, in lookupArgs) (string, error) {
			c, _ := hocket.ToolCall(ctx)
			return fmt.Sprint(in.Word, " by ", c.Run, c.Node, c.Key != ""), nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	g := compiled(t, graph.New[state]("t").Start(graph.CustomToolConfig[state, lookupArgs, string]{
		ID: "call", ToolName: "lookup", Args: lookupArgs{"tide"}, Output: func(s *state, r string) error {
			s.Text = r
			return nil
		},
	}))
	r, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "up"})
	if err != nil || r.State.Text != "tide by upcalltrue" {
		t.Errorf("%+v, %v", r, err)
	}
}

// below returns the only child run of a run.
func below(t *testing.T, e *hocket.Engine, parent string) hocket.RunSummary {
	t.Helper()
	runs, _, err := e.List(t.Context(), hocket.Filter{Parent: parent})
	if err != nil || len(runs) != 1 {
		t.Fatalf("runs below %+v, %v", runs, err)
	}
	return runs[0]
}

// TestSubagentIsInterrupted checks that a run that is interrupted interrupts the runs of its
// agents, so that nothing is spent without a follower, and resumes them later (P11, P12).
func TestSubagentIsInterrupted(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 2)
	var calls atomic.Int64
	model := hocket.ModelFunc(func(ctx context.Context, _ hocket.ModelRequest) (hocket.ModelReply, error) {
		asked <- struct{}{}
		if calls.Add(1) == 1 {
			<-ctx.Done()
			return hocket.ModelReply{}, ctx.Err()
		}
		return hocket.ModelReply{Text: "tide"}, nil
	})
	e, err := hocket.Open(t.Context(), hocket.Config{DB: filepath.Join(t.TempDir(), "app.db")},
		hocket.WithModel("own", model), hocket.WithAgent(hocket.Agent{Name: "researcher", Model: "own/m"}))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	g := subagent(t, "researcher")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := hocket.Run(ctx, e, g, state{}, hocket.RunOptions{ID: "up"}); !errors.Is(err, hocket.ErrInterrupted) {
		t.Fatal(err)
	}
	if b := below(t, e, "up"); !b.Interrupted {
		t.Fatalf("the run of the agent goes on: %+v", b)
	}
	r, err := hocket.Resume(t.Context(), e, g, "up")
	if err != nil || r.State.Text != "tide" || calls.Load() != 2 {
		t.Errorf("%+v, %v, %d calls", r, err, calls.Load())
	}
}

// TestSubagent_CancelledWhileStarting checks that an agent whose call ends while its run is being
// stored does not continue without the call (P11).
func TestSubagent_CancelledWhileStarting(t *testing.T) {
	t.Parallel()
	var stop atomic.Pointer[context.CancelFunc]
	e, err := hocket.Open(t.Context(), hocket.Config{Env: func(string) string {
		if f := stop.Load(); f != nil {
			(*f)() // models are looked up just before the run is stored
		}
		return ""
	}}, hocket.WithModel("own",
		hocket.ModelFunc(func(ctx context.Context, _ hocket.ModelRequest) (hocket.ModelReply, error) {
			<-ctx.Done()
			return hocket.ModelReply{}, ctx.Err()
		})), hocket.WithAgent(hocket.Agent{Name: "researcher", Model: "own/m"}))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	g := compiled(t, graph.New[state]("t").Start(graph.NewNode("a", graph.TypeTool,
		func(ctx context.Context, c *graph.Context[state]) (graph.Result[state], error) {
			ctx, cancel := context.WithCancel(ctx)
			stop.Store(&cancel)
			_, err := c.Runtime.Subagents.Spawn(ctx, graph.SpawnOptions{AgentID: "x", Key: "k", AgentName: "researcher",
				Task: "go"})
			return graph.Result[state]{Output: errors.Is(err, context.Canceled)}, nil
		}, once())))
	r, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "up"})
	if err != nil || r.Status != hocket.StatusCompleted || string(r.Snapshot.Outputs["a"]) != "true" {
		t.Fatalf("%+v, %v", r, err)
	}
	last := ""
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for ev, err := range e.Watch(ctx, "up.k") {
		if err != nil {
			t.Fatalf("the run of the agent goes on: %v", err)
		}
		last = ev.Type
	}
	if last != "run.cancelled" {
		t.Errorf("the run of the agent ended with %s", last)
	}
}

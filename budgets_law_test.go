package hocket_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/graph"
	_ "github.com/hocket-run/hocket/internal/randtest"
)

// drawSpender returns a random node that makes model calls, and the number of calls.
func drawSpender(t *rapid.T, id string, depth int) (graph.Node[state], int) {
	kinds := 3
	if depth > 0 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return graph.SubagentConfig[state]{ID: id, Agent: "a", Task: id}, 1
	case 1:
		return graph.AgentConfig[state]{ID: id, AgentType: hocket.AgentLLM, Message: id,
			Session: graph.SessionConfig{Model: "own/m"}}, 1
	case 2:
		n := rapid.IntRange(1, 4).Draw(t, "agents")
		c := graph.ParallelSubagentConfig[state]{ID: id, Output: func(*state, []graph.AgentResult) error { return nil }}
		for i := range n {
			c.Agents = append(c.Agents, graph.ParallelAgent[state]{Agent: "a", Task: fmt.Sprint(id, i)})
		}
		return c, n
	case 3:
		b, n := drawSpenders(t, "inner", depth-1)
		g, err := b.Compile()
		if err != nil {
			t.Fatal(err)
		}
		return graph.SubgraphConfig[state, state]{ID: id, Graph: g}, n
	default:
		// the function's own session
		return graph.NewNode(id, graph.TypeTool,
			func(ctx context.Context, c *graph.Context[state]) (graph.Result[state], error) {
				s, err := c.Runtime.ClientProvider(hocket.AgentLLM).CreateSession(ctx,
					graph.SessionConfig{Name: "own", Model: "own/m"})
				if err != nil {
					return graph.Result[state]{}, err
				}
				for range 2 {
					for _, err := range s.Stream(ctx, "more") {
						if err != nil {
							return graph.Result[state]{}, err
						}
					}
				}
				return graph.Result[state]{}, nil
			}), 2
	}
}

func drawSpenders(t *rapid.T, name string, depth int) (*graph.Builder[state], int) {
	b, calls := graph.New[state](name), 0
	for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
		if depth > 0 && rapid.IntRange(0, 2).Draw(t, "block") == 0 {
			c := graph.ParallelConfig[state]{ID: fmt.Sprint("b", i)}
			for j := range rapid.IntRange(1, 3).Draw(t, "branches") {
				n, k := drawSpender(t, fmt.Sprintf("b%d-%d", i, j), depth-1)
				b.Node(n)
				c.Branches, calls = append(c.Branches, fmt.Sprintf("b%d-%d", i, j)), calls+k
			}
			b.Parallel(c)
			continue
		}
		n, k := drawSpender(t, fmt.Sprint("n", i), depth)
		b.Then(n)
		calls += k
	}
	return b, calls
}

// TestRandomGraphsWithinBudget checks that no run of a Go graph makes more model calls than its
// budget allows, wherever in it they are made, and that with a larger budget it continues where it
// stopped: no call is paid twice (item 4, P20, D20).
func TestRandomGraphsWithinBudget(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	e := spending(t, &calls)
	rapid.Check(t, func(rt *rapid.T) {
		b, want := drawSpenders(rt, "t", 2)
		g, err := b.Compile()
		if err != nil {
			rt.Fatal(err)
		}
		calls.Store(0)
		most := rapid.Int64Range(1, int64(want)+1).Draw(rt, "calls")
		r, err := hocket.Run(rt.Context(), e, g, state{},
			hocket.RunOptions{Limits: graph.Limits{Budget: graph.Budget{MaxCalls: most}}})
		if err != nil {
			rt.Fatal(err)
		}
		for r.Status == hocket.StatusFailed {
			var short *hocket.BudgetError
			if n := int64(calls.Load()); n != most || !errors.As(r.Err, &short) || short.Code != "budget" {
				rt.Fatalf("%v after %d of %d calls", r.Err, n, most)
			}
			most += rapid.Int64Range(1, 3).Draw(rt, "more")
			if r, err = hocket.Run(rt.Context(), e, g, state{}, hocket.RunOptions{ResumeFrom: &r.Snapshot,
				Limits: graph.Limits{Budget: graph.Budget{MaxCalls: most}}}); err != nil {
				rt.Fatal(err)
			}
		}
		if r.Status != hocket.StatusCompleted || int(calls.Load()) != want {
			rt.Fatalf("%s (%v) after %d calls, want %d", r.Status, r.Err, calls.Load(), want)
		}
	})
}

// TestGraphBudgetInterrupted checks that a run that is interrupted while a session's call is in
// flight continues under a budget that the reservation of that call had used up (item 4).
func TestGraphBudgetInterrupted(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	began := make(chan struct{}, 1)
	e, err := hocket.Open(t.Context(), hocket.Config{DB: filepath.Join(t.TempDir(), "s.db")}, documents.All(),
		hocket.WithModel("own",
			hocket.ModelFunc(func(ctx context.Context, _ hocket.ModelRequest) (hocket.ModelReply, error) {
				if calls.Add(1) == 1 {
					began <- struct{}{}
					<-ctx.Done()
					return hocket.ModelReply{}, ctx.Err()
				}
				return hocket.ModelReply{Text: "done", Usage: &hocket.TokenUsage{InputTokens: 20, OutputTokens: 20}},
					nil
			})))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	g := compiled(t, graph.New[state]("t").Start(graph.AgentConfig[state]{ID: "n", AgentType: hocket.AgentLLM,
		Message: "go", Session: graph.SessionConfig{Model: "own/m"}}))
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		<-began
		stop()
	}()
	_, err = hocket.Run(ctx, e, g, state{},
		hocket.RunOptions{ID: "r", Limits: graph.Limits{Budget: graph.Budget{MaxTokens: 200, MaxCalls: 1}}})
	if !errors.Is(err, hocket.ErrInterrupted) {
		t.Fatal(err)
	}
	r, err := hocket.Resume(t.Context(), e, g, "r")
	if err != nil || r.Status != hocket.StatusCompleted || calls.Load() != 2 {
		t.Errorf("%+v, %v, %d calls", r, err, calls.Load())
	}
}

// TestGraphBudgetNotRetried checks that an exhausted budget is not retried with backoff, whatever
// the node's policy and its error handler specify (item 5).
func TestGraphBudgetNotRetried(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]graph.NodeOptions{
		"default": {},
		"policy":  {Retry: graph.Retry{MaxAttempts: 10, Backoff: time.Millisecond, Multiplier: 1}},
		"handler": {OnError: graph.OnError(func(error, *graph.Context[state]) graph.ErrorAction[state] {
			return graph.ErrorAction[state]{Action: graph.ActionRetry}
		})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tries, calls atomic.Int32
			e := spending(t, &calls)
			inner := compiled(t, graph.New[state]("inner").Start(graph.SubagentConfig[state]{ID: "ask", Agent: "a",
				Task: "go"}).Then(graph.SubagentConfig[state]{ID: "again", Agent: "a", Task: "go"}))
			g := compiled(t, graph.New[state]("t").Start(graph.Do("n", func(ctx context.Context, _ *state) error {
				tries.Add(1)
				// its own budget
				r, err := hocket.Run(ctx, e, inner, state{},
					hocket.RunOptions{Limits: graph.Limits{Budget: graph.Budget{MaxCalls: 1}}})
				if err != nil {
					return err
				}
				return fmt.Errorf("the inner run failed: %w", r.Err)
			}, o)))
			r, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "r"})
			var short *hocket.BudgetError
			if err != nil || tries.Load() != 1 || calls.Load() != 1 || !errors.As(r.Err, &short) {
				t.Errorf("%+v, %v, %d attempts, %d calls", r, err, tries.Load(), calls.Load())
			}
			if err := e.Reopen(t.Context(), "r", hocket.Limits{MaxCalls: 5}); !errors.Is(err, hocket.ErrNotReopenable) {
				t.Errorf("a run that met no budget of its own is reopened: %v", err)
			}
		})
	}
}

// TestWithheldIsNoCall checks that a call of a document withheld by the budget of its workflow
// counts neither in the usage of the run nor in that of the step (item 5).
func TestWithheldIsNoCall(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	e := spending(t, &calls, hocket.WithConfig(configured(t, "budgets: {workflow: {calls: 2}}")))
	doc, err := e.Parse("w.yaml", []byte("agents: {a: {model: own/m, instruction: Go.}}\nworkflow:\n"+
		strings.Repeat("  - {type: agent, name: a, retry: {max_attempts: 3}}\n", 3)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Run(t.Context(), doc, hocket.StartOptions{Input: "x"})
	var short *hocket.BudgetError
	if err != nil || !errors.As(r.Err, &short) || short.Code != "workflow_budget" || calls.Load() != 2 ||
		r.Usage.ModelCalls != 2 {
		t.Errorf("%v, %v: %d calls were made, usage %+v", r.Err, err, calls.Load(), r.Usage)
	}
}

package hocket_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/graph"
)

// spender returns a model that counts its calls, each of which uses 60 tokens, or fewer if its
// token limit is lower.
func spender(calls *atomic.Int32) hocket.Model {
	return hocket.ModelFunc(func(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
		output := int64(40)
		if most := r.MaxTokens; most != nil {
			output = min(output, *most)
		}
		return hocket.ModelReply{Text: fmt.Sprint("answer ", calls.Add(1)), Truncated: output < 40,
			Usage: &hocket.TokenUsage{InputTokens: 20, OutputTokens: output}}, nil
	})
}

// four returns a graph of four nodes, in sequence or in parallel, each of which makes one model
// call.
func four(t *testing.T, kind string, limits graph.Limits) *graph.Compiled[state] {
	t.Helper()
	node := func(i int) graph.Node[state] {
		id := fmt.Sprint("n", i)
		switch kind {
		case "session":
			return graph.AgentConfig[state]{ID: id, AgentType: hocket.AgentLLM, Message: "go",
				Session: graph.SessionConfig{Model: "own/m"}}
		case "nested run":
			return graph.NewNode(id, graph.TypeTool,
				func(ctx context.Context, c *graph.Context[state]) (graph.Result[state], error) {
					e, _ := ctx.Value(engineKey{}).(*hocket.Engine)
					r, err := hocket.Run(ctx, e,
						compiled(t, graph.New[state]("inner").Start(graph.SubagentConfig[state]{ID: "ask", Agent: "a",
							Task: "go"})), state{})
					if err != nil {
						return graph.Result[state]{}, err
					}
					return graph.Result[state]{Output: r.Status}, r.Err
				})
		case "subgraph":
			return graph.SubgraphConfig[state, state]{ID: id, Graph: compiled(t,
				graph.New[state]("inner").Start(graph.SubagentConfig[state]{ID: "ask", Agent: "a", Task: "go"}))}
		}
		return graph.SubagentConfig[state]{ID: id, Agent: "a", Task: "go"}
	}
	b := graph.New[state]("four")
	if kind == "together" {
		b.Start(graph.ParallelSubagentConfig[state]{ID: "all", Agents: []graph.ParallelAgent[state]{
			{Agent: "a", Task: "1"}, {Agent: "a", Task: "2"}, {Agent: "a", Task: "3"}, {Agent: "a", Task: "4"},
		}, Output: func(s *state, r []graph.AgentResult) error {
			s.N = len(r)
			return nil
		}})
	} else {
		for i := range 4 {
			b.Then(node(i))
		}
	}
	g, err := b.Compile(graph.Config{Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// engineKey is the context key of the engine on which nested runs execute.
type engineKey struct{}

var kindsOfCalls = []string{"sub-agent", "session", "together", "subgraph"}

func spending(t *testing.T, calls *atomic.Int32, options ...hocket.Option) *hocket.Engine {
	t.Helper()
	e, err := hocket.Open(t.Context(), hocket.Config{}, append(options, documents.All(),
		hocket.WithModel("own", spender(calls)), hocket.WithAgent(hocket.Agent{Name: "a", Model: "own/m"}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// TestGraphBudget checks that the budget of a run of a Go graph withholds the model calls of
// sub-agents and sessions before they are made, wherever it is set; that the error names the limit
// and nothing is retried; and that with a larger budget the run continues where it stopped (item 4,
// P20, D20).
func TestGraphBudget(t *testing.T) {
	t.Parallel()
	for _, kind := range kindsOfCalls {
		for by, set := range map[string]struct {
			file   string
			config graph.Limits
			run    graph.Limits
		}{
			"the operator": {file: "budgets: {run: {calls: 2}}"},
			"the graph":    {config: graph.Limits{Budget: graph.Budget{MaxCalls: 2}}},
			"the run":      {run: graph.Limits{Budget: graph.Budget{MaxCalls: 2}}},
			"the run, lower": {file: "budgets: {run: {calls: 3}}",
				run: graph.Limits{Budget: graph.Budget{MaxCalls: 2}}},
			"the file, lower": {file: "budgets: {run: {calls: 2}}", config: graph.Limits{
				Budget: graph.Budget{MaxCalls: 100},
			}, run: graph.Limits{Budget: graph.Budget{MaxCalls: 100}}},
		} {
			t.Run(kind+"/"+by, func(t *testing.T) {
				t.Parallel()
				var calls atomic.Int32
				var options []hocket.Option
				if set.file != "" {
					options = append(options, hocket.WithConfig(configured(t, set.file)))
				}
				e, g := spending(t, &calls, options...), four(t, kind, set.config)
				r, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "r", Limits: set.run})
				if err != nil || r.Status != hocket.StatusFailed {
					t.Fatalf("%+v, %v", r, err)
				}
				var short *hocket.BudgetError
				if !errors.As(r.Err, &short) || short.Code != "budget" || short.Limit != "calls" || short.Max != 2 {
					t.Errorf("error %v, %+v", r.Err, short)
				}
				if n := calls.Load(); n != 2 {
					t.Errorf("%d model calls were made under a budget of 2", n)
				}
				if o, err := e.Get(t.Context(), "r"); err != nil || o.Usage.ModelCalls != 2 {
					t.Errorf("the run counts %+v, %v", o.Usage, err)
				}
				if err := e.Reopen(t.Context(), "r", hocket.Limits{MaxCalls: 2}); err == nil {
					t.Error("it goes on under a budget that is no larger")
				}
				if err := e.Reopen(t.Context(), "r", hocket.Limits{MaxCalls: 10}); err != nil {
					t.Fatal(err)
				}
				o, err := e.Wait(t.Context(), "r")
				if err != nil || o.Status != hocket.StatusCompleted || o.Usage.ModelCalls != 4 || calls.Load() != 4 {
					t.Errorf("%s (%v) after %d calls, usage %+v, %v", o.Status, o.Err, calls.Load(), o.Usage, err)
				}
			})
		}
	}
}

// TestGraphBudgetOfTokens checks that token and money limits withhold calls, too, and that
// RunOptions.ResumeFrom continues with larger limits (item 4).
func TestGraphBudgetOfTokens(t *testing.T) {
	t.Parallel()
	for _, kind := range kindsOfCalls {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			e := spending(t, &calls, hocket.WithConfig(configured(t, "budgets: {run: {tokens: 200}}")))
			g := four(t, kind, graph.Limits{})
			r, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "r"})
			var short *hocket.BudgetError
			if err != nil || !errors.As(r.Err, &short) || short.Limit != "tokens" || short.Max != 200 {
				t.Fatalf("%+v, %v", r, err)
			}
			if o, err := e.Get(t.Context(), "r"); err != nil || o.Usage.InputTokens+o.Usage.OutputTokens > 200 {
				t.Errorf("the run used %+v under a budget of 200, %v", o.Usage, err)
			}
			r, err = hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ResumeFrom: &r.Snapshot,
				Limits: graph.Limits{Budget: graph.Budget{MaxTokens: 100_000}}})
			if err != nil || r.Status != hocket.StatusCompleted {
				t.Errorf("%+v after %d calls, %v", r, calls.Load(), err)
			}
		})
	}
	t.Run("money without a price", func(t *testing.T) {
		t.Parallel()
		for _, kind := range kindsOfCalls {
			var calls atomic.Int32
			e := spending(t, &calls)
			r, err := hocket.Run(t.Context(), e, four(t, kind, graph.Limits{}), state{},
				hocket.RunOptions{Limits: graph.Limits{Budget: graph.Budget{MaxCostUSD: 1}}})
			if kind == "together" && err == nil { // each agent reports it in its result
				r.Err = errors.New("price")
			}
			if err != nil || r.Err == nil || !strings.Contains(r.Err.Error(), "price") || calls.Load() != 0 {
				t.Errorf("%s: %+v, %v, %d calls", kind, r, err, calls.Load())
			}
		}
	})
}

// TestGraphNodeBudget checks that a node has its own budget, which applies to everything it starts,
// and that an inner graph's Limits apply inside another graph (item 4).
func TestGraphNodeBudget(t *testing.T) {
	t.Parallel()
	limits := graph.Limits{Budget: graph.Budget{MaxCalls: 1}}
	own := graph.NodeOptions{Budget: limits.Budget}
	two := func(o graph.NodeOptions) graph.Node[state] {
		return graph.ParallelSubagentConfig[state]{ID: "two", Options: o,
			Agents: []graph.ParallelAgent[state]{{Agent: "a", Task: "1"}, {Agent: "a", Task: "2"}},
			Output: func(*state, []graph.AgentResult) error { return nil }}
	}
	inner, err := graph.New[state]("inner").Start(two(graph.NodeOptions{})).Compile(graph.Config{Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	block := graph.New[state]("t").Parallel(graph.ParallelConfig[state]{ID: "block", Branches: []string{"x", "y"},
		Options: own}).
		Node(graph.SubagentConfig[state]{ID: "x", Agent: "a", Task: "go"}).Node(
		graph.SubagentConfig[state]{ID: "y", Agent: "a", Task: "go"})
	for name, g := range map[string]*graph.Compiled[state]{
		"node": compiled(t, graph.New[state]("t").Start(two(own))),
		"inner graph": compiled(t,
			graph.New[state]("t").Start(graph.SubgraphConfig[state, state]{ID: "sub", Graph: inner})),
		"subgraph": compiled(t, graph.New[state]("t").Start(graph.SubgraphConfig[state, state]{ID: "sub",
			Graph: compiled(t, graph.New[state]("i").Start(two(graph.NodeOptions{}))), Options: own})),
		"block": compiled(t, block),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			r, err := hocket.Run(t.Context(), spending(t, &calls), g, state{})
			var short *hocket.BudgetError
			if err != nil || !errors.As(r.Err, &short) || short.Code != "node_budget" || short.Limit != "calls" ||
				calls.Load() != 1 {
				t.Errorf("%+v, %v, %d calls", r, err, calls.Load())
			}
		})
	}
}

// TestGraphBudgetOfNestedRuns checks that a run started by a node function is subject to the budget
// of that function's run (item 4).
func TestGraphBudgetOfNestedRuns(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	e := spending(t, &calls)
	doc, err := e.Parse("d.yaml", []byte("agents: {a: {model: own/m, instruction: Go., max_tokens: 50}}"))
	if err != nil {
		t.Fatal(err)
	}
	inner := compiled(t,
		graph.New[state]("inner").Start(graph.SubagentConfig[state]{ID: "ask", Agent: "a", Task: "go"}))
	for name, run := range map[string]func(ctx context.Context) error{
		"graph": func(ctx context.Context) error {
			r, err := hocket.Run(ctx, e, inner, state{})
			if err != nil {
				return err
			}
			return r.Err
		},
		"stream": func(ctx context.Context) error {
			for s, err := range hocket.Stream(ctx, e, inner, state{}) {
				if err = errors.Join(err, s.Error); err != nil {
					return err
				}
			}
			return nil
		},
		"document": func(ctx context.Context) error {
			r, err := e.Run(ctx, doc, hocket.StartOptions{Input: "x"})
			if err != nil {
				return err
			}
			return r.Err
		},
	} {
		calls.Store(0)
		g := compiled(t, graph.New[state]("outer").Start(graph.Do("many", func(ctx context.Context, s *state) error {
			for range 4 {
				if err := run(ctx); err != nil {
					return err
				}
			}
			return nil
		})))
		r, err := hocket.Run(t.Context(), e, g, state{},
			hocket.RunOptions{Limits: graph.Limits{Budget: graph.Budget{MaxCalls: 2}}})
		var short *hocket.BudgetError
		if err != nil || !errors.As(r.Err, &short) || short.Limit != "calls" || calls.Load() != 2 {
			t.Errorf("%s: %+v, %v, %d calls", name, r, err, calls.Load())
		}
	}
}

// TestGraphWorkflowBudget checks that the budget of a workflow withholds the calls of sessions and
// sub-agents of its Go graph, across runs, and that a run that exceeded it continues once there is
// room (item 4, P20).
func TestGraphWorkflowBudget(t *testing.T) {
	t.Parallel()
	for _, kind := range kindsOfCalls {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			dir := t.TempDir()
			open := func(most int) *hocket.Engine {
				e, err := hocket.Open(t.Context(), hocket.Config{DB: filepath.Join(dir, "s.db")}, documents.All(),
					hocket.WithConfig(configured(t, fmt.Sprintf("budgets: {workflow: {calls: %d}}", most))),
					hocket.WithModel("own", spender(&calls)), hocket.WithAgent(hocket.Agent{Name: "a", Model: "own/m"}))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = e.Close() })
				return e
			}
			e, g := open(6), four(t, kind, graph.Limits{})
			if r, err := hocket.Run(t.Context(), e, g, state{}); err != nil || r.Err != nil || calls.Load() != 4 {
				t.Fatalf("%+v, %v, %d calls", r, err, calls.Load())
			}
			r, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "r"})
			var short *hocket.BudgetError
			if err != nil || !errors.As(r.Err, &short) || short.Code != "workflow_budget" || calls.Load() != 6 {
				t.Fatalf("%+v, %v, %d calls", r, err, calls.Load())
			}
			// Item 5: a withheld call does not count.
			if o, err := e.Get(t.Context(), "r"); err != nil || o.Usage.ModelCalls != 2 {
				t.Errorf("usage %+v, %v", o.Usage, err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			e = open(8)
			if err := hocket.Register(e, g); err != nil {
				t.Fatal(err)
			}
			if err := e.Reopen(t.Context(), "r", hocket.Limits{}); err != nil {
				t.Fatal(err)
			}
			o, err := e.Wait(t.Context(), "r")
			if err != nil || o.Status != hocket.StatusCompleted || calls.Load() != 8 || o.Usage.ModelCalls != 4 {
				t.Errorf("%s (%v) after %d calls, usage %+v, %v", o.Status, o.Err, calls.Load(), o.Usage, err)
			}
		})
	}
}

package hocket_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
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

// countingModel returns a model that counts its calls, each of which uses 60 tokens, or fewer if
// its token limit is lower.
func countingModel(calls *atomic.Int32) hocket.Model {
	return hocket.ModelFunc(func(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
		output := int64(40)
		if most := r.MaxTokens; most != nil {
			output = min(output, *most)
		}
		return hocket.ModelReply{Text: fmt.Sprint("answer ", calls.Add(1)), Truncated: output < 40,
			Usage: &hocket.TokenUsage{InputTokens: 20, OutputTokens: output}}, nil
	})
}

// fourNodes returns a graph of four nodes, in sequence or in parallel, each of which makes one
// model call.
func fourNodes(t *testing.T, kind string, limits graph.Limits) *graph.Compiled[state] {
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
		hocket.WithModel("own", countingModel(calls)), hocket.WithAgent(hocket.Agent{Name: "a", Model: "own/m"}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// TestGraphBudget checks that the budget of a run of a Go graph withholds the model calls of
// sub-agents and sessions before they are made, wherever it is set; that the error names the limit
// and nothing is retried; and that with a larger budget the run continues where it stopped (P20,
// D20).
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
				e, g := spending(t, &calls, options...), fourNodes(t, kind, set.config)
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
					t.Error("the run continues under a budget that is no larger")
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

// TestGraphBudget_TokensAndCost checks that token and money limits withhold calls, too, and that
// RunOptions.ResumeFrom continues with larger limits.
func TestGraphBudget_TokensAndCost(t *testing.T) {
	t.Parallel()
	for _, kind := range kindsOfCalls {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			e := spending(t, &calls, hocket.WithConfig(configured(t, "budgets: {run: {tokens: 200}}")))
			g := fourNodes(t, kind, graph.Limits{})
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
			r, err := hocket.Run(t.Context(), e, fourNodes(t, kind, graph.Limits{}), state{},
				hocket.RunOptions{Limits: graph.Limits{Budget: graph.Budget{MaxCostUSD: 1}}})
			if kind == "together" && err == nil { // each agent reports the error in its result
				r.Err = errors.New("price")
			}
			if err != nil || r.Err == nil || !strings.Contains(r.Err.Error(), "price") || calls.Load() != 0 {
				t.Errorf("%s: %+v, %v, %d calls", kind, r, err, calls.Load())
			}
		}
	})
}

// TestGraphNodeBudget checks that a node has its own budget, which applies to everything it starts,
// and that an inner graph's Limits apply inside another graph.
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
// of that function's run.
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
// room (P20).
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
					hocket.WithModel("own", countingModel(&calls)),
					hocket.WithAgent(hocket.Agent{Name: "a", Model: "own/m"}))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = e.Close() })
				return e
			}
			e, g := open(6), fourNodes(t, kind, graph.Limits{})
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
		// a function with its own session
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

// TestBudget_RandomGraphs checks that no run of a Go graph makes more model calls than its budget
// allows, wherever in it they are made, and that with a larger budget it continues where it
// stopped: no call is paid for twice (P20, D20).
func TestBudget_RandomGraphs(t *testing.T) {
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
// flight continues under a budget that the reservation of that call had used up.
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
// the node's policy and its error handler specify.
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
				// the inner run has its own budget
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

// TestBudget_WithheldCallNotCounted checks that a call of a document withheld by the budget of its
// workflow counts neither in the usage of the run nor in that of the step.
func TestBudget_WithheldCallNotCounted(t *testing.T) {
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

// silent is a client of coding agents that never reports the usage of its agents.
type silent struct{ made *atomic.Int32 }

func (c silent) CreateSession(context.Context, graph.SessionConfig) (graph.Session, error) {
	c.made.Add(1)
	return silentSession{}, nil
}

type silentSession struct{}

func (silentSession) ID() string { return "s" }
func (silentSession) Stream(context.Context, string) iter.Seq2[graph.AgentMessage, error] {
	return func(yield func(graph.AgentMessage, error) bool) {
		yield(graph.AgentMessage{Type: graph.MessageText, Content: "done"}, nil)
	}
}
func (silentSession) ContextUsage(context.Context) (graph.SessionUsage, error) {
	return graph.SessionUsage{}, graph.ErrUnknownUsage
}
func (silentSession) Summarize(context.Context) error { return nil }
func (silentSession) Destroy(context.Context) error   { return nil }

// TestGraphBudget_UnmeteredCalls checks that work whose usage cannot be counted is not started
// under a budget of tokens or money, in any way, unless the budget allows it.
func TestGraphBudget_UnmeteredCalls(t *testing.T) {
	t.Parallel()
	allow, tokens := graph.UncountedAllow, graph.Budget{MaxTokens: 1000}
	allowed := tokens
	allowed.Uncounted = allow
	for name, tc := range map[string]struct {
		file   string
		config graph.Limits
		run    graph.Limits
		node   graph.Budget
		works  bool
	}{
		"no budget":                 {works: true},
		"calls":                     {run: graph.Limits{Budget: graph.Budget{MaxCalls: 5}}, works: true},
		"tokens of the run":         {run: graph.Limits{Budget: tokens}},
		"money of the run":          {run: graph.Limits{Budget: graph.Budget{MaxCostUSD: 1}}},
		"tokens of the graph":       {config: graph.Limits{Budget: tokens}},
		"tokens of the node":        {node: tokens},
		"tokens of the operator":    {file: "budgets: {run: {tokens: 1000}}"},
		"tokens of the workflow":    {file: "budgets: {workflow: {tokens: 1000}}"},
		"allowed by the run":        {run: graph.Limits{Budget: allowed}, works: true},
		"allowed by the graph":      {config: graph.Limits{Budget: allowed}, works: true},
		"allowed by the node":       {node: allowed, works: true},
		"allowed by the node alone": {node: allowed, run: graph.Limits{Budget: tokens}},
		"allowed by the run alone":  {node: tokens, run: graph.Limits{Budget: allowed}},
		"allowed by the operator":   {file: "budgets: {run: {tokens: 1000}, uncounted: allow}", works: true},
		"workflow, by the operator": {file: "budgets: {workflow: {tokens: 1000}, uncounted: allow}", works: true},
		"against the operator": {file: "budgets: {run: {tokens: 1000}}", run: graph.Limits{Budget: allowed},
			config: graph.Limits{Budget: allowed}},
		"refused in spite of the file": {file: "budgets: {uncounted: allow}",
			run: graph.Limits{Budget: graph.Budget{MaxTokens: 9, Uncounted: graph.UncountedRefuse}}},
		"graph allows, the run refuses": {config: graph.Limits{Budget: allowed},
			run: graph.Limits{Budget: graph.Budget{Uncounted: graph.UncountedRefuse}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var made, calls atomic.Int32
			options := []hocket.Option{hocket.WithSessions("agent", silent{&made})}
			if tc.file != "" {
				options = append(options, hocket.WithConfig(configured(t, tc.file)))
			}
			e := spending(t, &calls, options...)
			o := graph.NodeOptions{Budget: tc.node}
			for door, in := range map[string]struct {
				node    graph.Node[state]
				runtime graph.Runtime
			}{
				"engine": {node: graph.AgentConfig[state]{ID: "n", AgentType: "agent", Options: o}},
				"program": {node: graph.AgentConfig[state]{ID: "n", AgentType: "own", Options: o},
					runtime: graph.Runtime{ClientProvider: func(string) graph.Client { return silent{&made} }}},
				"function": {node: graph.NewNode("n", graph.TypeTool,
					func(ctx context.Context, _ *graph.Context[state]) (graph.Result[state], error) {
						_, err := e.Sessions("agent").CreateSession(ctx, graph.SessionConfig{})
						return graph.Result[state]{}, err
					}, o)},
				"session of before": {node: graph.Do("n", func(ctx context.Context, _ *state) error {
					s, err := e.Sessions("agent").CreateSession(t.Context(), graph.SessionConfig{})
					if err != nil {
						return err
					}
					made.Add(-1)
					for _, err := range s.Stream(ctx, "x") {
						if err != nil {
							return err
						}
					}
					made.Add(1)
					return nil
				}, o)},
			} {
				made.Store(0)
				g, err := graph.New[state]("t").Start(in.node).Compile(
					graph.Config{Limits: tc.config, Runtime: in.runtime})
				if err != nil {
					t.Fatal(err)
				}
				r, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{Limits: tc.run})
				if err != nil {
					t.Fatal(err)
				}
				var failed *hocket.RunError
				if works := r.Status == hocket.StatusCompleted; works != tc.works || made.Load() > 0 != tc.works ||
					!works && (!errors.As(r.Err, &failed) || failed.Code != "uncounted") {
					t.Errorf("%s: %s, %v, %d sessions; works: %t", door, r.Status, r.Err, made.Load(), tc.works)
				}
			}
		})
	}
}

// TestDocumentBudget_UnmeteredCalls checks that a tool of a document does not start work whose
// usage cannot be counted either (SEC13, P20).
func TestDocumentBudget_UnmeteredCalls(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int64]string{0: "", 1000: "uncounted"} {
		var made atomic.Int32
		got := "not called"
		var seen atomic.Pointer[hocket.ModelRequest]
		var e *hocket.Engine
		e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All(), hocket.WithModel("own", echo(&seen)),
			hocket.WithSessions("agent", silent{&made}),
			hocket.WithTool("lookup", "", func(ctx context.Context, _ lookupArgs) (string, error) {
				_, err := e.Sessions("agent").CreateSession(ctx, graph.SessionConfig{})
				coded := (interface{ FailureCode() string })(nil)
				if got = ""; errors.As(err, &coded) {
					got = coded.FailureCode()
				}
				return "", err
			}))
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		w, err := e.Parse("w.yaml", []byte(writerDoc))
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Run(t.Context(), w, hocket.StartOptions{Input: "x", Limits: hocket.Limits{MaxTokens: limit}})
		if err != nil || got != want || made.Load() > 0 != (want == "") {
			t.Errorf("limit %d: %q, %v; %d sessions, want %q", limit, got, err, made.Load(), want)
		}
	}
}

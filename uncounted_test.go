package hocket_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/graph"
)

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

// TestGraphBudgetUncounted checks that work whose usage cannot be counted is not started under a
// budget of tokens or money, in any way, unless the budget allows it (item 4).
func TestGraphBudgetUncounted(t *testing.T) {
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

// TestDocumentBudgetUncounted checks that it is not started by a tool of a document either (SEC13,
// P20).
func TestDocumentBudgetUncounted(t *testing.T) {
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

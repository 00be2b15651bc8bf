package graph_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/graphtest"
)

// TestAgentNodeUnknownOutcome checks that a message whose outcome is unknown is not resent
// automatically; ResendUnknown resends it, and so may OnError, which sees the error (D23, S2-41).
func TestAgentNodeUnknownOutcome(t *testing.T) {
	t.Parallel()
	unknown := graph.ErrUnknownOutcome.Error()
	for name, tc := range map[string]struct {
		resend  bool
		retryOn func(error) bool
		onError func(error, *graph.Context[state]) graph.ErrorAction[state]
		sent    int
		want    string
	}{
		"default":         {sent: 1, want: unknown},
		"resent":          {resend: true, sent: 2, want: "completed"},
		"others retried":  {retryOn: func(error) bool { return true }, sent: 1, want: unknown},
		"resent, refused": {resend: true, retryOn: func(error) bool { return false }, sent: 1, want: unknown},
		"handler": {onError: func(err error, _ *graph.Context[state]) graph.ErrorAction[state] {
			if errors.Is(err, graph.ErrUnknownOutcome) && err.Error() == unknown {
				return graph.ErrorAction[state]{Action: graph.ActionRetry}
			}
			return graph.ErrorAction[state]{}
		}, sent: 2, want: "completed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := &graphtest.Agent{Answer: func(_ context.Context, n int, _ string) ([]graph.AgentMessage, error) {
				if n == 1 {
					return nil, graph.ErrUnknownOutcome
				}
				return graphtest.Hello(), nil
			}}
			node := graph.AgentConfig[state]{ID: "a", AgentType: "x", ResendUnknown: tc.resend,
				Options: graph.NodeOptions{
					Retry: graph.Retry{RetryOn: tc.retryOn}, OnError: graph.OnError(tc.onError),
				}}
			offering(t, agent.Runtime("x"), graph.New[state]("g").Start(node), state{}).want("a", tc.want)
			if n := len(agent.Messages()); n != tc.sent {
				t.Errorf("sent %d times, want %d", n, tc.sent)
			}
		})
	}
}

// TestAgentNodeRetryOn checks that RetryOn of an agent node is called for all other errors (S2-41).
func TestAgentNodeRetryOn(t *testing.T) {
	t.Parallel()
	agent := &graphtest.Agent{Answer: func(context.Context, int, string) ([]graph.AgentMessage, error) {
		return nil, errAgent
	}}
	node := graph.AgentConfig[state]{ID: "a", AgentType: "x", Options: graph.NodeOptions{
		Retry: graph.Retry{RetryOn: func(err error) bool {
			return !strings.Contains(err.Error(), "broke")
		}}}}
	offering(t, agent.Runtime("x"), graph.New[state]("g").Start(node), state{}).want("a", "the agent broke")
	if n := len(agent.Messages()); n != 1 {
		t.Errorf("sent %d times", n)
	}
}

// TestAgentNodeCancelled checks that a cancelled run destroys the session, with a context that is
// still usable (S2-68).
func TestAgentNodeCancelled(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{})
	agent := &graphtest.Agent{Answer: func(ctx context.Context, _ int, _ string) ([]graph.AgentMessage, error) {
		close(reached)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}}
	g := compiled(t, graph.New[state]("g").Start(graph.AgentConfig[state]{ID: "a", AgentType: "x"}),
		graph.Config{Runtime: agent.Runtime("x")})
	d := open(t, filepath.Join(t.TempDir(), "hocket.db"), g)
	run, err := d.Start(t.Context(), driver.Spec{Workflow: g.Workflow(), Input: event.Value(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	<-reached
	if err := d.Cancel(t.Context(), run, "enough"); err != nil {
		t.Fatal(err)
	}
	if status, _ := settled(t, d, g, run); status != event.StatusCancelled {
		t.Errorf("the run is %s", status)
	}
	if err := d.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(agent.Calls(), []string{"create", "send", "destroy"}); d != "" {
		t.Errorf("calls: got - want +\n%s", d)
	}
}

// TestAgentNode_OtherProcess checks that an answer that arrived before the process died is kept,
// so that the next process does not ask again. Without an answer it asks, under the same key (P9).
func TestAgentNode_OtherProcess(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answered bool
		sent     int
	}{"answered": {true, 1}, "not answered": {false, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reached := make(chan struct{})
			agent := &graphtest.Agent{Answer: func(ctx context.Context, n int, _ string) ([]graph.AgentMessage, error) {
				if n > 1 {
					return graphtest.Hello(), nil
				}
				close(reached)
				<-ctx.Done()
				if tc.answered {
					return graphtest.Hello(), nil
				}
				return nil, context.Cause(ctx)
			}}
			g := compiled(t, graph.New[state]("g").Start(graph.AgentConfig[state]{
				ID: "a", AgentType: "x", Output: func(s *state, m []graph.AgentMessage) error {
					s.Text = m[0].Content
					return nil
				}}), graph.Config{Runtime: agent.Runtime("x")})
			path := filepath.Join(t.TempDir(), "hocket.db")
			first := open(t, path, g)
			run, err := first.Start(t.Context(), driver.Spec{Workflow: g.Workflow(), Input: event.Value(`{}`)})
			if err != nil {
				t.Fatal(err)
			}
			<-reached
			if err := first.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			next := open(t, path, g)
			if err := next.Resume(t.Context(), run); err != nil && !errors.Is(err, engine.ErrEnded) {
				t.Fatal(err)
			}
			if status, s := settled(t, next, g, run); status != event.StatusCompleted || s.Text != "hello" {
				t.Errorf("%s with %+v", status, s)
			}
			if n := len(agent.Messages()); n != tc.sent {
				t.Errorf("sent %d times, want %d", n, tc.sent)
			}
			for _, c := range agent.Configs() {
				if c.Key != "a" {
					t.Errorf("key %q", c.Key)
				}
			}
		})
	}
}

// TestAgentNode_QuestionOnUnknownOutcome checks a graph that asks a person what to do: an unknown
// outcome leads to a question, and the answer decides whether the agent is asked again (D23).
func TestAgentNode_QuestionOnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for answer, tc := range map[string]struct {
		visited string
		sent    int
	}{
		`"again"`: {"a, ask, which, a, done", 2},
		`"leave"`: {"a, ask, which, done", 1},
	} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			agent := &graphtest.Agent{Answer: func(_ context.Context, n int, _ string) ([]graph.AgentMessage, error) {
				if n == 1 {
					return nil, graph.ErrUnknownOutcome
				}
				return graphtest.Hello(), nil
			}}
			b := graph.New[state]("g").
				Start(graph.AgentConfig[state]{ID: "a", AgentType: "x", Options: graph.NodeOptions{
					OnError: graph.OnError(func(err error, _ *graph.Context[state]) graph.ErrorAction[state] {
						if errors.Is(err, graph.ErrUnknownOutcome) {
							return graph.ErrorAction[state]{Action: graph.ActionGoto, Node: "ask"}
						}
						return graph.ErrorAction[state]{}
					}),
				}}).
				Then(nothing("done")).
				Node(graph.WaitConfig[state]{ID: "ask", Prompt: "Send it again?",
					Options: graph.NodeOptions{Recovery: true}, Input: func(s *state, answer string) error {
						s.Text = answer
						return nil
					}},
					graph.DecisionNode("which",
						[]graph.Route[state]{{When: func(v graph.View[state]) bool { return v.State.Text == "again" },
							Target: "a"}}, "done"))
			w := offering(t, agent.Runtime("x"), b, state{})
			w.want("a, ask", "paused")
			w.Feed(engine.Answer{Value: event.Value(answer)})
			w.Go(nil)
			w.want(tc.visited, "completed")
			if n := len(agent.Messages()); n != tc.sent {
				t.Errorf("sent %d times, want %d", n, tc.sent)
			}
		})
	}
}

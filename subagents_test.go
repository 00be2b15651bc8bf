package hocket_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

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

// TestSubagentsTogether checks that agents work concurrently with fewer slots than there are
// agents, and that one that fails does not stop the others (S2-79, P14).
func TestSubagentsTogether(t *testing.T) {
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

// TestSubagentGoesOn checks that a run that is interrupted while its agent works continues where
// the agent was: replies of the model are not requested again (P12, D8). A tool call of the agent
// with an unknown outcome opens a question in the agent's own run, and the graph waits for the
// answer there.
func TestSubagentGoesOn(t *testing.T) {
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

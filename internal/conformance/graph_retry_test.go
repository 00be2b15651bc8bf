package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/graphtest"
)

// playFailing runs a node that fails its first n attempts, and returns when it was called and how
// the run ended.
func playFailing(t *testing.T, n int, o gOptions) (at, end string) {
	t.Helper()
	note, noted := clock()
	p := play(t, newGraph().Start(does("a", func(_ context.Context, c *gContext) (gResult, error) {
		note()
		if n < 0 || c.Attempt <= n {
			return gResult{}, errBroken
		}
		return gResult{}, nil
	}, o)), sheet{})
	return noted(), p.end()
}

// failureOf returns the error with which a run ended.
func (p *played) failureOf() error { return p.steps[len(p.steps)-1].Error }

var graphRetry = []rule{
	{name: "S2-40 three attempts in all, after 1 and 2 seconds; delays grow by the multiplier",
		test: func(t *testing.T) {
			for _, c := range []struct {
				fails   int
				retry   graph.Retry
				at, end string
			}{
				{-1, graph.Retry{}, "0s 1s 3s", "it is broken"},
				{2, graph.Retry{}, "0s 1s 3s", "completed"},
				{-1, graph.Retry{Backoff: 50 * time.Millisecond, Multiplier: 3}, "0s 50ms 200ms", "it is broken"},
				{3, graph.Retry{MaxAttempts: 4, Backoff: time.Second}, "0s 1s 3s 7s", "completed"},
				{-1, graph.Retry{MaxAttempts: 1}, "0s", "it is broken"},
			} {
				at, end := playFailing(t, c.fails, gOptions{Retry: c.retry})
				same(t, "attempts", at, c.at)
				same(t, "end", end, c.end)
			}
			same(t, "the policy by default", compat.DefaultRetry(), graph.Retry{MaxAttempts: 3, Backoff: time.Second,
				Multiplier: 2})
		}},
	{name: "S2-41 retryOn false fails at once, and no attempts at all are refused", test: func(t *testing.T) {
		broken := func(err error) bool { return err.Error() == "it is broken" }
		at, end := playFailing(t, 1, gOptions{Retry: graph.Retry{RetryOn: func(err error) bool {
			return !broken(err)
		}}})
		same(t, "false", at+", "+end, "0s, it is broken")
		at, end = playFailing(t, 1, gOptions{Retry: graph.Retry{RetryOn: broken}})
		same(t, "true", at+", "+end, "0s 1s, completed")
		same(t, "none", misused(t, newGraph().Start(idle("a", gOptions{Retry: graph.Retry{MaxAttempts: graph.Zero}}))),
			[]string{`Node "a": MaxAttempts is 0; it counts the first attempt and must be at least 1`})
	}},
	{name: "S2-42 what an error handler may do, on the first failure", test: func(t *testing.T) {
		rec := idle("rec", gOptions{Recovery: true})
		for _, c := range []struct {
			fails                int
			act                  gAction
			began, at, end, text string
		}{
			{-1, gAction{Action: graph.ActionSkip}, "a, z", "0s", "completed", "first"},
			{-1, gAction{Action: graph.ActionSkip, Fallback: &sheet{Text: "instead"}}, "a, z", "0s", "completed",
				"instead"},
			{1, gAction{Action: graph.ActionAbort}, "a", "0s", "it is broken", "first"},
			{1, gAction{Action: graph.ActionAbort, Err: errors.New("mine")}, "a", "0s", "mine", "first"},
			{1, gAction{Action: graph.ActionGoto, Node: "rec"}, "a, rec", "0s", "completed", "first"},
			{2, gAction{Action: graph.ActionRetry}, "a, z", "0s 1s 3s", "completed", "first"},
			{1, gAction{Action: graph.ActionRetry, Delay: 7 * time.Second}, "a, z", "0s 7s", "completed", "first"},
			{-1, gAction{Action: graph.ActionRetry, Delay: graph.Zero}, "a", "0s 0s 0s", "it is broken", "first"},
			{1, gAction{}, "a, z", "0s 1s", "completed", "first"},
		} {
			note, noted := clock()
			p := play(t, newGraph().Start(does("a", func(_ context.Context, n *gContext) (gResult, error) {
				note()
				if c.fails < 0 || n.Attempt <= c.fails {
					return gResult{}, errBroken
				}
				return gResult{}, nil
			}, handled(c.act))).Then(idle("z")).Node(rec), sheet{Text: "first"})
			what := string(c.act.Action)
			p.went(what, c.began, c.end)
			same(t, what+": attempts", noted(), c.at)
			same(t, what+": state", p.State.Text, c.text)
		}
	}},
	{name: "S2-43 a goto of an error handler needs a recovery node", test: func(t *testing.T) {
		for target, want := range map[string]string{"z": `onError goto target "z" must set isRecoveryNode: true`,
			"x": `onError goto target "x" not found in graph`} {
			p := play(t, newGraph().Start(breaks("a", -1, handled(gAction{Action: graph.ActionGoto, Node: target}))).
				Then(idle("z")), sheet{})
			p.went("goto", "a", want)
			same(t, "status", p.Status, hocket.StatusFailed)
		}
	}},
	{name: "S2-44 golden: recovery by goto", test: func(t *testing.T) {
		p := play(t,
			newGraph().Start(breaks("goto_action", -1,
				handled(gAction{Action: graph.ActionGoto, Node: "recovery_route"}))).Then(idle("normal")).
				Node(idle("recovery_route", gOptions{Recovery: true})), sheet{})
		p.went("recovery", "goto_action, recovery_route", "completed")
		same(t, "steps", p.stepped(), "goto_action, recovery_route")
	}},
	{name: "S2-45 schema errors have a type and a text, and are tried again", test: func(t *testing.T) {
		large := graph.SchemaJSON(`{"properties": {"n": {"minimum": 5}}}`)
		for text, o := range map[string]gOptions{`Node "n" input validation failed: n: `: {InputSchema: large},
			`Node "n" output validation failed: n: `: {OutputSchema: large}} {
			p := play(t, newGraph().Start(changes("n", func(s *sheet) { s.N++ }, o)), sheet{})
			same(t, "text", strings.HasPrefix(p.end(), text), true)
			err, ok := errors.AsType[*graph.SchemaValidationError](p.failureOf())
			same(t, "type", ok, true)
			same(t, "path", err.Problems[0].Path, "/n")
			same(t, "problem", strings.HasSuffix(p.end(), err.Problems[0].Message), true)
			same(t, "attempts", len(p.Errors), 3)
		}
	}},
	{name: "S2-46 a tool that takes too long fails, even where it does not heed its context", test: func(t *testing.T) {
		hold := make(chan struct{})
		defer close(hold)
		for _, heeds := range []bool{true, false} {
			p := play(t,
				newGraph().Tool(graph.ToolConfig[sheet, int, int]{ID: "x", ToolName: "hammer", Timeout: 20 *
					time.Millisecond, Options: single(), Execute: func(ctx context.Context, _ int) (int, error) {
					if heeds {
						<-ctx.Done()
					} else {
						<-hold
					}
					return 0, ctx.Err()
				}}), sheet{})
			p.went("tool", "x", `Tool "hammer" timed out after 20ms`)
			same(t, "is a time limit", errors.Is(p.failureOf(), context.DeadlineExceeded), true)
		}
	}},
	{name: "S2-58 the context tells what failed before", test: func(t *testing.T) {
		var got []*graph.ErrorFeedback
		p := play(t, newGraph().Start(does("a", func(_ context.Context, c *gContext) (gResult, error) {
			got = append(got, c.Feedback)
			if c.Attempt == 1 {
				return gResult{Output: "half"}, errBroken
			}
			return gResult{}, nil
		})), sheet{})
		same(t, "end", p.end(), "completed")
		same(t, "feedback", got, []*graph.ErrorFeedback{
			nil, {FailedNodeID: "a", ErrorMessage: "it is broken", ErrorType: "func", Attempt: 1, MaxAttempts: 3,
				PreviousOutput: []byte(`"half"`)},
		})
		agent := &coder{graphtest.Agent{Answer: func(_ context.Context, n int, _ string) ([]graph.AgentMessage, error) {
			if n == 1 {
				return nil, errBroken
			}
			return nil, nil
		}}}
		node := graph.AgentConfig[sheet]{ID: "a", AgentType: "claude", MessageFunc: func(graph.View[sheet]) string {
			return "Write."
		}}
		play(t, newGraph().Start(node), sheet{}, graph.Config{Runtime: agent.runtime()})
		same(t, "prompts", agent.Messages(), []string{"Write.", "Write.\n\nThe previous attempt failed: it is broken"})
		team := &crew{Names: []string{"x"}, Result: func(n int, _ graph.SpawnOptions) (graph.SubagentResult, error) {
			return graph.SubagentResult{Success: n > 1, Error: "too hard"}, nil
		}}
		play(t, newGraph().Subagent(graph.SubagentConfig[sheet]{ID: "s", Agent: "x", Task: "Work."}), sheet{},
			graph.Config{Runtime: team.Runtime()})
		same(t, "task", team.Spawned()[1].Task,
			"Work.\n\nThe previous attempt failed: Sub-agent \"x\" failed: too hard")
	}},
	{name: "S2-61 states are checked before and after each attempt; what does not fit is not merged",
		test: func(t *testing.T) {
			atMost := func(n int) *graph.Schema {
				return graph.SchemaJSON(fmt.Sprintf(`{"properties": {"n": {"maximum": %d}}}`, n))
			}
			for _, c := range []struct {
				o     gOptions
				cfg   graph.Config
				first int
				want  string // prefix of the error; "" means none
			}{
				{gOptions{InputSchema: atMost(3)}, graph.Config{}, 4, `Node "a" input validation failed: n: `},
				{gOptions{InputSchema: atMost(3)}, graph.Config{}, 3, ""},
				{gOptions{OutputSchema: atMost(3)}, graph.Config{}, 3, `Node "a" output validation failed: n: `},
				{gOptions{}, graph.Config{OutputSchema: atMost(3)}, 3, `Graph state validation failed: n: `},
				{gOptions{OutputSchema: atMost(2)}, graph.Config{OutputSchema: atMost(3)}, 3,
					`Node "a" output validation failed: n: `},
				{gOptions{OutputSchema: graph.SchemaOf[sheet]()}, graph.Config{OutputSchema: atMost(3)}, 2, ""},
			} {
				p := play(t, newGraph().Start(changes("a", func(s *sheet) { s.N++ }, c.o)), sheet{N: c.first}, c.cfg)
				if c.want == "" {
					same(t, "end", p.end(), "completed")
					same(t, "state", p.State.N, c.first+1)
					continue
				}
				same(t, "text", p.end()[:min(len(p.end()), len(c.want))], c.want)
				same(t, "state", p.State.N, c.first)
				same(t, "attempts", len(p.Errors), 3)
			}
			play(t, newGraph().Start(idle("a", gOptions{OutputSchema: atMost(0)})), sheet{N: 1}).went(
				"nothing was changed",
				"a", "completed")
			v := compat.FromGraphConfig(graph.Config{OutputSchema: atMost(3)})
			for text, err := range map[string]error{
				"Graph state validation failed: n: ":     v.Validate(sheet{N: 4}),
				`Node "a" input validation failed: n: `:  v.ValidateNodeInput("a", atMost(3), sheet{N: 4}),
				`Node "a" output validation failed: n: `: v.ValidateNodeOutput("a", atMost(3), sheet{N: 4}),
			} {
				_, ok := errors.AsType[*graph.SchemaValidationError](err)
				same(t, "type of the validator's error", ok, true)
				same(t, "its text", strings.HasPrefix(err.Error(), text), true)
			}
			same(t, "a state that fits",
				errors.Join(v.Validate(sheet{N: 3}), v.ValidateNodeInput("a", atMost(3), sheet{}),
					v.ValidateNodeOutput("a", nil, sheet{N: 9})), nil)
		}},
	{name: "S2-78 every failed attempt is kept, for later attempts and in the snapshot; errors have types",
		test: func(t *testing.T) {
			var seen gContext
			begin := time.Now()
			p := play(t, newGraph().Start(does("a", func(_ context.Context, c *gContext) (gResult, error) {
				if c.Attempt < 3 {
					return gResult{}, fmt.Errorf("failure %d", c.Attempt)
				}
				seen = *c
				return gResult{}, nil
			})).Then(does("b", func(context.Context, *gContext) (gResult, error) {
				return gResult{}, &graph.NodeExecutionError{NodeID: "b", Cause: errBroken}
			}, single())), sheet{})
			same(t, "in the context", seen.Errors, []graph.ExecutionError{
				{NodeID: "a", Message: "failure 1", Timestamp: begin.UTC().Truncate(time.Microsecond), Attempt: 1},
				{NodeID: "a", Message: "failure 2", Timestamp: begin.Add(time.Second).UTC().Truncate(time.Microsecond),
					Attempt: 2},
			})
			same(t, "in the snapshot", p.attempts(), []string{"a#1 failure 1", "a#2 failure 2", "b#1 it is broken"})
			failed, ok := errors.AsType[*graph.NodeExecutionError](p.failureOf())
			same(t, "type", ok, true)
			same(t, "node", failed.NodeID, "b")
			same(t, "unwrapped", errors.Is(&graph.NodeExecutionError{Cause: errBroken}, errBroken), true)
			var got error
			play(t,
				newGraph().Start(idle("a", gOptions{InputSchema: graph.SchemaJSON("false"),
					OnError: graph.OnError(func(err error, _ *gContext) gAction {
						got = err
						return gAction{Action: graph.ActionSkip}
					})})), sheet{})
			_, ok = errors.AsType[*graph.SchemaValidationError](got)
			same(t, "type in a handler", ok, true)
			_, ok = errors.AsType[*graph.NodeExecutionError](got)
			same(t, "wrapped in a handler", ok, true)
		}},
}

func TestGraphRetry(t *testing.T) { check(t, graphRetry) }

func TestGraphRetryCovered(t *testing.T) {
	covered(t, graphRetry, "S2-40", "S2-41", "S2-42", "S2-43", "S2-44", "S2-45", "S2-46", "S2-58", "S2-61", "S2-78")
}

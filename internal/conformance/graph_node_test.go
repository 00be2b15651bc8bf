package conformance_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
)

// question is what the tests of ask-user nodes ask.
var question = graph.Question{Text: "Go on?", Header: "Stop",
	Choices: []graph.Choice{{Label: "yes", Description: "go on"}, {Label: "no"}}}

// strategy returns a graph that runs two branches with a strategy.
func strategy(s graph.Strategy, a, b gNode) *gBuilder {
	return newGraph().Parallel(gParallel{ID: "p", Branches: []string{"a", "b"}, Strategy: s}).Node(a).Node(b).Then(
		idle("z"))
}

var graphNode = []rule{
	{name: "S2-50 a parallel node stores its marker and goes to all branches", test: func(t *testing.T) {
		for given, want := range map[graph.Strategy]string{"": "all", graph.StrategyAll: "all",
			graph.StrategyAny: "any", graph.StrategyRace: "race"} {
			p := play(t, strategy(given, outputs("a", 1), outputs("b", 2)), sheet{})
			got := decoded(t, p.Outputs["p"]).(map[string]any)
			delete(got, "results") // S2-57
			same(t, "output", got, map[string]any{"_parallel": true, "branches": []any{"a", "b"}, "strategy": want})
			same(t, "began", strings.HasPrefix(p.began(), "p, a, b"), true)
		}
	}},
	{name: "S2-51 all waits for all and fails on any failure", test: func(t *testing.T) {
		play(t, strategy(graph.StrategyAll, breaks("a", 2), idle("b")), sheet{}).went("both", "p, a, b, z", "completed")
		cancelled := make(chan string, 1)
		play(t, strategy(graph.StrategyAll, blocksUntilCancelled("a", cancelled), endsLater("b", errBroken)),
			sheet{}).went("one fails",
			"p, a, b", "it is broken")
		same(t, "cancelled", <-cancelled, "a")
	}},
	{name: "S2-51 race goes on with the first that settles, even if it failed, and cancels the rest",
		test: func(t *testing.T) {
			cancelled := make(chan string, 1)
			play(t, strategy(graph.StrategyRace, blocksUntilCancelled("a", cancelled), endsLater("b", nil)),
				sheet{}).went("success",
				"p, a, b, z", "completed")
			same(t, "cancelled", <-cancelled, "a")
			play(t, strategy(graph.StrategyRace, blocksUntilCancelled("a", cancelled), endsLater("b", errBroken)),
				sheet{}).went("failure",
				"p, a, b", "it is broken")
			same(t, "cancelled by a failure", <-cancelled, "a")
		}},
	{name: "S2-51 any goes on with the first success, fails only if all fail, and cancels the rest",
		test: func(t *testing.T) {
			cancelled := make(chan string, 1)
			play(t, strategy(graph.StrategyAny, blocksUntilCancelled("a", cancelled), endsLater("b", nil)),
				sheet{}).went("success",
				"p, a, b, z", "completed")
			same(t, "cancelled", <-cancelled, "a")
			play(t, strategy(graph.StrategyAny, breaks("a", 1), breaks("b", -1, single())), sheet{}).went(
				"failure first",
				"p, a, b, z", "completed")
			play(t, strategy(graph.StrategyAny, breaks("a", -1, single()), breaks("b", -1, single())), sheet{}).
				went("all fail", "p, a, b", "2 of 2 branches failed; the first: it is broken")
		}},
	{name: "S2-52 a wait pauses the run; resuming applies the input and goes on, and asks no more",
		test: func(t *testing.T) {
			into := func(s *sheet, answer string) error {
				s.Text = "said " + answer
				return nil
			}
			p := play(t,
				newGraph().Start(idle("s")).Then(graph.WaitConfig[sheet]{ID: "w", Prompt: "Sure?", Input: into}).
					Then(idle("z")), sheet{})
			p.went("wait", "s, w", "paused")
			same(t, "signals", p.signal, []string{"human_input_required Sure?"})
			same(t, "visited", p.VisitedNodes, []string{"s"})
			same(t, "count", p.NodeExecutionCount, 1)
			p.answers("yes")
			same(t, "steps after the answer", p.stepped(), "w, z")
			same(t, "end", p.end(), "completed")
			same(t, "mapped", p.State.Text, "said yes")
			same(t, "visited in all", p.VisitedNodes, []string{"s", "w", "z"})
			p = play(t, newGraph().Start(graph.NewNode("q", graph.TypeTool,
				func(_ context.Context, c *gContext) (gResult, error) {
					c.State.N++
					return gResult{Update: &c.State, Signals: []graph.Signal{{Type: graph.SignalHumanInputRequired,
						Message: "Sure?", Data: map[string]any{"options": []string{"yes", "no"}}}}}, nil
				})).Then(idle("z")), sheet{})
			p.went("own signal", "q", "paused")
			same(t, "signals", p.signal, []string{"human_input_required Sure?"})
			same(t, "options", p.Waiting[0].Options, []string{"yes", "no"})
			same(t, "state", p.State.N, 1)
			p.answers("yes")
			same(t, "steps after the answer", p.stepped(), "q, z")
			same(t, "answer", p.output("q"), `"yes"`)
			same(t, "asked once", p.State.N, 1)
			p = play(t, newGraph().Start(graph.WaitConfig[sheet]{ID: "w", PromptFunc: func(v graph.View[sheet]) string {
				return "Sure, " + v.State.Text + "?"
			}}), sheet{Text: "Ann"})
			same(t, "prompt of the state", p.Waiting[0].Prompt, "Sure, Ann?")
			p.answers("yes")
			same(t, "without a mapper", p.output("w"), `"yes"`)
			p = play(t, newGraph().Start(graph.WaitConfig[sheet]{ID: "w", AutoApprove: true, Input: into}).Then(
				idle("z")),
				sheet{})
			p.went("approved", "w, z", "completed")
			same(t, "mapped empty", p.State.Text, "said ")
			same(t, "signals of the approved", len(p.signal), 0)
		}},
	{name: "S2-53 the data and the flags of an ask-user node", test: func(t *testing.T) {
		saved := compat.MemoryCheckpoints()
		g := compiled(t, newGraph().Start(graph.AskUserConfig[sheet]{ID: "q", Question: question}))
		p := playOn(t, opened(t, hocket.Config{}), g, sheet{}, gRun{Checkpointer: saved})
		same(t, "end", p.end(), "paused")
		data := p.Signals[0].Data
		id, _ := data["requestId"].(string)
		same(t, "there is a request id", id != "", true)
		same(t, "data", data, map[string]any{
			"requestId": id, "question": "Go on?", "header": "Stop", "nodeId": "q",
			"options": []any{map[string]any{"label": "yes", "description": "go on"}, map[string]any{"label": "no"}},
		})
		raw, err := saved.Load(t.Context(), "r", "")
		same(t, "error", err, nil)
		state := decoded(t, raw).(map[string]any)
		same(t, "flags", []any{state["__waitingForInput"], state["__waitNodeId"], state["__askUserRequestId"]},
			[]any{true, "q", id})
	}},
	{name: "S2-54 errors of sub-agents, and keys of parallel ones", test: func(t *testing.T) {
		node := graph.SubagentConfig[sheet]{ID: "s", Agent: "x", Task: "work", Options: single()}
		play(t, newGraph().Subagent(node), sheet{},
			graph.Config{Runtime: (&crew{Names: []string{"a", "b"}}).Runtime()}).
			went("unknown", "s", `Sub-agent "x" not found in registry. Available agents: a, b`)
		hard := &crew{Names: []string{"x"}, Result: func(int, graph.SpawnOptions) (graph.SubagentResult, error) {
			return graph.SubagentResult{Error: "too hard"}, nil
		}}
		play(t, newGraph().Subagent(node), sheet{}, graph.Config{Runtime: hard.Runtime()}).went("failed", "s",
			`Sub-agent "x" failed: too hard`)
		var keys []string
		all := graph.ParallelSubagentConfig[sheet]{
			ID: "p", Agents: []graph.ParallelAgent[sheet]{{Agent: "a", Task: "1"}, {Agent: "b", Task: "2"},
				{Agent: "a", Task: "3"}},
			Output: func(_ *sheet, list []graph.AgentResult) error {
				for _, r := range list {
					keys = append(keys, r.Key)
				}
				return nil
			},
		}
		play(t, newGraph().Start(all), sheet{}, graph.Config{Runtime: (&crew{}).Runtime()})
		same(t, "keys", keys, []string{"a-0", "b-1", "a-2"})
	}},
	{name: "S2-55 ask_user is a node type, and thresholds are fractions and percent", test: func(t *testing.T) {
		same(t, "type", compat.IsNodeType("ask_user"), true)
		n, _ := compat.Node(compiled(t, newGraph().Then(graph.AskUserConfig[sheet]{ID: "q", Question: question})), "q")
		same(t, "type of the node", n.Type, graph.TypeAskUser)
		same(t, "percent", float64(compat.DefaultContextWindowThreshold), 100*compat.BackgroundCompactionThreshold)
	}},
	{name: "S2-57 the mapper of a block gets its results in declared order and the state; those of the winner alone " +
		"for race and any", test: func(t *testing.T) {
		out := func(id string, wait int) gNode {
			return graph.ToolConfig[sheet, int, string]{
				ID: id, Args: wait, Execute: func(ctx context.Context, n int) (string, error) {
					select {
					case <-time.After(time.Duration(n) * time.Second):
						return id, nil
					case <-ctx.Done():
						return "", ctx.Err()
					}
				}}
		}
		for s, want := range map[graph.Strategy][]string{graph.StrategyAll: {"a", `"a"`, "b", `"b"`},
			graph.StrategyRace: {"b", `"b"`}, graph.StrategyAny: {"b", `"b"`}} {
			var seen sheet
			b := newGraph().Parallel(gParallel{ID: "p", Branches: []string{"a", "b"}, Strategy: s,
				Merge: func(s *sheet, list []graph.BranchResult) error {
					seen = *s
					for _, r := range list {
						s.Log = append(s.Log, r.Branch, string(r.Output))
					}
					return nil
				}}).Node(out("a", 2)).Node(out("b", 1)).Then(changes("z", func(s *sheet) { s.N = len(s.Log) }))
			p := play(t, b, sheet{Text: "first"})
			same(t, "results", p.State.Log, want)
			same(t, "seen behind it", p.State.N, len(want))
			same(t, "state", seen.Text, "first")
		}
		for s, want := range map[graph.Strategy]any{graph.StrategyAll: map[string]any{"a": "a", "b": "b"},
			graph.StrategyRace: map[string]any{"b": "b"}} {
			p := play(t, strategy(s, out("a", 2), out("b", 1)), sheet{})
			same(t, "without a mapper", decoded(t, p.Outputs["p"]).(map[string]any)["results"], want)
		}
	}},
	{name: "S2-66 a subgraph: by graph or name, mappers, pauses, failures, cancellation and the model pass through",
		test: func(t *testing.T) {
			var model string
			inner := compiled(t,
				graph.New[sheet]("inner").Start(does("i", func(_ context.Context, c *gContext) (gResult, error) {
					model = c.Model
					c.State.N++
					return gResult{Update: &c.State}, nil
				})))
			sub := func(c graph.SubgraphConfig[sheet, sheet]) *gBuilder {
				c.ID = "sub"
				return newGraph().Start(c).Then(idle("z"))
			}
			p := play(t, sub(graph.SubgraphConfig[sheet, sheet]{Graph: inner, Options: gOptions{Model: "p/outer"}}),
				sheet{N: 4})
			p.went("plain", "sub, z", "completed")
			same(t, "model", model, "p/outer")
			same(t, "state outside", p.State.N, 4)
			same(t, "final state in the outputs", decoded(t, p.Outputs["sub"]), any(map[string]any{"n": 5.0}))
			p = play(t, sub(graph.SubgraphConfig[sheet, sheet]{Graph: inner, Input: func(v graph.View[sheet]) sheet {
				return sheet{N: 10 * v.State.N}
			}, Output: func(s *sheet, last sheet) error {
				s.Text, s.N = "mapped", last.N
				return nil
			}}), sheet{N: 4})
			same(t, "mappers", p.State, sheet{N: 41, Text: "mapped"})
			play(t, sub(graph.SubgraphConfig[sheet, sheet]{Name: "none"}), sheet{}).went("unknown", "sub",
				"Workflow not found: none")
			e := opened(t, hocket.Config{})
			same(t, "error", hocket.Register(e, inner), nil)
			playOn(t, e, compiled(t, sub(graph.SubgraphConfig[sheet, sheet]{Name: "inner"})), sheet{}, gRun{}).went(
				"by name", "sub, z", "completed")
			asks := compiled(t, graph.New[sheet]("asks").Start(recordsID("i1")).Wait("?").Then(recordsID("i2")))
			p = play(t, sub(graph.SubgraphConfig[sheet, sheet]{Graph: asks, Output: func(s *sheet, last sheet) error {
				*s =
					last
				return nil
			}}), sheet{})
			same(t, "pause inside", p.end(), "paused")
			same(t, "where", p.Waiting[0].Node, "sub/wait_1")
			p.answers("on")
			same(t, "goes on inside", p.end(), "completed")
			same(t, "each once", p.State.Log, []string{"i1", "i2"})
			fails := compiled(t, graph.New[sheet]("fails").Start(breaks("i", -1, single())))
			play(t, sub(graph.SubgraphConfig[sheet, sheet]{Graph: fails}), sheet{}).went("failure inside", "sub",
				"it is broken")
			cancelled := make(chan string, 1)
			slow := compiled(t, graph.New[sheet]("slow").Start(blocksUntilCancelled("i", cancelled)))
			p = play(t, newGraph().Start(graph.SubgraphConfig[sheet, sheet]{ID: "sub", Graph: slow}), sheet{},
				graph.Config{Timeout: time.Second})
			same(t, "cancelled inside", <-cancelled, "i")
			same(t, "end", p.end(), "Graph execution timed out after 1000ms")
			ctx, cancel := context.WithCancel(t.Context())
			aborts := compiled(t, graph.New[sheet]("aborts").Start(changes("i", func(*sheet) { cancel() })).Then(
				recordsID("i2")))
			r, err := hocket.Run(ctx, e,
				compiled(t, newGraph().Start(graph.SubgraphConfig[sheet, sheet]{ID: "sub", Graph: aborts}).Then(
					recordsID("z"))), sheet{})
			same(t, "error", err, nil)
			same(t, "aborted inside", r.Status, hocket.StatusCancelled)
			same(t, "visited", r.Snapshot.VisitedNodes, []string{})
		}},
	{name: "S2-71 the runtime: what the graph leaves nil is the engine's, and what is missing is named",
		test: func(t *testing.T) {
			for want, n := range map[string]gNode{
				`No client provider set for agent type "claude"`: graph.AgentConfig[sheet]{ID: "n",
					AgentType: "claude", Options: single()},
				`Sub-agent "x" not found in registry. Available agents: none`: graph.SubagentConfig[sheet]{ID: "n",
					Agent: "x", Task: "work", Options: single()},
				`Custom tool "x" not found in registry. Available tools: none`: graph.CustomToolConfig[sheet, int, int]{
					ID: "n", ToolName: "x", Options: single(),
				},
			} {
				play(t, newGraph().Start(n), sheet{}).went("missing", "n", want)
			}
			agent := &coder{}
			shout := hocket.WithTool("shout", "", func(_ context.Context, in struct{ Text string }) (string, error) {
				return strings.ToUpper(in.Text), nil
			})
			model := hocket.WithModel("own",
				hocket.ModelFunc(func(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
					return hocket.ModelReply{Text: "so " + r.Messages[len(r.Messages)-1].Text}, nil
				}))
			e := opened(t, hocket.Config{}, shout, model, hocket.WithAgent(hocket.Agent{Name: "x", Model: "own/m"}),
				hocket.WithSessions("claude", agent))
			p := playOn(t, e, compiled(t, newGraph().
				Start(graph.AgentConfig[sheet]{ID: "agent", AgentType: "claude"}).
				Subagent(graph.SubagentConfig[sheet]{ID: "sub", Agent: "x", Task: "it is"}).
				Then(graph.CustomToolConfig[sheet, map[string]string, string]{ID: "tool", ToolName: "shout",
					Args: map[string]string{"Text": "hi"}})), sheet{}, gRun{})
			p.went("of the engine", "agent, sub, tool", "completed")
			same(t, "outputs", []string{p.output("sub"), p.output("tool")}, []string{`"so it is"`, `"HI"`})
			same(t, "sessions", agent.noted(), []string{"create", "send", "destroy"})
			mine := toolbox{
				"shout": func(context.Context, json.RawMessage, graph.ToolContext) (json.RawMessage, error) {
					return json.RawMessage(`"mine"`), nil
				}}
			p = playOn(t, e,
				compiled(t, newGraph().Start(graph.CustomToolConfig[sheet, any, string]{ID: "tool", ToolName: "shout"}),
					graph.Config{Runtime: graph.Runtime{Tools: mine}}), sheet{}, gRun{ID: "own"})
			same(t, "the graph's own wins", p.output("tool"), `"mine"`)
		}},
	{name: "S2-74 an answer to an ask-user node", test: func(t *testing.T) {
		for _, answer := range []string{"yes", "perhaps"} {
			saved := compat.MemoryCheckpoints()
			g := compiled(t, newGraph().Start(graph.AskUserConfig[sheet]{ID: "q", Question: question}).Then(idle("z")))
			e := opened(t, hocket.Config{})
			p := playOn(t, e, g, sheet{}, gRun{Checkpointer: saved})
			same(t, "offered", p.Waiting[0].Options, []string{"yes", "no"})
			id := p.Signals[0].Data["requestId"]
			again, err := hocket.SnapshotOf(t.Context(), e, g, "r")
			same(t, "error", err, nil)
			same(t, "id on replay", again.Signals[0].Data["requestId"], id)
			p.follow("r", hocket.Stream(t.Context(), e, g, sheet{},
				gRun{ResumeFrom: p.Snapshot, Answer: &hocket.Answer{Value: answer}, Checkpointer: saved}))
			same(t, "end", p.end(), "completed")
			same(t, "output", p.output("q"), `"`+answer+`"`)
			i := slices.IndexFunc(p.steps, func(s hocket.Step[sheet]) bool { return s.NodeID == "q" })
			same(t, "events of the node", len(p.steps[i].EmittedEvents), 1)
			same(t, "type of its event", p.steps[i].EmittedEvents[0].Type, string(graph.SignalHumanInputRequired))
			same(t, "event and signal", p.steps[i].EmittedEvents[0].Data, p.steps[i].Result.Signals[0].Data)
			raw, err := saved.Load(t.Context(), "r", "")
			same(t, "error", err, nil)
			for _, flag := range []string{"__waitingForInput", "__waitNodeId", "__askUserRequestId"} {
				same(t, flag+" is left", strings.Contains(string(raw), flag), false)
			}
		}
		p := play(t,
			newGraph().Then(graph.AskUserConfig[sheet]{ID: "q", QuestionFunc: func(v graph.View[sheet]) graph.Question {
				return graph.Question{Text: v.State.Text}
			}}), sheet{Text: "Why?"})
		same(t, "question of the state", p.Waiting[0].Prompt, "Why?")
	}},
}

func TestGraphNode(t *testing.T) { check(t, graphNode) }

func TestGraphNodeCovered(t *testing.T) {
	covered(t, graphNode, "S2-50", "S2-51", "S2-52", "S2-53", "S2-54", "S2-55", "S2-57", "S2-66", "S2-71", "S2-74")
}

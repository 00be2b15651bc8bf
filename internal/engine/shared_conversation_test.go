package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// routes returns a workflow of agents that share one conversation. Edges that leave an agent
// through a port other than `calls` are its values; `else` is its fallback; edges that leave the
// human are answers. exec nodes are named x, the human h.
func routes(t testing.TB, ids, edges string, change func(*workflow.Workflow)) *enginetest.World {
	t.Helper()
	var list []workflow.Node
	for id := range strings.FieldsSeq(ids) {
		switch id {
		case "x":
			list = append(list, workflow.Node{ID: id, Kind: workflow.KindExec})
		case "h":
			n := enginetest.Question(id)
			n.Wait.Route = true
			list = append(list, n)
		default:
			list = append(list, workflow.Node{ID: id, Kind: workflow.KindAgent, Agent: &workflow.AgentNode{
				Agent: id, Prompt: workflow.Prompt{Mode: workflow.PromptShared},
				Routing: &workflow.Routing{Tool: "route_to"}}})
		}
	}
	g := enginetest.Graph(list, edges)
	g.Rules.SharedConversation = true
	for i := range g.Edges {
		e := &g.Edges[i]
		n, value := g.Node(e.From), e.PortName()
		switch {
		case value == workflow.PortCalls || value == workflow.PortOut:
		case n.Wait != nil:
			e.Port = workflow.NextPort(value)
		case n.Agent == nil:
		case value == "else":
			n.Agent.Routing.Else = "else"
		default:
			e.Port = workflow.NextPort(value)
			n.Agent.Routing.Values = append(n.Agent.Routing.Values, value)
		}
	}
	if change != nil {
		change(g)
	}
	w := enginetest.New(t, g, nil)
	w.Start("help me")
	return w
}

func route(next, content string) chat.ToolCall {
	return enginetest.Call("r", "route_to", fmt.Sprintf(`{"next":%q,"content":%q}`, next, content))
}

// ends describes how a run went: the nodes that ran, and its output or failure.
func ends(w *enginetest.World) string {
	switch w.Run.Status() {
	case event.StatusCompleted:
		return order(w) + " = " + string(w.Run.Output())
	case event.StatusFailed:
		f := w.Events[len(w.Events)-1].Data.(*event.RunFailed).Error
		return order(w) + " ! " + f.Code + ": " + f.Message
	}
	return order(w) + " " + string(w.Run.Status())
}

// TestRouting checks where a reply leads and what the run's output is (S3-2, S3-5, S3-6, S3-9 to
// S3-12, S3-22).
func TestRouting(t *testing.T) {
	t.Parallel()
	const pair = "a:B -> b; a:calls -> x; b:else -> a"
	end := func(args string) *engine.ModelResult { return enginetest.Asks(enginetest.Call("e", "end", args)) }
	for name, tc := range map[string]struct {
		edges   string
		replies []*engine.ModelResult
		want    string
	}{
		"JSON next": {pair, []*engine.ModelResult{enginetest.Say(`{"next":"B"}`),
			enginetest.Say("bye")}, "a b a running"},
		"JSON next in a fence": {pair,
			[]*engine.ModelResult{enginetest.Say("```json\n{\"next\": \"B\"}\n```")}, "a b running"},
		"routing tool": {pair,
			[]*engine.ModelResult{enginetest.Asks(route("B", "over to you"))}, "a b running"},
		"no value like it (S3-2)": {pair, []*engine.ModelResult{enginetest.Say(`{"next":"bb"}`)},
			`a ! no_route: no edge of "a" for next "bb"`},
		"unmatched takes the fallback": {"a:B -> b; a:else -> b",
			[]*engine.ModelResult{enginetest.Say(`{"next":"missing"}`)}, "a b running"},
		"unset takes the fallback": {"a:B -> b; a:else -> b", []*engine.ModelResult{enginetest.Say("text")},
			"a b running"},
		"unset without fallback ends": {"a:B -> b", []*engine.ModelResult{enginetest.Say("text")},
			`a = "text"`},
		"no edges at all ends": {"", []*engine.ModelResult{enginetest.Say(`{"next":"B"}`)},
			`a = "{\"next\":\"B\"}"`},
		"END halts without an edge (S3-5)": {"a:B -> b; a:else -> b",
			[]*engine.ModelResult{enginetest.Say(`{"next":"END"}`)}, `a = "{\"next\":\"END\"}"`},
		"END by the tool, its content": {pair, []*engine.ModelResult{enginetest.Asks(route("END", "done"))},
			`a = "done"`},
		"END without words: the last ones": {pair, []*engine.ModelResult{enginetest.Say(`{"next":"B"}`),
			enginetest.Asks(route("END", ""))}, `a b = "{\"next\":\"B\"}"`},
		"names of other ports are no values": {pair, []*engine.ModelResult{enginetest.Say(`{"next":"calls"}`)},
			`a ! no_route: no edge of "a" for next "calls"`},
		"a stale next routes no agent (S3-12)": {"a:B -> b; b:B -> a",
			[]*engine.ModelResult{enginetest.Say(`{"next":"B"}`), enginetest.Say("no idea")}, `a b = "no idea"`},
		"end tool with a message (S3-22)": {pair, []*engine.ModelResult{end(`{"message":"good bye"}`)},
			`a = "good bye"`},
		"end tool: the text wins": {pair, []*engine.ModelResult{func() *engine.ModelResult {
			r := end(`{"message":"good bye"}`)
			r.Message.Text = chat.NewText("text")
			return r
		}()}, `a = "text"`},
		"end tool: else the last text": {pair,
			[]*engine.ModelResult{enginetest.Asks(route("B", "said before")), end(`{}`)}, `a b = "said before"`},
		"end tool without any text": {pair, []*engine.ModelResult{end(`{}`)}, `a = ""`},
		"names are exact": {pair,
			[]*engine.ModelResult{enginetest.Say(`{"Next":"B","NEXT":"B"}`)}, `a = "{\"Next\":\"B\",\"NEXT\":\"B\"}"`},
		"names are exact in a call": {pair, []*engine.ModelResult{
			enginetest.Asks(enginetest.Call("r", "route_to", `{"Next":"B","Content":"x"}`)),
		}, `a = ""`},
		"a content beside a next that is no text": {pair, []*engine.ModelResult{
			enginetest.Asks(enginetest.Call("r", "route_to", `{"next":7,"content":"x"}`)),
		}, `a = "x"`},
		"odd arguments are no next": {pair,
			[]*engine.ModelResult{enginetest.Asks(enginetest.Call("r", "route_to", `"B"`))}, `a = ""`},
		"tool calls win over next (S3-9)": {pair, []*engine.ModelResult{func() *engine.ModelResult {
			r := enginetest.Asks(enginetest.Call("1", "search", `{}`))
			r.Message.Text = chat.NewText(`{"next":"B"}`)
			return r
		}()}, "a x running"},
		"a value named like a port of the engine": {"a:error -> b",
			[]*engine.ModelResult{enginetest.Say(`{"next":"error"}`)}, "a b running"},
		"such a value is no error edge": {"a:error -> b",
			[]*engine.ModelResult{{Failure: &event.Failure{Code: "auth", Message: "no key"}}}, "a ! auth: no key"},
		"no executor (S3-7)": {"a:B -> b",
			[]*engine.ModelResult{enginetest.Asks(enginetest.Call("1", "search", `{}`))},
			`a ! no_route: agent node "a" called tool search, but no edge leads from it to a tool_executor node`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := routes(t, "a b x", tc.edges, func(g *workflow.Workflow) { g.Rules.Conversational = true })
			for i, r := range tc.replies {
				if i > 0 {
					w.Crash()
				}
				w.FinishAt(0, r)
			}
			if got := ends(w); got != tc.want {
				t.Errorf("got  %s\nwant %s\n%s", got, tc.want, w.Log())
			}
			w.CheckPrefixes()
		})
	}
}

// TestRoutingTools checks that the end tool is offered only if the workflow is conversational, and
// that the routing tool lists the values (S3-6).
func TestRoutingTools(t *testing.T) {
	t.Parallel()
	names := func(w *enginetest.World) string {
		var out []string
		for _, d := range w.Pending[0].(*engine.CallModel).Tools {
			out = append(out, d.Name+string(d.Parameters))
		}
		return strings.Join(out, "\n")
	}
	const tool = `route_to{"type":"object","properties":{"next":{"type":"string","enum":["B","C"]},` +
		`"content":{"type":"string","description":"What you want to say."}},"required":["next"]}`
	w := routes(t, "a b", "a:B -> b; a:C -> b", nil)
	if got := names(w); got != tool {
		t.Errorf("tools\n%s", got)
	}
	w = routes(t, "a b", "a:B -> b; a:C -> b", func(g *workflow.Workflow) { g.Rules.Conversational = true })
	if got := names(w); !strings.HasPrefix(got, tool+"\nend{") {
		t.Errorf("tools\n%s", got)
	}
}

// TestSharedWithoutRouting checks that an agent of a shared conversation without routing continues
// along its ordinary edge, whatever its text looks like.
func TestSharedWithoutRouting(t *testing.T) {
	t.Parallel()
	w := routes(t, "a b", "a -> b", func(g *workflow.Workflow) { g.Nodes[0].Agent.Routing = nil })
	w.FinishAt(0, enginetest.Say(`{"next":"missing"}`))
	if got := ends(w); got != "a b running" {
		t.Errorf("got %s", got)
	}
}

// TestSharedConversation checks that all agents share one list of messages: each sees its own
// unchanged and those of others as text under their names, calls keep their results, and the list
// ends with a user or tool message (S3-23, D30).
func TestSharedConversation(t *testing.T) {
	t.Parallel()
	w := routes(t, "a b x", "a:B -> b; a:calls -> x; b:calls -> x; b:A -> a; x:out -> b", func(g *workflow.Workflow) {
		for i := range g.Agents {
			g.Agents[i].System = "you are " + g.Agents[i].ID
		}
	})
	check := func(which, want string) {
		t.Helper()
		c := w.Asked(which)
		if got := enginetest.Conv(c.Messages); got != want || c.System != "you are "+which {
			t.Errorf("%s (%s) reads\n%swant\n%s", which, c.System, got, want)
		}
	}
	check("a", "user: help me\n")
	r := enginetest.Asks(route("B", "b, please"))
	r.Message.Text = chat.NewText("I pass on.")
	w.FinishAt(0, r)
	check("b", "user: help me\nuser: a: I pass on.\n[calls route_to {\"next\":\"B\",\"content\":\"b, "+
		"please\"}]\nuser: [route_to returned] routed to B\n")
	w.FinishAt(0, enginetest.Asks(enginetest.Call("1", "search", `{"q":1}`), enginetest.Call("2", "look", `{}`)))
	w.FinishAt(0, enginetest.Returns("found"))
	w.FinishAt(0, &engine.ToolResult{Failure: &event.Failure{Code: "tool", Message: "no eyes"}}) // S3-17
	check("b", "user: help me\nuser: a: I pass on.\n[calls route_to {\"next\":\"B\",\"content\":\"b, "+
		"please\"}]\nuser: [route_to returned] routed to B\n"+
		"assistant:  [search({\"q\":1}) 1] [look({}) 2]\ntool 1: found\ntool! 2: no eyes\n")
	w.FinishAt(0, enginetest.Say(`{"next":"A"}`))
	check("a", "user: help me\nassistant: I pass on. [route_to({\"next\":\"B\",\"content\":\"b, please\"}) r]\ntool "+
		"r: routed to B\n"+
		"user: b: \n[calls search {\"q\":1}]\n[calls look {}]\nuser: [search returned] found\nuser: [look returned] "+
		"no eyes\nuser: b: {\"next\":\"A\"}\n")
	w.Crash()
	w.FinishAt(0, enginetest.Say("a alone"))
	if got := ends(w); got != `a b x b a = "a alone"` {
		t.Errorf("got %s", got)
	}
}

// TestSharedConversation_SelfLoop checks that if an agent follows itself, the list still ends with
// a message that is not its own (D30).
func TestSharedConversation_SelfLoop(t *testing.T) {
	t.Parallel()
	w := routes(t, "a", "a:else -> a", nil)
	w.FinishAt(0, enginetest.Say("one"))
	if got := enginetest.Conv(w.Asked("a").Messages); got != "user: help me\nassistant: one\nuser: Go on.\n" {
		t.Errorf("got\n%s", got)
	}
}

// TestExecutor checks that tools run one after another in one step, and that the last executed tool
// selects the edge, else the edge without a condition, else the run goes back to the caller (S3-3,
// S3-4, S3-16).
func TestExecutor(t *testing.T) {
	t.Parallel()
	calls := func(names ...string) *engine.ModelResult {
		r := enginetest.Asks()
		for i, n := range names {
			r.Message.ToolCalls = append(r.Message.ToolCalls, enginetest.Call(fmt.Sprint(i), n, `{"next":"B"}`))
		}
		return r
	}
	for name, tc := range map[string]struct {
		edges string
		reply *engine.ModelResult
		tools string // in call order
		want  string
	}{
		"by the tool": {"x:tool:search -> b; x:out -> c", calls("search"), "search",
			"a x b running"},
		"by the last of several": {"x:tool:search -> b; x:tool:look -> c", calls("search", "look"),
			"search look", "a x c running"},
		"fallback (S3-4)":    {"x:tool:search -> b; x:out -> c", calls("look"), "look", "a x c running"},
		"back to the caller": {"x:tool:search -> b", calls("look"), "look", "a x a running"},
		"routing call last is not a tool": {"x:tool:search -> b; x:out -> c", calls("search", "route_to"), "search",
			"a x b running"},
		"routing call first": {"x:tool:search -> b; x:out -> c", calls("route_to", "search"), "search",
			"a x b running"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := routes(t, "a b c x", "a:calls -> x; "+tc.edges, nil)
			w.FinishAt(0, tc.reply)
			var got []string
			for len(w.Pending) == 1 && len(got) < 5 {
				c, ok := w.Pending[0].(*engine.CallTool)
				if !ok {
					break
				}
				if c.Agent == nil || c.Agent.ID != "a" {
					t.Errorf("called as %+v, want the caller's tools", c.Agent)
				}
				got = append(got, c.Tool)
				w.Crash()
				w.FinishAt(0, enginetest.Returns("from "+c.Tool))
			}
			if strings.Join(got, " ") != tc.tools {
				t.Errorf("called %v, want %s", got, tc.tools)
			}
			if got := ends(w); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			w.CheckPrefixes()
		})
	}
	t.Run("nothing to execute", func(t *testing.T) {
		t.Parallel()
		w := routes(t, "a x b", "a:else -> x; x:out -> b", nil)
		w.FinishAt(0, enginetest.Say("no tools"))
		if got := ends(w); got != "a x b running" {
			t.Errorf("got %s", got)
		}
		w = routes(t, "a x", "a:x -> x", nil) // back to the sender, as after tools
		w.FinishAt(0, enginetest.Say(`{"next":"x"}`))
		if got := ends(w); got != "a x a running" {
			t.Errorf("got %s", got)
		}
		w = routes(t, "x", "", nil)
		if got := ends(w); got != `x = "help me"` {
			t.Errorf("got %s", got)
		}
	})
}

// TestStepLimitOfRoutes checks that fifteen steps may run, agents and executors alike; the
// sixteenth is not started, and finishing on the fifteenth is fine (S3-13).
func TestStepLimitOfRoutes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{15, 16} {
		w := routes(t, "a x", "a:calls -> x; a:again -> a", func(g *workflow.Workflow) {
			fifteen := 15
			g.Limits.MaxSteps, g.Rules.StepLimitText = &fifteen, "step limit of {max}"
		})
		for i := 1; i < n && !w.Run.Status().Ended(); i++ {
			w.FinishAt(0, enginetest.Say(`{"next":"again","n":%d}`, i))
		}
		if n == 15 {
			w.FinishAt(0, enginetest.Say("end"))
			wantStatus(t, w, event.StatusCompleted)
			continue
		}
		if f := failure(t, w); f.Code != event.CodeMaxSteps || !strings.Contains(f.Message, "step limit") ||
			len(w.Calls) != 15 {
			t.Errorf("%d calls, then %+v", len(w.Calls), f)
		}
	}
}

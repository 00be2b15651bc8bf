package project

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// TestInputsAndOutputs checks that what the engine omits because it follows from other events is
// shown as if the event contained it.
func TestInputsAndOutputs(t *testing.T) {
	t.Parallel()
	type io struct{ input, output string }
	subframe := called("c2")
	subframe.Frame = 1
	again := called("c2")
	again.Frame = 2
	late := replied("c1", "too late")
	late.Late = true
	tests := map[string]struct {
		def     *workflow.Workflow
		journal *journal
		want    map[string]io
	}{
		"input goes through": {
			definition("", node("s", workflow.KindStart), node("if", workflow.KindDecide),
				node("w", workflow.KindAgent)),
			begun(`{"a":1}`).step(1, "s", started(workflow.KindStart, 0), same).step(2, "if",
				started(workflow.KindDecide, 1), same).step(3, "w", agentStarted("a", 2, "")),
			map[string]io{"s": {`{"a":1}`, `{"a":1}`}, "if": {`{"a":1}`, `{"a":1}`}, "w": {`{"a":1}`, ``}},
		},
		"user message": {
			definition("", node("w", workflow.KindAgent), node("v", workflow.KindAgent)),
			begun(`"x"`).agentStep(1, "w", "a", 0, 0, `"Say \"x\""`, `<b>"hi"</b>`).step(2, "v",
				agentStarted("b", 1, "")),
			map[string]io{"w": {`"Say \"x\""`, `"<b>\"hi\"</b>"`}, "v": {`"<b>\"hi\"</b>"`, ``}},
		},
		"last reply of the step's own loop": {
			definition("", node("w", workflow.KindAgent)),
			begun(`"x"`).step(1, "w", agentStarted("a", 0, ""), called("c1"), replied("c1", "first"),
				&event.SubagentStarted{Frame: 1, Agent: "sub", Call: "k"}, subframe,
				replied("c2", "sub-agent's"), &event.SubagentCompleted{Frame: 1, Call: "k", Reply: true}, called("c3"),
				replied("c3", "second"), reply),
			map[string]io{"w": {`"x"`, `"second"`}},
		},
		"late reply": {
			definition("", node("w", workflow.KindAgent)),
			begun(`"x"`).step(1, "w", agentStarted("a", 0, ""), called("c1"), &event.StepRetrying{Attempt: 2}, late,
				again, replied("c2", "in time"), reply),
			map[string]io{"w": {`"x"`, `"in time"`}},
		},
		"failure along an error edge": { // P30
			definition("", node("w", workflow.KindAgent), node("h", workflow.KindAgent)),
			begun(`"x"`).step(1, "w", agentStarted("a", 0, ""),
				&event.StepFailed{Error: event.Failure{Code: "c", Message: "m", Node: "w"}, Port: "error"}).step(2,
				"h", agentStarted("b", 1, "")),
			map[string]io{"w": {`"x"`, ``}, "h": {`{"error":{"code":"c","message":"m","node":"w"}}`, ``}},
		},
		"skipped error": {
			definition("", node("w", workflow.KindAgent), node("h", workflow.KindAgent)),
			begun(`"x"`).step(1, "w", agentStarted("a", 0, ""), &event.StepCompleted{Ports: []string{"out"}}).step(2,
				"h", agentStarted("b", 1, "")),
			map[string]io{"w": {`"x"`, ``}, "h": {``, ``}},
		},
		"sub-flow": {
			func() *workflow.Workflow {
				w := definition("", workflow.Node{ID: "sub", Kind: workflow.KindSubflow,
					Subflow: &workflow.Subflow{Flow: "f"}}, node("w", workflow.KindAgent))
				w.Flows = map[string]*workflow.Workflow{"f": definition("", node("w", workflow.KindAgent),
					node("v", workflow.KindAgent))}
				w.Flows["f"].Agents = []workflow.Agent{{ID: "a", Name: "Inner"}}
				return w
			}(),
			begun(`"x"`).step(1, "sub", started(workflow.KindSubflow, 0),
				&event.EdgeTaken{Edge: -1, To: "w", Token: 1, Scope: 1}).
				agentStep(2, "sub/w", "a", 0, 1, "", "one").step(2, "sub/w", &event.EdgeTaken{To: "v", Scope: 1}).
				agentStep(3, "sub/v", "a", 2, 1, "", "two").
				step(1, "sub", &event.StepCompleted{Ports: []string{"out"}}).step(4, "w", agentStarted("a", 1, "")),
			map[string]io{"sub": {`"x"`, `"two"`}, "sub/w": {`"x"`, `"one"`}, "sub/v": {`"one"`, `"two"`},
				"w": {`"two"`, ``}},
		},
		"sub-flow whose state is its output": { // S2-66
			typedSub(),
			begun(`"x"`).step(1, "sub", started(workflow.KindSubflow, 0), &event.EdgeTaken{Edge: -1, To: "w", Token: 1,
				Scope: 1, State: map[string]event.Value{"n": event.Value("1")}}).
				agentStep(2, "sub/w", "a", 0, 1, "", "one").step(1, "sub",
				&event.StepCompleted{Output: event.Value(`{"n":1}`), Ports: []string{"out"}}),
			map[string]io{"sub": {`"x"`, `{"n":1}`}, "sub/w": {`"x"`, `"one"`}},
		},
		"sub-flow whose state is written back": { // S2-66
			typedSub(),
			begun(`"x"`).step(1, "sub", started(workflow.KindSubflow, 0),
				&event.EdgeTaken{Edge: -1, To: "w", Token: 1, Scope: 1}).
				agentStep(2, "sub/w", "a", 0, 1, "", "one").step(1, "sub", &event.StepCompleted{
				Update: map[string]event.Value{"n": event.Value("1")}, Ports: []string{"out"},
			}),
			map[string]io{"sub": {`"x"`, ``}, "sub/w": {`"x"`, `"one"`}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := map[string]io{}
			for _, s := range Fold("r", tt.def, tt.journal.events).Run().Steps {
				got[s.Node] = io{string(s.Input), string(s.Output)}
			}
			if diff := cmp.Diff(got, tt.want, cmp.AllowUnexported(io{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// typedSub returns a sub-flow with its own state.
func typedSub() *workflow.Workflow {
	w := definition("", workflow.Node{ID: "sub", Kind: workflow.KindSubflow, Subflow: &workflow.Subflow{Flow: "f"}})
	w.Flows = map[string]*workflow.Workflow{"f": definition("", node("w", workflow.KindAgent))}
	w.Flows["f"].Rules = workflow.TypedRules()
	return w
}

func blockDef(shape string) *workflow.Workflow {
	in := func(n workflow.Node, parent string) workflow.Node {
		n.Parent = parent
		return n
	}
	agent := func(id, parent, agent string) workflow.Node {
		return workflow.Node{ID: id, Parent: parent, Kind: workflow.KindAgent, Agent: &workflow.AgentNode{Agent: agent}}
	}
	return definition("steps", fork("par", "par/join", shape, "gen_1", "inner"), agent("par/gen_1", "par", "gen"),
		in(fork("inner", "inner/join", "", "y", "z"), "par"),
		agent("y", "inner", "a"), agent("z", "inner", "b"), forkJoin("inner/join"), forkJoin("par/join"),
		agent("after", "", "gen"))
}

// blockJournal runs par, with the second branch, itself a block, first.
func blockJournal() *journal {
	return begun(`"x"`).
		step(1, "par", started(workflow.KindFork, 0), branch("par/gen_1", 1, 1), branch("inner", 2, 2)).
		step(2, "inner", inScope(started(workflow.KindFork, 1), 2), branch("y", 1, 3), branch("z", 2, 4)).
		agentStep(3, "z", "b", 2, 4, "", "Z").step(3, "z", arrival("inner/join", 4)).
		agentStep(4, "y", "a", 2, 3, "", "Y").step(4, "y", arrival("inner/join", 3)).
		step(2, "inner", &event.StepCompleted{Ports: []string{"out"}}, arrival("par/join", 2)).
		agentStep(5, "par/gen_1", "gen", 1, 1, "", "G").step(5, "par/gen_1", arrival("par/join", 1))
}

// TestBlockOutputs checks S4-34: a block's output is built from its branches in declared order,
// regardless of the order in which they end; nested blocks are nested.
func TestBlockOutputs(t *testing.T) {
	t.Parallel()
	inner := `{"steps":{"y":{"output":"Y","agent":"Writer"},"z":{"output":"Z","agent":"Critic"}},"order":["y","z"]}`
	done := &event.StepCompleted{Ports: []string{"out"}}
	tests := map[string]struct {
		def     *workflow.Workflow
		journal *journal
		want    string
	}{
		"steps": {blockDef(""), blockJournal().step(1, "par", done),
			`{"steps":{"gen_1":{"output":"G","agent":"gen"},"inner":` + inner + `},"order":["gen_1","inner"]}`},
		"map": {blockDef(workflow.ShapeMap), blockJournal().step(1, "par", done), `{"gen_1":"G","inner":` + inner +
			`}`},
		"one branch only": {blockDef(""), begun(`"x"`).step(1, "par", started(workflow.KindFork, 0),
			branch("par/gen_1", 1, 1), branch("inner", 2, 2)).
			agentStep(2, "par/gen_1", "gen", 1, 1, "", "G").step(2, "par/gen_1", arrival("par/join", 1)).step(1, "par",
			done),
			`{"steps":{"gen_1":{"output":"G","agent":"gen"}},"order":["gen_1"]}`},
		"a branch failed": {blockDef(workflow.ShapeMap), begun(`"x"`).step(1, "par", started(workflow.KindFork, 0),
			branch("par/gen_1", 1, 1), branch("inner", 2, 2)).
			agentStep(2, "par/gen_1", "gen", 1, 1, "", "G").step(2, "par/gen_1", arrival("par/join", 1)).
			step(3, "inner", inScope(started(workflow.KindFork, 1), 2), arrival("par/join", 2),
				&event.StepFailed{Error: event.Failure{Code: "c"}}).step(1, "par", done),
			`{"gen_1":"G"}`},
		"tried again": {blockDef(""), blockJournal().step(1, "par", &event.StepRetrying{Attempt: 2},
			branch("par/gen_1", 1, 5), branch("inner", 2, 6)).
			agentStep(6, "par/gen_1", "gen", 1, 5, "", "G2").step(6, "par/gen_1", arrival("par/join", 5)).step(1, "par",
			done),
			`{"steps":{"gen_1":{"output":"G2","agent":"gen"}},"order":["gen_1"]}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := Fold("r", tt.def, tt.journal.run(&event.RunCompleted{OutputStep: 1}).events)
			if got := string(f.Run().Output); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestExpand checks that Expand adds the derived fields to its result and leaves the original
// events unchanged.
func TestExpand(t *testing.T) {
	t.Parallel()
	ask := replied("c1", "")
	ask.Message.ToolCalls = []chat.ToolCall{{ID: "t1", Name: "search", Arguments: event.Value(`{"q":"go"}`)}}
	sub := called("c2")
	sub.Frame = 1
	def := definition("routes", node("s", workflow.KindStart), node("w", workflow.KindAgent),
		node("x", workflow.KindExec))
	j := begun(`"in"`).step(1, "s", started(workflow.KindStart, 0), same).
		step(2, "w", agentStarted("a", 1, ""), called("c1"), ask,
			&event.ToolCalled{Call: "k1", Attempt: 1, Tool: "search", ToolCallID: "t1"},
			&event.SubagentStarted{Frame: 1, Agent: "sub", Call: "2.1"}, sub, replied("c2", "sub says"),
			&event.SubagentCompleted{Frame: 1, Call: "2.1", Reply: true}, reply).
		step(3, "x", started(workflow.KindExec, 2), &event.ToolCalled{Call: "k2", Attempt: 1, Tool: "search",
			ToolCallID: "t1"}, &event.StepCompleted{Output: event.Value(`"r"`)})
	f := NewFolder("r", def)
	got := map[string]string{}
	for _, e := range j.events {
		early := f.Expand(e)
		f.Add(e)
		if diff := cmp.Diff(early, f.Expand(e)); diff != "" {
			t.Errorf("before and after Add: %s", diff)
		}
		before := e.Data
		switch d := f.Expand(e).Data.(type) {
		case *event.StepStarted:
			got[e.Node+" started"] = string(d.Input)
		case *event.StepCompleted:
			got[e.Node+" completed"] = string(d.Output)
			if d.Same || d.Reply {
				t.Errorf("%s says where its output is and shows it", e.Node)
			}
		case *event.ToolCalled:
			got[e.Node+" called"] = string(d.Arguments)
		case *event.SubagentCompleted:
			got[e.Node+" sub"] = string(d.Output)
		}
		if e.Data != before {
			t.Fatal("event was changed")
		}
	}
	want := map[string]string{
		"s started": `"in"`, "s completed": `"in"`, "w started": `"in"`, "w called": `{"q":"go"}`,
		"w sub": `"sub says"`, "w completed": `""`,
		"x started": `""`, "x called": `{"q":"go"}`, "x completed": `"r"`,
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
	if !same.Same || !reply.Reply {
		t.Error("shared event was changed")
	}
}

// TestMapItems_Token checks that the list of a map that a reader holds as a token is as long as the
// number of items that have begun, and that their outputs are the map's output.
func TestMapItems_Token(t *testing.T) {
	t.Parallel()
	def := definition("graph", workflow.Node{ID: "m", Kind: workflow.KindMap, Map: &workflow.Map{Entry: "a"}},
		workflow.Node{ID: "a", Kind: workflow.KindSet, Parent: "m"})
	j := begun(`"x"`).step(1, "m", &event.StepStarted{Kind: workflow.KindMap, Iteration: 1,
		Input: event.Value(`"a token"`)})
	for i := 1; i <= 2; i++ {
		j.step(1, "m", &event.EdgeTaken{Edge: -1, To: "a", Token: i + 1, Scope: i, Branch: i}).
			step(i+1, "a", &event.StepStarted{Kind: workflow.KindSet, Iteration: i, Scope: i, From: -i,
				Tokens: []int{i + 1}}, &event.StepCompleted{Output: event.Value(`7`)}).
			step(1, "m", &event.EdgeTaken{Edge: -1, To: "m", Scope: i, Branch: i})
	}
	r := Fold("r1", def, j.step(1, "m", &event.StepCompleted{}).events).Run()
	if got := string(r.Outputs["m"]); got != `[7,7]` {
		t.Errorf("the map gave %s", got)
	}
	if got, want := *r.Steps[0].Items, (Items{Total: 2, Done: 2}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}

package show

import (
	"fmt"
	"time"

	"github.com/hocket-run/hocket/workflow"
)

// A small language for the workflows of these tests.

func agent(id, name, agent string) workflow.Node {
	return workflow.Node{ID: id, Name: name, Kind: workflow.KindAgent,
		Agent: &workflow.AgentNode{Agent: agent, Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}}
}

func in(fork string, n workflow.Node) workflow.Node {
	n.Parent = fork
	return n
}

func bare(id string, kind workflow.Kind) workflow.Node { return workflow.Node{ID: id, Kind: kind} }

func approval(id, name string) workflow.Node {
	return workflow.Node{ID: id, Name: name, Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval}}
}

func decide(id, name string, otherwise string, words ...string) workflow.Node {
	d := &workflow.Decide{Else: otherwise}
	for i, word := range words {
		d.Cases = append(d.Cases, workflow.Case{Port: fmt.Sprintf("condition-%d", i),
			When: workflow.Condition{Language: workflow.LangMatch, Op: "contains", Text: word}})
	}
	return workflow.Node{ID: id, Name: name, Kind: workflow.KindDecide, Decide: d}
}

func fork(id, name, until string, branches ...string) workflow.Node {
	f := &workflow.Fork{Join: id + "/join", Until: until}
	for _, b := range branches {
		f.Branches = append(f.Branches, workflow.Branch{ID: b})
	}
	return workflow.Node{ID: id, Name: name, Kind: workflow.KindFork, Fork: f}
}

func join(fork string) workflow.Node {
	return workflow.Node{ID: fork + "/join", Kind: workflow.KindJoin, Hidden: true, Join: &workflow.Join{Fork: fork}}
}

// ways builds edges from triples of "from", "port" and "to".
func ways(words ...string) []workflow.Edge {
	var out []workflow.Edge
	for i := 0; i+2 < len(words); i += 3 {
		out = append(out, workflow.Edge{From: words[i], Port: words[i+1], To: words[i+2]})
	}
	return out
}

// samples returns the workflows drawn in the golden files.
func samples() map[string]*workflow.Workflow {
	canvas := &workflow.Workflow{
		Name: "Newsletter", Format: "canvas", Entry: "start",
		Nodes: []workflow.Node{
			bare("start", workflow.KindStart),
			agent("n1", "Writer", "n1"),
			decide("n2", "Good enough?", "false", "excellent", "publishable as it stands"),
			approval("n3", "Editor in chief"),
			agent("n4", "Publisher", "n4"),
			agent("n5", "Press office", "n5"),
		},
		Edges: ways("start", "", "n1", "n1", "", "n2", "n2", "condition-0", "n4", "n2", "condition-1", "n3", "n2",
			"false", "n1",
			"n3", "approve", "n4", "n3", "reject", "n1", "n4", "", "n5"),
		Agents: []workflow.Agent{
			{ID: "n1", Name: "Writer", Model: "gpt-5", Tools: []string{"web_search"},
				Subagents: []workflow.Subagent{{Agent: "k", Tool: "k"}, {Agent: "l", Tool: "l"}}},
			{ID: "k", Name: "Researcher", Model: "gpt-5-mini", Subagents: []workflow.Subagent{{Agent: "m", Tool: "m"}}},
			{ID: "l", Name: "Archivist"}, {ID: "m", Name: "Librarian"}, {ID: "n4"}, {ID: "n5"},
		},
	}
	first := fork("par", "Gather", workflow.UntilAll, "gen_1", "gen_2", "inner")
	first.Fork.MaxConcurrency = 2
	steps := &workflow.Workflow{
		Name: "Translation", Format: "steps", Entry: "gen",
		Nodes: []workflow.Node{
			agent("gen", "", "generator"), first, in("par", agent("gen_1", "", "generator")),
			in("par", agent("gen_2", "", "critic")),
			in("par", fork("inner", "", workflow.UntilRace, "fast", "slow")),
			in("inner", agent("fast", "", "generator")), in("inner", agent("slow", "", "critic")),
			in("par", join("inner")), join("par"),
			{ID: "qa_check", Kind: workflow.KindDecide, Decide: &workflow.Decide{Else: workflow.PortFalse,
				Cases: []workflow.Case{
					{Port: workflow.PortTrue, When: workflow.Condition{Language: workflow.LangExpr,
						Text: "{{ $steps.qa.output.is_approved && $steps.qa.output.score >= 0.8 }}"}}}}},
			agent("publish", "", "publisher"),
			bare("end", workflow.KindEnd),
		},
		Edges: append(ways("gen", "", "par", "par", "gen_1", "gen_1", "par", "gen_2", "gen_2", "par", "inner", "inner",
			"gen_1", "", "par/join", "gen_2", "", "par/join",
			"inner", "fast", "fast", "inner", "slow", "slow", "fast", "", "inner/join", "slow", "", "inner/join",
			"inner/join", "", "par/join",
			"par/join", "", "qa_check", "qa_check", "true", "publish", "publish", "", "end", "par", "error", "end"),
			workflow.Edge{From: "qa_check", Port: "false", To: "gen", Loop: true}),
		Agents: []workflow.Agent{{ID: "generator", Name: "generator", Model: "anthropic/claude-sonnet-4-5"},
			{ID: "critic"}, {ID: "publisher"}, {ID: "idle", Name: "Idle"}},
	}
	graph := &workflow.Workflow{
		Name: "Everything", Format: "graph", Entry: "s",
		Nodes: []workflow.Node{
			{ID: "s", Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: "load"},
				Retry: &workflow.Retry{MaxRetries: 2}},
			{ID: "decision_1", Kind: workflow.KindDecide, Decide: &workflow.Decide{
				Else: "if-false", Cases: []workflow.Case{
					{Port: "if-true", When: workflow.Condition{Language: workflow.LangFunc, Func: "isReady"}}}}},
			{ID: "search", Kind: workflow.KindTool, Tool: &workflow.ToolNode{Tool: "web_search"},
				Timeout: workflow.Duration(time.Minute), Catch: &workflow.Catch{Port: workflow.PortOut}},
			bare("calls", workflow.KindExec),
			{ID: "merge_2", Kind: workflow.KindFunc, Hidden: true, Func: &workflow.FuncNode{Func: "pass"}},
			{ID: "sub", Name: "Sub", Kind: workflow.KindSubflow, Subflow: &workflow.Subflow{Flow: "review"}},
			{ID: "meet", Kind: workflow.KindJoin, Join: &workflow.Join{}},
			{ID: "ask", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitQuestion, AutoApprove: true}},
			{ID: "lost", Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: "never"}},
			{ID: "done", Kind: workflow.KindEnd},
			{ID: "note", Kind: workflow.KindSet, Set: &workflow.SetNode{Value: []byte(`{}`)},
				If: &workflow.Condition{Language: workflow.LangExpr, Text: "{{ has($steps.search.error) }}"}},
			{ID: "gate", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval,
				Deadline: workflow.Duration(time.Hour)}},
			{ID: "stop", Kind: workflow.KindEnd, End: &workflow.EndNode{Status: workflow.EndFailed}},
		},
		Edges: []workflow.Edge{
			{From: "s", To: "decision_1"}, {From: "decision_1", Port: "if-true", To: "search"},
			{From: "decision_1", Port: "if-false", To: "calls"},
			{From: "search", To: "merge_2"}, {From: "calls", To: "merge_2"}, {From: "merge_2", To: "sub"},
			{From: "merge_2", To: "ask"},
			{From: "sub", To: "meet"}, {From: "ask", To: "meet"},
			{From: "meet", To: "done", When: &workflow.Condition{Language: workflow.LangFunc, Func: "ok"}},
			{From: "s", Port: "error", To: "done", Label: "failed"}, {From: "merge_2", To: "note"},
			{From: "note", To: "gate"}, {From: "gate", Port: "reject", To: "stop"}, {From: "lost", To: "lost"},
		},
		Flows: map[string]*workflow.Workflow{
			"review": {Entry: "a", Nodes: []workflow.Node{bare("a", workflow.KindStart), approval("b", "Review")},
				Edges: ways("a", "", "b")},
		},
	}
	talk := func(id, name string) *workflow.Workflow {
		return &workflow.Workflow{
			ID: id, Name: name, Entry: "a1", Nodes: []workflow.Node{agent("a1", "Ann", "ann"),
				agent("a2", "Bob", "bob")}, Edges: ways("a1", "", "a2", "a2", "", "a1"),
			Agents: []workflow.Agent{{ID: "ann", Name: "Ann"}, {ID: "bob", Name: "Bob"}},
			Limits: workflow.Limits{MaxRounds: 10},
		}
	}
	branches := talk("", "Talk")
	branches.Format = "rounds"
	branches.Branches = []*workflow.Workflow{talk("once", "By <hand>"), talk("daily", ""), talk("ever", ""),
		{ID: "empty"}}
	branches.Branches[1].Schedules = []workflow.Schedule{{Mode: workflow.ModeInterval, Spec: "daily@09:00",
		TimeZone: "Europe/Berlin"}}
	branches.Branches[2].Schedules = []workflow.Schedule{{Mode: workflow.ModeContinuous, Spec: "5"}}
	branches.Branches[2].Limits.MaxRounds = 1
	return map[string]*workflow.Workflow{"branches": branches, "canvas": canvas, "steps": steps, "graph": graph,
		"hostile": hostile(), "empty": {}}
}

// hostile returns a workflow with strings that would break out of a careless drawing.
func hostile() *workflow.Workflow {
	texts := []string{
		"say \"hi\" & <b>go</b>", "line one\nline two\ttab", "back`tick` and \\N \\G", "]--> x; end %%{init: {}}%%",
		"</text><script>alert(1)</script>",
		"\x1b[31mred\x1b[0m \u202edrow\u202c \x00", "日本語のとても長い名前がここにあります", "#quot; &quot; #35;",
		"{{PREVIOUS_OUTPUT}} ${x} $(y)", "bad \xff utf8", " ",
		"averyveryveryveryveryveryveryveryverylongwordwithoutanyblanks",
	}
	w := &workflow.Workflow{Name: `The "hostile" <one>` + "`", Entry: "0"}
	for i, text := range texts {
		id := fmt.Sprint(i)
		w.Nodes = append(w.Nodes, agent(id, text, id))
		w.Agents = append(w.Agents, workflow.Agent{ID: id, Name: "agent " + text, Model: text,
			Subagents: []workflow.Subagent{{Agent: "s", Tool: text}}})
		if i > 0 {
			w.Edges = append(w.Edges, workflow.Edge{From: fmt.Sprint(i - 1), Port: text, To: id, Label: text})
		}
	}
	w.Agents = append(w.Agents, workflow.Agent{ID: "s", Name: "<i>&\"`"})
	return w
}

package steps_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/format/steps"
	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/workflow"
)

// TestRandomGraphs checks graphs of any shape, not only those that lists produce: Write never
// panics, and if it reports that nothing was left out, the document runs the same steps in the same
// order, whatever the results of its conditions.
func TestRandomGraphs(t *testing.T) {
	t.Parallel()
	said := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := randomGraph(rt)
		if workflow.Validate(w).HasErrors() {
			return
		}
		data, unsupported := steps.Write(w)
		if len(unsupported) > 0 {
			return
		}
		said++
		again, diags := read(t, string(data), steps.Options{})
		if diags.HasErrors() {
			rt.Fatalf("%s\n%s\n%s", diags.Error(), workflow.Print(w), data)
		}
		for seed := range uint(8) {
			if diff := cmp.Diff(trace(w, seed), trace(again, seed)); diff != "" {
				rt.Fatalf("seed %d (-graph +document):\n%s\n%s\n%s", seed, diff, workflow.Print(w), data)
			}
		}
	})
	t.Logf("%d graphs could be said", said)
}

func randomGraph(t *rapid.T) *workflow.Workflow {
	n := rapid.IntRange(1, 8).Draw(t, "nodes")
	w := &workflow.Workflow{Entry: "n0", Agents: []workflow.Agent{{ID: "a"}}}
	id := func(i int) string { return fmt.Sprintf("n%d", i) }
	to := func(i int) string {
		if rapid.IntRange(0, 4).Draw(t, "far") > 0 {
			return id(min(i+1+rapid.IntRange(0, 2).Draw(t, "by"), n-1))
		}
		return id(rapid.IntRange(0, n-1).Draw(t, "to"))
	}
	edge := func(from int, port string) {
		if rapid.IntRange(0, 7).Draw(t, "ends") > 0 {
			target := to(from)
			loop := slices.IndexFunc(w.Nodes, func(n workflow.Node) bool { return n.ID == target }) >= 0
			w.Edges = append(w.Edges, workflow.Edge{From: id(from), Port: port, To: target, Loop: loop &&
				rapid.Bool().Draw(t, "loop")})
		}
	}
	for i := range n {
		node := workflow.Node{ID: id(i), Kind: workflow.KindAgent}
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0, 1:
			node.Kind = workflow.KindDecide
			cond := workflow.Condition{Language: workflow.LangExpr, Text: "1 == 1"}
			node.Decide = &workflow.Decide{Cases: []workflow.Case{{Port: "yes", When: cond}}, Else: "no"}
			w.Nodes = append(w.Nodes, node)
			edge(i, "yes")
			edge(i, "no")
			continue
		case 2:
			if i == n-1 {
				node.Kind = workflow.KindEnd
				w.Nodes = append(w.Nodes, node)
				continue
			}
		}
		node.Agent = &workflow.AgentNode{Agent: "a", Prompt: workflow.Prompt{Mode: workflow.PromptContext}}
		w.Nodes = append(w.Nodes, node)
		edge(i, "")
	}
	return w
}

// trace runs a graph without forks, with conditions determined by seed, and returns the id of each
// step. It ends after 60 steps.
func trace(w *workflow.Workflow, seed uint) []string {
	var out []string
	visits := map[string]uint{}
	next := func(id, port string) string {
		for _, e := range w.Edges {
			if e.From == id && e.PortName() == port {
				return e.To
			}
		}
		return ""
	}
	for id := w.Entry; id != "" && len(out) < 60; {
		n := w.Node(id)
		port := workflow.PortOut
		if n.Decide != nil {
			visits[id]++
			port = n.Decide.Else
			if (seed>>(visits[id]%3)+uint(len(id))+uint(id[len(id)-1]))%2 == 0 {
				port = n.Decide.Cases[0].Port
			}
		}
		if n.Kind != workflow.KindEnd {
			out = append(out, id)
		}
		id = next(id, port)
	}
	return out
}

// TestWrite_Unsupported checks what no steps document can express, item by item.
func TestWrite_Unsupported(t *testing.T) {
	t.Parallel()
	doc := `agents:
  a: {model: openai/x}
  b: {}
workflow:
  - {id: one, type: agent, name: a}
  - {id: check, type: condition, condition: "{{ $steps.one.output }}", true: [{id: two, type: agent, name: b}], ` +
		`false: [one]}
  - {id: par, type: parallel, steps: [{id: x, type: agent, name: a}, {id: y, type: agent, name: b}]}
`
	three, one := 3, 0.5
	for _, c := range []struct {
		name   string
		change func(*workflow.Workflow)
		want   string
	}{
		{"nothing", func(*workflow.Workflow) {}, ``},
		{"name", func(w *workflow.Workflow) { w.Name = "Shop" }, `workflow: the name "Shop"`},
		{"limits", func(w *workflow.Workflow) { w.Limits.MaxSteps, w.Limits.MaxConcurrency = &three, 2 },
			`workflow: the limits {"maxSteps":3,"maxConcurrency":2}`},
		{"failure", func(w *workflow.Workflow) { w.Rules.OnFailure = workflow.FailDrain },
			`workflow: the rule that a failure is handled by "drain": a step's failure stops the others`},
		{"hidden", func(w *workflow.Workflow) { w.Nodes[0].Hidden = true }, `node "one": that it is hidden`},
		{"id", func(w *workflow.Workflow) { w.ID = "w1" }, `workflow: the id "w1"`},
		{"rules", func(w *workflow.Workflow) {
			w.Rules.SharedConversation = true
		}, `workflow: the rules {"sharedConversation":true}`},
		{"flows", func(w *workflow.Workflow) { w.Flows = map[string]*workflow.Workflow{"f": {}} },
			`workflow: the flow "f"`},
		{"timeout of calls", func(w *workflow.Workflow) {
			w.Node("par").CallTimeout = 3e9
		}, `node "par": the timeout of 3s for each call`},
		{"recovery", func(w *workflow.Workflow) { w.Nodes[0].Recovery = true }, `node "one": the error handler`},
		{"node name", func(w *workflow.Workflow) { w.Nodes[0].Name = "First" }, `node "one": the name "First"`},
		{"slash", func(w *workflow.Workflow) {
			w.Node("one").ID, w.Entry = "p/one", "p/one"
			for i := range w.Edges {
				w.Edges[i].From = strings.Replace(w.Edges[i].From, "one", "p/one", 1)
				w.Edges[i].To = strings.Replace(w.Edges[i].To, "one", "p/one", 1)
			}
		}, `node "p/one": its id, which holds a slash`},
		{"prompt", func(w *workflow.Workflow) { w.Nodes[0].Agent.Prompt.Mode = workflow.PromptTurns },
			`node "one": that its user message is made by "turns": a step sends the outputs of all steps before it ` +
				`and the run's input`},
		{"prompt text", func(w *workflow.Workflow) {
			w.Nodes[0].Agent.Prompt.Text = "Go."
		}, `node "one": the text "Go." for an empty input`},
		{"routing", func(w *workflow.Workflow) { w.Nodes[0].Agent.Routing = &workflow.Routing{} },
			`node "one": that the agent names its successor`},
		{"error edge", func(w *workflow.Workflow) {
			w.Edges = append(w.Edges, workflow.Edge{From: "one", Port: workflow.PortError, To: "two"})
		}, `node "one": what follows where it fails`},
		{"guard", func(w *workflow.Workflow) {
			w.Edges[0].When = &workflow.Condition{Language: workflow.LangExpr, Text: "true"}
		},
			`node "one": the guard of the edge to "check"`},
		{"fan-out", func(w *workflow.Workflow) { w.Edges = append(w.Edges, workflow.Edge{From: "one", To: "par"}) },
			`node "one": that "check" and "par" both follow it without a parallel block`},
		{"match", func(w *workflow.Workflow) {
			w.Node("check").Decide.Cases[0].When = workflow.Condition{Language: workflow.LangMatch, Op: "equal",
				Text: "yes"}
		}, `node "check": the comparison of its input with "yes"`},
		{"no else", func(w *workflow.Workflow) {
			w.Node("check").Decide.Else = ""
			w.Edges = slices.DeleteFunc(w.Edges, func(e workflow.Edge) bool { return e.Port == "false" })
		}, `node "check": that it fails if no condition holds`},
		{"cases", func(w *workflow.Workflow) {
			w.Node("check").Decide.Cases = nil
		}, `node "check": a choice without conditions`},
		{"wait", func(w *workflow.Workflow) {
			n := w.Node("two")
			n.Kind, n.Agent, n.Wait = workflow.KindWait, nil, &workflow.Wait{Kind: workflow.WaitApproval}
		}, `node "two": what follows where it has ended`},
		{"fork", func(w *workflow.Workflow) {
			f := w.Node("par").Fork
			f.Until, f.OnFailure, f.Shape, f.MaxConcurrency, f.Merge = workflow.UntilAny, workflow.FailCollect,
				workflow.ShapeMap, 1, "m"
		}, `workflow: that outputs of branches which lost their block are seen behind it
node "par": that a failure is handled by "collect": a parallel block fails at once
node "par": the shape of its output
node "par": the bound of 1 branches at a time
node "par": the function "m" that merges its branches`},
		{"retry", func(w *workflow.Workflow) {
			w.Nodes[0].Retry = &workflow.Retry{MaxRetries: 1, Multiplier: 3, Func: "f"}
		}, `node "one": the Go function "f" that decides on retries
node "one": a delay that grows by 3`},
		{"lost node", func(w *workflow.Workflow) {
			w.Nodes = append(w.Nodes, workflow.Node{ID: "lost", Kind: workflow.KindAgent,
				Agent: &workflow.AgentNode{Agent: "a"}})
		}, `node "lost": an unreachable node`},
		{"agent", func(w *workflow.Workflow) {
			a := w.Agent("a")
			a.System, a.Trim, a.Params.Stop = "Say {{ $steps.one.output }}.", true, []string{"END"}
			a.Params.Temperature = &one
		}, `agent "a": the stop sequences ["END"]
agent "a": that ` + "`{{ $…` in its instruction is plain text" + `
agent "a": how whitespace around its reply and an empty reply are handled`},
		{"tokens in an instruction", func(w *workflow.Workflow) {
			w.Agent("a").System, w.Agent("a").Tokens = "Use {{PREVIOUS_OUTPUT}}, print {{OTHER}}.", true
		}, `agent "a": that the tokens in its instruction are replaced
agent "a": that {{OTHER}} in its instruction is plain text`},
		{"sub-agent", func(w *workflow.Workflow) {
			w.Agent("a").Subagents = []workflow.Subagent{{Agent: "b", Tool: "ask", Description: "Asks."}}
		}, `agent "a": the tool name "ask" of the sub-agent "b"
agent "a": the description of the sub-agent "b" as a tool
agent "a": that a failed sub-agent fails it: in steps documents the error is sent to the model`},
		{"output", func(w *workflow.Workflow) {
			w.Agent("a").Output = &workflow.Output{Schema: []byte(`{"type":"string"}`), Repairs: &three}
		}, `agent "a": the bound of 3 repairs of its output`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, diags := read(t, doc, steps.Options{})
			if diags.HasErrors() {
				t.Fatal(diags.Error())
			}
			c.change(w)
			_, unsupported := steps.Write(w)
			var got []string
			for _, u := range unsupported {
				got = append(got, u.String())
			}
			if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

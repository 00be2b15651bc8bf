package lost_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/workflow"
)

func sample() *workflow.Workflow {
	three := 3
	return &workflow.Workflow{
		Name: "S", Format: "routes", Entry: "a", Limits: workflow.Limits{MaxSteps: &three},
		Rules: workflow.Rules{SharedConversation: true},
		Nodes: []workflow.Node{
			{ID: "a", Kind: workflow.KindAgent,
				Agent: &workflow.AgentNode{Agent: "x", Prompt: workflow.Prompt{Mode: workflow.PromptShared}}},
			{ID: "b", Kind: workflow.KindEnd},
		},
		Edges:  []workflow.Edge{{From: "a", To: "b"}, {From: "a", To: "b", Label: "second"}},
		Agents: []workflow.Agent{{ID: "x"}, {ID: "y"}},
		Branches: []*workflow.Workflow{{ID: "one", Entry: "n",
			Nodes: []workflow.Node{{ID: "n", Kind: workflow.KindStart}}, Edges: []workflow.Edge{}}},
	}
}

// TestCompare checks that every difference is listed with its location (P29).
func TestCompare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*workflow.Workflow) // applied to what was read back
		want   string
	}{
		{"nothing", func(*workflow.Workflow) {}, ""},
		{"the name of the format alone", func(w *workflow.Workflow) { w.Format = "steps" }, ""},
		{"an empty list and none", func(w *workflow.Workflow) { w.Agents[0].Tools = []string{} }, ""},
		{"name", func(w *workflow.Workflow) { w.Name = "" }, `workflow: name "S"`},
		{"description", func(w *workflow.Workflow) {
			w.Description = "D"
		}, `workflow: absent description: here it is "D"`},
		{"limit", func(w *workflow.Workflow) { w.Limits.MaxSteps = nil }, "workflow: the limit maxSteps 3"},
		{"rule", func(w *workflow.Workflow) {
			w.Rules.Handoff = "h"
		}, `workflow: the rule absent handoff: here it is "h"`},
		{"provider", func(w *workflow.Workflow) { w.Providers = map[string]workflow.Provider{"p": {Kind: "openai"}} },
			`workflow: absent providers: here it is {"p":{"kind":"openai"}}`},
		{"deep inside a node", func(w *workflow.Workflow) { w.Nodes[0].Agent.Prompt.Mode = workflow.PromptContext },
			`node "a": agent.prompt.mode "shared"`},
		{"kind", func(w *workflow.Workflow) {
			w.Nodes[0].Agent = nil
		}, `node "a": agent {"agent":"x","prompt":{"mode":"shared"}}`},
		{"timeout", func(w *workflow.Workflow) { w.Nodes[1].Timeout = workflow.Duration(time.Second) },
			`node "b": absent timeout: here it is "1s"`},
		{"a node less", func(w *workflow.Workflow) { w.Nodes = w.Nodes[:1] }, `node "b": the node of this id`},
		{"a node more", func(w *workflow.Workflow) { w.Nodes = append(w.Nodes, workflow.Node{ID: "c"}) },
			`node "c": that there is no node of this id`},
		{"an edge less", func(w *workflow.Workflow) {
			w.Edges = w.Edges[:1]
		}, `edge "a" -> "b": an edge by the port "out"`},
		{"an edge more", func(w *workflow.Workflow) {
			w.Edges = append(w.Edges, workflow.Edge{From: "a", To: "b", Port: "error"})
		},
			`edge "a" -> "b": that no edge is there by the port "error"`},
		{"a label", func(w *workflow.Workflow) { w.Edges[1].Label = "" }, `edge "a" -> "b": label "second"`},
		{"an agent less", func(w *workflow.Workflow) { w.Agents = w.Agents[1:] }, `agent "x": the agent of this id`},
		{"the order of agents", func(w *workflow.Workflow) { w.Agents[0], w.Agents[1] = w.Agents[1], w.Agents[0] },
			"workflow: the order of its parts"},
		{"inside a branch", func(w *workflow.Workflow) {
			w.Branches[0].Nodes[0].Name = "N"
		}, `branch "one": node "n": absent name: here it is "N"`},
		{"a branch less", func(w *workflow.Workflow) { w.Branches = nil }, `workflow: the branch "one"`},
		{"a branch more", func(w *workflow.Workflow) { w.Branches = append(w.Branches, &workflow.Workflow{ID: "two"}) },
			`workflow: that there is no branch "two"`},
		{"a long text is cut", func(w *workflow.Workflow) { w.Agents[1].System = strings.Repeat("ü", 300) },
			`agent "y": absent system: here it is "` + strings.Repeat("ü", 99) + "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			back := sample()
			c.change(back)
			var got []string
			for _, l := range lost.Compare(sample(), back) {
				got = append(got, l.At+": "+l.What)
			}
			if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

package format_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

const (
	stepsDoc  = "agents: {a: {}}\nworkflow: [{type: agent, name: a}]\n"
	canvasDoc = `{"nodes":[{"id":"s","type":"start","x":0,"y":0}],"connections":[]}`
	roundsDoc = `{"nodes":[{"id":"a1","type":"agent","config":{"agentId":"x"}}],"edges":[{"id":"e1","from":"a1",` +
		`"to":"a1"}],"maxRounds":10}`
	routesDoc = `{"id":"w","entrypointNodeId":"n1","nodes":[{"id":"n1","workflowId":"w","nodeType":"AGENT",` +
		`"nodeName":"Router","agentId":"r"}],"edges":[]}`
)

func TestDetect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, doc, want string }{
		{"steps", stepsDoc, format.Steps},
		{"steps as a map", "workflow: {steps: []}", format.Steps},
		{"agents alone", "agents: {root: {}}", format.Steps},
		{"steps as JSON", `{"workflow": [{"type": "agent", "name": "a"}]}`, format.Steps},
		{"canvas", canvasDoc, format.Canvas},
		{"canvas without connections", `{"nodes":[{"id":"s","type":"start"}]}`, format.Canvas},
		{"canvas with agents beside it", `{"agents":[{"id":"a"}],"nodes":[],"connections":[]}`, format.Canvas},
		{"rounds", roundsDoc, format.Rounds},
		{"rounds with branches only", `{"branches":[]}`, format.Rounds},
		{"rounds with one node", `{"nodes":[{"id":"a1","type":"agent","parameters":{"agentId":"x"}}]}`, format.Rounds},
		{"routes", routesDoc, format.Routes},
		{"routes in snake case", `{"nodes":[{"id":"n","node_type":"AGENT"}],"edges":[]}`, format.Routes},
		{"routes in a wrapper", `{"workflow":{"id":"w","entrypointNodeId":"n"},"nodes":[],"edges":[]}`, format.Routes},
		{"a list of agents", `{"agents":[{"id":"a"}]}`, ""},
		{"an empty map", `{}`, ""},
		{"a list", `[]`, ""},
		{"a text", `hello`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root, diags := source.Parse("in", []byte(c.doc))
			if diags.HasErrors() {
				t.Fatal(diags.Error())
			}
			if got := format.Detect(root); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

const formatHints = "; hint: canvas has `nodes` and `connections`; routes has `entrypointNodeId`, `nodes` with a " +
	"`nodeType`, and `edges`; " +
	"rounds has `nodes` and `edges`, or `branches`; steps has `agents` and a list of steps under `workflow`"

func TestReadReports(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, doc string
		opts      format.Options
		want      string
	}{
		{name: "fine", doc: stepsDoc},
		{name: "unknown", doc: "foo: 1\n",
			want: "in.yaml:1:1: error: this is not a workflow document of a known format (unknown-format)" +
				formatHints},
		{name: "no map", doc: "just text\n",
			want: "in.yaml:1:1: error: a workflow document must be a map, found a string (unknown-format)" +
				formatHints},
		{name: "agents", doc: "agents: [{id: a}]\n", want: "in.yaml:1:1: error: this is a list of agents without a " +
			"workflow (unknown-format); hint: give it as the file of agents, together with a workflow"},
		{
			name: "steps outside of a workflow", doc: "agents: [{id: a}]\nsteps: [{type: agent, name: a}]\n",
			want: "in.yaml:1:1: error: this has a list of steps, and no workflow (unknown-format); hint: a steps " +
				"document lists its steps under `workflow`: `workflow: [{type: agent, name: …}]`",
		},
		{name: "empty", doc: "", want: "in.yaml:1:1: error: the document is empty (empty-document)"},
		{name: "rounds", doc: roundsDoc, opts: format.Options{Agents: []workflow.Agent{{ID: "x"}}}},
		{
			name: "routes without its agents", doc: routesDoc,
			want: "in.yaml:1:121: error: Agent not found: r (unknown-agent); hint: agents are defined under the key " +
				"agents, in a file of agents, or in the catalog",
		},
		{name: "routes", doc: routesDoc, opts: format.Options{Agents: []workflow.Agent{{ID: "r"}}}},
		{
			name: "a format that there is not", doc: stepsDoc, opts: format.Options{Format: "step"},
			want: `in.yaml:1:1: error: unknown format "step" (unknown-format); hint: did you mean "steps"?`,
		},
		{
			name: "another format that there is not", doc: stepsDoc, opts: format.Options{Format: "bpmn"},
			want: `in.yaml:1:1: error: unknown format "bpmn" (unknown-format); hint: the formats are canvas, rounds, ` +
				`routes, steps`,
		},
		{
			name: "the caller's word counts", doc: "agents: [{id: a}]\n", opts: format.Options{Format: format.Steps},
		},
		{
			name: "lint is asked where nothing is wrong",
			doc:  "agents: {a: {}, b: {}}\nworkflow: [{type: agent, name: a}]\n",
			want: `in.yaml:1:17: warning: agent "b" is not used (unused-agent)`,
		},
		{
			name: "agents from beside the document", doc: "workflow: [{type: agent, name: x}]\n",
			opts: format.Options{Agents: []workflow.Agent{{ID: "x"}, {ID: "unused"}}},
		},
		{
			name: "Validate's own errors are in the same list",
			doc:  "agents: {a: {sub_agents: [b]}, b: {sub_agents: [a]}}\nworkflow: [{type: agent, name: a}]\n",
			want: `in.yaml:1:10: error: agent "a": sub-agents form a cycle: a -> b -> a (subagent-cycle)`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, diags := format.Read("in.yaml", []byte(c.doc), c.opts)
			if diff := cmp.Diff(c.want, strings.TrimSpace(diags.Error())); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	w, diags := format.Read("in.yaml", []byte(stepsDoc), format.Options{})
	if diags.HasErrors() {
		t.Fatal(diags.Error())
	}
	data, unsupported, err := format.Write(w, format.Steps)
	if err != nil || len(unsupported) > 0 {
		t.Fatal(err, unsupported)
	}
	want := "agents:\n  a: {}\nworkflow:\n  - type: agent\n    name: a\n"
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	w.Name = "x"
	_, unsupported, _ = format.Write(w, format.Steps)
	if len(unsupported) != 1 || unsupported[0].String() != `workflow: the name "x"` {
		t.Errorf("unsupported: %v", unsupported)
	}
	// Only rounds documents can express branches and continuous schedules.
	w.Name, w.Schedules, w.Branches = "", []workflow.Schedule{{Mode: workflow.ModeContinuous, Spec: "60"}},
		[]*workflow.Workflow{{ID: "b"}}
	_, unsupported, _ = format.Write(w, format.Steps)
	wantBranch := `[workflow: the branch "b" workflow: the schedule "60" of mode continuous]`
	if fmt.Sprint(unsupported) != wantBranch {
		t.Errorf("unsupported: %v, want %s", unsupported, wantBranch)
	}
	// Routes reports them itself, in the same words, which appear once.
	_, unsupported, _ = format.Write(w, format.Routes)
	for _, u := range unsupported {
		count := 0
		for _, other := range unsupported {
			if other == u {
				count++
			}
		}
		if count > 1 || strings.Contains(u.What, "branches [") || strings.Contains(u.What, "schedule {") {
			t.Errorf("unsupported in routes: %v, %d times", u, count)
		}
	}
	if len(unsupported) < 2 ||
		fmt.Sprint(unsupported[:2]) != `[workflow: the schedule "60" of mode continuous workflow: the branch "b"]` {
		t.Errorf("unsupported in routes: %v", unsupported)
	}
	if _, _, err := format.Write(w, "bpmn"); !errors.Is(err, format.ErrUnknownFormat) {
		t.Errorf("bpmn: %v", err)
	}
}

// TestConvert checks that a conversion reports what the other format cannot express, each item once
// (P29).
func TestConvert(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, doc, to, want string }{
		{
			name: "canvas to steps", to: format.Steps,
			doc: `{"nodes":[
				{"id":"s","type":"start","data":{"initialInput":"hi"}},
				{"id":"w","type":"agent","data":{"agentName":"Writer","userPrompt":"Write: {{PREVIOUS_OUTPUT}}"}},
				{"id":"c","type":"if","data":{"conditions":[{"operator":"contains","value":"yes"}]}},
				{"id":"h","type":"approval","data":{}}],
				"connections":[{"source":"s","target":"w"},{"source":"w","target":"c"},{"source":"c","target":"h",` +
				`"sourceHandle":"condition-0"}]}`,
			want: `workflow: the rules {"defaultInput":"hi"}
agent "w": how whitespace around its reply and an empty reply are handled
node "c": the comparison of its input with "yes"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, diags := format.Read("in", []byte(c.doc), format.Options{})
			if diags.HasErrors() {
				t.Fatal(diags.Error())
			}
			_, unsupported, err := format.Write(w, c.to)
			if err != nil {
				t.Fatal(err)
			}
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

// TestConvert_Numbers checks that numbers in conditions remain numbers, whatever their size.
func TestConvert_Numbers(t *testing.T) {
	t.Parallel()
	for _, row := range [][2]string{
		{"1000000000000000000000000000000", "< 1e+30"}, {"0.1", "< 0.1"}, {"-3", "< -3.0"}, {" 5 ", "< 5.0"},
		{"1e2", "< 100.0"},
	} {
		value, want := row[0], row[1]
		w, diags := format.Read("in", []byte(`{"nodes":[{"id":"s","type":"start"},
			{"id":"w","type":"agent","data":{"agentName":"Writer"}},
			{"id":"c","type":"if","data":{"conditions":[{"operator":"less","value":"`+value+`"}]}},
			{"id":"x","type":"agent","data":{"agentName":"Other"}}],
			"connections":[{"source":"s","target":"w"},{"source":"w","target":"c"},
			{"source":"c","target":"x","sourceHandle":"condition-0"}]}`), format.Options{})
		if diags.HasErrors() {
			t.Fatal(diags.Error())
		}
		out, err := format.Convert(w, format.Steps)
		if err != nil || !strings.Contains(string(out.Document), want) {
			t.Errorf("%s: %v %v, want %s in\n%s", value, err, out.Changes, want, out.Document)
		}
	}
}

// TestConvert_NoInput checks that what an agent is sent without any input is reported as lost, if
// it can be sent.
func TestConvert_NoInput(t *testing.T) {
	t.Parallel()
	for instruction, want := range map[string]int{"": 2, "Do it.": 0} {
		w, diags := format.Read("in", []byte(`{"agents":[{"id":"x"}],"context":"previous","turnInstruction":"`+
			instruction+`","nodes":[{"id":"a","type":"agent","config":{"agentId":"x"}},
			{"id":"b","type":"agent","config":{"agentId":"x"}}],"edges":[{"id":"e","from":"a","to":"b"}]}`),
			format.Options{})
		if diags.HasErrors() {
			t.Fatal(diags.Error())
		}
		for _, to := range []string{format.Canvas, format.Steps} {
			out, err := format.Convert(w, to)
			if err != nil || out.Document == nil {
				t.Fatalf("%s: %v %v", to, err, out.Changes)
			}
			found := 0
			for _, c := range out.Changes {
				if c.Kind == format.ChangeLost && strings.Contains(c.What, `"Execute your task."`) {
					found++
				}
			}
			if found != want {
				t.Errorf("%q to %s: reported %d times, want %d: %v", instruction, to, found, want, out.Changes)
			}
		}
	}
}

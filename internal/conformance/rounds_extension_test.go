package conformance_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/service"
)

// ofTurns returns a rounds document with the agents a and b, with nodes and edges as JSON, preceded
// by further keys.
func ofTurns(keys, nodes, edges string) string {
	if keys != "" {
		keys += ","
	}
	return `{` + keys + `"agents":[{"id":"a","model":"openai/m"},{"id":"b","model":"openai/m"}],"nodes":[` + nodes +
		`],"edges":[` + edges + `]}`
}

const (
	nodeA = `{"id":"a","type":"agent","config":{"agentId":"a"}}`
	nodeB = `{"id":"b","type":"agent","config":{"agentId":"b"}}`
)

var roundsExtensions = []rule{
	{name: "X-130 nodes without a model", test: func(t *testing.T) {
		yields(t,
			ofTurns("",
				`{"id":"n","type":"set","config":{"values":{"v":"{{ $input `+
					`}}"}}},{"id":"t","type":"tool","config":{"tool":"act","args":{"v":"{{ $steps.n.output.v }}!"}}}`,
				`{"from":"n","to":"t"}`), `{"v":"go!"}`)
		w, _ := withTools(t)
		r := w.runs(
			ofTurns("",
				`{"id":"q","type":"ask","config":{"prompt":"Who for {{ $input `+
					`}}?","options":["x","y"]}},{"id":"n","type":"set","config":{"values":{"who":"{{ `+
					`$steps.q.output }}"}}}`, `{"from":"q","to":"n"}`), "go")
		same(t, "question", r.show().Waiting[0].Prompt, "Who for go?")
		r.answers("x")
		same(t, "answer", string(r.is(event.StatusCompleted).Output), `{"who":"x"}`)
		for node, want := range map[string]string{
			`{"id":"x","type":"tool","config":{}}`: `node "x": a tool node requires tool`,
			`{"id":"x","type":"set","config":{"values":{"v":"{{ $steps.y.output }}"}}}`: `node "x": ` +
				`step "y" not found`,
			`{"id":"x","type":"tol","config":{}}`:           "No handler for workflow node type tol",
			`{"id":"x","type":"set","config":{"value":{}}}`: `node "x": a set node requires values`,
		} {
			if got := refused(t, ofTurns("", node, "")); len(got) == 0 || got[0] != want {
				t.Errorf("%s: %q, want %q", node, got, want)
			}
		}
	}},
	{name: "X-131 edges by handles", test: func(t *testing.T) {
		failing := `{"id":"t","type":"tool","config":{"tool":"act","args":{"fail":true}}},`
		yields(t,
			ofTurns("",
				failing+
					`{"id":"yes","type":"set","config":{"values":{"v":1}}},{"id":"no","type":"set",`+
					`"config":{"values":{"why":"{{ $steps.t.error.node }}"}}}`,
				`{"from":"t","to":"yes"},{"from":"t","to":"no","sourceHandle":"error"}`), `{"why":"t"}`)
		w, _ := withTools(t)
		r := w.runs(
			ofTurns(`"maxRounds":3`,
				nodeA+`,{"id":"ok","type":"approval","config":{"prompt":"Send {{ $steps.a.output }}?"}},`+nodeB,
				`{"from":"a","to":"ok"},{"from":"ok","to":"b","sourceHandle":"approve"},{"from":"ok","to":"a",`+
					`"sourceHandle":"reject"}`), "go")
		same(t, "question", r.show().Waiting[0].Prompt, "Send a said?")
		r.answers(map[string]string{"decision": "reject"})
		r.is(event.StatusPaused)
		r.answers(map[string]string{"decision": "approve"})
		r.is(event.StatusCompleted)
		same(t, "calls", w.asked(), []string{"a", "a", "b"})
		same(t, "another handle",
			len(refused(t, ofTurns("", failing+nodeA, `{"from":"t","to":"a","sourceHandle":"approve"}`))), 1)
		same(t, "a cycle without rounds",
			len(refused(t, ofTurns("", nodeA+`,{"id":"ok","type":"approval"}`,
				`{"from":"a","to":"ok"},{"from":"ok","to":"a","sourceHandle":"reject"}`))), 1)
	}},
	{name: "X-132 inputs of the document and of branches", test: func(t *testing.T) {
		doc := ofTurns(`"inputs":{"city":null},"output":{"of":"{{ $input.city }}"}`,
			`{"id":"n","type":"set","config":{"values":{"v":1}}}`, "")
		same(t, "output", runInputs(t, doc, "", `{"city":"Ulm"}`), `{"of":"Ulm"}`)
		same(t, "missing", runInputs(t, doc, "", `{}`), "/city missing-input a text")
		branched := strings.TrimSuffix(doc, "}") +
			`,"permissions":{"deny":["act"]},"branches":[{"id":"x","executionMode":"one_time",` +
			`"inputs":{"n":{"type":"integer"}},"nodes":[{"id":"t","type":"tool","config":{"tool":"act",` +
			`"args":{"n":"{{ $input.n + 1 ` +
			`}}"},"on_error":"continue"}},{"id":"m","type":"set","config":{"values":{"n":"{{ $input.n ` +
			`}}","denied":"{{ has($steps.t.error) }}"}}}],"edges":[{"from":"t","to":"m"}]}]}`
		w, act := withTools(t)
		wf, _ := load(t, branched)
		id, err := w.Start(t.Context(), service.StartRequest{Workflow: wf, Branch: "x", Inputs: []byte(`{"n":4}`)})
		if err != nil {
			t.Fatal(err)
		}
		r := &run{w: w, id: id}
		r.waitSettled()
		same(t, "of the branch", string(r.is(event.StatusCompleted).Output), `{"denied":true,"n":4}`)
		same(t, "denied", len(act.Calls()), 0)
	}},
	{name: "X-133 a rejection that nothing follows fails the step", test: func(t *testing.T) {
		for config, want := range map[string]event.Status{`{}`: event.StatusFailed,
			`{"on_reject":"fail"}`: event.StatusFailed, `{"on_reject":"end"}`: event.StatusCompleted} {
			w, _ := withTools(t)
			r := w.runs(ofTurns("", nodeA+`,{"id":"ok","type":"approval","config":`+config+`},`+nodeB,
				`{"from":"a","to":"ok"},{"from":"ok","to":"b","sourceHandle":"approve"}`), "go")
			r.answers(map[string]string{"decision": "reject"})
			r.is(want)
		}
	}},
	{name: "X-134 the turn instruction holds expressions where there are inputs", test: func(t *testing.T) {
		w, _ := withTools(t)
		w.completes(ofTurns(`"inputs":{"city":null},"turnInstruction":"About {{ $input.city }}."`, nodeA, ""), "Ulm")
		same(t, "with inputs", w.prompt("a"), "About Ulm.\n\n{\"city\":\"Ulm\"}")
		w, _ = withTools(t)
		w.completes(ofTurns(`"turnInstruction":"About {{ $input }}."`, nodeA, ""), "Ulm")
		same(t, "without", w.prompt("a"), "About {{ $input }}.\n\nUlm")
		same(t, "another input",
			len(refused(t, ofTurns(`"inputs":{"city":null},"turnInstruction":"About {{ $input.town }}."`,
				nodeA+","+nodeB, `{"from":"a","to":"b"}`))), 1)
	}},
	{name: "X-136 what a node without a model gives is a turn", test: func(t *testing.T) {
		w, _ := withTools(t)
		w.completes(
			ofTurns(`"maxRounds":1`,
				nodeA+
					`,{"id":"t","type":"tool","name":"Look `+
					`up","config":{"tool":"act","args":{"v":"{{PREVIOUS_OUTPUT}}"}}},`+nodeB,
				`{"from":"a","to":"t"},{"from":"t","to":"b"},{"from":"b","to":"a"}`), "go")
		same(t, "prompt", w.prompt("b"),
			"Recent turns:\na: a said\nLook up: {\"v\":\"a said\"}\n\nOutput from Look up:\n{\"v\":\"a said\"}")
		same(t, "calls", w.asked(), []string{"a", "b"})
	}},
}

func TestRoundsExtensions(t *testing.T) { check(t, roundsExtensions) }

func TestRoundsExtensionsCovered(t *testing.T) {
	covered(t, append(append([]rule{}, canvasExtensions...), roundsExtensions...), "X-1", "X-130", "X-131", "X-132",
		"X-133", "X-134", "X-135", "X-136", "X-137")
}

package routes_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/formattest"
	"github.com/hocket-run/hocket/internal/format/routes"
	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/workflow"
)

type object = map[string]any

func someText(t *rapid.T, label string) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"x", " ", "END", "out", "error", "calls", "tool_executor", "human_handoff",
			"{{PREVIOUS_OUTPUT}}", "a\"<b>&\n\u2028", "日本"}),
		rapid.StringN(1, 20, -1),
	).Draw(t, label)
}

// document draws a routes document without errors: agents, executors and people connected at
// random, missing ends, both spellings of keys.
func document(t *rapid.T) object {
	spell := func(row object) object {
		if !rapid.Bool().Draw(t, "snake") {
			return row
		}
		out := object{}
		for key, v := range row {
			var b strings.Builder
			for _, c := range key {
				if c >= 'A' && c <= 'Z' {
					b.WriteByte('_')
				}
				b.WriteString(strings.ToLower(string(c)))
			}
			out[b.String()] = v
		}
		return out
	}
	agents := []object{}
	for i := range rapid.IntRange(1, 4).Draw(t, "agents") {
		a := object{"id": fmt.Sprintf("a%d", i), "systemPrompt": someText(t, "system")}
		if rapid.Bool().Draw(t, "named") {
			a["name"], a["model"], a["description"] = someText(t, "name"), "openai/gpt-5", someText(t, "description")
		}
		if rapid.Bool().Draw(t, "tools") {
			a["tools"] = rapid.SliceOfN(rapid.SampledFrom([]string{"search", "*", "route_to", "end"}), 0, 3).Draw(t,
				"tools")
		}
		agents = append(agents, a)
	}
	id := rapid.SampledFrom([]string{"w", ""}).Draw(t, "id")
	var ids []string
	var nodes []object
	add := func(typ string) {
		n := object{"id": fmt.Sprintf("n%d", len(nodes)), "nodeType": typ, "nodeName": someText(t, "node name"),
			"agentId": nil}
		if rapid.IntRange(0, 5).Draw(t, "strange") == 0 {
			n["id"] = someText(t, "node id") + fmt.Sprint(len(nodes))
		}
		if id != "" {
			n["workflowId"] = id
		}
		switch typ {
		case "AGENT":
			n["agentId"] = agents[rapid.IntRange(0, len(agents)-1).Draw(t, "agent")]["id"]
		case "HUMAN":
			if rapid.Bool().Draw(t, "prompt") {
				n["prompt"] = someText(t, "prompt")
			}
		}
		ids = append(ids, n["id"].(string))
		nodes = append(nodes, spell(n))
	}
	add("AGENT")
	for range rapid.IntRange(0, 5).Draw(t, "nodes") {
		add(rapid.SampledFrom([]string{"AGENT", "AGENT", "TOOL_EXECUTOR", "HUMAN"}).Draw(t, "type"))
	}
	edges := []object{}
	always := map[string]bool{}
	for i := range rapid.IntRange(0, 10).Draw(t, "edges") {
		from := rapid.SampledFrom(append([]string{"ghost"}, ids...)).Draw(t, "from")
		e := object{"sourceNodeId": from, "conditionType": "CONDITIONAL", "conditionValue": someText(t, "value")}
		if to := rapid.SampledFrom(append([]string{"", "ghost"}, ids...)).Draw(t, "to"); to != "" {
			e["targetNodeId"] = to
		} else {
			e["targetNodeId"] = nil
		}
		if !always[from] && rapid.Bool().Draw(t, "always") {
			always[from] = true
			e["conditionType"], e["conditionValue"] = rapid.SampledFrom([]string{"ALWAYS", "ON_COMPLETE"}).Draw(t,
				"word"), nil
		}
		if rapid.Bool().Draw(t, "edge id") {
			e["id"] = fmt.Sprintf("e%d", i)
		}
		edges = append(edges, spell(e))
	}
	doc := object{
		"id": id, "name": someText(t, "name"), "description": someText(t, "description"),
		"isConversational": rapid.Bool().Draw(t, "conversational"),
		"entrypointNodeId": ids[0], "nodes": nodes, "edges": edges, "agents": agents,
	}
	if rapid.Bool().Draw(t, "limits") {
		doc["maxSteps"], doc["timeoutMs"] = rapid.IntRange(0, 20).Draw(t, "steps"),
			rapid.IntRange(0, 100000).Draw(t, "timeout")
	}
	return spell(doc)
}

// TestRoundTrip checks that the result of Write for a routes document reads back as the same
// definition (P29), that nothing is unsupported, and that writing it again changes no byte.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data, err := json.Marshal(document(t))
		if err != nil {
			t.Fatal(err)
		}
		w, diags := read("first.json", data, routes.Options{})
		if diags.HasErrors() {
			t.Fatalf("%s\n%s", data, diags.Error())
		}
		checkRoundTrip(t, w)
	})
}

// FuzzRead checks that for any document Read returns a workflow and reports a problem wherever the
// graph would not run, and that Write loses nothing.
func FuzzRead(f *testing.F) {
	for _, seed := range formattest.Corpus(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w, diags := read("fuzz.json", data, routes.Options{Agents: externalAgents()})
		if w == nil {
			if len(diags) == 0 {
				t.Fatal("neither a workflow nor a problem")
			}
			return
		}
		for _, d := range diags {
			if d.Code == "" || d.Message == "" || strings.ContainsAny(d.Code, " A") || d.Severity == diag.Error &&
				!d.Span.Start.IsKnown() {
				t.Fatalf("bad diagnostic: %+v", d)
			}
		}
		if diags.HasErrors() {
			routes.Write(w)
			return
		}
		if problems := workflow.Validate(w); problems.HasErrors() {
			t.Fatalf("Read accepted what Validate refuses:\n%s", problems.Error())
		}
		checkRoundTrip(t, w)
	})
}

package canvas_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/canvas"
	"github.com/hocket-run/hocket/internal/format/formattest"
	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/workflow"
)

type object = map[string]any

func someText(t *rapid.T, label string) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", " ", "Agent", "Writer", "{{PREVIOUS_OUTPUT}}", "{{ $input }}!",
			"You are a helpful assistant.", "low", "a\"<b>&\n\u2028", "日本"}),
		rapid.String(),
	).Draw(t, label)
}

// document draws a canvas document without errors: a start node, agents, ifs and approvals
// connected at random, trees of sub-agents, missing targets, handles that nothing fires, legacy
// spellings.
func document(t *rapid.T) object {
	var nodes []object
	var connections []object
	byID := map[string]object{}
	add := func(n object) string {
		id := fmt.Sprintf("n%d", len(nodes))
		if rapid.IntRange(0, 5).Draw(t, "strange id") == 0 {
			id += rapid.SampledFrom([]string{" x", ".1", "-Ü", "/a", `"`}).Draw(t, "suffix")
		}
		n["id"] = id
		byID[id] = n
		nodes = append(nodes, n)
		return id
	}
	agent := func(subagents bool) string {
		data := object{}
		for _, key := range []string{"agentName", "systemPrompt", "userPrompt", "model"} {
			if rapid.Bool().Draw(t, key) {
				data[key] = someText(t, key)
			}
		}
		if rapid.Bool().Draw(t, "effort") {
			data["reasoningEffort"] = rapid.SampledFrom([]string{"", "low", "high"}).Draw(t, "effort")
		}
		tools := object{"subagents": subagents}
		for _, name := range []string{"web_search", "read_file", "*"} {
			if rapid.Bool().Draw(t, name) {
				tools[name] = rapid.Bool().Draw(t, name)
			}
		}
		data["tools"] = tools
		return add(object{"type": "agent", "data": data})
	}
	start := object{"type": "start"}
	if rapid.Bool().Draw(t, "input") {
		start["data"] = object{"initialInput": rapid.SampledFrom([]any{"", "x", 0, 1.5, true, false, nil, []any{1, "a"},
			object{"k": object{}}}).Draw(t, "initialInput")}
	}
	var runs []string // nodes of the run
	for i, n := 0, rapid.IntRange(0, 6).Draw(t, "before start"); i <= n; i++ {
		if i == n/2 {
			runs = append(runs, add(start))
			continue
		}
		switch rapid.IntRange(0, 4).Draw(t, "type") {
		case 4:
			runs = append(runs, add(plain(t)))
		case 0:
			conditions := []object{}
			for range rapid.IntRange(0, 3).Draw(t, "conditions") {
				conditions = append(conditions, rapid.SampledFrom([]object{
					{"operator": "equal", "value": someText(t, "value")}, {"operator": "contains", "value": "x"},
					{"value": "y"}, {"operator": "less_or_equal", "value": "-1.5"}, {"if": "$input == 'x'"},
				}).Draw(t, "condition"))
			}
			data := object{"conditions": conditions, "label": someText(t, "label")}
			if rapid.Bool().Draw(t, "legacy") {
				data["condition"] = someText(t, "condition")
			}
			runs = append(runs, add(object{"type": "if", "data": data}))
		case 1:
			runs = append(runs, add(object{"type": rapid.SampledFrom([]string{"approval", "input"}).Draw(t, "approval"),
				"data": object{"prompt": someText(t, "prompt")}}))
		default:
			sub := rapid.Bool().Draw(t, "subagents")
			id := agent(sub)
			runs = append(runs, id)
			parents := []string{id}
			for range rapid.IntRange(0, 3).Draw(t, "sub-agents") {
				if !sub {
					break
				}
				child := agent(true)
				connections = append(connections, object{
					"source": rapid.SampledFrom(parents).Draw(t, "parent"), "target": child, "sourceHandle": "subagent",
					"targetHandle": rapid.SampledFrom([]any{nil, "", "input"}).Draw(t, "targetHandle"),
				})
				parents = append(parents, child)
			}
		}
	}
	for range rapid.IntRange(0, 10).Draw(t, "connections") {
		handles := []any{nil, "output", "true", "false", "condition-0", "condition-1", "condition-7", "approve",
			"reject", "x"}
		source := rapid.SampledFrom(runs).Draw(t, "source")
		if n := byID[source]; slices.Contains([]any{"tool", "workflow", "set", "ask"}, n["type"]) {
			handles = []any{nil, "output"}
			if data := n["data"].(object); data["on_error"] == nil {
				handles = append(handles, "error")
			}
			if data := n["data"].(object); data["deadline"] != nil && data["on_deadline"] == nil {
				handles = append(handles, "timeout")
			}
		}
		c := object{
			"source": source, "target": rapid.SampledFrom(append([]string{"ghost"}, runs...)).Draw(t, "target"),
			"sourceHandle": rapid.SampledFrom(handles).Draw(t, "handle"),
		}
		if rapid.Bool().Draw(t, "named") {
			c["id"], c["label"] = someText(t, "id"), someText(t, "label")
		}
		connections = append(connections, c)
	}
	for _, n := range nodes {
		if data, ok := n["data"].(object); ok && n["type"] != "start" && rapid.IntRange(0, 3).Draw(t, "join") == 0 {
			data["join"] = "all"
		}
	}
	order := append([]object{}, rapid.Permutation(connections).Draw(t, "order")...)
	doc := object{"name": someText(t, "name"), "nodes": nodes, "connections": order}
	if rapid.Bool().Draw(t, "has inputs") {
		doc["inputs"] = rapid.SampledFrom([]object{{}, {"city": nil}, {"n": object{"type": "integer", "default": 2},
			"f": object{"type": "file", "maxBytes": 10}}}).Draw(t, "inputs")
	}
	if declared, _ := doc["inputs"].(object); rapid.Bool().Draw(t, "has schedules") {
		given := object{}
		if _, ok := declared["city"]; ok {
			given["city"] = "Ulm"
		}
		if _, file := declared["f"]; !file {
			doc["schedules"] = []object{{"id": "a", "schedule": "60", "inputs": given},
				{"id": "b", "schedule": "@daily", "timeZone": "UTC", "inputs": given}}
		}
	}
	if rapid.Bool().Draw(t, "has output") {
		doc["output"] = rapid.SampledFrom([]any{1, "{{ $input }}", object{"v": []any{"{{PREVIOUS_OUTPUT}}"}}}).Draw(t,
			"output")
		doc["output_schema"] = object{"type": "object"}
	}
	if rapid.Bool().Draw(t, "has tools") {
		doc["toolsets"], doc["permissions"] = []object{{"type": "think"}}, object{"ask": []string{"act"}}
	}
	return doc
}

// plain draws a node without a model, with settings of all kinds and expressions over the input
//
func plain(t *rapid.T) object {
	value := func(label string) any {
		return rapid.SampledFrom([]any{1, 1.50, "plain", "{{ $input }}", " {{ $input }}<&>",
			[]any{object{"b": nil, "a": "{{PREVIOUS_OUTPUT}}"}}, object{}, true}).Draw(t, label)
	}
	typ := rapid.SampledFrom([]string{"tool", "workflow", "set", "ask"}).Draw(t, "plain")
	data := object{}
	some := func(key string, values ...any) {
		if rapid.Bool().Draw(t, "has "+key) {
			data[key] = rapid.SampledFrom(values).Draw(t, key)
		}
	}
	some("label", "", "Name")
	some("if", "{{ $input == 'x' }}", "1 == 1")
	some("on_error", "fail", "continue", object{"default": value("default")})
	switch typ {
	case "tool", "workflow":
		if typ == "tool" {
			data["tool"] = "act"
			some("args", object{}, object{"v": value("arg"), "w": object{"x": value("inner")}})
		} else {
			data["workflow"] = rapid.SampledFrom([]string{"w", "w@2", "./w.yaml"}).Draw(t, "called")
			some("input", value("input"))
		}
		some("timeout", "30s", 5)
		some("call_timeout", "1h30m", "2d")
		some("retry", object{"max_attempts": 2}, object{"max_attempts": 1, "backoff": "fixed",
			"on": []string{"network"}}, object{"backoff": object{"type": "exponential", "initial_delay_seconds": 0.5}})
	case "set":
		data["values"] = object{"b": value("b"), "a": value("a")}
	case "ask":
		data["prompt"] = rapid.SampledFrom([]string{"Who?", "{{ $input }}?"}).Draw(t, "question")
		switch rapid.IntRange(0, 2).Draw(t, "answers") {
		case 0:
			data["options"] = []any{"a", "b"}
		case 1:
			data["schema"] = object{"type": "object", "properties": object{"a": object{"type": "string"}}}
		}
		some("remind_after", "5m")
		if rapid.Bool().Draw(t, "deadline") {
			data["deadline"] = "1h"
			some("on_deadline", "fail", object{"default": value("late")})
		}
	}
	return object{"type": typ, "data": data}
}

func digest(t interface{ Fatal(...any) }, w *workflow.Workflow) string {
	d, err := w.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestRoundTrip checks that the result of Write for a canvas document reads back as the same
// definition (P29), that nothing is unsupported, and that writing it again changes no byte.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data, err := json.Marshal(document(t))
		if err != nil {
			t.Fatal(err)
		}
		w, diags := read("first.json", data, canvas.Options{})
		if diags.HasErrors() {
			t.Fatalf("%s\n%s", data, diags.Error())
		}
		checkRoundTrip(t, w)
	})
}

func checkRoundTrip(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, w *workflow.Workflow,
) {
	text, unsupported := canvas.Write(w)
	if len(unsupported) > 0 {
		t.Fatalf("unsupported: %v\n%s", unsupported, workflow.Print(w))
	}
	back, diags := read("second.json", text, canvas.Options{})
	if diags.HasErrors() {
		t.Fatalf("%s\n%s", text, diags.Error())
	}
	if digest(t, w) != digest(t, back) {
		t.Fatalf("another definition (-before +after):\n%s\n%s", cmp.Diff(workflow.Print(w), workflow.Print(back)),
			text)
	}
	if again, _ := canvas.Write(back); string(again) != string(text) {
		t.Fatalf("written differently the second time:\n%s", cmp.Diff(string(text), string(again)))
	}
}

// FuzzRead checks that for any document Read returns a workflow in bounded time, and reports a
// problem wherever the graph would not run.
func FuzzRead(f *testing.F) {
	for _, seed := range formattest.Corpus(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w, diags := read("fuzz.json", data, canvas.Options{Missing: []string{"web_search"}})
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
			return
		}
		if problems := workflow.Validate(w); problems.HasErrors() {
			t.Fatalf("Read accepted what Validate refuses:\n%s", problems.Error())
		}
		checkRoundTrip(t, w)
	})
}

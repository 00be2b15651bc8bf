package rounds_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/format/formattest"
	"github.com/hocket-run/hocket/internal/format/rounds"
	"github.com/hocket-run/hocket/internal/format/source"
	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/workflow"
)

type object = map[string]any

func someText(t *rapid.T, label string) string {
	return rapid.OneOf(rapid.SampledFrom([]string{"", " ", "Ann", "daily@09:00", "a\"<b>&\n\u2028", "日本"}),
		rapid.String()).Draw(t, label)
}

// randomGraph draws a graph without errors: nodes of known agents, edges of any kind, including
// dangling ones and fan-out, and any number of rounds.
func randomGraph(t *rapid.T) object {
	g := object{"maxRounds": rapid.IntRange(1, 5000).Draw(t, "rounds")}
	nodes := []object{}
	for i := range rapid.IntRange(0, 5).Draw(t, "nodes") {
		n := object{"id": fmt.Sprintf("n%d", i), "type": "agent"}
		if rapid.IntRange(0, 2).Draw(t, "without a model") == 0 {
			nodes = append(nodes, plain(t, n))
			continue
		}
		n[rapid.SampledFrom([]string{"config", "parameters"}).Draw(t, "key")] = object{
			"agentId": rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(t, "agent"),
		}
		if rapid.Bool().Draw(t, "named") {
			n["name"] = someText(t, "name")
		}
		nodes = append(nodes, n)
	}
	id := func(label string) string { return fmt.Sprintf("n%d", rapid.IntRange(0, len(nodes)).Draw(t, label)) }
	edges := []object{}
	for range rapid.IntRange(0, 7).Draw(t, "edges") {
		keys := rapid.SampledFrom([][2]string{{"from", "to"}, {"source", "target"}}).Draw(t, "ends")
		from := rapid.IntRange(0, len(nodes)).Draw(t, "from")
		e := object{keys[0]: fmt.Sprintf("n%d", from), keys[1]: id("to")}
		if from < len(nodes) {
			if handles := handlesOf(nodes[from]); handles != nil {
				e["sourceHandle"] = rapid.SampledFrom(handles).Draw(t, "handle")
			}
		}
		if rapid.Bool().Draw(t, "with id") {
			e["id"] = someText(t, "edge id")
		}
		if rapid.Bool().Draw(t, "labelled") {
			e["label"] = someText(t, "label")
		}
		edges = append(edges, e)
	}
	g["nodes"], g["edges"] = nodes, edges
	for _, key := range []string{"name", "description", "turnInstruction"} {
		if rapid.Bool().Draw(t, "has "+key) {
			g[key] = someText(t, key)
		}
	}
	inputs := []object{{}, {"city": nil}, {"n": object{"type": "integer", "default": 2}}}
	var given object
	switch rapid.IntRange(0, 4).Draw(t, "mode") {
	case 1:
		g["executionMode"] = "one_time"
	case 2:
		g["executionMode"] = "interval"
		g["schedule"] = rapid.SampledFrom([]any{"60", 60, "daily@9:30", " weekly@1,3 "}).Draw(t, "schedule")
		inputs = slices.Delete(inputs, 1, 2) // scheduled runs receive no inputs
	case 3:
		g["executionMode"] = "continuous"
		if rapid.Bool().Draw(t, "delayed") {
			g["schedule"] = "5"
		}
		inputs = slices.Delete(inputs, 1, 2)
	case 4:
		inputs, given = inputs[1:2], object{"city": "Ulm"}
		g["schedules"] = []object{{"id": "a.b", "schedule": "0 9 * * *", "inputs": given},
			{"id": 7, "executionMode": "continuous", "timeZone": "UTC", "inputs": given}}
	}
	if rapid.Bool().Draw(t, "zoned") {
		g["timeZone"] = rapid.SampledFrom([]string{"", "UTC", "Europe/Berlin", "local"}).Draw(t, "zone")
	}
	if given != nil || rapid.Bool().Draw(t, "has inputs") {
		g["inputs"] = rapid.SampledFrom(inputs).Draw(t, "inputs")
	}
	if rapid.Bool().Draw(t, "has output") {
		g["output"], g["output_schema"] = object{"v": "{{ $input }}"}, object{"type": "object"}
	}
	return g
}

// plain makes a node without a model.
func plain(t *rapid.T, n object) object {
	n["type"] = rapid.SampledFrom([]string{"tool", "workflow", "set", "ask", "approval"}).Draw(t, "plain")
	config := object{}
	some := func(key string, values ...any) {
		if rapid.Bool().Draw(t, "has "+key) {
			config[key] = rapid.SampledFrom(values).Draw(t, key)
		}
	}
	switch n["type"] {
	case "tool":
		config["tool"] = "act"
		some("args", object{"v": "{{ $input }}", "w": []any{1.50}})
		some("timeout", "30s", 5)
		some("on_error", "fail", "continue", object{"default": object{"v": "{{PREVIOUS_OUTPUT}}"}})
	case "workflow":
		config["workflow"] = rapid.SampledFrom([]string{"w", "w@2", "./w.yaml"}).Draw(t, "called")
		some("input", "{{ $input }}", object{"a": 1})
		some("retry", object{"max_attempts": 2, "backoff": "exponential"})
	case "set":
		config["values"] = object{"v": "{{ $input }}"}
		some("if", "{{ $input == 'x' }}")
	default:
		config["prompt"] = rapid.SampledFrom([]string{"Who?", "{{ $input }}?"}).Draw(t, "question")
		some("remind_after", "5m")
		some("deadline", "1h")
		if n["type"] == "ask" {
			some("options", []any{"a", "b"})
		}
	}
	n[rapid.SampledFrom([]string{"config", "parameters"}).Draw(t, "key")] = config
	if rapid.Bool().Draw(t, "named") {
		n["name"] = someText(t, "name")
	}
	return n
}

// handlesOf returns the handles of edges that leave a node; nil means any.
func handlesOf(n object) []any {
	config, _ := n["config"].(object)
	if config == nil {
		config, _ = n["parameters"].(object)
	}
	var out []any
	switch n["type"] {
	case "agent":
		return nil
	case "approval":
		out = []any{"approve", "reject"}
	default:
		if out = []any{nil, "output"}; config["on_error"] == nil {
			out = append(out, "error")
		}
	}
	if config["deadline"] != nil {
		out = append(out, "timeout")
	}
	return out
}

func randomDocument(t *rapid.T) []byte {
	d := randomGraph(t)
	agents := []object{}
	for _, id := range []string{"ann", "bob"} {
		a := object{"id": id}
		for _, key := range []string{"name", "description", "systemPrompt", "model"} {
			if rapid.Bool().Draw(t, "agent has "+key) {
				a[key] = someText(t, key)
			}
		}
		if rapid.Bool().Draw(t, "has tools") {
			a["tools"] = []string{"search", someText(t, "tool")}
		}
		agents = append(agents, a)
	}
	d["agents"] = agents
	if rapid.Bool().Draw(t, "has toolsets") {
		d["toolsets"], d["permissions"] = []object{{"type": "think"}}, object{"ask": []string{"act"}}
	}
	if d["id"] = someText(t, "id"); rapid.Bool().Draw(t, "has branches") {
		branches := []object{}
		for i := range rapid.IntRange(0, 3).Draw(t, "branches") {
			b := randomGraph(t)
			if b["id"] = fmt.Sprint("b", i); b["executionMode"] == nil && b["schedules"] == nil {
				b["executionMode"] = "one_time"
			}
			branches = append(branches, b)
		}
		d["branches"] = branches
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestRoundTrip_Random checks that documents without errors survive Write and Read (P29).
func TestRoundTrip_Random(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := randomDocument(t)
		w, diags := read("f.json", text)
		if diags.HasErrors() {
			t.Fatalf("%s\n%s", diags.Error(), text)
		}
		checkRoundTrip(t, w)
	})
}

// FuzzRead checks that no document makes Read or Write panic, that a document without errors of its
// own yields a valid graph, and that such a graph survives Write and Read.
func FuzzRead(f *testing.F) {
	for _, data := range formattest.Corpus(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		root, diags := source.Options{MaxBytes: 1 << 16}.Parse("in.yaml", data)
		if root == nil {
			return
		}
		rounds.Detect(root)
		w, more := rounds.Read(root, externalAgents)
		if diags.HasErrors() || more.HasErrors() {
			rounds.Write(w)
			return
		}
		if l := workflow.Validate(w); l.HasErrors() {
			t.Fatalf("%s\n%s", l.Error(), data)
		}
		workflow.Lint(w)
		checkRoundTrip(t, w)
	})
}

package steps_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/format/steps"
	"github.com/hocket-run/hocket/workflow"
)

const header = "agents: {a: {}, b: {}}\n"

// TestReadRawText checks documents that a text file of this repository cannot contain, or only with
// difficulty.
func TestReadRawText(t *testing.T) {
	t.Parallel()
	fine := header + "workflow:\n  - type: agent\n    name: a\n"
	bomb := strings.Builder{}
	bomb.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10),
			", "))
	}
	for _, c := range []struct{ name, doc, want string }{
		{"CRLF", strings.ReplaceAll(fine, "\n", "\r\n"), ""},
		{"byte order mark", "\ufeff" + fine, ""},
		{"no line end", strings.TrimSpace(fine), ""},
		{"JSON", `{"agents":{"a":{}},"workflow":[{"type":"agent","name":"a"}]}`, ""},
		{"error after CRLF", header + "\r\nworkflow:\r\n  - type: agnt\r\n    name: a\r\n",
			`in.yaml:4:11: error: workflow step[0]: unknown type "agnt" (bad-step); hint: did you mean "agent"?`},
		{"invalid UTF-8", header + "workflow:\n  - type: agent\n    name: \xff\n",
			`in.yaml:4:11: error: the byte 0xFF is not UTF-8 (bad-encoding); hint: save the file as UTF-8`},
		{"alias bomb", bomb.String() + header + "workflow: *a11\n",
			`in.yaml:1:34: error: the document has more than 200000 values, aliases expanded; that is the limit ` +
				`(too-many-values)`},
		{"10 MB of brackets", header + "workflow: " + strings.Repeat("[", 10<<20),
			`in.yaml: error: the document has 10485793 bytes; the limit is 8388608 (document-too-large)`},
		{"7 MB of brackets", header + "workflow: " + strings.Repeat("[", 7<<20),
			`in.yaml:2:211: error: maps and lists are nested more than 200 deep; that is the limit ` +
				`(document-too-deep)`},
		{"deep steps", header + "workflow: " + strings.Repeat("[{type: parallel, steps: ", 65) +
			"[{type: agent, name: a}]" + strings.Repeat("}]", 65),
			`in.yaml:2:1629: error: steps are nested more than 64 deep (too-deep)`},
		{"deep steps and a reference to one", "agents: {a: {model: openai/m, instruction: '{{ $steps.x" +
			strings.Repeat(".outputs.x", 65) + ".output }}'}}\nworkflow: " +
			strings.Repeat("[{type: parallel, id: x, steps: ", 65) + "[{type: agent, name: a}]" +
			strings.Repeat("}]", 65),
			`in.yaml:2:2084: error: steps are nested more than 64 deep (too-deep)`},
		{"deep conditions", header + "workflow: [{type: agent, id: x, name: a}, " +
			strings.Repeat("{type: condition, condition: '{{ $steps.x.output }}', true: [", 65) +
			"{type: agent, name: a}" + strings.Repeat("]}", 65) + "]",
			`in.yaml:2:4001: error: steps are nested more than 64 deep (too-deep)`},
		{"empty", "", `in.yaml:1:1: error: the document is empty (empty-document)`},
		{"NUL", header + "workflow:\n  - type: agent\n    name: \x00\n",
			`in.yaml:4:11: error: the character U+0000 is not allowed in a document (bad-encoding)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, diags := read(t, c.doc, steps.Options{})
			if diff := cmp.Diff(c.want, strings.TrimSpace(lines(diags))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestReadReportsBounded checks that a document that is wrong throughout yields a limited list.
func TestReadReportsBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("agents:\n")
	for i := range 5000 {
		fmt.Fprintf(&b, "  agent%d: {}\n", i)
	}
	b.WriteString("workflow:\n")
	for i := range 5000 {
		fmt.Fprintf(&b, "  - {type: agent, name: agnet%d}\n", i)
	}
	_, diags := read(t, b.String(), steps.Options{})
	if len(diags) != 100 {
		t.Errorf("%d diagnostics, want 100", len(diags))
	}
	if last := diags[99]; last.Code != "too-many-problems" {
		t.Errorf("the last one is %s", last)
	}
}

// TestReadLarge checks that reading, writing and reading back stay usable for thousands of steps
// with conditions.
func TestReadLarge(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(header + "workflow:\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "  - {id: s%d, type: agent, name: a}\n", i)
		fmt.Fprintf(&b, "  - {id: c%d, type: condition, condition: \"{{ $steps.s%d.output }}\", false: [{id: f%d, "+
			"type: agent, name: b}, s%d]}\n", i, i, i, i)
	}
	w, diags := read(t, b.String(), steps.Options{})
	if diags.HasErrors() {
		t.Fatal(diags.Error())
	}
	if len(w.Nodes) != 6000 {
		t.Errorf("%d nodes", len(w.Nodes))
	}
	checkRoundTrip(t, w)
}

// TestRead_ExternalAgents checks that an agent of the document takes precedence over one of
// `--agents`, and that only named agents are included.
func TestRead_ExternalAgents(t *testing.T) {
	t.Parallel()
	opts := steps.Options{Agents: []workflow.Agent{
		{ID: "a", System: "not this one"},
		{ID: "x", Name: "X", System: "Go on from {{ $steps.a.output }}.", Model: "openai/gpt-5-mini",
			Tools: []string{"*"}},
		{ID: "sub"}, {ID: "unused"},
	}}
	w, diags := read(t, "agents: {a: {instruction: mine, sub_agents: [sub]}}\nworkflow: [{type: agent, name: a}, "+
		"{type: agent, name: x}]\n", opts)
	if len(diags) > 0 {
		t.Fatal(diags.Error())
	}
	var ids []string
	for _, a := range w.Agents {
		ids = append(ids, a.ID)
	}
	if diff := cmp.Diff([]string{"a", "sub", "x"}, ids); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	if got := w.Agent("a").System; got != "mine" {
		t.Errorf("agent a: %q", got)
	}
	if x := w.Agent("x"); !x.Template || x.Name != "X" {
		t.Errorf("agent x: %+v", x)
	}
	if diff := cmp.Diff([]string{"a"}, w.Node("x").Reads); diff != "" {
		t.Errorf("reads of x (-want +got):\n%s", diff)
	}
	_, diags = read(t, "workflow: [{type: agent, name: y}]\n", opts)
	want := "in.yaml:1:32: error: workflow step[0]: agent \"y\" not found in agents (unknown-agent); hint: did you " +
		"mean \"a\"?\n"
	if diff := cmp.Diff(want, lines(diags)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestKnownToolsetsAndProviders checks that a caller that declares what it can run gets warnings
// for the rest.
func TestKnownToolsetsAndProviders(t *testing.T) {
	t.Parallel()
	doc := `agents:
  a: {model: dmr/qwen, toolsets: [{type: think}, {type: lsp, command: x}, {type: own}]}
  b: {model: opnai/gpt-5}
workflow: [{type: agent, name: a}]
`
	_, diags := read(t, doc, steps.Options{Toolsets: []string{"think", "own"}, Providers: []string{"openai"}})
	want := "in.yaml:2:14: warning: the model provider \"dmr\" is not supported yet (not-supported-yet); hint: " +
		"define it under `providers:` with a base_url, or choose a model of another provider\n" +
		"in.yaml:2:57: warning: toolsets of type \"lsp\" are not supported yet (not-supported-yet); hint: the agent " +
		"runs without its tools\n" +
		"in.yaml:3:14: warning: the model provider \"opnai\" is not supported yet (not-supported-yet); hint: did you " +
		"mean \"openai\"?\n"
	if diff := cmp.Diff(want, lines(diags)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

package canvas_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/format/canvas"
	"github.com/hocket-run/hocket/internal/format/formattest"
	"github.com/hocket-run/hocket/internal/format/source"
)

const small = `{"nodes": [{"id": "s", "type": "start"}], "connections": []}`

// TestBrokenBytes checks documents that cannot be stored in a text archive: bytes, line endings,
// sizes.
func TestBrokenBytes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		data string
		want string // the problems
	}{
		{"byte order mark", "\xef\xbb\xbf" + small, ""},
		{"byte order mark, place of a problem", "\xef\xbb\xbf{\"nodes\": [], \"connections\": 1}",
			"f:1:11: error: No start node found in workflow graph (no-start); hint: add a node of type \"start\" " +
				"@ nodes\n" +
				"f:1:30: error: Invalid workflow graph payload (invalid-graph); hint: \"connections\" must be " +
				"a list, " +
				"not a number @ connections\n"},
		{
			"carriage returns",
			strings.ReplaceAll("{\n\"nodes\": [\n{\"id\": \"s\", \"type\": \"x\"}],\n\"connections\": []}", "\n",
				"\r\n"),
			"f:3:21: error: unknown node type \"x\" (unknown-node-type); hint: the types are start, agent, if, " +
				"approval, tool, workflow, set, ask @ nodes[0].type\n"},
		{"not UTF-8", `{"nodes": [{"id": "` + "\xff" + `", "type": "start"}], "connections": []}`,
			"f:1:20: error: the byte 0xFF is not UTF-8 (bad-encoding); hint: save the file as UTF-8\n"},
		{"empty", "", "f:1:1: error: the document is empty (empty-document)\n"},
		{"blank", " \n\t\r\n", "f:1:1: error: the document is empty (empty-document)\n"},
		{"columns count characters", `{"nodes": [{"id": "日本", "type": "start", "größe": 1}], "connections": []}`,
			"f:1:42: warning: the key \"größe\" is not known here (unknown-key) @ nodes[0][\"größe\"]\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, diags := read("f", []byte(tt.data), canvas.Options{})
			if diff := cmp.Diff(formattest.Report(diags), tt.want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}

// TestLargeDocuments checks that large and deep documents are rejected or read without crashing or
// taking long (SEC17).
func TestLargeDocuments(t *testing.T) {
	t.Parallel()
	list := func(n int, item func(i int) string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(item(i))
		}
		return b.String()
	}
	agents := func(n int, data string) string {
		return list(n, func(i int) string { return fmt.Sprintf(`{"id":"a%d","type":"agent"%s}`, i, data) })
	}
	doc := func(nodes, connections string) string {
		return `{"nodes": [{"id":"s","type":"start"},` + nodes + `], "connections": [` + connections + `]}`
	}
	ring := func(n int) string {
		return list(n, func(i int) string {
			return fmt.Sprintf(`{"source":"a%d","target":"a%d","sourceHandle":"subagent"}`, i, (i+1)%n)
		})
	}
	tests := map[string]struct {
		data string
		code string // a problem that must be found; "" if no errors are expected
	}{
		"10 MB of nesting": {strings.Repeat("[", 10<<20), source.CodeTooLarge},
		"1 MB of nesting":  {`{"nodes": ` + strings.Repeat("[", 1<<20), source.CodeTooDeep},
		"nested input": {`{"nodes": [{"id":"s","type":"start","data":{"initialInput":` +
			strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}}], "connections": []}`, source.CodeTooDeep},
		"4,000 agents in a chain": {doc(agents(4000, ""), `{"source":"s","target":"a0"},`+
			list(3999, func(i int) string { return fmt.Sprintf(`{"source":"a%d","target":"a%d"}`, i, i+1) })), ""},
		"15,000 missing targets": {doc(agents(1, ""),
			list(15000, func(i int) string { return fmt.Sprintf(`{"source":"s","target":"ghost%d"}`, i) })), ""},
		"8,000 equal ids": {doc(list(8000, func(int) string { return `{"id":"a","type":"agent"}` }), ""),
			"duplicate-node"},
		"15,000 conditions": {
			doc(`{"id":"i","type":"if","data":{"conditions":[`+list(15000, func(int) string { return `{"value":"x"}` })+
				`]}}`, list(10000, func(i int) string {
				return fmt.Sprintf(`{"source":"i","target":"s","sourceHandle":"condition-%d"}`, i*7)
			})), ""},
		"30,000 tools": {doc(`{"id":"a","type":"agent","data":{"tools":{`+list(30000,
			func(i int) string { return fmt.Sprintf(`"t%d":true`, i) })+`}}}`, `{"source":"s","target":"a"}`), ""},
		"a ring of 10,000 sub-agents": {doc(agents(10000, `,"data":{"tools":{"subagents":true}}`), ring(10000)),
			"subagent-cycle"},
		"one parent, 3,000 sub-agents": {doc(agents(3000, `,"data":{"tools":{"subagents":true}}`),
			`{"source":"s","target":"a0"},`+list(2999, func(i int) string {
				return fmt.Sprintf(`{"source":"a0","target":"a%d","sourceHandle":"subagent"}`, i+1)
			})), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, diags := read("f", []byte(tt.data), canvas.Options{})
			found := tt.code == "" && !diags.HasErrors()
			for _, d := range diags {
				found = found || d.Code == tt.code
			}
			if !found {
				t.Errorf("no %q among %d problems; first: %v", tt.code, len(diags), diags[:min(3, len(diags))])
			}
			if w != nil && !diags.HasErrors() {
				checkRoundTrip(t, w)
			}
		})
	}
}

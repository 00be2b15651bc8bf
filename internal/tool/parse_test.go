package tool_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v4"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/tool"
)

// noSpan compares specs without their positions.
var noSpan = cmpopts.IgnoreFields(tool.Spec{}, "Span")

func TestParseToolsFile(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		in   string
		want []tool.Spec
		diag string // lines that validate prints
	}{
		{"stdio", `
toolsets:
  - type: mcp
    name: files
    command: npx
    args: [-y, server, 8080, true]
    env: {ROOT: /data, TOKEN: "${TOKEN}"}
    working_dir: sub
    tools: [read, write]
    instruction: Be careful.
    timeout: 90
    idle_timeout: 1m30s
    connect_timeout: 2.5
    policy: retry
`, []tool.Spec{{
			Type: "mcp", Name: "files", Command: "npx", Args: []string{"-y", "server", "8080", "true"},
			Env: map[string]string{"ROOT": "/data", "TOKEN": "${TOKEN}"}, Dir: "sub", Tools: []string{"read", "write"},
			Instruction: "Be careful.",
			Timeout:     90 * time.Second, IdleTimeout: 90 * time.Second, ConnectTimeout: 2500 * time.Millisecond,
			Policy: tool.PolicyRetry,
		}}, ""},
		{
			"remote, in JSON",
			"\uFEFF" +
				`{"toolsets": [{"type": "mcp", "name": "\ud83d\ude00\u00e9", "remote": {"url": "https://h/mcp", ` +
				`"transport_type": "streamable",
	"headers": {"Authorization": "Bearer ${env.T}"}}}]}`,
			[]tool.Spec{{Type: "mcp", Name: "😀é", Remote: &tool.Remote{URL: "https://h/mcp",
				Transport: "streamable",
				Headers:   map[string]string{"Authorization": "Bearer ${env.T}"}}}}, ""},
		{"built-in", "toolsets: [{type: think}, {type: todo, shared: true}]",
			[]tool.Spec{{Type: "think"}, {Type: "todo", Shared: true}}, ""},
		{"numbers and dates", "toolsets: [{type: x, a: 02134, b: 0o17, c: 0.5, d: 2026-01-02, e: -012}]",
			[]tool.Spec{{Type: "x", Options: json.RawMessage(
				`{"a":"02134","b":15,"c":0.5,"d":"2026-01-02","e":"-012"}`)}},
			`f.yaml:1:12: warning: toolsets of type "x" ` +
				`are not supported yet (unsupported-toolset); hint: agents that list it run without its tools`},
		{"empty list", "toolsets: []", nil, ""},
		{"definitions", `
mcps:
  gh: {command: gh-mcp, env: {A: "1", B: "2"}, tools: [x]}
toolsets:
  - {type: mcp, ref: gh, tools: [y], env: {B: "3"}}
`, []tool.Spec{{Type: "mcp", Name: "gh", Command: "gh-mcp", Env: map[string]string{"A": "1", "B": "3"},
			Tools: []string{"y"}}}, ""},
		{"unknown definition", "mcps: {gh: {command: x}}\ntoolsets: [{type: mcp, ref: hg}]",
			[]tool.Spec{{Type: "mcp", Ref: "hg"}},
			"\nf.yaml:2:12: error: ref \"hg\" is not defined in mcps (unknown-ref); hint: did you mean \"gh\"?"},
		{"anchors and merge", `
toolsets:
  - &base {type: mcp, name: a, command: x, args: &args [1]}
  - {<<: *base, name: b, args: *args}
`, []tool.Spec{{Type: "mcp", Name: "a", Command: "x", Args: []string{"1"}},
			{Type: "mcp", Name: "b", Command: "x", Args: []string{"1"}}}, ""},
		{"other types are kept", `
toolsets:
  - {type: lsp, env: {A: 1}, timeout: [odd]}
  - {type: rag, shell: {hi: {cmd: "echo hi"}}}
  - {type: mpc, command: x}
  - {type: mcp, ref: "docker:context7"}
`, []tool.Spec{
			{Type: "lsp", Options: json.RawMessage(`{"env":{"A":1},"timeout":["odd"]}`)},
			{Type: "rag", Options: json.RawMessage(`{"shell":{"hi":{"cmd":"echo hi"}}}`)},
			{Type: "mpc", Options: json.RawMessage(`{"command":"x"}`)},
			{Type: "mcp", Ref: "docker:context7"},
		}, `
f.yaml:3:5: warning: toolsets of type "lsp" are not supported yet (unsupported-toolset); hint: agents that list it ` +
			`run without its tools
f.yaml:4:5: warning: toolsets of type "rag" are not supported yet (unsupported-toolset); hint: agents that list it ` +
			`run without its tools
f.yaml:5:5: error: toolsets of type "mpc" are not supported yet (unsupported-toolset); hint: did you mean "mcp"?
f.yaml:6:5: warning: the Docker catalog ("docker:context7") is not supported (unsupported-ref); hint: name the ` +
			`server's command or its remote url instead`},
		{"keys without effect", "toolsets: [{type: mcp, command: x, defer: true, config: {a: 1}}]",
			[]tool.Spec{{Type: "mcp", Command: "x"}}, `
f.yaml:1:36: warning: "defer" has no effect on a toolset of type mcp (no-effect)
f.yaml:1:49: warning: "config" has no effect on a toolset of type mcp (no-effect)`},
		{"transport", "toolsets: [{type: mcp, remote: {url: 'http://h', transport_type: sse}}]",
			[]tool.Spec{{Type: "mcp", Remote: &tool.Remote{URL: "http://h", Transport: "sse"}}}, `
f.yaml:1:66: warning: transport "sse" is not supported (unsupported-transport); hint: use streamable HTTP: omit ` +
				`transport_type if the server supports it`},
		{"unknown keys", "toolset: []\ntoolsets:\n  - {type: mcp, comand: x}\n  - {type: think, command: x}\n  - " +
			"{type: mcp, remote: {ulr: x}}\n",
			[]tool.Spec{{Type: "mcp"}, {Type: "think"}, {Type: "mcp", Remote: &tool.Remote{}}}, `
f.yaml:1:1: error: unknown key "toolset" in a tools file (unknown-key); hint: did you mean "toolsets"?
f.yaml:3:5: error: an mcp toolset needs a command, a remote or a ref (missing-key)
f.yaml:3:17: error: unknown key "comand" in a toolset of type mcp (unknown-key); hint: did you mean "command"?
f.yaml:4:19: error: unknown key "command" in a toolset of type think (unknown-key)
f.yaml:5:25: error: remote needs a url (missing-key)
f.yaml:5:26: error: unknown key "ulr" in remote (unknown-key); hint: did you mean "url"?`},
		{"wrong values", `
toolsets:
  - {type: mcp, command: [x], args: x, env: [a]}
  - {type: todo, shared: maybe, timeout: soon, policy: hope}
  - {type: mcp, remote: {url: "ftp://x"}}
  - {type: mcp, command: x, remote: {url: "http://h"}}
  - {name: x}
  - think
  - {type: think, timeout: -1}
  - {type: mcp, command: x, env: {"A=B": c}}
`, []tool.Spec{
			{Type: "mcp"}, {Type: "todo"}, {Type: "mcp", Remote: &tool.Remote{URL: "ftp://x"}},
			{Type: "mcp", Command: "x", Remote: &tool.Remote{URL: "http://h"}}, {Type: "think"},
			{Type: "mcp", Command: "x", Env: map[string]string{"A=B": "c"}},
		}, `
f.yaml:3:5: error: command is empty (missing-key)
f.yaml:3:26: error: command must be text, got a list (wrong-type)
f.yaml:3:37: error: args must be a list, got "x" (wrong-type)
f.yaml:3:45: error: must be a map, got a list (wrong-type)
f.yaml:4:26: error: shared must be true or false, got "maybe" (wrong-type)
f.yaml:4:42: error: timeout must be seconds or a duration such as 90s, at most 24h0m0s, got "soon" (bad-value)
f.yaml:4:56: error: policy must be retry, ask, skip or fail, got "hope" (bad-value)
f.yaml:5:31: error: url must be an absolute http or https URL, got "ftp://x" (bad-value)
f.yaml:6:5: error: an mcp toolset has one of command, remote and ref, not several (conflicting-keys)
f.yaml:7:5: error: a toolset needs a type (missing-key); hint: for example ` + "`type: mcp`" + `
f.yaml:8:5: error: a toolset must be a map, got "think" (wrong-type)
f.yaml:9:28: error: timeout must be seconds or a duration such as 90s, at most 24h0m0s, got "-1" (bad-value)
f.yaml:10:34: error: invalid variable name "A=B" (bad-value)`},
		{"empty values", "mcps: {'': {command: x}}\ntoolsets: [{type: mcp, ref: ''}, {type: mcp, ref}]\n",
			[]tool.Spec{{Type: "mcp"}, {Type: "mcp"}}, `
f.yaml:1:12: error: an MCP server has an empty name (bad-value)
f.yaml:2:12: error: ref is empty (missing-key)
f.yaml:2:34: error: ref is empty (missing-key)`},
		{"twice", "toolsets:\n  - {type: think, name: a, name: b}\n  - {type: todo, name: a}\n",
			[]tool.Spec{{Type: "think", Name: "a"}, {Type: "todo", Name: "a"}}, `
f.yaml:2:28: error: duplicate key "name" (duplicate-key)
f.yaml:3:5: error: duplicate toolset "a" (duplicate-name)`},
		{"no list", "a: 1", nil, `
f.yaml:1:1: error: a tools file needs a list ` + "`toolsets`" + ` (missing-key)
f.yaml:1:1: error: unknown key "a" in a tools file (unknown-key)`},
		{"not a map", "- a", nil,
			"\nf.yaml:1:1: error: a tools file needs a list `toolsets` (missing-key)\nf.yaml:1:1: error: must be a " +
				"map, got a list (wrong-type)"},
		{"empty", "", nil, "\nf.yaml: error: yaml: no documents in stream (syntax)"},
		{"syntax", "toolsets: [", nil, "\nf.yaml:2:1: error: did not find expected node content (syntax)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, list := tool.ParseToolsFile("f.yaml", []byte(tc.in))
			if diff := cmp.Diff(tc.want, got, noSpan, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("specs (-want +got):\n%s", diff)
			}
			list.Sort()
			if diff := cmp.Diff(strings.TrimSpace(tc.diag), list.Error()); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
			for _, s := range got {
				roundTrip(t, s, list.HasErrors())
			}
		})
	}
}

// roundTrip encodes a spec as JSON and decodes it again, which is how agents carry their toolsets.
func roundTrip(t *testing.T, s tool.Spec, broken bool) {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var again tool.Spec
	if err := json.Unmarshal(b, &again); err != nil {
		if !broken {
			t.Errorf("%s: %v", b, err)
		}
		return
	}
	if diff := cmp.Diff(s, again, noSpan, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("after a round trip (-want +got):\n%s", diff)
	}
}

// TestParseSpecs checks that formats can pass in a node of their own document and that positions
// refer to that document.
func TestParseSpecs(t *testing.T) {
	t.Parallel()
	var doc yaml.Node
	if err := yaml.Load([]byte("agents:\n  a:\n    toolsets:\n      - type: thnk\n"), &doc); err != nil {
		t.Fatal(err)
	}
	node := doc.Content[0].Content[1].Content[1].Content[1]
	var list diag.List
	specs := tool.ParseSpecs(node, tool.Place{File: "w.yaml", Path: "agents.a.toolsets"}, &list)
	if len(specs) != 1 || len(list) != 1 || list[0].Path != "agents.a.toolsets[0].type" ||
		list[0].Span.String() != "w.yaml:4:9" {
		t.Errorf("%+v\n%+v", specs, list)
	}
	if list.AllowUnknown(); list.HasErrors() {
		t.Error("a type that is not known is an error although it is allowed")
	}
}

// TestAliasBomb checks that the expansion of aliases is limited (SEC17).
func TestAliasBomb(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("toolsets:\n  - type: lsp\n    a: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 12 {
		prev := "*a" + string('0'+rune(i%10))
		if i >= 10 {
			prev = "*b" + string('0'+rune(i-10))
		}
		next := "a" + string('0'+rune(i+1))
		if i >= 9 {
			next = "b" + string('0'+rune(i-9))
		}
		b.WriteString("    k" + next + ": &" + next + " [" + strings.TrimSuffix(strings.Repeat(prev+", ", 10), ", ") +
			"]\n")
	}
	_, list := tool.ParseToolsFile("f.yaml", []byte(b.String()))
	if !list.HasErrors() {
		t.Error("no problem was found")
	}
}

func TestTrust(t *testing.T) {
	t.Parallel()
	a := tool.Spec{Type: "mcp", Command: "npx", Args: []string{"-y", "x"}}
	b := tool.Spec{Type: "mcp", Command: "y", Dir: "d", Env: map[string]string{"B": "$B", "A": "1"}}
	remote := tool.Spec{Type: "mcp", Remote: &tool.Remote{URL: "http://h"}}
	want := [][]string{{"npx", "-y", "x"}, {"env", "-C", "d", "A=1", "B=$B", "y"}}
	if diff := cmp.Diff(want, tool.Commands([]tool.Spec{a, remote, b, a})); diff != "" {
		t.Error(diff)
	}
	// The person's approval is valid for the same commands, in any order (D19), and for nothing
	// else.
	hash := tool.TrustHash([]tool.Spec{a, b})
	if tool.TrustHash([]tool.Spec{b, remote, a, a}) != hash {
		t.Error("the hash depends on order or on what starts nothing")
	}
	if tool.TrustHash([]tool.Spec{remote}) != "" || tool.TrustHash(nil) != "" {
		t.Error("no command has a hash")
	}
	for name, change := range map[string]func(*tool.Spec){
		"command": func(s *tool.Spec) { s.Command = "z" }, "argument": func(s *tool.Spec) { s.Args = []string{"-y x"} },
		"env": func(s *tool.Spec) { s.Env = map[string]string{"PATH": "/evil"} }, "dir": func(s *tool.Spec) {
			s.Dir = "/evil"
		},
	} {
		other := a
		change(&other)
		if tool.TrustHash([]tool.Spec{other, b}) == hash {
			t.Errorf("a change of %s keeps the hash", name)
		}
	}
}

func FuzzParseToolsFile(f *testing.F) {
	f.Add([]byte("toolsets:\n  - {type: mcp, command: x, args: [a], remote: {url: http://h}}\n"))
	f.Add([]byte(`{"toolsets":[{"type":"todo","x":"\ud83d\ude00\ud83d"}]}`))
	f.Add([]byte("toolsets: &a\n  - *a\n  - {<<: *a, type: mcp}\nmcps: {x: {ref: x}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		specs, list := tool.ParseToolsFile("f", data)
		tool.TrustHash(specs)
		if list.HasErrors() {
			return
		}
		for _, s := range specs {
			roundTrip(t, s, false)
		}
	})
}

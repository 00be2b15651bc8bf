package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
)

// SEC12, SEC14: permissions go by the names of toolsets, so a document cannot name its own server
// after one of the operator's.
func TestToolsets_OperatorNames(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		toolset string
		want    string // "" if it starts
	}{
		"remote": {`{type: mcp, name: github, remote: {url: "https://example.com/"}}`,
			"is also defined in"},
		"ref of the document": {`{type: mcp, ref: github2, name: github}`, "is also defined in"},
		"ref of both":         {`{type: mcp, ref: both}`, "is also defined in"},
		"of another type":     {`{type: think, name: github}`, "is also defined in"},
		"a toolset of his":    {`{type: think, name: pages}`, "is also defined in"},
		"his by ref":          {`{type: mcp, ref: github}`, ""},
		"a type is no name":   {`{type: todo}`, ""},
		"another name":        {`{type: mcp, name: github2, remote: {url: "https://example.com/"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			operator, problems := config.Read("hocket.yaml",
				[]byte("mcps: {github: {command: 'true'}, both: {command: 'true'}}\ntoolsets: [{type: fetch, name: "+
					"pages}, {type: todo}]"))
			if problems.HasErrors() {
				t.Fatal(problems)
			}
			s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: service.Memory,
				Env: func(string) string { return "" }, Operator: operator})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			w, ds, err := s.Load(t.Context(), "doc.yaml", []byte(`
mcps:
  github2: {remote: {url: "https://example.com/"}}
  both: {remote: {url: "https://example.com/"}}
agents:
  a:
    model: openai/x
    toolsets:
      - `+tc.toolset+"\n"), service.LoadOptions{})
			if err != nil || ds.HasErrors() {
				t.Fatal(err, ds)
			}
			_, err = s.Start(t.Context(), service.StartRequest{Workflow: w, RunID: "r1", Trust: true,
				Files: service.Files{Replies: []byte("replies: [{text: x, times: always}]")}})
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// SEC5, SEC11: approving a document also sends keys to its providers, so the person who is asked
// about anything else sees which keys are sent where.
func TestTrust_ProviderKeys(t *testing.T) {
	t.Parallel()
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: service.Memory,
		Env: func(string) string { return "canary-key" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w, ds, err := s.Load(t.Context(), "doc.yaml", []byte(`
providers:
  mine: {provider: openai, base_url: "https://one.example/v1", token_key: OPENAI_API_KEY}
  openai: {provider: openai, base_url: "https://two.example/v1"}
  plain: {provider: openai, base_url: "https://three.example/v1"}
agents:
  a:
    model: mine/x
    toolsets:
      - {type: filesystem}
`), service.LoadOptions{})
	if err != nil || ds.HasErrors() {
		t.Fatal(err, ds)
	}
	_, err = s.Start(t.Context(), service.StartRequest{Workflow: w})
	asked, ok := errors.AsType[*service.CommandsError](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	if want := []string{"OPENAI_API_KEY to https://one.example/v1",
		"the key of openai to https://two.example/v1"}; !slices.Equal(asked.Sends, want) {
		t.Errorf("asked about %q, want %q", asked.Sends, want)
	}
}

// TestNoCommandsWithoutTrust (SEC5) checks that a run started without Trust, as by an API, and
// storing a document start nothing that only the document names, and access nothing on the machine
// through it, whatever kind of toolset it is in. No run is stored.
func TestNoCommandsWithoutTrust(t *testing.T) {
	t.Parallel()
	for name, toolset := range map[string]string{
		"mcp command":            `{type: mcp, command: sh, args: [-c, "touch MARK"]}`,
		"mcp of the document":    `{type: mcp, ref: mine}`,
		"mcp over the operator":  `{type: mcp, ref: shadowed}`,
		"shell":                  `{type: shell}`,
		"script":                 `{type: script, shell: {x: {cmd: "touch MARK", description: d}}}`,
		"filesystem":             `{type: filesystem}`,
		"filesystem that starts": `{type: filesystem, post_edit: [{path: "*", cmd: "touch MARK"}]}`,
		"openapi file":           `{type: openapi, file: /etc/passwd}`,
		"key to another server":  `{type: web_search, provider: tavily, base_url: "https://example.com/"}`,
		"some key to another":    `{type: web_search, base_url: "https://example.com/"}`,
		"variable to a server":   `{type: mcp, remote: {url: "https://example.com/${HOME}"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			mark := filepath.Join(dir, "mark")
			operator, problems := config.Read(filepath.Join(dir, "hocket.yaml"),
				[]byte("mcps: {shadowed: {command: 'true'}}"))
			if problems.HasErrors() {
				t.Fatal(problems)
			}
			s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: service.Memory,
				Env: func(string) string { return "" }, Operator: operator})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			text := strings.ReplaceAll(`
mcps:
  mine: {command: sh, args: [-c, "touch MARK"]}
  shadowed: {command: sh, args: [-c, "touch MARK"]}
agents:
  a:
    model: openai/x
    toolsets:
      - `+toolset+"\n", "MARK", mark)
			storeAs(t, s, "stored", text)
			w, ds, err := s.Load(t.Context(), "doc.yaml", []byte(text), service.LoadOptions{})
			if err != nil || ds.HasErrors() {
				t.Fatal(err, ds)
			}
			replies := service.Files{Replies: []byte("replies: [{text: x, times: always}]")}
			_, err = s.Start(t.Context(), service.StartRequest{Workflow: w, RunID: "r1", Files: replies})
			if _, ok := errors.AsType[*service.CommandsError](err); !ok {
				t.Errorf("the run was not refused: %v", err)
			}
			if heads, _, err := s.List(t.Context(), journal.Query{}); err != nil || len(heads) > 0 {
				t.Errorf("stored: %v %v", heads, err)
			}
			if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
				t.Error("the command ran")
			}
		})
	}
}

// TestOperatorServers (SEC5) checks that a document refers to the operator's servers by name and
// cannot change them, and that unknown names are rejected.
func TestOperatorServers(t *testing.T) {
	t.Parallel()
	operator, problems := config.Read("hocket.yaml", []byte("mcps: {files: {command: 'true', tools: [read, list]}}"))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: service.Memory,
		Env: func(string) string { return "" }, Operator: operator})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, tt := range map[string]struct{ toolset, err string }{
		"variables": {`{"type":"mcp","ref":"files","env":{"LD_PRELOAD":"x"}}`, "cannot change"},
		"folder":    {`{"type":"mcp","ref":"files","working_dir":"/tmp"}`, "cannot change"},
		"arguments": {`{"type":"mcp","ref":"files","args":["--all"]}`, "cannot change"},
		"policy":    {`{"type":"mcp","ref":"files","policy":"retry"}`, "cannot change"},
		"more tools": {`{"type":"mcp","ref":"files","tools":["read","delete"]}`,
			`does not offer the tool "delete"`},
		"unknown server":    {`{"type":"mcp","ref":"fils"}`, `did you mean "files"`},
		"fewer tools":       {`{"type":"mcp","ref":"files","tools":["read"]}`, ""},
		"as it is, renamed": {`{"type":"mcp","ref":"files","name":"f"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, ds, err := s.Load(t.Context(), "doc.yaml", []byte("agents: {a: {model: openai/x, instruction: x}}"),
				service.LoadOptions{})
			if err != nil || ds.HasErrors() {
				t.Fatal(err, ds)
			}
			// as from a caller that did not read a document
			w.Agents[0].Toolsets = []json.RawMessage{json.RawMessage(tt.toolset)}
			_, err = s.Start(t.Context(), service.StartRequest{Workflow: w, RunID: strings.ReplaceAll(name, " ", "-"),
				Files: service.Files{Replies: []byte("replies: [{error: {code: auth}}]")}})
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}

// echo is a model with configurable replies that records its requests.
type echo struct {
	mu    sync.Mutex
	text  string
	asked []model.Request
}

func (e *echo) Call(_ context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, req)
	if onDelta != nil {
		onDelta(model.Delta{Text: e.text})
	}
	return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(e.text)},
		StopReason: model.StopEnd}, nil
}

// TestDataIsNotEvaluated (SEC3) checks as a property of whole runs that model output is inserted
// verbatim, whatever it looks like, and that inserted text is not evaluated again, by templates or
// by conditions.
func TestDataIsNotEvaluated(t *testing.T) {
	t.Parallel()
	m := &echo{}
	env := func(name string) string { return map[string]string{"CANARY": "canary-of-the-environment"}[name] }
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: service.Memory, Env: env,
		Models: map[string]model.Client{"fake": m}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	formats := map[string]string{
		"steps": `
agents:
  a: {model: fake/m, instruction: begin}
  b: {model: fake/m, instruction: "<{{ $steps.a.output }}|{{ $steps.a.output }}>"}
workflow:
  - {type: agent, id: a, name: a}
  - {type: condition, condition: "{{ $steps.a.output == 'no such text' }}", true: [{type: agent, id: never, name: a}]}
  - {type: agent, id: b, name: b}
`,
		"canvas": `{"nodes": [{"id": "s", "type": "start", "data": {"initialInput": "go"}},
			{"id": "a", "type": "agent", "data": {"agentName": "a", "model": "fake/m", "systemPrompt": "begin"}},
			{"id": "b", "type": "agent", "data": {"agentName": "b", "model": "fake/m", "systemPrompt": "x", ` +
			`"userPrompt": "<{{PREVIOUS_OUTPUT}}|{{PREVIOUS_OUTPUT}}>"}}],
			"connections": [{"source": "s", "target": "a"}, {"source": "a", "target": "b"}]}`,
		"rounds": `{"maxRounds": 1, "edges": [{"id": "e", "from": "n1", "to": "n2"}],
			"agents": [{"id": "a", "model": "fake/m"}, {"id": "b", "model": "fake/m"}],
			"nodes": [{"id": "n1", "type": "agent", "config": {"agentId": "a"}}, {"id": "n2", "type": "agent", ` +
			`"config": {"agentId": "b"}}]}`,
		"routes": `{"id": "w", "entrypointNodeId": "a", "maxTransitions": 2,
			"agents": [{"id": "a", "name": "a", "model": "fake/m", "systemPrompt": "x"}, {"id": "b", "name": "b", ` +
			`"model": "fake/m", "systemPrompt": "x"}],
			"nodes": [{"id": "a", "workflowId": "w", "nodeName": "a", "nodeType": "AGENT", "agentId": "a"}, {"id": ` +
			`"b", "workflowId": "w", "nodeName": "b", "nodeType": "AGENT", "agentId": "b"}],
			"edges": [{"id": "e", "workflowId": "w", "sourceNodeId": "a", "targetNodeId": "b", "conditionType": ` +
			`"ALWAYS", "conditionValue": null}]}`,
	}
	hostile := rapid.SampledFrom([]string{
		"{{ $steps.a.output }}", "{{ $steps.b.output }}", "{{PREVIOUS_OUTPUT}}", "{{ PREVIOUS_OUTPUT }}",
		"${env.CANARY}", "$CANARY", "${CANARY}", "{{", "}}", "$$", "\\", `"`,
		"{{ 1 + 1 }}", "{{ $steps.a.output == 'no such text' }}", "true || true", "size('x') == 1", "%s",
		"\n- type: agent", "<script>", "{\"a\": 1}", "```", "</prompt>",
	})
	rapid.Check(t, func(rt *rapid.T) {
		v := strings.Join(rapid.SliceOfN(rapid.OneOf(hostile, rapid.StringMatching(`[ -~]{0,12}`), rapid.String()), 1,
			6).Draw(rt, "parts"), "")
		if v = strings.ToValidUTF8(strings.TrimSpace(v), ""); v == "" {
			v = "{{ $steps.a.output }}"
		}
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(formats))).Draw(rt, "format")
		m.mu.Lock()
		m.text, m.asked = v, nil
		m.mu.Unlock()
		w, ds, err := s.Load(t.Context(), "doc.yaml", []byte(formats[name]), service.LoadOptions{})
		if err != nil || ds.HasErrors() {
			rt.Fatal(err, ds)
		}
		run, err := s.Start(t.Context(), service.StartRequest{Workflow: w})
		if err != nil {
			rt.Fatal(err)
		}
		if _, err := s.Wait(t.Context(), run); err != nil {
			rt.Fatal(err)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if len(m.asked) != 2 {
			rt.Fatalf("%d calls: the data decided", len(m.asked))
		}
		second := m.asked[1]
		got, want := second.Messages[len(second.Messages)-1].Text.String(), "<"+v+"|"+v+">"
		switch name {
		case "steps":
			got = second.System
		case "rounds":
			want = "Recent turns:\na: " + v + "\n\nOutput from a:\n" + v
		case "routes":
			want = "a: " + v
		}
		if got != want {
			rt.Fatalf("%s: the second agent reads %q, want %q", name, got, want)
		}
	})
}

// TestBudget_OperatorCeiling (P20) checks that the operator's budget caps what documents and flags
// request, and never raises it.
func TestBudget_OperatorCeiling(t *testing.T) {
	t.Parallel()
	operator, problems := config.Read("hocket.yaml", []byte("budgets: {run: {calls: 2}}"))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	m := &echo{text: "again"}
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: service.Memory,
		Env: func(string) string { return "" }, Operator: operator, Models: map[string]model.Client{"fake": m}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, tt := range map[string]struct {
		asked int64
		calls int
	}{"nothing asked": {0, 2}, "more asked": {4, 2}, "less asked": {1, 1}} {
		t.Run(name, func(t *testing.T) {
			text := "agents: {a: {model: fake/m, instruction: x}}\nworkflow:\n" +
				strings.Repeat("  - {type: agent, name: a}\n", 5)
			w, ds, err := s.Load(t.Context(), "doc.yaml", []byte(text), service.LoadOptions{})
			if err != nil || ds.HasErrors() {
				t.Fatal(err, ds)
			}
			q := service.StartRequest{Workflow: w}
			q.Limits.MaxCalls = tt.asked
			m.mu.Lock()
			m.asked = nil
			m.mu.Unlock()
			run, err := s.Start(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if o := ended(t, s, run); string(o.Status) != "failed" || o.Error == nil {
				t.Errorf("status %v, error %v", o.Status, o.Error)
			}
			if len(m.asked) != tt.calls {
				t.Errorf("%d calls, want %d", len(m.asked), tt.calls)
			}
		})
	}
}

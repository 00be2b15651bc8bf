package agents_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/workflow"
)

func TestRead(t *testing.T) {
	t.Parallel()
	writer := workflow.Agent{ID: "w", Name: "Writer", System: "You write.\nWell.", Model: "openai/gpt-5-mini",
		Tools: []string{"web_search", "*"}}
	for _, c := range []struct {
		name, file, doc string
		want            []workflow.Agent
		diags           string
	}{
		{
			name: "JSON", file: "a.json",
			doc: `{"agents":[{"id":"w","name":"Writer","systemPrompt":"You ` +
				`write.\nWell.","model":"openai/gpt-5-mini","tools":["web_search","*"]}]}`,
			want: []workflow.Agent{writer},
		},
		{
			name: "YAML", file: "a.yaml",
			doc: "agents:\n  - id: w\n    name: Writer\n    systemPrompt: |-\n      You write.\n      Well.\n    " +
				"model: openai/gpt-5-mini\n    tools: [web_search, '*']\n",
			want: []workflow.Agent{writer},
		},
		{name: "only an id, which may be a number", file: "a.yaml", doc: "agents: [{id: 7}]",
			want: []workflow.Agent{{ID: "7"}}},
		{
			name: "two of one id", file: "a.yaml", doc: "agents:\n  - id: a\n  - id: a\n",
			want: []workflow.Agent{{ID: "a"}},
			diags: `a.yaml:3:9: error: agent id "a" is used twice, first at 2:9 (duplicate-agent); hint: give one of ` +
				"them another id",
		},
		{
			name: "no id", file: "a.yaml", doc: "agents:\n  - name: Writer\n",
			diags: `a.yaml:2:5: error: "id" is missing (missing-key)`,
		},
		{
			name: "empty id", file: "a.yaml", doc: "agents:\n  - id: ''\n",
			diags: `a.yaml:2:9: error: the id of an agent is empty (missing-key)`,
		},
		{
			name: "unknown keys", file: "a.yaml", doc: "agents:\n  - id: a\n    sistemPrompt: x\nmodel: y\n",
			want: []workflow.Agent{{ID: "a"}},
			diags: `a.yaml:3:5: error: the key "sistemPrompt" is not known here (unknown-key); hint: did you mean ` +
				`"systemPrompt"?` + "\n" +
				`a.yaml:4:1: warning: the key "model" is not known here (unknown-key)`,
		},
		{
			name: "a map instead of a list", file: "a.yaml", doc: "agents:\n  a: {model: x}\n",
			diags: `a.yaml:2:3: error: agents must be a list, found a map (wrong-type); hint: write one map with an ` +
				`id for each agent`,
		},
		{name: "no list", file: "a.yaml", doc: "agent: []\n",
			diags: `a.yaml:1:1: error: "agents" is missing (missing-key)` + "\n" +
				`a.yaml:1:1: error: the key "agent" is not known here (unknown-key); hint: did you mean "agents"?`},
		{name: "empty list", file: "a.yaml", doc: "agents: []\n",
			diags: `a.yaml:1:9: warning: the list of agents is empty (no-agents)`},
		{name: "an item that is no map", file: "a.yaml", doc: "agents: [x]\n",
			diags: `a.yaml:1:10: error: expected a map, found a string (wrong-type)`},
		{name: "the list alone", file: "a.yaml", doc: "- id: a\n- id: b\n",
			want: []workflow.Agent{{ID: "a"}, {ID: "b"}}},
		{name: "no map at all", file: "a.yaml", doc: "a\n",
			diags: `a.yaml:1:1: error: expected a map, found a string (wrong-type); hint: the form is {"agents": ` +
				`[{"id": "…", "name": "…", "systemPrompt": "…", "model": "…", "tools": ["…"]}]}`},
		{name: "nothing", file: "a.yaml", doc: "", diags: `a.yaml:1:1: error: the document is empty (empty-document)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, diags := agents.Read(c.file, []byte(c.doc))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(c.diags, strings.TrimSpace(diags.Error())); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
		})
	}
}

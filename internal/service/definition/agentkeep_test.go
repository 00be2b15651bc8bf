package definition_test

import (
	"github.com/hocket-run/hocket/internal/service/definition"

	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/workflow"
)

// wholeAgents uses every supported key of agents.
const wholeAgents = `{"agents": [{"id": "a", "name": "A", "description": "does <it>", "systemPrompt": "Do.", ` +
	`"model": "openai/a", "tools": ["x"],
  "params": {"temperature": 0.5, "topP": 0.9, "frequencyPenalty": 0.1, "presencePenalty": 0.2, "maxTokens": 7, ` +
	`"thinkingBudget": -1, "reasoningEffort": "high",
    "stop": ["<END>"], "provider": {"seed": 12345678901234567890}},
  "toolsets": [{"type": "think"}, {"type": "shell", "timeout": 5}], "subAgents": ["b"], "handoffs": ["b", "c"],
  "structuredOutput": {"name": "o", "description": "an o", "strict": true, "repairs": 0, "schema": {"type": ` +
	`"object", "properties": {"z": {}, "a": {}}}},
  "maxIterations": 9, "maxConsecutiveToolCalls": 3, "toolCalls": "parallel", ` +
	`"fallback": {"models": ["openai/b", "openai/c"], "retries": 3, ` +
	`"cooldown": "2m"}, "compaction": {"at": 0.7, "keep": 4, "pin": ["x"], "model": "openai/d"}, "addDate": true, ` +
	`"addEnvironmentInfo": true,
  "addPromptFiles": ["A.md"], "commands": {"fix": {"description": "fixes", "instruction": "Fix it."}, "say": "Say ` +
	`it."}, "welcomeMessage": "Hello.",
  "permissions": [{"allow": ["x"], "deny": ["shell:cmd=rm *"], "default": "ask"}, {"ask": ["think/*"]}]},
  {"id": "b"}]}`

// TestCatalog_AgentRoundTrip checks that every key of an agent is kept, in both spellings, and that
// the stored agent is the same after it is exported and stored again, from the document and from
// the list with all keys, without warnings (P29).
func TestCatalog_AgentRoundTrip(t *testing.T) {
	t.Parallel()
	want, problems := agents.Read("agents.json", []byte(wholeAgents))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, key := range agents.Names(true, true) {
		if !strings.Contains(wholeAgents, `"`+key+`"`) {
			t.Errorf("the agents do not say %s", key)
		}
	}
	ours := map[string]bool{ // diagnostics of formats, or of the documents around an agent
		"Template": true, "Tokens": true, "Trim": true, "EmptyText": true,
	}
	for v, i := reflect.ValueOf(want[0]), 0; i < v.NumField(); i++ {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() != ours[name] {
			t.Errorf("the field %s is zero: %v", name, v.Field(i).IsZero())
		}
	}
	for name, open := range map[string]func(t *testing.T) *definition.Catalog{
		"in memory": inMemory, "SQLite": func(t *testing.T) *definition.Catalog {
			t.Helper()
			return onDisk(t, filepath.Join(t.TempDir(), "hocket.db"))
		}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			kept := func() []workflow.Agent {
				t.Helper()
				got, problems, err := s.CatalogAgents(t.Context(), []string{"a", "b"})
				if err != nil || len(problems) > 0 {
					t.Fatal(problems, err)
				}
				return got
			}
			shown := func() string {
				t.Helper()
				text, err := s.AgentsText(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			applyAgents(t, s, wholeAgents)
			if diff := cmp.Diff(want, kept()); diff != "" {
				t.Errorf("(-applied +kept):\n%s", diff)
			}
			first := shown()
			rows, err := s.Agents(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var lines []json.RawMessage
			for _, r := range rows {
				lines = append(lines, catalog.AgentJSON(r))
			}
			list, err := json.Marshal(lines)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{first, string(list)} {
				applyAgents(t, s, `{"agents": [{"id": "a"}, {"id": "b"}]}`)
				if diff := cmp.Diff([]workflow.Agent{{ID: "a"}, {ID: "b"}}, kept()); diff != "" {
					t.Errorf("something stayed (-want +got):\n%s", diff)
				}
				applyAgents(t, s, text)
				if diff := cmp.Diff(first, shown()); diff != "" {
					t.Errorf("(-first +second):\n%s", diff)
				}
				if diff := cmp.Diff(want, kept()); diff != "" {
					t.Errorf("(-applied +kept again):\n%s", diff)
				}
			}
		})
	}
}

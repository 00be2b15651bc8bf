package hocket_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/service"
)

// TestAgentHasTheKeysOfDocuments checks that each supported key of agents in documents is a field
// of hocket.Agent with the same name, and that there are no other fields.
func TestAgentHasTheKeysOfDocuments(t *testing.T) {
	t.Parallel()
	other := map[string]string{"id": "Name", "name": "Title"} // a program identifies agents by id
	var want, got []string
	for _, key := range agents.Names(true, true) {
		name := strings.ToUpper(key[:1]) + key[1:]
		if other[key] != "" {
			name = other[key]
		}
		want = append(want, name)
	}
	for f := range reflect.TypeFor[hocket.Agent]().Fields() {
		got = append(got, f.Name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-keys of documents +fields of hocket.Agent\n%s", d)
	}
}

// wholeAgent sets every field, and sayings is the same agent in the form of an agent list.
var wholeAgent = hocket.Agent{
	Name: "clerk", Title: "The clerk", Description: "does it", SystemPrompt: "Do.", Model: "own/m",
	Params: hocket.ModelParams{
		Temperature: graph.Zero, TopP: 0.9, FrequencyPenalty: -0.1, PresencePenalty: 0.2, MaxTokens: 700,
		ReasoningEffort: "high", ThinkingBudget: -1, Stop: []string{"END"},
		Provider: map[string]any{"seed": 3},
	},
	Tools: []string{"lookup"}, Toolsets: []hocket.Toolset{{"type": "think", "name": "pause"}},
	Permissions: hocket.Permissions{Allow: []string{"lookup"}, Ask: []string{"pause/*"},
		Deny: []string{"shell:cmd=rm *"}, Default: "ask"},
	SubAgents: []string{"helper"}, Handoffs: []string{"boss"},
	StructuredOutput: &hocket.StructuredOutput{Name: "o", Description: "an o", Strict: true,
		Schema: graph.SchemaJSON(`{"type": "object"}`), Repairs: graph.Zero},
	MaxIterations: 9, MaxConsecutiveToolCalls: 3,
	Fallback:   hocket.Fallback{Models: []string{"own/b"}, Retries: graph.Zero, Cooldown: 5 * time.Minute},
	Compaction: &hocket.Compaction{At: 0.5, Keep: 3, Pin: []string{"lookup"}, Model: "own/c"},
	AddDate:    true, AddEnvironmentInfo: true, AddPromptFiles: []string{"A.md"},
	Commands:       map[string]hocket.AgentCommand{"fix": {Description: "fixes", Instruction: "Fix it."}},
	WelcomeMessage: "Hello.",
}

const sayings = `[{"id": "clerk", "name": "The clerk", "description": "does it", "systemPrompt": "Do.", "model": ` +
	`"own/m",
	"params": {"temperature": 0, "topP": 0.9, "frequencyPenalty": -0.1, "presencePenalty": 0.2, "maxTokens": 700, ` +
	`"reasoningEffort": "high", "thinkingBudget": -1, "stop": ["END"], "provider": {"seed": 3}},
	"tools": ["lookup"], "toolsets": [{"name": "pause", "type": "think"}],
	"permissions": {"allow": ["lookup"], "ask": ["pause/*"], "deny": ["shell:cmd=rm *"], "default": "ask"}, ` +
	`"subAgents": ["helper"], "handoffs": ["boss"],
	"structuredOutput": {"name": "o", "description": "an o", "strict": true, "repairs": 0, "schema": {"type": ` +
	`"object"}},
	"maxIterations": 9, "maxConsecutiveToolCalls": 3, "fallback": {"models": ["own/b"], "retries": -1, ` +
	`"cooldown": "5m"},
	"compaction": {"at": 0.5, "keep": 3, "pin": ["lookup"], "model": "own/c"}, "addDate": true, ` +
	`"addEnvironmentInfo": true, "addPromptFiles": ["A.md"],
	"commands": {"fix": {"description": "fixes", "instruction": "Fix it."}}, "welcomeMessage": "Hello."}]`

// TestAgentIsThatOfDocuments checks that an agent in Go equals the agent that a document with the
// same keys defines, in every field.
func TestAgentIsThatOfDocuments(t *testing.T) {
	t.Parallel()
	v := reflect.ValueOf(wholeAgent)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the test says nothing of %s", v.Type().Field(i).Name)
		}
	}
	list, problems := agents.Read("agents.json", []byte(sayings))
	if len(problems) > 0 || len(list) != 1 {
		t.Fatal(problems)
	}
	got, err := hocket.AgentDefinition(wholeAgent)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(list[0], got); d != "" {
		t.Errorf("-document +Go\n%s", d)
	}
	tokens, err := hocket.AgentDefinition(hocket.Agent{Name: "a", Compaction: &hocket.Compaction{At: 8000}})
	if err != nil || tokens.Compaction.Tokens != 8000 || tokens.Compaction.At != 0 {
		t.Errorf("%+v, %v", tokens.Compaction, err)
	}
}

// TestAgentsThatCannotBe checks that Open returns an error naming the agent for invalid values
//
func TestAgentsThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		agent hocket.Agent
		want  string
	}{
		"turns": {hocket.Agent{MaxIterations: -1}, "maxTurns must not be negative"},
		"tokens": {hocket.Agent{Params: hocket.ModelParams{MaxTokens: -5}},
			"params.maxTokens must not be negative"},
		"option": {hocket.Agent{Params: hocket.ModelParams{Provider: map[string]any{"f": func() {}}}},
			`Params.Provider "f": json: unsupported type: func()`},
		"at": {hocket.Agent{Compaction: &hocket.Compaction{At: 1.5}},
			"Compaction.At is 1.5; it must be a part of the context window, above 0 and at most 1, or a number of " +
				"tokens, 100 or more"},
		"keep":    {hocket.Agent{Compaction: &hocket.Compaction{Keep: -1}}, "compaction.keep is -1"},
		"retries": {hocket.Agent{Fallback: hocket.Fallback{Retries: -7}}, "fallbackRetries is -7"},
		"cooldown": {hocket.Agent{Fallback: hocket.Fallback{Cooldown: -time.Second}},
			"Fallback.Cooldown is -1s; it must not be negative"},
		"no type": {hocket.Agent{Toolsets: []hocket.Toolset{{"command": "x"}}}, "toolset 0 has no type"},
		"bad type": {hocket.Agent{Toolsets: []hocket.Toolset{{"type": "mpc", "command": "x"}}},
			`unknown type of toolset "mpc"`},
		"bad key": {hocket.Agent{Toolsets: []hocket.Toolset{{"type": "mcp", "comand": "x"}}}, "comand"},
		"pattern": {hocket.Agent{Permissions: hocket.Permissions{Deny: []string{"shell:cmd"}}}, "permissions: "},
		"default": {hocket.Agent{Permissions: hocket.Permissions{Default: "maybe"}}, "permissions: "},
		"itself":  {hocket.Agent{SubAgents: []string{"a"}}, "names itself"},
		"no one":  {hocket.Agent{Handoffs: []string{""}}, "the name of a sub-agent or hand-off target is empty"},
		"no schema": {hocket.Agent{StructuredOutput: &hocket.StructuredOutput{}},
			"StructuredOutput: it has no Schema"},
		"bad schema": {
			hocket.Agent{StructuredOutput: &hocket.StructuredOutput{Schema: graph.SchemaJSON(`{"type": 7}`)}},
			"StructuredOutput: read schema: ",
		},
		"command": {hocket.Agent{Commands: map[string]hocket.AgentCommand{"fix": {}}}, "fix"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.agent.Name = "a"
			e, err := hocket.Open(t.Context(), hocket.Config{}, hocket.WithAgent(tc.agent))
			if err == nil {
				e.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), `agent "a"`) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// TestAgentWithAllItHas checks that an agent's settings take effect in runs that graphs start:
// parameters, a toolset of its own, a sub-agent, a handoff agent, and the schema of its output
//
func TestAgentWithAllItHas(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	model := hocket.ModelFunc(func(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
		mu.Lock()
		defer mu.Unlock()
		var tools []string
		for _, d := range r.Tools {
			tools = append(tools, d.Name)
		}
		slices.Sort(tools)
		asked = append(asked, r.Agent+" "+strings.Join(tools, ","))
		last := r.Messages[len(r.Messages)-1].Text
		switch {
		case r.Agent == "helper":
			return hocket.ModelReply{Text: "1912"}, nil
		case r.Agent == "boss":
			if r.Schema == nil || r.Temperature == nil || *r.Temperature != 0 || *r.MaxTokens != 70 {
				t.Errorf("asked with %s, %v, %v", r.Schema, r.Temperature, r.MaxTokens)
			}
			return hocket.ModelReply{Text: `{"year": 1912}`}, nil
		case last == "when?":
			return hocket.ModelReply{ToolCalls: []hocket.ToolUse{
				{ID: "c1", Name: "transfer_task_helper", Arguments: json.RawMessage(`{"input":"which year?"}`)},
			}}, nil
		}
		return hocket.ModelReply{ToolCalls: []hocket.ToolUse{
			{ID: "c2", Name: "handoff", Arguments: json.RawMessage(`{"agent":"boss"}`)},
		}}, nil
	})
	type answer struct {
		Year int `json:"year"`
	}
	e, err := hocket.Open(t.Context(), hocket.Config{DB: filepath.Join(t.TempDir(), "app.db")},
		hocket.WithModel("own", model),
		hocket.WithAgent(hocket.Agent{Name: "clerk", Model: "own/m", Toolsets: []hocket.Toolset{{"type": "think"}},
			SubAgents: []string{"helper"}, Handoffs: []string{"boss"}}),
		hocket.WithAgent(hocket.Agent{Name: "helper", Model: "own/m", Description: "knows years"}),
		hocket.WithAgent(hocket.Agent{
			Name: "boss", Model: "own/m", Params: hocket.ModelParams{Temperature: graph.Zero, MaxTokens: 70},
			StructuredOutput: &hocket.StructuredOutput{Name: "answer", Schema: graph.SchemaOf[answer]()},
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	r, err := hocket.Run(t.Context(), e, subagent(t, "clerk"), state{Text: "when?"})
	if err != nil || r.Err != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if r.State.Text != `{"year": 1912}` && r.State.Text != `{"year":1912}` {
		t.Errorf("gave %s", r.State.Text)
	}
	want := []string{"clerk handoff,think,transfer_task_helper", "helper ", "clerk handoff,think,transfer_task_helper",
		"boss "}
	if d := cmp.Diff(want, asked); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	r, err = hocket.Run(t.Context(), e, subagent(t, "clerk"), state{Text: "when?"},
		hocket.RunOptions{Limits: graph.Limits{Budget: graph.Budget{MaxCalls: 2}}})
	if err != nil || r.Err == nil {
		t.Errorf("with two calls: %+v, %v", r, err)
	}
}

// TestAgentsOfTheCatalogAreNotAllowed checks that a program allows what its own agents start, and
// that this does not extend to catalog agents that they reference (X-151, SEC5).
func TestAgentsOfTheCatalogAreNotAllowed(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "app.db")
	storeAgents(t, db, `{"agents": [{"id": "stranger", "model": "own/m", "toolsets": [{"type": "shell"}]}]}`)
	e, err := hocket.Open(t.Context(), hocket.Config{DB: db}, hocket.WithModel("own",
		hocket.ModelFunc(func(context.Context, hocket.ModelRequest) (hocket.ModelReply, error) {
			return hocket.ModelReply{Text: "done"}, nil
		})), hocket.WithAgent(hocket.Agent{Name: "own", Model: "own/m", Toolsets: []hocket.Toolset{{"type": "shell"}}}),
		hocket.WithAgent(hocket.Agent{Name: "mixed", Model: "own/m", SubAgents: []string{"stranger"}}))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	r, err := hocket.Run(t.Context(), e, subagent(t, "own"), state{Text: "x"})
	if err != nil || r.Err != nil || r.State.Text != "done" {
		t.Errorf("%+v, %v", r, err)
	}
	for _, name := range []string{"mixed", "stranger"} {
		r, err = hocket.Run(t.Context(), e, subagent(t, name), state{Text: "x"})
		if err != nil || r.Err == nil || !strings.Contains(r.Err.Error(), "shell") {
			t.Errorf("%s: %+v, %v", name, r.Err, err)
		}
	}
}

// storeAgents adds agents to the catalog of a store.
func storeAgents(t *testing.T, db, list string) {
	t.Helper()
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: db, Env: func(string) string {
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, problems, err := s.ApplyAgents(t.Context(),
		service.ApplyAgentsRequest{Documents: []service.Document{{File: "agents.json", Data: []byte(list)}}})
	if err != nil || problems.HasErrors() {
		t.Fatal(err, problems)
	}
}

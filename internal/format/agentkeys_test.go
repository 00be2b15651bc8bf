package format_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/workflow"
)

// body contains all keys of agents that every format has, in the spelling of lists.
const body = `"description": "does it", "params": {"temperature": 0.5, "topP": 0.9, "frequencyPenalty": 0.1, ` +
	`"presencePenalty": 0.2, "maxTokens": 7,
	"thinkingBudget": -1, "reasoningEffort": "high", "stop": ["END"], "provider": {"seed": 3}},
	"toolsets": [{"type": "think"}], "structuredOutput": {"name": "o", "description": "an o", "strict": true, ` +
	`"repairs": 1, "schema": {"type": "object"}},
	"maxIterations": 9, "maxConsecutiveToolCalls": 3, "toolCalls": "parallel", ` +
	`"fallback": {"models": ["openai/b"], "retries": 3, "cooldown": ` +
	`"5m0s"}, "compaction": {"at": 0.5, "keep": 3, "pin": ["x"], "model": "openai/c"}, "addDate": true, ` +
	`"addEnvironmentInfo": true,
	"addPromptFiles": ["A.md"], "commands": {"fix": {"description": "fixes", "instruction": "Fix it."}, "say": "Say ` +
	`it."}, "welcomeMessage": "Hello."`

// snake is body in the spelling of steps documents.
var snake = strings.NewReplacer("topP", "top_p", "frequencyPenalty", "frequency_penalty", "presencePenalty",
	"presence_penalty", "maxTokens", "max_tokens",
	"thinkingBudget", "thinking_budget", "reasoningEffort", "reasoning_effort", `"provider"`, `"provider_opts"`,
	"structuredOutput", "structured_output",
	"maxIterations", "max_iterations", "maxConsecutiveToolCalls", "max_consecutive_tool_calls",
	"toolCalls", "tool_calls", "addDate", "add_date", "addEnvironmentInfo", "add_environment_info",
	"addPromptFiles", "add_prompt_files", "welcomeMessage", "welcome_message").Replace(body)

// documents returns a document of each format whose first agent has the keys of body, and hands
// over to b and calls it if others is set.
func documents(body, others string) map[string]string {
	list := `"agents": [{"id": "a", "systemPrompt": "Do.", "model": "openai/a", "tools": ["x"], ` + others + body +
		`}, {"id": "b", "systemPrompt": "Help.", "description": "helps"}]`
	handoffs := ""
	if others != "" {
		handoffs = `"handoffs": ["b"], `
	}
	return map[string]string{
		format.Steps: `{"workflow": [{"type": "agent", "name": "a"}], ` + list + `}`,
		format.Rounds: `{"nodes": [{"id": "n", "type": "agent", "config": {"agentId": "a"}}], "edges": [], ` + list +
			`}`,
		format.Routes: `{"id": "w", "name": "w", "entrypointNodeId": "n", "nodes": [{"id": "n", "workflowId": "w", ` +
			`"nodeType": "AGENT", "nodeName": "N", "agentId": "a"}], "edges": [], ` + list + `}`,
		format.Canvas: `{"nodes": [{"id": "s", "type": "start"}, {"id": "a", "type": "agent", "data": ` +
			`{"systemPrompt": "Do.", "model": "openai/a", "tools": {"x": true}, ` + handoffs + body +
			`}}, {"id": "b", "type": "agent", "data": {"systemPrompt": "Help."}}], "connections": [{"source": "s", ` +
			`"target": "a"}]}`,
	}
}

const others = `"subAgents": ["b"], "handoffs": ["b"], `

// TestAgentKeysInEveryFormat checks that every key of an agent has the same meaning in every
// format, in either spelling.
func TestAgentKeysInEveryFormat(t *testing.T) {
	t.Parallel()
	half, one := 0.5, 1
	topP, frequency, presence, budget, tokens := 0.9, 0.1, 0.2, int64(-1), int64(7)
	want := workflow.Agent{
		ID: "a", Description: "does it", Model: "openai/a", Tools: []string{"x"}, System: "Do.",
		Params: workflow.ModelParams{
			Temperature: &half, TopP: &topP, FrequencyPenalty: &frequency, PresencePenalty: &presence,
			MaxTokens: &tokens, ThinkingBudget: &budget,
			ReasoningEffort: "high", Stop: []string{"END"},
			Provider: map[string]json.RawMessage{"seed": json.RawMessage("3")},
		},
		Toolsets: []json.RawMessage{json.RawMessage(`{"type":"think"}`)}, Fallbacks: []string{"openai/b"},
		FallbackRetries: 3, FallbackCooldown: workflow.Duration(5 * time.Minute), Compaction: &workflow.Compaction{
			At: 0.5, Keep: 3, Pin: []string{"x"}, Model: "openai/c",
		}, MaxTurns: 9, NoProgress: 3, ToolCalls: workflow.ToolCallsParallel, AddDate: true,
		AddEnvironment: true, PromptFiles: []string{"A.md"}, Welcome: "Hello.",
		Commands: map[string]workflow.Command{"fix": {Description: "fixes", Instruction: "Fix it."},
			"say": {Instruction: "Say it."}},
		Output: &workflow.Output{Name: "o", Strict: true, Repairs: &one,
			Schema: json.RawMessage(`{"description":"an o","type":"object"}`)},
		Handoffs: []string{"b"}, SubagentFailure: workflow.SubagentReports,
		Subagents: []workflow.Subagent{
			{Agent: "b", Tool: "transfer_task_b", Description: `Hand a task to the agent "b" and get its result. Say ` +
				`in the input all that it must know. What it does: helps`},
		},
	}
	for spelling, text := range map[string]string{"lists": body, "steps": snake} {
		for name, doc := range documents(text, others) {
			t.Run(name+" as "+spelling, func(t *testing.T) {
				t.Parallel()
				w, problems := format.Read("f", []byte(doc), format.Options{Format: name, Toolsets: []string{"think"}})
				if problems.HasErrors() {
					t.Fatal(problems.Error())
				}
				for _, d := range problems {
					if d.Code == "unknown-key" {
						t.Error(d)
					}
				}
				want := want
				switch name {
				case format.Steps:
					want.Template = true
				case format.Canvas: // its sub-agents are connections and its agents have names
					want.Name, want.Trim, want.EmptyText, want.Subagents, want.SubagentFailure = "Agent", true,
						"Model returned no text output.", nil, ""
				case format.Routes: // its edges determine the successor
					want.Subagents, want.SubagentFailure, want.Handoffs = nil, "", nil
					for _, key := range []string{"subAgents", "handoffs"} {
						if !slices.ContainsFunc(problems, func(d diag.Diagnostic) bool {
							return d.Code == agents.CodeUnsupported && strings.Contains(d.Message, key)
						}) {
							t.Errorf("%s is not reported", key)
						}
					}
				}
				if d := cmp.Diff(want, *w.Agent("a")); d != "" {
					t.Errorf("-want +got\n%s", d)
				}
			})
		}
	}
}

// TestAgentKeysSurviveConversion checks that the settings of agents are not lost when a document is
// written in another format, and are unchanged in its own (P29).
func TestAgentKeysSurviveConversion(t *testing.T) {
	t.Parallel()
	for from, doc := range documents(body, "") {
		w, problems := format.Read("f", []byte(doc), format.Options{Format: from})
		if problems.HasErrors() {
			t.Fatal(problems.Error())
		}
		for _, to := range format.Names() {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				text, unsupported, err := format.Write(w, to)
				if err != nil {
					t.Fatal(err)
				}
				for _, u := range unsupported {
					for _, k := range agents.Keys() {
						if k.List != "" && !slices.Contains([]string{"id", "name", "model"}, k.List) &&
							strings.Contains(u.What, k.List) {
							t.Errorf("%s is lost: %s", k.List, u.What)
						}
					}
				}
				// nodes that the format lacks may be missing
				back, problems := format.Read("g", text, format.Options{Format: to})
				if back == nil || len(back.Agents) == 0 {
					t.Fatalf("%s\n%s", problems.Error(), text)
				}
				said, heard := *w.Agent("a"), back.Agents[0]
				for _, a := range []*workflow.Agent{&said, &heard} { // these depend on the format
					a.ID, a.Name, a.Template, a.Trim, a.EmptyText = "", "", false, false, ""
				}
				if to == format.Steps { // these three cannot be expressed, which is reported
					for _, what := range []string{"stop sequences", "repairs", "reasoning effort"} {
						if !slices.ContainsFunc(unsupported, func(u format.Unsupported) bool {
							return strings.Contains(u.What, what)
						}) {
							t.Errorf("the %s is not reported: %v", what, unsupported)
						}
					}
					o := *said.Output
					o.Repairs = nil
					said.Output, said.Params.Stop, said.Params.ReasoningEffort = &o, nil, ""
				}
				if d := cmp.Diff(said, heard); d != "" {
					t.Errorf("-before +after\n%s\n%s", d, text)
				}
			})
		}
	}
}

// TestAgentKeys_Unsupported checks that every unsupported key is reported by name in every format,
// unless its value has no effect.
func TestAgentKeys_Unsupported(t *testing.T) {
	t.Parallel()
	for _, key := range agents.Names(false, false) {
		for name, doc := range documents(fmt.Sprintf(`%q: [1]`, key), "") {
			_, problems := format.Read("f", []byte(doc), format.Options{Format: name})
			said := 0
			for _, d := range problems {
				if d.Code == agents.CodeUnsupported && strings.Contains(d.Message, `"`+key+`"`) {
					said++
				}
			}
			if said != 1 {
				t.Errorf("%s: %q is reported %d times: %v", name, key, said, problems)
			}
		}
		for name, doc := range documents(fmt.Sprintf(`%q: false`, key), "") {
			if _, problems := format.Read("f", []byte(doc), format.Options{Format: name}); strings.Contains(
				fmt.Sprint(problems), key) {
				t.Errorf("%s: %q has no effect and is reported: %v", name, key, problems)
			}
		}
	}
}

// TestToolsets_UnknownType checks that a toolset that the program cannot open is reported by
// its type, in every format.
func TestToolsets_UnknownType(t *testing.T) {
	t.Parallel()
	for name, doc := range documents(`"toolsets": [{"type": "think"}, {"type": "a2a"}]`, "") {
		_, problems := format.Read("f", []byte(doc), format.Options{Format: name, Toolsets: []string{"think"}})
		said := slices.DeleteFunc(slices.Clone(problems), func(d diag.Diagnostic) bool {
			return !strings.Contains(d.Message, `"a2a"`)
		})
		if len(said) == 0 || strings.Contains(fmt.Sprint(problems), `"think"`) {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

package agents

import (
	"encoding/json"

	"github.com/hocket-run/hocket/workflow"
)

// Rest is the document form of what agents have in addition to id, name, prompt, model and tools:
// the counterpart of [Common]. The zero Rest writes nothing.
type Rest struct {
	Params         *workflow.ModelParams       `json:"params,omitempty"`
	Toolsets       []json.RawMessage           `json:"toolsets,omitempty"`
	Subagents      []string                    `json:"subAgents,omitempty"`
	Handoffs       []string                    `json:"handoffs,omitempty"`
	Output         *Output                     `json:"structuredOutput,omitempty"`
	MaxIterations  int                         `json:"maxIterations,omitempty"`
	MaxSameCalls   int                         `json:"maxConsecutiveToolCalls,omitempty"`
	ToolCalls      string                      `json:"toolCalls,omitempty"`
	Fallback       *Fallback                   `json:"fallback,omitempty"`
	Compaction     any                         `json:"compaction,omitempty"`
	AddDate        bool                        `json:"addDate,omitempty"`
	AddEnvironment bool                        `json:"addEnvironmentInfo,omitempty"`
	PromptFiles    []string                    `json:"addPromptFiles,omitempty"`
	Permissions    []workflow.Permissions      `json:"permissions,omitempty"`
	Commands       map[string]workflow.Command `json:"commands,omitempty"`
	Welcome        string                      `json:"welcomeMessage,omitempty"`
}

// Output is the document form of a structured output.
type Output struct {
	Name    string          `json:"name,omitempty"`
	Strict  bool            `json:"strict,omitempty"`
	Repairs *int            `json:"repairs,omitempty"`
	Schema  json.RawMessage `json:"schema"`
}

// Fallback is the document form of an agent's behavior when a model fails.
type Fallback struct {
	Models   []string          `json:"models,omitempty"`
	Retries  int               `json:"retries,omitempty"`
	Cooldown workflow.Duration `json:"cooldown,omitempty"`
}

// RestOf returns the document form of a. Sub-agents are included if the format names them in a key
// of the agent (named); description returns the description of an agent. unsupported lists what
// cannot be written.
func RestOf(a *workflow.Agent, named bool, description func(id string) string) (r Rest, unsupported []string) {
	r = Rest{
		Toolsets: a.Toolsets, Handoffs: a.Handoffs, MaxIterations: a.MaxTurns, MaxSameCalls: a.NoProgress,
		ToolCalls:      a.ToolCalls,
		AddDate:        a.AddDate,
		AddEnvironment: a.AddEnvironment, PromptFiles: a.PromptFiles, Permissions: a.Permissions, Commands: a.Commands,
		Welcome: a.Welcome, Compaction: CompactionOf(a.Compaction),
	}
	if p := a.Params; !p.IsZero() {
		r.Params = &p
	}
	if o := a.Output; o != nil {
		r.Output = &Output{Name: o.Name, Strict: o.Strict, Repairs: o.Repairs, Schema: o.Schema}
	}
	if len(a.Fallbacks) > 0 || a.FallbackRetries != 0 || a.FallbackCooldown != 0 {
		r.Fallback = &Fallback{a.Fallbacks, a.FallbackRetries, a.FallbackCooldown}
	}
	if !named {
		return r, nil
	}
	taken := map[string]bool{}
	for _, s := range a.Subagents {
		r.Subagents = append(r.Subagents, s.Agent)
		want := Subagent(s.Agent, description(s.Agent), taken)
		if s.Tool != want.Tool {
			unsupported = append(unsupported, "the tool name \""+s.Tool+"\" of the sub-agent \""+s.Agent+"\"")
		}
		if s.Description != want.Description {
			unsupported = append(unsupported, "the description of the sub-agent \""+s.Agent+"\" as a tool")
		}
	}
	if len(a.Subagents) > 0 && a.SubagentFailure != workflow.SubagentReports {
		unsupported = append(unsupported, "that a failed sub-agent fails it: here the error is sent to the model")
	}
	return r, unsupported
}

package engine

import (
	"encoding/json"
	"regexp"
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// Version is the behavior version that new runs record. A change to what a journal means requires a
// new number, and the behavior of the old number is kept.
const Version = 1

// Plan is a workflow compiled for execution: names resolved, templates, conditions and schemas
// parsed. It is immutable and safe for concurrent use by any number of runs.
type Plan struct {
	root   *plan.Flow
	digest string
	out    []string // only PortOut
	// completed is the event that completes a step with its last result, through PortOut; all steps
	// and runs share it.
	completed *event.StepCompleted
	host      Host
	// signals are the names of the signals that steps wait for, sorted.
	signals []string
}

// Workflow returns the definition that the plan was compiled from.
func (p *Plan) Workflow() *workflow.Workflow { return p.root.Workflow }

// Digest returns the definition's digest.
func (p *Plan) Digest() string { return p.digest }

// Compile compiles a plan. The workflow must be valid ([workflow.Validate]); problems that only
// Compile can find, such as a template that cannot be parsed or a Go function that host does not
// have, are errors. host may be nil for workflows without Go functions. expressions compiles
// anything more than a reference; it may be nil for workflows that have no such expression, such as
// Go graphs.
func Compile(w *workflow.Workflow, host Host, expressions expr.Compiler) (*Plan, error) {
	digest, err := w.Digest()
	if err != nil {
		return nil, err
	}
	root, err := plan.Compile(w, expressions)
	if err != nil {
		return nil, err
	}
	if c, ok := host.(Counting); ok {
		root.FindCounters(c.Counter)
	}
	out := []string{workflow.PortOut}
	return &Plan{root: root, digest: digest, host: host, out: out, signals: w.Signals(),
		completed: &event.StepCompleted{Given: true, Ports: out}}, nil
}

// toolDefs returns the definitions of agent a's tools that the engine answers itself: its
// sub-agents, and docker-agent's name for all of them where the system prompt speaks of it.
func toolDefs(f *plan.Flow, a *plan.Agent) []chat.ToolDef {
	defs := make([]chat.ToolDef, 0, len(a.Subagents))
	for _, s := range a.Subagents {
		desc := s.Description
		if desc == "" {
			if sub := f.Agents[s.Agent]; sub != nil {
				desc = sub.Description
			}
		}
		defs = append(defs, chat.ToolDef{Name: s.Tool, Description: desc, Parameters: subagentParams})
	}
	if len(defs) > 0 && transferNamed.MatchString(a.System) {
		defs = append(defs, transferDef(a))
	}
	return slices.Clip(defs)
}

// transferNamed matches texts that name [workflow.TransferTool].
var transferNamed = regexp.MustCompile(`\b` + workflow.TransferTool + `\b`)

func transferDef(a *plan.Agent) chat.ToolDef {
	var ids []string
	for _, s := range a.Subagents {
		ids = append(ids, s.Agent)
	}
	names, _ := json.Marshal(ids) // strings always encode
	return chat.ToolDef{Name: workflow.TransferTool,
		Description: "Hand a task to one of your agents and get its result.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"agent":{"type":"string","enum":` + string(names) +
			`,"description":"The agent that does the task."},"task":{"type":"string","description":"The task, with ` +
			`everything the agent needs to know."},"expected_output":{"type":"string","description":"What the result ` +
			`is to be."}},"required":["agent","task"],"additionalProperties":false}`)}
}

var subagentParams = json.RawMessage(`{"type":"object","properties":{"input":{"type":"string","description":"The ` +
	`task for this agent, with everything it needs to know."}},"required":["input"],"additionalProperties":false}`)

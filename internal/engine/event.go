package engine

import (
	"encoding/json"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

// Value is any JSON value in compact form; nil stands for JSON null. A text is a JSON string. Values are shared and never changed.
type Value = json.RawMessage

// Edit is a change of a part of one field of a typed state.
type Edit = typed.Edit

// Type names an event as it is stored and shown.
type Type string

// Event is one recorded fact of a run. Seq counts from 1 without gaps. At is UTC in microseconds. Node and Step are empty where the event
// belongs to the whole run.
type Event struct {
	Seq  uint64
	At   time.Time
	Node string
	// Step counts executions in the run from 1 (D6).
	Step int
	Data Data
}

// Data is what an event tells; each event type has its own.
type Data interface {
	Type() Type
	data()
}

// RunCreated is the first event of every run: what is to be run, with what.
type RunCreated struct {
	// Version is the engine's behaviour version under which the run goes on for life.
	Version  int    `json:"version"`
	Workflow string `json:"workflow,omitempty"` // id in the catalog
	Name     string `json:"name,omitempty"`
	Format   string `json:"format,omitempty"`
	// Digest is the definition's (P9).
	Digest string `json:"digest"`
	Input  Value  `json:"input,omitempty"`
	// Limits are those in force: the definition's under the flags of the run.
	Limits workflow.Limits `json:"limits"`
	// Prices are those of the models of the run. What is not here is not known.
	Prices     []Price `json:"prices,omitempty"`
	ParentRun  string  `json:"parentRun,omitempty"`
	ForkedFrom string  `json:"forkedFrom,omitempty"`
	// Retry: the run goes on with ForkedFrom where that one failed, met a limit or was cancelled, or from one of its steps.
	Retry bool `json:"retry,omitempty"`
	// ForkedAt is when the run was made of ForkedFrom: events before it are of that one. Zero where ForkedFrom is empty.
	ForkedAt time.Time `json:"forkedAt,omitzero"`
	// Above is what the run above leaves for this one, beside Limits; nil: nothing bounds it from there. No reopening and no answer raises it: the run above does.
	Above *workflow.Budget `json:"above,omitempty"`
	// Facts are texts that agents may have put behind their system prompts, by the names FactDate, FactEnvironment and FactFile: facts of the world
	// as they were when the run began.
	Facts map[string]string `json:"facts,omitempty"`
	// Remind is how long waits are open before a reminder, where their node does not say; 0: there is none.
	Remind workflow.Duration `json:"remind,omitempty"`
	// Meta is for projections: target ids, branch, definition version. The engine does not read it.
	Meta map[string]string `json:"meta,omitempty"`
}

// Names of facts; that of a file is FactFile before its name in the document.
const (
	FactDate        = "date"
	FactEnvironment = "environment"
	FactFile        = "file:"
)

// Price is what a model costs, under the reference by which calls of the run name it; "" is the model of agents without one.
type Price struct {
	Model string    `json:"model"`
	Rate  chat.Rate `json:"rate"`
}

// RunStarted says that the entry received the input.
type RunStarted struct{}

// RunPaused says that nothing can go on before a wait is answered. Wait is the one that is asked first.
type RunPaused struct {
	Wait string `json:"wait"`
}

// RunResumed says that a paused, interrupted or ended run goes on. Reason is `answer`, `deadline`, `recovered` or `reopened` (with new Limits).
type RunResumed struct {
	Reason string           `json:"reason"`
	Limits *workflow.Limits `json:"limits,omitempty"`
	// Above takes the place of RunCreated.Above; nil leaves it.
	Above *workflow.Budget `json:"above,omitempty"`
	// By is who set Limits.
	By Actor `json:"by,omitzero"`
	// Trace is the W3C traceparent of the request that let the run go on; "" where it had none. The engine does not read it.
	Trace string `json:"trace,omitempty"`
}

// RunCompleted ends a run. OutputStep is the step whose output is the run's; 0: no output.
type RunCompleted struct {
	OutputStep int `json:"outputStep,omitempty"`
}

// RunFailed ends a run.
type RunFailed struct {
	Error Failure `json:"error"`
}

// RunCancelled ends a run.
type RunCancelled struct {
	Reason string `json:"reason,omitempty"`
}

// RunCancelling says that the run is being cancelled: nothing starts any more, and what its functions give within 5 s still counts (S2-36, D10).
type RunCancelling struct {
	Reason string `json:"reason,omitempty"`
}

// StepStarted says that a node began to execute: it used up Tokens and stands in Scope.
type StepStarted struct {
	Tokens []int         `json:"tokens"`
	Kind   workflow.Kind `json:"kind"`
	// Iteration is the n-th execution of this node, from 1.
	Iteration int `json:"iteration"`
	Scope     int `json:"scope,omitempty"`
	// Agent is the id of the agent of an agent step.
	Agent string `json:"agent,omitempty"`
	// From is the step whose output is the input; 0: the run's input.
	From int `json:"from,omitempty"`
	// Input is what the step was given where it is not the output of From: for an agent, the user message; for a tool, its arguments.
	Input Value `json:"input,omitempty"`
	// Recipe is the input of an agent where it is a text that is made of others; Input is nil then.
	Recipe *prompt.Recipe `json:"recipe,omitempty"`
	// System is the agent's system prompt where templates made it differ from the definition's.
	System string `json:"system,omitempty"`
}

// StepRetrying says that a failed call, or the whole step where Call is empty, is tried again at Until as attempt Attempt.
type StepRetrying struct {
	Attempt int       `json:"attempt"`
	Call    string    `json:"call,omitempty"`
	Until   time.Time `json:"until"`
	Error   Failure   `json:"error"`
}

// StepCompleted ends a step with success.
type StepCompleted struct {
	// Output is nil where Same, Reply, JSON or Given say what it is, where a fork's output follows from its branches, or a sub-flow's from its last
	// step because it has no typed state.
	Output Value `json:"output,omitempty"`
	// Same: the output is the step's input.
	Same bool `json:"same,omitempty"`
	// Reply: the output is the text of the agent's last reply, as it stands there.
	Reply bool `json:"reply,omitempty"`
	// JSON: the output is the JSON in the text of the agent's last reply: [JSONOf] of it.
	JSON bool `json:"json,omitempty"`
	// Given: the output, and Goto, and Update and Edits where both are nil here, are those of the last result of the step: of [FuncReturned],
	// [ToolReturned.Value], or [WaitAnswered].
	Given bool `json:"given,omitempty"`
	// Ports are the ports fired, in order.
	Ports []string `json:"ports,omitempty"`
	// Goto lists nodes that override the edges (S2-34).
	Goto []string `json:"goto,omitempty"`
	// Update holds the top-level fields of the typed state that the step changed, as a whole, and Edits those that it changed in part: edits of the state as the
	// scope of the step sees it when it completes.
	Update map[string]Value `json:"update,omitempty"`
	Edits  []typed.Edit     `json:"edits,omitempty"`
}

// StepFailed ends a step without output. Port is PortError or PortLimit where an edge handles the failure, else the failure goes outward.
type StepFailed struct {
	Error Failure `json:"error"`
	Port  string  `json:"port,omitempty"`
}

// StepCancelled ends a step that was not allowed to finish.
type StepCancelled struct {
	Reason string `json:"reason"`
	// Run is set on the first step that ends because the whole run is being cancelled: the run will end so, once its calls have settled.
	Run *RunCancelled `json:"run,omitempty"`
}

// StepSkipped says that a step can never produce anything: all paths to it were not taken (P2).
type StepSkipped struct {
	Reason string `json:"reason"`
}

// EdgeTaken gives the output of step Event.Step along an edge: a new token at To, or an arrival where To is the join of a fork. Edge is the
// index of the edge in its workflow, -1 for a goto and for the entry.
type EdgeTaken struct {
	Edge  int    `json:"edge"`
	To    string `json:"to"`
	Token int    `json:"token,omitempty"`
	Scope int    `json:"scope,omitempty"`
	// Branch is the 1-based branch of the fork that the edge begins; the token stands in the new scope Scope.
	Branch int `json:"branch,omitempty"`
	// Held: the token waits in the queue of a paused run (D18).
	Held bool `json:"held,omitempty"`
	// State is the first state of the sub-flow that the edge begins, where the program gave it.
	State map[string]Value `json:"state,omitempty"`
}

// SubagentStarted opens the frame Frame inside the agent frame Parent, for the tool call ToolCallID of its model.
type SubagentStarted struct {
	Frame      int    `json:"frame"`
	Parent     int    `json:"parent"`
	ToolCallID string `json:"toolCallId"`
	// Call identifies this call of the sub-agent; ParentCall that of the enclosing sub-agent, empty at depth 1.
	Call       string `json:"call"`
	ParentCall string `json:"parentCall,omitempty"`
	Agent      string `json:"agent"`
	Input      string `json:"input"`
	System     string `json:"system,omitempty"`
	Depth      int    `json:"depth"`
}

// SubagentCompleted closes a frame with its output.
type SubagentCompleted struct {
	Frame  int    `json:"frame"`
	Call   string `json:"call"`
	Output Value  `json:"output,omitempty"`
	// Reply: the output is the text of the sub-agent's last reply, unchanged. JSON: it is the JSON in that text, [JSONOf] of it.
	Reply bool `json:"reply,omitempty"`
	JSON  bool `json:"json,omitempty"`
}

// SubagentFailed closes a frame without output.
type SubagentFailed struct {
	Frame int     `json:"frame"`
	Call  string  `json:"call"`
	Error Failure `json:"error"`
}

// AgentHanded gives the frame Frame to another agent, by the tool call ToolCallID of its model, once all other calls of that reply have their results.
// From is the agent that had it. System is the new agent's system prompt where it differs from the definition's.
type AgentHanded struct {
	Frame      int    `json:"frame,omitempty"`
	ToolCallID string `json:"toolCallId"`
	From       string `json:"from"`
	Agent      string `json:"agent"`
	System     string `json:"system,omitempty"`
}

// ConditionChecked records one evaluated condition: Index counts the cases of a decide node, or the edges of a port, from 0.
type ConditionChecked struct {
	Index  int    `json:"index"`
	Op     string `json:"op,omitempty"`
	Text   string `json:"text,omitempty"`
	Result bool   `json:"result"`
}

// WaitOpened asks a person. Call is empty for wait nodes. Else it is a tool call: without Binding one whose outcome is unknown; with Binding one that
// was not made because a person must decide first (P8).
type WaitOpened struct {
	Wait    string   `json:"wait"`
	Kind    string   `json:"kind"`
	Prompt  string   `json:"prompt,omitempty"`
	Options []string `json:"options,omitempty"`
	Call    string   `json:"call,omitempty"`
	// Deadline is zero where there is none.
	Deadline time.Time `json:"deadline,omitzero"`
	// Remind is when a reminder is due if nobody has answered by then; zero: never.
	Remind time.Time `json:"remind,omitzero"`
	// Tool and Arguments are the held call's as they would be handed to the tool, not anybody's summary, and Binding names the action that an approval
	// is bound to (SEC12).
	Tool      string `json:"tool,omitempty"`
	Arguments Value  `json:"arguments,omitempty"`
	Binding   string `json:"binding,omitempty"`
	// Changed: the tool's definition is not the one that the run holds on to, and an approval accepts the new one (SEC14).
	Changed bool `json:"changed,omitempty"`
	// Schema is what the answer to a held question must fit; nil: anything.
	Schema Value `json:"schema,omitempty"`
	// Limit is the budget about which is asked; nil for all other questions.
	Limit *LimitReached `json:"limit,omitempty"`
	// Below is the wait that this one repeats: the call started a run that waits for a person. Kind, Prompt, Options, Tool, Arguments and Schema are those of
	// that wait, and Binding that of the call, which goes on after any answer. Nil for all other waits.
	Below *Below `json:"below,omitempty"`
	// Input is what the node was given that waits below; nil for all waits without Below, whose steps have it, and for tool calls.
	Input Value `json:"input,omitempty"`
}

// Below is a wait of a run that a call started. Its answer is the answer to that wait, which the caller gives there first.
type Below struct {
	Run  string `json:"run"`
	Wait string `json:"wait"`
	// Person: only a person may answer it, whatever its kind.
	Person bool `json:"person,omitempty"`
}

// WaitAnswered records an answer. For approvals Decision is `approve` or `reject`; for questions Answer is the value.
type WaitAnswered struct {
	Wait     string `json:"wait"`
	Decision string `json:"decision,omitempty"`
	Note     string `json:"note,omitempty"`
	Answer   Value  `json:"answer,omitempty"`
	// Limits are those that the answer to a question about a budget makes.
	Limits *workflow.Limits `json:"limits,omitempty"`
	// Key is that of the request that brought the answer: Answer.Key.
	Key string `json:"key,omitempty"`
	// By is who answered, at the time of the event.
	By Actor `json:"by,omitzero"`
	// Trace is the W3C traceparent of the request that brought the answer; "" where it had none. The engine does not read it.
	Trace string `json:"trace,omitempty"`
}

// WaitReminded says that a wait has been open for so long that somebody should be told again. It changes nothing else, and comes once for a wait at most.
type WaitReminded struct {
	Wait string `json:"wait"`
}

// WaitClosed says that a wait will take no answer any more. Reason is `cancelled`, `deadline` or `ended`.
type WaitClosed struct {
	Wait   string `json:"wait"`
	Reason string `json:"reason"`
	// By is ChannelClock where Reason is `deadline`.
	By Actor `json:"by,omitzero"`
}

// SignalRaised is a note that a node sends out, or where Event is set an event of the program's own: the latter means nothing to anybody but who reads it.
type SignalRaised struct {
	Signal  string           `json:"signal"`
	Message string           `json:"message,omitempty"`
	Data    map[string]Value `json:"data,omitempty"`
	Event   bool             `json:"event,omitempty"`
	// At is when a function sent it, zero where that is the event's own time.
	At time.Time `json:"at,omitzero"`
}

// LimitReached says which bound was met: `max_steps`, `max_bytes`, `max_loop_iterations`, `max_rounds`, `max_turns`, `no_progress`, `timeout`,
// `budget`, `node_budget`, `parent_budget`, `workflow_budget` (Detail says which and what was used), `oscillation`.
type LimitReached struct {
	Limit string `json:"limit"`
	Max   int64  `json:"max"`
	// Round is the number of the round that ended, for max_rounds and for the trail.
	Detail string `json:"detail,omitempty"`
}

// IsHandoff tells whether the run goes on with the person to whom its workflow hands over at a bound (S3-15).
func (d *LimitReached) IsHandoff() bool { return d.Detail == detailHandoff }

// TimerFired says that the time of a timer has come.
type TimerFired struct {
	Timer string `json:"timer"`
}

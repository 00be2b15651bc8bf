package event

import (
	"time"

	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

// StepStarted says that a node began to execute, in Scope. It consumed Tokens.
type StepStarted struct {
	Tokens []int         `json:"tokens"`
	Kind   workflow.Kind `json:"kind"`
	// Iteration is the n-th execution of this node, from 1.
	Iteration int `json:"iteration"`
	Scope     int `json:"scope,omitempty"`
	// Agent is the id of the agent of an agent step.
	Agent string `json:"agent,omitempty"`
	// From is the step whose output is the input; 0: the run's input; below 0: the item of the scope with that number, without the sign.
	From int `json:"from,omitempty"`
	// Input is what the step was given where it is not the output of From: for an agent, the user message; for a tool, its arguments; for a map, its list.
	Input Value `json:"input,omitempty"`
	// Recipe is the input of an agent where it is composed of other texts; Input is nil then.
	Recipe *prompt.Recipe `json:"recipe,omitempty"`
	// System is the agent's system prompt where templates made it differ from the definition's.
	System string `json:"system,omitempty"`
	// Until is when a sleep step ends; nil for steps of other kinds, and where that cannot be told.
	Until *time.Time `json:"until,omitempty"`
	// Expires is when the step fails because its timeout is over; nil: it has none.
	Expires *time.Time `json:"expires,omitempty"`
}

// StepRetrying says that a failed call, or the whole step where Call is empty, is tried again at Until as attempt Attempt. Model is set where the agent itself asks the same model
// again: then Attempt is that of the call, and the retry is none of the step's policy.
type StepRetrying struct {
	Attempt int       `json:"attempt"`
	Call    string    `json:"call,omitempty"`
	Model   string    `json:"model,omitempty"`
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
	// Reply: the output is the text of the agent's last reply, unchanged.
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

// StepFailed ends a step. Port is PortError or PortLimit where an edge handles the failure, PortOut where the step goes on nevertheless; "": the failure goes outward. Output is the
// default that takes the place of the output; nil: there is none, or it is that of a map whose items failed, where the code says so.
type StepFailed struct {
	Error  Failure `json:"error"`
	Port   string  `json:"port,omitempty"`
	Output Value   `json:"output,omitempty"`
}

// StepCancelled ends a step that was not allowed to finish.
type StepCancelled struct {
	Reason string `json:"reason"`
	// Run is set on the first step that ends because the whole run is being cancelled: the run will end so, once its calls have settled.
	Run *RunCancelled `json:"run,omitempty"`
}

// StepSkipped says that a step will never run: no path to it was taken (P2), or its condition does not hold. Then Ports are fired, and what the step was given goes on.
type StepSkipped struct {
	Reason string   `json:"reason"`
	Ports  []string `json:"ports,omitempty"`
}

// EdgeTaken gives the output of step Event.Step along an edge: a new token at To, or an arrival where To is the join of a fork. Edge is the
// index of the edge in its workflow, -1 for a goto, for the entry, and for the items of a map: Step is that of the map, To the node with which an item begins, or the map itself where
// the item of Scope has ended.
type EdgeTaken struct {
	Edge  int    `json:"edge"`
	To    string `json:"to"`
	Token int    `json:"token,omitempty"`
	Scope int    `json:"scope,omitempty"`
	// Branch is the 1-based branch of the fork that the edge begins; the token is in the new scope Scope. Of a map it is the 1-based place of the item.
	Branch int `json:"branch,omitempty"`
	// Queued: the token waits in the queue of a paused run (D18).
	Queued bool `json:"held,omitempty"`
	// State is the first state of the sub-flow that the edge begins, where the program gave it.
	State map[string]Value `json:"state,omitempty"`
}

// ConditionChecked records one evaluated condition: Index counts the cases of a decide node, or the edges of a port, from 0; -1 is the condition of the step itself.
type ConditionChecked struct {
	Index  int    `json:"index"`
	Op     string `json:"op,omitempty"`
	Text   string `json:"text,omitempty"`
	Result bool   `json:"result"`
}

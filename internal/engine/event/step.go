package event

import (
	"time"

	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

// StepStarted records that a node started to execute, in Scope. It consumed Tokens.
type StepStarted struct {
	Tokens []int         `json:"tokens"`
	Kind   workflow.Kind `json:"kind"`
	// Iteration is the number of this execution of the node, counted from 1.
	Iteration int `json:"iteration"`
	Scope     int `json:"scope,omitempty"`
	// Agent is the id of the agent of an agent step.
	Agent string `json:"agent,omitempty"`
	// From is the step whose output is the input; 0 is the run's input, and a negative number is
	// the item of the scope with that number, without the sign.
	From int `json:"from,omitempty"`
	// Input is the input of the step if it is not the output of From: for an agent, the user
	// message; for a tool, its arguments; for a map, its list.
	Input Value `json:"input,omitempty"`
	// Recipe is the input of an agent if it is composed of other texts; Input is then nil.
	Recipe *prompt.Recipe `json:"recipe,omitempty"`
	// System is the agent's system prompt if templates made it differ from the definition's.
	System string `json:"system,omitempty"`
	// Until is when a sleep step ends; nil for steps of other kinds, and if the time cannot be
	// determined.
	Until *time.Time `json:"until,omitempty"`
	// Expires is when the step's timeout expires and the step fails; nil means that it has no
	// timeout.
	Expires *time.Time `json:"expires,omitempty"`
}

// StepRetrying records that a failed call, or the whole step if Call is empty, is retried at Until
// as attempt Attempt. Attempt is 1 if the step continues in a retry of the run: the step's policy
// then counts from there. Model is set if the agent itself calls the same model again:
// Attempt then counts the attempts of the call, and the retry does not belong to the step's policy.
type StepRetrying struct {
	Attempt int       `json:"attempt"`
	Call    string    `json:"call,omitempty"`
	Model   string    `json:"model,omitempty"`
	Until   time.Time `json:"until"`
	Error   Failure   `json:"error"`
}

// StepCompleted ends a step successfully.
type StepCompleted struct {
	// Output is nil if Same, Reply, JSON or Given determine it, if a fork's output follows from its
	// branches, or if a sub-flow's follows from its last step because it has no typed state.
	Output Value `json:"output,omitempty"`
	// Same means that the output is the step's input.
	Same bool `json:"same,omitempty"`
	// Reply means that the output is the unchanged text of the agent's last reply.
	Reply bool `json:"reply,omitempty"`
	// JSON means that the output is the JSON in the text of the agent's last reply, as returned by
	// [JSONOf].
	JSON bool `json:"json,omitempty"`
	// Given means that the output and Goto, and also Update and Edits if both are nil here, are
	// those of the last result of the step: of [FuncReturned], [ToolReturned.Value], or
	// [WaitAnswered].
	Given bool `json:"given,omitempty"`
	// Ports are the ports fired, in order.
	Ports []string `json:"ports,omitempty"`
	// Goto lists nodes that override the edges (S2-34), and Missing those that the step named
	// beside them and that the graph does not have (S2-35).
	Goto    []string `json:"goto,omitempty"`
	Missing []string `json:"missing,omitempty"`
	// Update holds the top-level fields of the typed state that the step changed as a whole, and
	// Edits those that it changed in part, relative to the state that the scope of the step sees
	// when it completes.
	Update map[string]Value `json:"update,omitempty"`
	Edits  []typed.Edit     `json:"edits,omitempty"`
}

// StepFailed ends a step. Port is PortError or PortLimit if an edge handles the failure, and
// PortOut if the step continues nevertheless; "" means that the failure propagates outward. Output
// is the default that replaces the output; nil means that there is none, or that the output is that
// of a map whose items failed, if the code says so.
type StepFailed struct {
	Error  Failure `json:"error"`
	Port   string  `json:"port,omitempty"`
	Output Value   `json:"output,omitempty"`
}

// StepCancelled ends a step that was not allowed to finish.
type StepCancelled struct {
	Reason string `json:"reason"`
	// Run is set on the first step that ends because the whole run is being cancelled: the run will
	// end this way once its calls have settled.
	Run *RunCancelled `json:"run,omitempty"`
}

// StepSkipped records that a step will never run: no path to it was taken (P2), or its condition is
// false. In the latter case Ports are fired, and the step's input is passed on.
type StepSkipped struct {
	Reason string   `json:"reason"`
	Ports  []string `json:"ports,omitempty"`
}

// EdgeTaken passes the output of step Event.Step along an edge: it creates a token at To, or an
// arrival if To is the join of a fork. Edge is the index of the edge in its workflow, or -1 for a
// goto, for the entry, and for the items of a map: Step is then the map's step, and To the node
// with which an item starts, or the map itself if the item of Scope has ended.
type EdgeTaken struct {
	Edge  int    `json:"edge"`
	To    string `json:"to"`
	Token int    `json:"token,omitempty"`
	Scope int    `json:"scope,omitempty"`
	// Branch is the 1-based branch of the fork that the edge starts; the token is in the new scope
	// Scope. For a map it is the 1-based position of the item.
	Branch int `json:"branch,omitempty"`
	// Queued means that the token waits in the queue of a paused run (D18).
	Queued bool `json:"held,omitempty"`
	// State is the initial state of the sub-flow that the edge starts, if the program supplied it.
	State map[string]Value `json:"state,omitempty"`
}

// ConditionChecked records the evaluation of a condition: Index is the case of a decide node, or
// the edge of a port, counted from 0; -1 is the condition of the step itself.
type ConditionChecked struct {
	Index  int    `json:"index"`
	Op     string `json:"op,omitempty"`
	Text   string `json:"text,omitempty"`
	Result bool   `json:"result"`
}

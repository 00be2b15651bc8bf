package event

import (
	"time"

	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

// WaitOpened asks a person. Call is empty for wait nodes, and for a function whose result asks
// ([SignalHumanInput]). Otherwise it is a tool call: without
// Binding, a call whose outcome is unknown; with Binding, a call that was not made because a person
// must decide first (P8).
type WaitOpened struct {
	Wait    string   `json:"wait"`
	Kind    string   `json:"kind"`
	Prompt  string   `json:"prompt,omitempty"`
	Options []string `json:"options,omitempty"`
	Call    string   `json:"call,omitempty"`
	// Deadline is zero if there is none.
	Deadline time.Time `json:"deadline,omitzero"`
	// Remind is when a reminder is due if there is no answer by then; zero means never.
	Remind time.Time `json:"remind,omitzero"`
	// Tool and Arguments are those of the held call, exactly as the tool would receive them.
	// Binding names the action to which an approval is bound (SEC12).
	Tool      string `json:"tool,omitempty"`
	Arguments Value  `json:"arguments,omitempty"`
	Binding   string `json:"binding,omitempty"`
	// Changed means that the tool's definition differs from the pinned one, and that an approval
	// accepts the new one (SEC14).
	Changed bool `json:"changed,omitempty"`
	// Schema is the JSON Schema of the answer to a question; nil means that any answer is valid.
	// For an approval it is the schema of the arguments of the held call if the answer may change
	// them; nil means that it may not.
	Schema Value `json:"schema,omitempty"`
	// Limit is the budget that the question is about; nil for all other questions.
	Limit *LimitReached `json:"limit,omitempty"`
	// Below is the wait that this one repeats: the call started a run that waits for a person.
	// Kind, Prompt, Options, Tool, Arguments and Schema are those of that wait, and Binding is that
	// of the call, which continues after any answer. It is nil for all other waits.
	Below *Below `json:"below,omitempty"`
	// Input is the input of the node that waits in the child run; nil for all waits without Below,
	// whose steps have it, and for tool calls.
	Input Value `json:"input,omitempty"`
	// Signal is the name of the signal that a wait of kind workflow.WaitSignal takes, and Filter
	// describes for people which of those signals it takes; the engine reads the node's filter.
	Signal string `json:"signal,omitempty"`
	Filter string `json:"filter,omitempty"`
	// Roles are the roles that may answer, as the node lists them; empty means everyone who may
	// answer waits of the kind.
	Roles []string `json:"roles,omitempty"`
	// Update and Edits are as in [StepCompleted], for the question of a function: it changes the
	// state before it asks. If both are nil, the changes are those of the function's result.
	Update map[string]Value `json:"update,omitempty"`
	Edits  []typed.Edit     `json:"edits,omitempty"`
}

// SignalHumanInput is the name of the signal with which a function asks a person (S2-52): its
// message and data are the question, and the answer is the output of the step.
const SignalHumanInput = "human_input_required"

// IsEditable reports whether the answer may change the arguments of the held call, either its own
// or that of the child run.
func (d *WaitOpened) IsEditable() bool {
	return d.Kind == workflow.WaitApproval && d.Tool != "" && len(d.Schema) > 0
}

// Below is a wait of a run that a call started. The answer to the wait that repeats it is the
// answer to this one: the caller sends it here first.
type Below struct {
	Run  string `json:"run"`
	Wait string `json:"wait"`
	// Person means that only a person may answer it, whatever its kind.
	Person bool `json:"person,omitempty"`
}

// WaitAnswered records an answer. For approvals Decision is `approve` or `reject`; for questions
// Answer is the value.
type WaitAnswered struct {
	Wait     string `json:"wait"`
	Decision string `json:"decision,omitempty"`
	Note     string `json:"note,omitempty"`
	Answer   Value  `json:"answer,omitempty"`
	// Arguments are those with which an approved call is made instead of the held ones, in
	// canonical form; nil means the held arguments.
	Arguments Value `json:"arguments,omitempty"`
	// Limits are the limits set by the answer to a question about a budget.
	Limits *workflow.Limits `json:"limits,omitempty"`
	// Key is the key of the request that contained the answer: Answer.Key.
	Key string `json:"key,omitempty"`
	// By is who answered, as of the time of the event.
	By Actor `json:"by,omitzero"`
	// Trace is the W3C traceparent of the request that contained the answer; "" if it had none. The
	// engine does not read it.
	Trace string `json:"trace,omitempty"`
	// Kept is the number of the event signal.received if the answer is a signal that was kept; 0
	// means that it has just arrived.
	Kept int `json:"kept,omitempty"`
}

// SignalReceived records a signal that no step takes yet. It is kept until a step takes it or the
// run ends.
type SignalReceived struct {
	Signal string `json:"signal"`
	Value  Value  `json:"value"`
	// Key is the key of the request that contained it, By is who sent it, and Trace is as in
	// WaitAnswered.
	Key   string `json:"key,omitempty"`
	By    Actor  `json:"by,omitzero"`
	Trace string `json:"trace,omitempty"`
}

// WaitReminded records that a reminder of an open wait is due. It changes nothing else, and occurs
// at most once per wait.
type WaitReminded struct {
	Wait string `json:"wait"`
}

// WaitClosed records that a wait accepts no more answers. Reason is `cancelled`, `deadline` or
// `ended`.
type WaitClosed struct {
	Wait   string `json:"wait"`
	Reason string `json:"reason"`
	// By is ChannelClock if Reason is `deadline`.
	By Actor `json:"by,omitzero"`
}

// TimerFired records that a timer is due.
type TimerFired struct {
	Timer string `json:"timer"`
}

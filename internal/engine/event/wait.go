package event

import (
	"time"

	"github.com/hocket-run/hocket/workflow"
)

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
	// Remind is when a reminder is due if there is no answer by then; zero: never.
	Remind time.Time `json:"remind,omitzero"`
	// Tool and Arguments are the held call's, exactly as the tool would get them. Binding names the action to which an approval is bound (SEC12).
	Tool      string `json:"tool,omitempty"`
	Arguments Value  `json:"arguments,omitempty"`
	Binding   string `json:"binding,omitempty"`
	// Changed: the tool's definition is not the pinned one, and an approval accepts the new one (SEC14).
	Changed bool `json:"changed,omitempty"`
	// Schema is the JSON Schema of the answer to a question; nil: any answer is valid. Of an approval it is that of the arguments of the held call, where the answer may
	// change them; nil: it may not.
	Schema Value `json:"schema,omitempty"`
	// Limit is the budget about which is asked; nil for all other questions.
	Limit *LimitReached `json:"limit,omitempty"`
	// Below is the wait that this one repeats: the call started a run that waits for a person. Kind, Prompt, Options, Tool, Arguments and Schema are those of
	// that wait, and Binding that of the call, which goes on after any answer. Nil for all other waits.
	Below *Below `json:"below,omitempty"`
	// Input is what the node was given that waits below; nil for all waits without Below, whose steps have it, and for tool calls.
	Input Value `json:"input,omitempty"`
	// Signal is the name of the signal that a wait of kind workflow.WaitSignal takes, and Filter says which of them, for people; the engine reads the node's.
	Signal string `json:"signal,omitempty"`
	Filter string `json:"filter,omitempty"`
	// Roles are those who may answer, as the node has them; empty: all who may answer waits of the kind.
	Roles []string `json:"roles,omitempty"`
}

// IsEditable tells whether the answer may change the arguments of the held call: its own, or that of the run below.
func (d *WaitOpened) IsEditable() bool {
	return d.Kind == workflow.WaitApproval && d.Tool != "" && len(d.Schema) > 0
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
	// Arguments are those with which an approved call is made in the place of the held ones, in canonical form; nil: those that were held.
	Arguments Value `json:"arguments,omitempty"`
	// Limits are those that the answer to a question about a budget makes.
	Limits *workflow.Limits `json:"limits,omitempty"`
	// Key is that of the request that brought the answer: Answer.Key.
	Key string `json:"key,omitempty"`
	// By is who answered, at the time of the event.
	By Actor `json:"by,omitzero"`
	// Trace is the W3C traceparent of the request that brought the answer; "" where it had none. The engine does not read it.
	Trace string `json:"trace,omitempty"`
	// Kept is the number of the event signal.received where a signal that was kept is the answer; 0: it came just now.
	Kept int `json:"kept,omitempty"`
}

// SignalReceived records a signal that no step takes yet. It is kept until one does or the run ends.
type SignalReceived struct {
	Signal string `json:"signal"`
	Value  Value  `json:"value"`
	// Key is that of the request that brought it, By who sent it, and Trace as in WaitAnswered.
	Key   string `json:"key,omitempty"`
	By    Actor  `json:"by,omitzero"`
	Trace string `json:"trace,omitempty"`
}

// WaitReminded says that a reminder of an open wait is due. It changes nothing else, and occurs at most once for a wait.
type WaitReminded struct {
	Wait string `json:"wait"`
}

// WaitClosed says that a wait takes no more answers. Reason is `cancelled`, `deadline` or `ended`.
type WaitClosed struct {
	Wait   string `json:"wait"`
	Reason string `json:"reason"`
	// By is ChannelClock where Reason is `deadline`.
	By Actor `json:"by,omitzero"`
}

// TimerFired says that the time of a timer has come.
type TimerFired struct {
	Timer string `json:"timer"`
}

package event

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/compact"
	"github.com/hocket-run/hocket/internal/engine/typed"
)

// ModelCalled asks a model. The conversation is the first Length messages of Conversation after Added were appended (D3).
type ModelCalled struct {
	Call         string         `json:"call"`
	Attempt      int            `json:"attempt"`
	Frame        int            `json:"frame,omitempty"`
	Agent        string         `json:"agent"`
	Model        string         `json:"model,omitempty"`
	Conversation string         `json:"conversation"`
	Length       int            `json:"length"`
	Added        []chat.Message `json:"added,omitempty"`
	// Reserved is what a budget keeps for the call; nil: no budget does.
	Reserved *Reserved `json:"reserved,omitempty"`
	// Instead is set where Model is a fallback: the model that failed, and how.
	Instead *Instead `json:"instead,omitempty"`
	// Compaction is set where the call asks for a summary of a part of the conversation; nil: it is the agent's.
	Compaction *Compaction `json:"compaction,omitempty"`
}

// Compaction says which part of a conversation a summary is to take the place of, and why.
type Compaction struct {
	// Reason is [CompactThreshold] or [CompactOverflow].
	Reason string `json:"reason"`
	// Tokens is how many the conversation was taken to have.
	Tokens int64 `json:"tokens"`
	// Left are the messages that go.
	Left []compact.Range `json:"left"`
	// Overflow is the call whose conversation its provider did not take, which is given up; "": there is none.
	Overflow string `json:"overflow,omitempty"`
}

// Reasons of a compaction.
const (
	CompactThreshold = "threshold" // the conversation had as many tokens as its agent says
	CompactOverflow  = "overflow"  // the provider did not take it
)

// AgentCompacted says what became of a call for a summary. Without an error the summary, which is the reply of Call, has taken the place of the messages Left of the conversation; else
// the conversation stays whole.
type AgentCompacted struct {
	Call         string          `json:"call"`
	Frame        int             `json:"frame,omitempty"`
	Conversation string          `json:"conversation"`
	Left         []compact.Range `json:"left,omitempty"`
	// Before and After are how many messages the conversation had and has.
	Before int `json:"before"`
	After  int `json:"after"`
	// Removed and Summary are digests: of the messages that went, in order, and of the summary. The texts are in the events that made them.
	Removed string   `json:"removed,omitempty"`
	Summary string   `json:"summary,omitempty"`
	Error   *Failure `json:"error,omitempty"`
}

// Instead is a model that is not asked, and the code of the failure for which it is not.
type Instead struct {
	Model string `json:"model,omitempty"`
	Code  string `json:"code"`
}

// Reserved is a number of tokens that a call may use. The provider is asked to stop at Output. Bound names the budget, `run` or `node`, that left
// no more, so that an answer that is cut there met it; "": the agent's own bound is met first.
type Reserved struct {
	Input  int64  `json:"input"`
	Output int64  `json:"output"`
	Bound  string `json:"bound,omitempty"`
}

// ModelReplied is the answer. Late: the call was cancelled before; the answer counts for usage only (D10).
type ModelReplied struct {
	Call    string       `json:"call"`
	Attempt int          `json:"attempt"`
	Message chat.Message `json:"message"`
	// Usage is nil where the provider told none; CostUSD is nil where the price is not known (D14).
	Usage   *chat.Usage `json:"usage,omitempty"`
	CostUSD *float64    `json:"costUSD,omitempty"`
	// UsageEstimated says why Usage is an estimate and not what the provider told, which cannot be; "": it is that.
	UsageEstimated string `json:"usageEstimated,omitempty"`
	Model          string `json:"model,omitempty"`
	Stop           string `json:"stop,omitempty"`
	// Source is the entry of a reply script that answered, so that a resumed run knows which are used (D19).
	Source string `json:"source,omitempty"`
	Late   bool   `json:"late,omitempty"`
	// Warning says that the reply is empty, or a refusal; "": it is neither.
	Warning string `json:"warning,omitempty"`
	// Compaction: the answer is a summary and no part of the conversation.
	Compaction bool `json:"compaction,omitempty"`
	// Details are for telemetry; the engine does not read them.
	Details *chat.CallDetails `json:"details,omitempty"`
}

// Words of [ModelReplied.Stop].
const (
	StopLength  = "length"  // the answer was cut at its bound
	StopRefusal = "refusal" // the model declined
)

// ReplyWarning says what is wrong with a reply: it is empty, or the model declined; "" for others. stop is [ModelReplied.Stop].
func ReplyWarning(m *chat.Message, stop string) string {
	switch {
	case stop == StopRefusal:
		return "the model refused to answer"
	case len(m.ToolCalls) > 0 || !m.Text.IsBlank():
		return ""
	case stop == StopLength:
		return "the model's answer is empty: it was cut off at its limit of output tokens"
	}
	return "the model's answer is empty"
}

// ModelFailed is a call without answer.
type ModelFailed struct {
	Call    string  `json:"call"`
	Attempt int     `json:"attempt"`
	Error   Failure `json:"error"`
	// Model is the reference that was asked, as in ModelReplied; "" where none was found.
	Model string `json:"model,omitempty"`
	// Usage and CostUSD are those of a call that gave no answer and was paid for nevertheless, as in ModelReplied; nil: unknown (D10, D14).
	Usage          *chat.Usage `json:"usage,omitempty"`
	CostUSD        *float64    `json:"costUSD,omitempty"`
	UsageEstimated string      `json:"usageEstimated,omitempty"`
	// Source is the entry of a reply script that failed the call, as in ModelReplied.
	Source  string            `json:"source,omitempty"`
	Late    bool              `json:"late,omitempty"`
	Details *chat.CallDetails `json:"details,omitempty"` // as in ModelReplied
}

// Withheld tells whether the call was never made, because the budget of the workflow left nothing for it: then it counts nowhere as a call.
func (d *ModelFailed) Withheld() bool { return d.Error.Code == CodeWorkflowBudget && d.Usage == nil }

// ToolCalled is the intent to call a tool (P12). Arguments is nil where they are in the reply that asked, under ToolCallID, or are the input of the step.
type ToolCalled struct {
	Call       string `json:"call"`
	Attempt    int    `json:"attempt"`
	Frame      int    `json:"frame,omitempty"`
	Tool       string `json:"tool"`
	ToolCallID string `json:"toolCallId,omitempty"`
	Arguments  Value  `json:"arguments,omitempty"`
}

// ToolReturned is a tool's result. IsError: the tool tells a failure, which an agent's model gets to read. Where the engine itself answered
// (arguments that are no JSON, a routing tool), Call is empty and Frame and ToolCallID say what was answered. Structured does not repeat Text:
// [ToolReturned.Whole] is the result as the tool gave it.
type ToolReturned struct {
	Call       string `json:"call,omitempty"`
	Attempt    int    `json:"attempt,omitempty"`
	Frame      int    `json:"frame,omitempty"`
	ToolCallID string `json:"toolCallId,omitempty"`
	Text       string `json:"text"`
	Structured Value  `json:"structured,omitempty"`
	// JSON: the structured result is the JSON in Text, [JSONOf] of it. Member names the member of Structured that is Text; it is null here.
	JSON    bool   `json:"json,omitempty"`
	Member  string `json:"member,omitempty"`
	IsError bool   `json:"isError,omitempty"`
	Late    bool   `json:"late,omitempty"`
}

// ToolFailed is a call that gave no result.
type ToolFailed struct {
	Call    string  `json:"call"`
	Attempt int     `json:"attempt"`
	Error   Failure `json:"error"`
	Late    bool    `json:"late,omitempty"`
	// Unknown: the tool may have done its work nevertheless. What follows is decided by the tool's policy; no model reads this failure (P12).
	Unknown bool `json:"unknown,omitempty"`
	// Kept: what the call was to start had no budget left. The call is made again under a larger one; no model reads this failure (P20).
	Kept bool `json:"kept,omitempty"`
}

// ToolsPinned says which definitions of tools are pinned in the run: those that were listed first, and those that a person accepted since (SEC14). Pins is
// an object by tool; later ones replace earlier ones of the same key. The engine does not read it.
type ToolsPinned struct {
	Pins Value `json:"pins"`
}

// FuncCalled is the intent to call a Go function.
type FuncCalled struct {
	Call    string `json:"call"`
	Attempt int    `json:"attempt"`
	Func    string `json:"func"`
}

// FuncReturned is a Go function's result (D27): the changed top-level fields of the state, an output, and where to go.
type FuncReturned struct {
	Call    string           `json:"call"`
	Attempt int              `json:"attempt"`
	Update  map[string]Value `json:"update,omitempty"`
	// Edits are changes of fields in part: edits of the state that the function was given.
	Edits   []typed.Edit   `json:"edits,omitempty"`
	Output  Value          `json:"output,omitempty"`
	Goto    []string       `json:"goto,omitempty"`
	Signals []SignalRaised `json:"signals,omitempty"`
	// Error is set where the function failed; all else but Output is then empty.
	Error *Failure `json:"error,omitempty"`
	Late  bool     `json:"late,omitempty"`
	// Kept: a budget left nothing for what the function was about to do. The same attempt is made again under a larger one, and nothing else follows from this failure (P20).
	Kept bool `json:"kept,omitempty"`
}

// FuncNoted keeps what a sub-step of a Go function gave, under a key that is unique in its execution: a later attempt finds it instead of doing the
// sub-step again (ADR 12).
type FuncNoted struct {
	Call    string `json:"call"`
	Attempt int    `json:"attempt"`
	Key     string `json:"key"`
	Value   Value  `json:"value,omitempty"`
}

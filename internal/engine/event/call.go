package event

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/compact"
	"github.com/hocket-run/hocket/internal/engine/typed"
)

// ModelCalled requests a model call. The conversation is the first Length messages of Conversation
// after Added were appended (D3).
type ModelCalled struct {
	Call         string         `json:"call"`
	Attempt      int            `json:"attempt"`
	Frame        int            `json:"frame,omitempty"`
	Agent        string         `json:"agent"`
	Model        string         `json:"model,omitempty"`
	Conversation string         `json:"conversation"`
	Length       int            `json:"length"`
	Added        []chat.Message `json:"added,omitempty"`
	// Reserved is what a budget reserves for the call; nil means that no budget does.
	Reserved *Reserved `json:"reserved,omitempty"`
	// Instead is set if Model is a fallback: the model that failed, and how.
	Instead *FallbackFrom `json:"instead,omitempty"`
	// Compaction is set if the call requests a summary of a part of the conversation; nil means
	// that the call is the agent's own.
	Compaction *Compaction `json:"compaction,omitempty"`
}

// Compaction says which part of a conversation a summary will replace, and why.
type Compaction struct {
	// Reason is [CompactThreshold] or [CompactOverflow].
	Reason string `json:"reason"`
	// Tokens is the assumed number of tokens of the conversation.
	Tokens int64 `json:"tokens"`
	// Left are the messages to be replaced.
	Left []compact.Range `json:"left"`
	// Overflow is the call whose conversation its provider rejected, which is abandoned; "" means
	// that there is none.
	Overflow string `json:"overflow,omitempty"`
}

// The reasons for a compaction.
const (
	CompactThreshold = "threshold" // the conversation reached the agent's token threshold
	CompactOverflow  = "overflow"  // the provider rejected the conversation
)

// AgentCompacted is the outcome of a summary call. Without an error, the summary, which is the
// reply to Call, has replaced the messages Left of the conversation; otherwise the conversation
// stays whole.
type AgentCompacted struct {
	Call         string          `json:"call"`
	Frame        int             `json:"frame,omitempty"`
	Conversation string          `json:"conversation"`
	Left         []compact.Range `json:"left,omitempty"`
	// Before and After are the numbers of messages in the conversation before and after.
	Before int `json:"before"`
	After  int `json:"after"`
	// Removed and Summary are digests: of the removed messages, in order, and of the summary. The
	// texts are in the events that created them.
	Removed string   `json:"removed,omitempty"`
	Summary string   `json:"summary,omitempty"`
	Error   *Failure `json:"error,omitempty"`
}

// FallbackFrom is the model that a fallback replaces, and the code of the failure that caused this.
type FallbackFrom struct {
	Model string `json:"model,omitempty"`
	Code  string `json:"code"`
}

// Reserved is the number of tokens that a call may use. The provider is asked to stop at Output.
// Bound names the budget that left no more (`run`, `node`, or `above`, what the parent run left),
// so that an answer that is cut off there has exhausted it; "" means that the agent's own limit is
// reached first.
type Reserved struct {
	Input  int64  `json:"input"`
	Output int64  `json:"output"`
	Bound  string `json:"bound,omitempty"`
}

// ModelReplied is the reply to a model call. Late means that the call had already been cancelled;
// the reply counts for usage only (D10).
type ModelReplied struct {
	Call    string       `json:"call"`
	Attempt int          `json:"attempt"`
	Message chat.Message `json:"message"`
	// Usage is nil if the provider reported none; CostUSD is nil if the price is unknown (D14).
	Usage   *chat.Usage `json:"usage,omitempty"`
	CostUSD *float64    `json:"costUSD,omitempty"`
	// UsageEstimated is why Usage is an estimate instead of the provider's report, which is
	// implausible; "" means that Usage is the report.
	UsageEstimated string `json:"usageEstimated,omitempty"`
	Model          string `json:"model,omitempty"`
	Stop           string `json:"stop,omitempty"`
	// Source is the entry of a reply script that answered, so that a resumed run knows which
	// entries are used (D19).
	Source string `json:"source,omitempty"`
	Late   bool   `json:"late,omitempty"`
	// Concurrent are the indexes of the tool calls of Message that may be in flight together with
	// neighbours in the same list; every other call is made alone. Asks are the indexes of those
	// that a person must decide about, as far as is known now: they are asked about at once, even
	// if their turn comes later.
	Concurrent []int `json:"concurrent,omitempty"`
	Asks       []int `json:"asks,omitempty"`
	// Warning says that the reply is empty, cut off or a refusal, or what people should know about
	// the call; otherwise it is "".
	Warning string `json:"warning,omitempty"`
	// Compaction means that the reply is a summary and not part of the conversation.
	Compaction bool `json:"compaction,omitempty"`
	// Details are for telemetry; the engine does not read them.
	Details *chat.CallDetails `json:"details,omitempty"`
	// Guarded are the tools of the reply with which its agent delegates (sub-agents, the hand-off)
	// and whose calls the permissions may deny or ask about: they are called as tools first.
	Guarded []string `json:"guarded,omitempty"`
}

// Values of [ModelReplied.Stop].
const (
	StopLength  = "length"  // the answer was cut off at its limit
	StopRefusal = "refusal" // the model declined
)

// ReplyWarning returns what is wrong with a reply: it is empty or cut off, or the model declined.
// It returns "" for other replies. stop is [ModelReplied.Stop].
func ReplyWarning(m *chat.Message, stop string) string {
	switch {
	case stop == StopRefusal:
		return "the model refused to answer"
	case len(m.ToolCalls) == 0 && m.Text.IsBlank() && stop == StopLength:
		return "the model's answer is empty: it was cut off at its limit of output tokens"
	case len(m.ToolCalls) == 0 && m.Text.IsBlank():
		return "the model's answer is empty"
	case stop == StopLength:
		return "the model's answer was cut off at its limit of output tokens"
	}
	return ""
}

// ModelFailed is a model call without a reply.
type ModelFailed struct {
	Call    string  `json:"call"`
	Attempt int     `json:"attempt"`
	Error   Failure `json:"error"`
	// Model is the model reference that was called, as in ModelReplied; "" if none was found.
	Model string `json:"model,omitempty"`
	// Usage and CostUSD are those of a call that returned no reply but was paid for nevertheless,
	// as in ModelReplied; nil means unknown (D10, D14).
	Usage          *chat.Usage `json:"usage,omitempty"`
	CostUSD        *float64    `json:"costUSD,omitempty"`
	UsageEstimated string      `json:"usageEstimated,omitempty"`
	// Source is the entry of a reply script that failed the call, as in ModelReplied.
	Source  string            `json:"source,omitempty"`
	Late    bool              `json:"late,omitempty"`
	Details *chat.CallDetails `json:"details,omitempty"` // as in ModelReplied
}

// Withheld reports whether the call was never made because the budget of the workflow left nothing
// for it; such a call is not counted anywhere.
func (d *ModelFailed) Withheld() bool { return d.Error.Code == CodeWorkflowBudget && d.Usage == nil }

// ToolCalled is the intent to call a tool (P12). Arguments is nil if the arguments are in the reply
// that requested the call, under ToolCallID, or are the input of the step.
type ToolCalled struct {
	Call       string `json:"call"`
	Attempt    int    `json:"attempt"`
	Frame      int    `json:"frame,omitempty"`
	Tool       string `json:"tool"`
	ToolCallID string `json:"toolCallId,omitempty"`
	Arguments  Value  `json:"arguments,omitempty"`
	// CheckOnly means that nothing is called: the attempt only finds out whether a person must
	// decide about the call, which is made when the calls before it have ended.
	CheckOnly bool `json:"checkOnly,omitempty"`
}

// ToolReturned is a tool's result. IsError means that the tool reports a failure, which an agent's
// model can read. If the engine itself answered (arguments that are not JSON, a routing tool), Call
// is empty, and Frame and ToolCallID identify what was answered. Structured does not repeat Text:
// [ToolReturned.Whole] is the original result of the tool.
type ToolReturned struct {
	Call       string `json:"call,omitempty"`
	Attempt    int    `json:"attempt,omitempty"`
	Frame      int    `json:"frame,omitempty"`
	ToolCallID string `json:"toolCallId,omitempty"`
	Text       string `json:"text"`
	Structured Value  `json:"structured,omitempty"`
	// JSON means that the structured result is the JSON in Text, as returned by [JSONOf]. Member
	// names the member of Structured that is Text; it is null here.
	JSON    bool   `json:"json,omitempty"`
	Member  string `json:"member,omitempty"`
	IsError bool   `json:"isError,omitempty"`
	Late    bool   `json:"late,omitempty"`
	// Permitted means that this is no result: the permissions allow the call of a guarded tool
	// ([ModelReplied.Guarded]), which the engine answers, or a call that was only checked
	// ([ToolCalled.CheckOnly]). The call stays open in its turn.
	Permitted bool `json:"permitted,omitempty"`
}

// ToolFailed is a call that returned no result.
type ToolFailed struct {
	Call    string  `json:"call"`
	Attempt int     `json:"attempt"`
	Error   Failure `json:"error"`
	Late    bool    `json:"late,omitempty"`
	// Unknown means that the tool may have done its work anyway. The tool's policy decides what
	// follows; no model reads this failure (P12).
	Unknown bool `json:"unknown,omitempty"`
	// Kept means that no budget was left for what the call was about to start. The call is repeated
	// with a larger budget; no model reads this failure (P20).
	Kept bool `json:"kept,omitempty"`
}

// ToolsPinned records the tool definitions that are pinned in the run: those that were listed
// first, and those that a person accepted since (SEC14). Pins is an object keyed by tool; later
// entries replace earlier ones with the same key. The engine does not read it.
type ToolsPinned struct {
	Pins Value `json:"pins"`
}

// FuncCalled is the intent to call a Go function.
type FuncCalled struct {
	Call    string `json:"call"`
	Attempt int    `json:"attempt"`
	Func    string `json:"func"`
}

// FuncReturned is a Go function's result (D27): the changed top-level fields of the state, an
// output, and the next nodes.
type FuncReturned struct {
	Call    string           `json:"call"`
	Attempt int              `json:"attempt"`
	Update  map[string]Value `json:"update,omitempty"`
	// Edits are partial changes of fields, relative to the state that the function received.
	Edits   []typed.Edit   `json:"edits,omitempty"`
	Output  Value          `json:"output,omitempty"`
	Goto    []string       `json:"goto,omitempty"`
	Signals []SignalRaised `json:"signals,omitempty"`
	// Error is set if the function failed; all fields except Output are then empty.
	Error *Failure `json:"error,omitempty"`
	Late  bool     `json:"late,omitempty"`
	// Kept means that a budget left nothing for what the function was about to do. The same attempt
	// is repeated with a larger budget, and this failure has no other effect (P20).
	Kept bool `json:"kept,omitempty"`
}

// FuncNoted stores the result of a sub-step of a Go function, under a key that is unique in its
// execution: a later attempt finds it instead of repeating the sub-step (ADR 12).
type FuncNoted struct {
	Call    string `json:"call"`
	Attempt int    `json:"attempt"`
	Key     string `json:"key"`
	Value   Value  `json:"value,omitempty"`
}

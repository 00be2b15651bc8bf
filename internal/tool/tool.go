package tool

import (
	"context"
	"encoding/json"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
)

// Policy says what becomes of a call whose outcome is not known, because the process died between intent and result (P12).
type Policy string

const (
	// PolicyRetry makes the call again with the same key: for tools that are declared idempotent or that only read.
	PolicyRetry Policy = "retry"
	// PolicyAsk lets a person decide. It is the default of every tool that is not declared idempotent.
	PolicyAsk Policy = "ask"
	// PolicySkip goes on without a result.
	PolicySkip Policy = "skip"
	// PolicyFail fails the step.
	PolicyFail Policy = "fail"
)

// Valid tells whether p is one of the four.
func (p Policy) Valid() bool {
	switch p {
	case PolicyRetry, PolicyAsk, PolicySkip, PolicyFail:
		return true
	}
	return false
}

// EnvKey is the variable in which programs that a call runs get its idempotency key (P12, D6).
const EnvKey = "HOCKET_IDEMPOTENCY_KEY"

// Call is one call of a tool.
type Call struct {
	Run   string `json:"run"`
	Agent string `json:"agent"`
	Node  string `json:"node"`
	// Name is the tool: towards [Set.Call] the name under which it was offered, towards [Tool.Call] the tool's own.
	Name string `json:"name"`
	// Arguments is a JSON object; null and nothing stand for {}.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Key is the idempotency key: equal on every retry of this call and after a crash, different for every other call (P12, D6).
	Key string `json:"key"`
	// Retry counts how often the policy of the step tried again what failed before: such a call does its work anew, for tools that know which work was done.
	Retry int `json:"retry,omitempty"`
	// Iteration is the n-th execution of Node, and Definition the digest of the workflow: what an approval is bound to beside the rest.
	Iteration  int    `json:"iteration,omitempty"`
	Definition string `json:"definition,omitempty"`
	// Approved is the binding of the action that a person approved; "": no person was asked (SEC12).
	Approved string `json:"approved,omitempty"`
	// Held are the arguments with which the call was held and approved, where the person who approved it changed them to Arguments; nil: they were not changed.
	Held json.RawMessage `json:"held,omitempty"`
	// Scope is what the permissions were compared with and what they keep from the call. [Set.Call] sets it; nil, as in calls without a Set: nothing is kept.
	Scope *Scope `json:"-"`
	// Offered are tools of the agent that are not of the Set, such as sub-agents. HandoffTool is the one of them that hands the conversation over to one
	// of Handoffs; "": none does. They are named where Name is no tool.
	Offered     []string `json:"-"`
	HandoffTool string   `json:"-"`
	Handoffs    []string `json:"-"`
	// Caller is the call that this one is made for, as the maker of Calls has it, for tools that start runs: a driver.Caller in runs; nil: there is none.
	Caller any `json:"-"`
}

// Decode reads the arguments into what into points at; there being none changes nothing in it. The error is an *Error of KindInvalidArguments.
func (c Call) Decode(into any) error {
	if len(c.Arguments) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.Arguments, into); err != nil {
		return Errorf(KindInvalidArguments, c.Name, "read arguments: %w", err)
	}
	return nil
}

// Result is what a tool answered. IsError marks the tool's own report of a failure, which the model is told like any other answer; a call
// that could not be carried out at all is a Go error instead, see [Error].
type Result struct {
	// Text is what a model reads.
	Text    string `json:"text"`
	IsError bool   `json:"isError,omitempty"`
	// Structured is the same answer as a JSON value, or what does not fit into text (images, resources). Null where Text says it all.
	Structured json.RawMessage `json:"structured,omitempty"`
}

// Tool is one tool. Safe for concurrent use.
type Tool interface {
	// Def tells a model of the tool, under the tool's own name. It is the same value for the life of the Tool: when a server changes a
	// definition, its Toolset lists another Tool.
	Def() chat.ToolDef
	// Policy is the tool's own claim; a [Spec.Policy] overrides it.
	Policy() Policy
	// Call carries out one call whose Arguments are a JSON object that fits Def().Parameters. It returns soon after ctx is done and leaves
	// no goroutine or process of this call behind. Errors are of type *Error or wrap ctx's error; others count as [KindFailed]. A *HoldError
	// says that a person must decide first and that nothing was done.
	Call(ctx context.Context, c Call) (Result, error)
}

// Toolset is a source of tools: a server, a built-in group. Safe for concurrent use.
type Toolset interface {
	// Name is the name from the spec, unique among the toolsets of its list.
	Name() string
	// Tools lists what there is now, in a stable order, names unique. The first call may connect and start processes and may block; later
	// ones answer from memory unless the source said that something changed.
	Tools(ctx context.Context) ([]Tool, error)
	// Close ends connections, goroutines and processes within 5 s (P11). It is idempotent; calls after it fail.
	Close() error
}

// Restorer is implemented by tools whose state is a function of their former calls. After a restart the driver hands the run's finished calls
// to [Set.Restore] in the journal's order.
//
// Restore gets the recorded result too: calls that ran side by side may have been journaled in another order than they were carried out in, and
// only the result tells what the model was told. It never fails: what it cannot read changed nothing.
type Restorer interface {
	Restore(c Call, r Result)
}

// Instructor is implemented by toolsets that have something to say about their use, for the system prompt.
type Instructor interface {
	// Instructions is valid after the first successful Tools.
	Instructions() string
}

// Type makes toolsets of one `type:`. The wiring holds a map from type names to these; there is no registry.
type Type struct {
	// Open makes a toolset. It does no I/O: that is for Tools.
	Open func(spec Spec) (Toolset, error)
	// Stateful marks types whose tools may be Restorers. Listing their tools must need no I/O.
	Stateful bool
	// CallTimeout bounds a call whose spec says nothing; 0: Config.CallTimeout.
	CallTimeout time.Duration
}

// Finished is a call with its recorded result.
type Finished struct {
	Call   Call
	Result Result
}

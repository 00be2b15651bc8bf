package tool

import (
	"context"
	"encoding/json"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
)

// Policy determines what happens to a call whose outcome is unknown because the process died
// between intent and result (P12).
type Policy string

const (
	// PolicyRetry makes the call again with the same key. It is for tools that are declared
	// idempotent or that only read.
	PolicyRetry Policy = "retry"
	// PolicyAsk lets a person decide. It is the default of every tool that is not declared
	// idempotent.
	PolicyAsk Policy = "ask"
	// PolicySkip continues without a result.
	PolicySkip Policy = "skip"
	// PolicyFail fails the step.
	PolicyFail Policy = "fail"
)

// Valid reports whether p is one of the four policies.
func (p Policy) Valid() bool {
	switch p {
	case PolicyRetry, PolicyAsk, PolicySkip, PolicyFail:
		return true
	}
	return false
}

// EnvKey is the environment variable that passes the idempotency key of a call to the programs that
// the call runs (P12, D6).
const EnvKey = "HOCKET_IDEMPOTENCY_KEY"

// Call is one call of a tool.
type Call struct {
	Run   string `json:"run"`
	Agent string `json:"agent"`
	Node  string `json:"node"`
	// Name is the name of the tool: in [Set.Call] the name under which it was offered, in
	// [Tool.Call] the tool's own name.
	Name string `json:"name"`
	// Arguments is a JSON object; null and nil mean {}.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Key is the idempotency key: equal for every retry of this call and after a crash, different
	// for every other call (P12, D6).
	Key string `json:"key"`
	// Retry is how often the step's retry policy has retried after a failure. A retry does its work
	// again, so tools that look up finished work by Key must distinguish retries.
	Retry int `json:"retry,omitempty"`
	// Iteration is the number of the execution of Node, and Definition the digest of the workflow.
	// An approval is bound to both, in addition to the rest.
	Iteration  int    `json:"iteration,omitempty"`
	Definition string `json:"definition,omitempty"`
	// Approved is the binding of the action that a person approved; empty means that no person was
	// asked (SEC12).
	Approved string `json:"approved,omitempty"`
	// Held holds the arguments with which the call was held and approved, if the person who
	// approved it changed them to Arguments; nil means that they were not changed.
	Held json.RawMessage `json:"held,omitempty"`
	// Within are the agents as whose sub-agent Agent works: what the document lets them deny or ask
	// about applies to the call, too.
	Within []string `json:"within,omitempty"`
	// Delegates means that the call passes work to another agent. The engine does that itself:
	// [Set.Call] only decides whether it may.
	Delegates bool `json:"delegates,omitempty"`
	// OtherName is another name of a tool that delegates, with the arguments of the same call of
	// it; "" means that there is none. Permissions of both names apply.
	OtherName      string          `json:"-"`
	OtherArguments json.RawMessage `json:"-"`
	// CheckOnly asks whether a person must decide about the call, which is made later: [Set.Call]
	// calls nothing.
	CheckOnly bool `json:"-"`
	// Scope is what the permissions were compared with and what they keep out of the call's reach.
	// [Set.Call] sets it; nil, as in calls without a Set, means that nothing is restricted.
	Scope *Scope `json:"-"`
	// Offered lists tools of the agent that are not in the Set, such as sub-agents. HandoffTool is
	// the one of them that hands the conversation over to one of Handoffs; empty means that none
	// does. They are listed in the error if Name is not a tool.
	Offered     []string `json:"-"`
	HandoffTool string   `json:"-"`
	Handoffs    []string `json:"-"`
	// Caller is the call on whose behalf this one is made, in the representation of the code that
	// creates Calls, for tools that start runs: a driver.Caller in runs; nil means that there is
	// none.
	Caller any `json:"-"`
}

// Decode decodes the arguments into the value that into points to; if there are no arguments, it
// changes nothing. The error is an *Error of KindInvalidArguments.
func (c Call) Decode(into any) error {
	if len(c.Arguments) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.Arguments, into); err != nil {
		return Errorf(KindInvalidArguments, c.Name, "read arguments: %w", err)
	}
	return nil
}

// Result is the result of a tool. IsError marks a failure reported by the tool itself, which is
// passed to the model like any other result; a call that could not be executed at all is a Go error
// instead, see [Error].
type Result struct {
	// Text is what a model reads.
	Text    string `json:"text"`
	IsError bool   `json:"isError,omitempty"`
	// Structured is the same result as a JSON value, or content that text cannot represent (images,
	// resources). It is null if Text is complete.
	Structured json.RawMessage `json:"structured,omitempty"`
	// Permitted is set if the permissions allow a call with [Call.Delegates] or [Call.CheckOnly],
	// which the Set has not made. Text is for people.
	Permitted bool `json:"permitted,omitempty"`
}

// Tool is one tool. Implementations are safe for concurrent use.
type Tool interface {
	// Def returns the definition of the tool for a model, under the tool's own name. It returns the
	// same value for the life of the Tool: when a server changes a definition, its Toolset lists
	// another Tool.
	Def() chat.ToolDef
	// Policy returns the tool's own declared policy; [Spec.Policy] overrides it.
	Policy() Policy
	// Call executes one call whose Arguments are a JSON object that conforms to Def().Parameters.
	// It returns soon after ctx is done and leaves no goroutine or process of this call behind.
	// Errors are of type *Error or wrap ctx's error; any other error counts as [KindFailed]. A
	// *HoldError says that a person must decide first and that nothing was done.
	Call(ctx context.Context, c Call) (Result, error)
}

// Concurrent is implemented by tools whose calls may be in flight together with neighbouring calls
// of the same reply, because they only read, ask a person, or start runs. Calls of other tools are
// made alone.
type Concurrent interface {
	// Concurrent reports whether the tool is such a tool.
	Concurrent() bool
}

// readsOnly reports whether a tool of a toolset of type typ changes nothing outside of the run.
func readsOnly(typ string, t Tool) bool {
	c, ok := t.(Concurrent)
	return typ == TypeTodo || typ != TypeWorkflow && ok && c.Concurrent()
}

// Toolset is a source of tools, such as a server or a built-in group. Implementations are safe for
// concurrent use.
type Toolset interface {
	// Name returns the name from the spec, unique among the toolsets of its list.
	Name() string
	// Tools lists the current tools, with unique names and in a stable order. The first call may
	// connect and start processes and may block; later calls return a cached list unless the source
	// announced a change.
	Tools(ctx context.Context) ([]Tool, error)
	// Close closes connections and ends goroutines and processes within 5 s (P11). It is
	// idempotent; calls after it fail.
	Close() error
}

// Restorer is implemented by tools whose state is a function of their earlier calls. After a
// restart the driver passes the run's finished calls to [Set.Restore] in journal order.
//
// Restore receives the recorded result too: concurrent calls may have been journaled in a different
// order from that of their execution, and only the result shows what the model was told. It never
// fails: a result that it cannot parse changes nothing.
type Restorer interface {
	Restore(c Call, r Result)
}

// Instructor is implemented by toolsets that provide instructions for their use, for the system
// prompt.
type Instructor interface {
	// Instructions is valid after the first successful Tools.
	Instructions() string
}

// Type opens toolsets of one `type:`. The wiring holds a map from type names to Types; there is no
// registry.
type Type struct {
	// Open creates a toolset. It does no I/O, which is left to Tools.
	Open func(spec Spec) (Toolset, error)
	// Stateful is set for types whose tools may be Restorers. Listing their tools must need no I/O.
	Stateful bool
	// CallTimeout is the timeout of a call whose spec sets none; 0 means Config.CallTimeout.
	CallTimeout time.Duration
}

// Finished is a call with its recorded result.
type Finished struct {
	Call   Call
	Result Result
}

// Unavailable returns a tool that is offered but whose calls all report why it cannot be used: a
// tool that the document requests and that nothing here provides is never dropped silently (S0-55).
func Unavailable(def chat.ToolDef, why string) Tool { return unavailable{def, why} }

type unavailable struct {
	def chat.ToolDef
	why string
}

func (u unavailable) Def() chat.ToolDef { return u.def }

func (u unavailable) Policy() Policy { return PolicyRetry }

func (u unavailable) Concurrent() bool { return true }

func (u unavailable) Call(context.Context, Call) (Result, error) {
	return Result{}, Errorf(KindUnsupported, u.def.Name, "tool %q is not available: %s", u.def.Name, u.why)
}

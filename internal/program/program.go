package program

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Value is a JSON value; nil stands for null.
type Value = json.RawMessage

// Fields are values by name: top-level fields of the state.
type Fields = map[string]Value

// Fields of the state that are beside the user's own. A graph keeps them, and the start of a run may set them.
const (
	// FieldUsage is the context window usage of the last agent, a graph.ContextWindowUsage in JSON (S2-75).
	FieldUsage = "$usage"
	// FieldModel is the model, a text, that the run was begun with, by its parent or by a person. It comes after those of nodes and before that of the
	// graph (S2-79).
	FieldModel = "$model"
	// FieldOutputs are outputs of nodes that the run was begun with, an object by node id (S2-75).
	FieldOutputs = "outputs"
)

// State is the typed state that a function sees. What it gives must not be changed. Safe for concurrent use.
type State interface {
	// Get gives the JSON of a field, nil where there is none; Map gives that of all fields, nil where there are none, and is the caller's.
	Get(name string) json.RawMessage
	Map() map[string]json.RawMessage
	Names() iter.Seq[string]
	// Native is the Result.Native of the function that gave the state; nil: there is none, and the fields say all.
	Native() any
	// KeepNative sets it for all who see the state, where it was made of the fields alone.
	KeepNative(v any)
	// CanGrow tells whether Result.Grown may name a field.
	CanGrow(name string) bool
}

// Tail is what a field of the state gained: elements of a list, each after a comma, or more text in JSON without quotation marks. The JSON of the field
// before must be as its encoder writes it.
type Tail struct{ Field, Text string }

// View is what a step sees of its run. What it holds must not be changed.
type View struct {
	Node  string
	Input Value
	State State
	// Outputs gives the outputs by node, in a map of the caller's. It must not be called after the function returned; nil: there are none.
	Outputs func() map[string]Value
	// Run is the run's id, Attempt the tries of the step so far. Errors and Updated are as in Call.
	Run     string
	Attempt int
	Errors  []FailedAttempt
	Updated time.Time
}

// FailedAttempt is one failure of the run (S2-78).
type FailedAttempt struct {
	Node    string
	Message string
	At      time.Time
	Attempt int // from 1
}

// Failure is why an attempt did not succeed. Code is a stable word, "" means the engine's word for functions.
type Failure struct {
	Code      string
	Message   string
	Node      string
	Retryable bool
	// Stack is where a function panicked; "" otherwise.
	Stack string
	// Err is the error itself where the failure just happened in this process; nil for one that was recorded.
	Err error
}

// Coded is an error that says itself what code its failure has, in place of the engine's word for functions.
type Coded interface {
	error
	FailureCode() string
}

// Action is what an error handler decides (S2-42): Kind is `retry`, `skip`, `abort`, `goto`, or "" to let the retry policy decide.
type Action struct {
	Kind    string
	DelayMS *int64   // of retry; nil: the policy's
	Update  Fields   // of skip
	Failure *Failure // of abort; nil: the failure stays
	Node    string   // of goto
}

// Call is one attempt of a node function.
type Call struct {
	Run, Node string
	// Step counts executions in the run, Attempt the tries of this one; both from 1.
	Step, Attempt int
	// Key is the idempotency key, equal for all attempts (D6).
	Key   string
	Input Value
	State State
	// Outputs are those of the nodes that the step can see.
	Outputs Outputs
	// Last is the failure of the attempt before; nil on the first (S2-58).
	Last *Failure
	// LastOutput is what that attempt gave despite its failure; nil: nothing.
	LastOutput Value
	// Errors are the failed attempts of the run, oldest first; of many the last ones. Updated is when a step had completed last.
	Errors  []FailedAttempt
	Updated time.Time
	// Caller is what the function may ask of the call; nil: nothing.
	Caller Caller
	// Services are what the program offers.
	Services *Services
}

// Outputs are the outputs of nodes. Safe for concurrent use.
type Outputs interface {
	// Get gives the output of a node, false where there is none.
	Get(node string) (Value, bool)
	// All gives node ids and outputs, in the order in which the nodes first ran.
	All() iter.Seq2[string, Value]
}

// Notes keep the results of sub-steps of one execution of a node, over its attempts. Safe for concurrent use.
type Notes interface {
	// Once gives the value noted under key, or calls fn and notes its value durably before it gives it. fn does its own sub-steps by the Caller that it is given. Of calls with the same key at the same time one
	// calls fn and the others get what it gave, its error too. Errors are not noted. Once the call has ended, or is not this process's any more, it gives
	// ctx's error. A panic of fn is an error here, and a failure of the attempt whatever the function then returns.
	Once(ctx context.Context, key string, fn func(context.Context, Caller) (Value, error)) (Value, error)
}

// Result is what a node function gave. Where Failure is set all else but Output counts for nothing.
type Result struct {
	Update Fields
	// Grown are further fields, which gained a tail.
	Grown []Tail
	// Native is the state after the result as the functions themselves keep it; nil: there is none. It must not change, and nothing that a function gives may depend on
	// whether it is there.
	Native  any
	Output  Value
	Goto    []string
	Signals []Signal
	Failure *Failure
}

// Signal is a note that a node sends out, or an event of the program's own where Event is set, sent At.
type Signal struct {
	Name, Message string
	Data          Fields
	Event         bool
	At            time.Time
}

// Folded is the typed state of a run as the engine keeps it, at the run itself or inside a branch.
type Folded struct {
	// Run is the run's id, Updated is when a step completed last.
	Run     string
	Updated time.Time
	// State is nil where there is none.
	State   State
	Outputs map[string]Value
	// Waits are the open questions, oldest first.
	Waits []Wait
}

// Wait is an open question of a node.
type Wait struct{ ID, Node string }

// RequestID names a question beyond its run: it follows from the run's id and the wait's.
func RequestID(run, wait string) string { return run + "/" + wait }

// Counter is a node function that adds 1 to a field of the state, or sets it to 0 where Reset.
type Counter struct {
	Field string
	Reset bool
}

// Table holds the functions by name. A nil map has none.
type Table struct {
	Conditions map[string]func(View) (bool, error)
	// Values give prompts, questions, arguments and first states of inner graphs.
	Values map[string]func(View) (Value, error)
	// Merges make changes of the state of outputs: those of a fork's branches by branch id, the answer of a wait by its
	// node, or the last state of an inner graph by its node.
	Merges   map[string]func(outputs map[string]Value, v View) (Fields, error)
	Reducers map[string]func(base, mine, theirs Value) (Value, error)
	OnErrors map[string]func(Failure, View) (Action, error)
	RetryOns map[string]func(Failure) (bool, error)
	// Report makes a signal of the failure with which a run ends; nil: there is none (S2-59).
	Report func(run string, f Failure, at time.Time) *Signal
	// Counters are those of Calls that only count.
	Counters map[string]Counter
	// Brief are those of Calls that keep nothing of a Call but its Caller once they have returned.
	Brief map[string]bool
	// Calls are the node functions. They return soon after ctx is done.
	Calls map[string]func(ctx context.Context, c Call) Result
}

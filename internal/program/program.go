package program

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"time"
)

// Value is a JSON value; nil represents null.
type Value = json.RawMessage

// Fields are values by name: top-level fields of the state.
type Fields = map[string]Value

// Fields of the state in addition to the user's own. A graph maintains them, and the start of a run
// may set them.
const (
	// FieldUsage is the context window usage of the last agent, a graph.ContextWindowUsage in JSON
	// (S2-75).
	FieldUsage = "$usage"
	// FieldModel is the model, a string, with which the run was started, by its parent run or by a
	// person. Models of nodes take precedence over it, and it takes precedence over the graph's
	// (S2-79).
	FieldModel = "$model"
	// FieldOutputs holds outputs of nodes with which the run was started, an object by node id
	// (S2-75).
	FieldOutputs = "outputs"
)

// State is the typed state that a function sees. Returned values must not be modified unless stated
// otherwise. It is safe for concurrent use.
type State interface {
	// Get returns the JSON of a field, or nil if there is none; Map returns the JSON of all fields,
	// or nil if there are none, in a map owned by the caller.
	Get(name string) json.RawMessage
	Map() map[string]json.RawMessage
	Names() iter.Seq[string]
	// Native returns the Result.Native of the function that returned the state; nil means there is
	// none, and the fields hold everything.
	Native() any
	// KeepNative sets the native form for all readers of the state, if it was built from the fields
	// alone.
	KeepNative(v any)
	// CanGrow reports whether Result.Grown may name a field.
	CanGrow(name string) bool
}

// Tail is what was appended to a field of the state: elements of a list, each after a comma, or
// more of a JSON string without quotation marks. The field's previous JSON must be as its encoder
// writes it.
type Tail struct{ Field, Text string }

// View is what a step sees of its run. Its contents must not be modified.
type View struct {
	Node  string
	Input Value
	State State
	// Outputs returns the outputs by node, in a map owned by the caller. It must not be called
	// after the function returned; nil means there are none.
	Outputs func() map[string]Value
	// Run is the run's id, Attempt the number of attempts of the step so far. Errors and Updated
	// are as in Call.
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

// Failure is why an attempt did not succeed. Code is a stable word; "" means the engine's code for
// functions.
type Failure struct {
	Code      string
	Message   string
	Node      string
	Retryable bool
	// Stack is the stack trace if a function panicked, otherwise "".
	Stack string
	// Problems is the list of a graph.SchemaValidationError as JSON; nil for other failures.
	Problems Value
	// Err is the error itself if the failure just happened in this process; nil for a recorded
	// failure.
	Err error
}

// Coded is an error that specifies the code of its failure, instead of the engine's code for
// functions.
type Coded interface {
	error
	FailureCode() string
}

// Action is the decision of an error handler (S2-42): Kind is `retry`, `skip`, `abort`, `goto`, or
// "" to let the retry policy decide.
type Action struct {
	Kind    string
	DelayMS *int64   // of retry; nil means the policy's
	Update  Fields   // of skip
	Failure *Failure // of abort; nil keeps the failure
	Node    string   // of goto
}

// Call is one attempt of a node function.
type Call struct {
	Run, Node string
	// Step counts executions in the run, Attempt the attempts of this one; both start at 1.
	Step, Attempt int
	// Key is the idempotency key, the same for all attempts (D6).
	Key   string
	Input Value
	State State
	// Outputs are the outputs of the nodes visible to the step.
	Outputs Outputs
	// Last is the failure of the previous attempt; nil on the first (S2-58).
	Last *Failure
	// LastOutput is the output of the previous attempt despite its failure; nil means none.
	LastOutput Value
	// Errors are the failed attempts of the run, oldest first; if there are many, only the most
	// recent ones. Updated is the time at which the last step completed.
	Errors  []FailedAttempt
	Updated time.Time
	// Caller is the function's access to the call; nil means none.
	Caller Caller
	// Services are what the program offers.
	Services *Services
}

// Outputs are the outputs of nodes. It is safe for concurrent use.
type Outputs interface {
	// Get returns the output of a node, and reports whether there is one.
	Get(node string) (Value, bool)
	// All yields node ids and outputs, in the order in which the nodes first ran.
	All() iter.Seq2[string, Value]
}

// Notes stores the results of sub-steps of one execution of a node, across its attempts. It is safe
// for concurrent use.
type Notes interface {
	// Once returns the value stored under key, or calls fn and stores its value durably before
	// returning it. fn performs its own sub-steps through the Caller passed to it. Of concurrent
	// calls with the same key one calls fn and the others get its result, including its error.
	// Errors are not stored. Once the call has ended, or no longer belongs to this process, Once
	// returns ctx's error. A panic of fn is returned as an error, and fails the attempt whatever
	// the function then returns.
	Once(ctx context.Context, key string, fn func(context.Context, Caller) (Value, error)) (Value, error)
}

// Result is the result of a node function. If Failure is set, everything except Output is ignored.
type Result struct {
	Update Fields
	// Grown are additional changed fields, to which a tail was appended.
	Grown []Tail
	// Native is the state after the result in the form that the functions themselves keep; nil
	// means there is none. It must not change, and no result of a function may depend on whether it
	// is set.
	Native  any
	Output  Value
	Goto    []string
	Signals []Signal
	Failure *Failure
}

// Signal is a notification sent by a node, or a custom event of the program if Event is set, sent
// At.
type Signal struct {
	Name, Message string
	Data          Fields
	Event         bool
	At            time.Time
}

// Folded is the typed state of a run as the engine keeps it, for the run itself or inside a branch.
type Folded struct {
	// Run is the run's id, Updated the time at which the last step completed.
	Run     string
	Updated time.Time
	// State is nil if there is none.
	State   State
	Outputs map[string]Value
	// Waits are the open questions, oldest first.
	Waits []Wait
}

// Wait is an open question of a node.
type Wait struct{ ID, Node string }

// RequestID returns a name for a question that is unique beyond its run: it is derived from the
// run's id and the wait's.
func RequestID(run, wait string) string { return run + "/" + wait }

// Counter is a node function that adds 1 to a field of the state, or sets it to 0 if Reset is set.
type Counter struct {
	Field string
	Reset bool
}

// Table holds the functions by name. A nil map is empty.
type Table struct {
	Conditions map[string]func(View) (bool, error)
	// Values return prompts, questions, arguments and initial states of inner graphs.
	Values map[string]func(View) (Value, error)
	// Merges return the state changes for outputs: those of a fork's branches by branch id, the
	// answer of a wait by its node, or the last state of an inner graph by its node.
	Merges   map[string]func(outputs map[string]Value, v View) (Fields, error)
	Reducers map[string]func(base, mine, theirs Value) (Value, error)
	OnErrors map[string]func(Failure, View) (Action, error)
	RetryOns map[string]func(Failure) (bool, error)
	// Report returns a signal for the failure with which a run ends; nil means there is none
	// (S2-59).
	Report func(run string, f Failure, at time.Time) *Signal
	// Counters are the functions in Calls that only count.
	Counters map[string]Counter
	// Brief are the functions in Calls that keep nothing of a Call except its Caller after they
	// have returned.
	Brief map[string]bool
	// Calls are the node functions. They return soon after ctx is done.
	Calls map[string]func(ctx context.Context, c Call) Result
	// Direct calls those of the functions that only change the state; nil means that there are none.
	Direct Direct
}

// Func is a node function.
type Func = func(ctx context.Context, c Call) Result

// Include adds the functions of an inner graph's table under their names with prefix prepended;
// node functions are wrapped with around. No map of t may be nil.
func (t *Table) Include(prefix string, inner *Table, around func(Func) Func) {
	include(t.Conditions, prefix, inner.Conditions)
	include(t.Values, prefix, inner.Values)
	include(t.Merges, prefix, inner.Merges)
	include(t.Reducers, prefix, inner.Reducers)
	include(t.OnErrors, prefix, inner.OnErrors)
	include(t.RetryOns, prefix, inner.RetryOns)
	include(t.Counters, prefix, inner.Counters)
	include(t.Brief, prefix, inner.Brief)
	calls := maps.Clone(inner.Calls)
	for name, f := range calls {
		calls[name] = around(f)
	}
	include(t.Calls, prefix, calls)
}

func include[F any](to map[string]F, prefix string, from map[string]F) {
	for name, f := range from {
		to[prefix+name] = f
	}
}

// StateOf returns the state with those fields, which must not be modified. It has no native form,
// and none of its fields can grow.
func StateOf(f Fields) State { return fieldState(f) }

type fieldState Fields

func (f fieldState) Get(name string) json.RawMessage { return f[name] }
func (f fieldState) Map() map[string]json.RawMessage { return maps.Clone(f) }
func (f fieldState) Names() iter.Seq[string]         { return maps.Keys(f) }
func (fieldState) Native() any                       { return nil }
func (fieldState) KeepNative(any)                    {}
func (fieldState) CanGrow(string) bool               { return false }

// Whole returns all changed fields of a result. s is the state that its function saw.
func (r *Result) Whole(s State) Fields {
	if len(r.Grown) == 0 {
		return r.Update
	}
	out := make(Fields, len(r.Update)+len(r.Grown))
	maps.Copy(out, r.Update)
	for _, t := range r.Grown {
		base := s.Get(t.Field)
		at := len(base) - 1
		v := append(make(Value, 0, len(base)+len(t.Text)), base[:at]...)
		out[t.Field] = append(append(v, t.Text...), base[at])
	}
	return out
}

package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/program"
	"github.com/hocket-run/hocket/workflow"
)

// NodeType is the type of a node, as shown in diagrams and returned by queries.
type NodeType string

// The types of nodes.
const (
	TypeAgent    NodeType = "agent"
	TypeTool     NodeType = "tool"
	TypeDecision NodeType = "decision"
	TypeWait     NodeType = "wait"
	TypeAskUser  NodeType = "ask_user"
	TypeSubgraph NodeType = "subgraph"
	TypeParallel NodeType = "parallel"
	// TypeSleep is not defined by the document.
	TypeSleep NodeType = "sleep"
	// TypeMap is not defined by the document.
	TypeMap NodeType = "map"
)

// known reports whether t is one of the document's types.
func (t NodeType) known() bool {
	switch t {
	case TypeAgent, TypeTool, TypeDecision, TypeWait, TypeAskUser, TypeSubgraph, TypeParallel:
		return true
	}
	return false
}

// Node is a node to be added to a builder: the result of [Do], [NewNode] or [DecisionNode], or one
// of the structs whose names end in Config: [ToolConfig], [CustomToolConfig], [WaitConfig],
// [AskUserConfig], [ParallelConfig], [SubgraphConfig], [AgentConfig], [SubagentConfig],
// [ParallelSubagentConfig], [ContextMonitorConfig], [ClearContextConfig].
type Node[S any] interface{ define() *def[S] }

// Func is the function of a node. It works on its own copy of the state, returns what changed, and
// should honor ctx. It may be called again after a failure or a crash; [Context.Key] is then the
// same.
type Func[S any] func(ctx context.Context, c *Context[S]) (Result[S], error)

// Context is the context of one attempt of a node. It belongs to the attempt and is not safe for
// concurrent use.
type Context[S any] struct {
	// State is a copy; changes to it only take effect if returned in [Result.Update].
	State S
	// ExecutionID is the id of the run, NodeID that of the node.
	ExecutionID, NodeID string
	// Attempt counts the attempts of this execution, starting at 1.
	Attempt int
	// Key is an idempotency key: the same for all attempts of one execution, even after a crash.
	Key string
	// Input is the output of the previous node as JSON, null if it had none; for the first node it
	// is the initial state of the run.
	Input json.RawMessage
	// Errors holds the failed attempts of the run so far, oldest first; only the last 100 are kept.
	// The slice must not be modified.
	Errors []ExecutionError
	// LastUpdated is the time at which a node of the run last ended.
	LastUpdated time.Time
	// Config is the configuration that the graph was compiled with. Nothing that it points to may
	// be modified.
	Config *Config
	// Feedback describes the previous, failed attempt; nil on the first attempt. The handler of
	// [Builder.Catch] gets the failure that it handles.
	Feedback *ErrorFeedback
	// Model is the model that the node should use: its own, else that of the run, else that of the
	// graph; "" leaves the choice to the provider.
	Model string
	// ContextWindowUsage is the usage of the last agent's context window, nil if no agent has run;
	// ContextWindowThreshold is in percent.
	ContextWindowUsage     *ContextWindowUsage
	ContextWindowThreshold float64
	// Runtime holds the services of the program; a field that neither the graph nor the engine sets
	// is nil.
	Runtime Runtime

	graph    outputReader
	seen     program.Outputs
	fields   program.State
	loaded   map[string]json.RawMessage
	within   program.CallerContext
	services *program.Services
	emitted  []program.Signal
	problem  error // for an event that could not be recorded
}

// Emit sends an event defined by the program, of any type, to watchers of the run. It is recorded
// with the result of the attempt; events of a failed attempt are dropped. data must be
// representable in JSON, or else the attempt fails.
func (c *Context[S]) Emit(kind string, data map[string]any) {
	fields, err := encodeFields(data)
	if err != nil {
		c.problem = fmt.Errorf("encode event %s: %w", kind, err)
		return
	}
	c.emitted = append(c.emitted, program.Signal{Name: kind, Data: fields, Event: true,
		At: time.Now().UTC().Truncate(time.Microsecond)})
}

// Outputs returns the outputs of all nodes visible to this node, by node id. The map must not be
// modified.
func (c *Context[S]) Outputs() map[string]json.RawMessage {
	if c.loaded == nil && c.graph != nil {
		c.loaded = c.graph.outputsOf(c.seen, c.fields)
	}
	return c.loaded
}

// Output returns the output of a node; the second result is false if the node had none, or if it is
// not visible to this node: branches do not see each other.
func (c *Context[S]) Output(node string) (json.RawMessage, bool) {
	v, ok := c.Outputs()[node]
	return v, ok
}

// Result is the result of a node. The zero value changes nothing and follows the edges.
type Result[S any] struct {
	// Update is the changed copy of the state. The top-level fields that differ from the copy that
	// the node received are written; nil means no change.
	Update *S
	// Output is any value that JSON can represent; it is stored under the node's id. Nil means no
	// output. The output of a node that asks a person is the answer instead.
	Output any
	// Goto overrides the edges: it lists the nodes that run next, each once. A node cannot leave
	// its branch of a parallel block this way. Of several nodes, those that the graph does not have
	// are recorded as errors and skipped; if it has none of them, the node fails.
	Goto []string
	// Signals are notes for watchers of the run; [SignalHumanInputRequired], at most once, asks a
	// person.
	Signals []Signal
	// Usage is the context window usage that later nodes see; nil leaves it unchanged. Of
	// concurrent branches, the one declared last counts.
	Usage *ContextWindowUsage
}

// Signal is a note raised by a node.
type Signal struct {
	Type    SignalType     `json:"type"`
	Message string         `json:"message,omitempty"`
	Data    map[string]any `json:"data,omitempty"`
}

// SignalType is the name of a signal.
type SignalType string

// The types of signals.
const (
	SignalContextWindowWarning SignalType = "context_window_warning"
	SignalCheckpoint           SignalType = "checkpoint"
	// SignalHumanInputRequired pauses the run. The question is the signal's Message, or else
	// `question` in its Data, and `options` there is a list of texts or of objects with a `label`.
	SignalHumanInputRequired SignalType = "human_input_required"
	SignalDebugReport        SignalType = "debug_report_generated"
)

// NodeOptions holds options common to all kinds of nodes. The zero value is ready to use.
type NodeOptions struct {
	// Name is the display name; "" means the id.
	Name, Description string
	// Model applies to nodes that use one; "" and "inherit" leave the choice to the run and the
	// graph.
	Model string
	// Retry specifies how failures are retried. The zero Retry means 3 attempts, with delays of 1 s
	// and 2 s, for nodes that call a function, and no retries for all others.
	Retry Retry
	// OnError decides what happens after a failed attempt, before Retry does: the function
	// [OnError] returns a handler.
	OnError ErrorHandler
	// Recovery allows error handlers to go to this node.
	Recovery bool
	// Budget limits the usage of all executions of the node in a run, including sub-agents,
	// sessions and everything that a block or an inner graph runs. A node that exceeds it fails
	// with the code `node_budget` and is not retried. With the zero Budget only the enclosing
	// budgets apply.
	Budget Budget
	// Timeout limits each execution of the node, including all attempts, the waits between them and
	// everything that runs inside it; 0 means no limit. When it expires, the node fails with the
	// code `timeout`, which OnError may handle. For a question to a person it acts as a Deadline.
	// It does not apply to decisions and sleeps.
	Timeout time.Duration
	// InputSchema is checked against the state before each attempt, OutputSchema against the
	// changed state after it; nil means no check.
	InputSchema, OutputSchema *Schema
}

// Retry specifies how a failed attempt is retried. The delay before attempt n+1 is Backoff *
// Multiplier^(n-1).
type Retry struct {
	// MaxAttempts includes the first attempt; 0 means 3. A value less than 1, including [Zero], is
	// an error at Compile.
	MaxAttempts int
	// Backoff is the delay before the second attempt; 0 means 1 s, [Zero] none.
	Backoff time.Duration
	// Multiplier is the factor by which the delay grows with each attempt; 0 means 2.
	Multiplier float64
	// RetryOn reports whether an error should be retried; nil retries all errors. It must be pure.
	// The error is a *[NodeExecutionError] wrapping the error that the function returned, so
	// errors.Is and errors.As find your own errors in it. Errors from a subgraph are reduced to
	// their message, except for *[SchemaValidationError] and [ErrUnknownOutcome].
	RetryOn func(err error) bool
}

// The defaults of Retry.
const (
	defaultAttempts   = 3
	defaultBackoff    = time.Second
	defaultMultiplier = 2.0
)

// defaultRetry returns the default retry policy of nodes that call a function.
func defaultRetry() Retry {
	return Retry{MaxAttempts: defaultAttempts, Backoff: defaultBackoff, Multiplier: defaultMultiplier}
}

// Zero is a limit or a delay of 0 where 0 means the default: no step ([Config].MaxSteps), one
// iteration of a loop ([LoopConfig].MaxIterations), no delay ([Retry].Backoff,
// [ErrorAction].Delay). If at least one is required, it is an error, like any other negative
// number.
const Zero = -1 << 31

// numberSetting interprets a number of the API: isSet reports whether it is set, and is is its
// value.
func numberSetting[T int | time.Duration](n T) (isSet bool, is T) {
	if n == Zero {
		return true, 0
	}
	return n != 0, n
}

// isSet reports whether any field of r is set.
func (r Retry) isSet() bool {
	return r.MaxAttempts != 0 || r.Backoff != 0 || r.Multiplier != 0 || r.RetryOn != nil
}

// ErrorHandler decides what happens after a failed attempt of a node: [OnError] returns one. The
// zero ErrorHandler decides nothing.
type ErrorHandler struct{ fn any }

// OnError returns an ErrorHandler that calls fn, which must be pure. The error is as in
// [Retry].RetryOn. S must be the state of the graph, which Compile checks.
func OnError[S any](fn func(err error, c *Context[S]) ErrorAction[S]) ErrorHandler {
	if fn == nil {
		return ErrorHandler{}
	}
	return ErrorHandler{fn}
}

// Action is the decision of an error handler; "" leaves the decision to Retry, as if there were no
// handler.
type Action string

const (
	// ActionRetry retries, within MaxAttempts.
	ActionRetry Action = "retry"
	// ActionSkip treats the node as completed; its successors run.
	ActionSkip Action = "skip"
	// ActionAbort fails the node immediately.
	ActionAbort Action = "abort"
	// ActionGoto continues at a recovery node instead of the successors.
	ActionGoto Action = "goto"
)

// ErrorAction is the decision of an error handler with its details. The zero value leaves the
// decision to the retry policy.
type ErrorAction[S any] struct {
	Action Action
	// Delay is the delay before the retry; 0 means that of the policy, [Zero] none.
	Delay time.Duration
	// Fallback is the state after a skip, as in [Result.Update]; nil means no change.
	Fallback *S
	// Err replaces the error of an abort; nil keeps it.
	Err error
	// Node is the target of a goto; it must have Recovery set.
	Node string
}

// shape is the form that a node is compiled to.
type shape uint8

const (
	shapeFunc shape = iota
	shapePass
	shapeIf
	shapeRoutes
	shapeWait
	shapeParallel
	shapeLoopStart
	shapeLoopCheck
	shapeSubgraph
	shapeSleep
	shapeMap
	shapeAwait
)

// def is a node as the builder stores it.
type def[S any] struct {
	id    string
	typ   NodeType
	shape shape
	opts  NodeOptions
	run   Func[S]
	// do is the function of Do, which sees only the state; if nil, run is used.
	do func(ctx context.Context, s *S) error
	// problem is an error that the constructor detected, "" if there was none.
	problem string

	cond     func(View[S]) bool // shapeIf
	routes   []Route[S]
	fallback string
	wait     *question[S]
	await    *awaiting[S]
	parallel *ParallelConfig[S]
	loop     *loop[S]     // for both loop nodes
	sub      *subgraph[S] // also for a map: the graph of its items
	each     *mapSpec[S]
	sleep    *workflow.SleepNode
	sleeps   time.Duration // as set by the program; 0 means until a time

	at diag.Span // call that added it
}

// take stores the options of a constructor. It returns true if there is more than one, which is a
// problem.
func (d *def[S]) take(opts []NodeOptions) bool {
	if len(opts) > 1 {
		d.problem = problemf("Node %q accepts at most one NodeOptions, not %d", d.id, len(opts))
		return true
	}
	if len(opts) == 1 {
		d.opts = opts[0]
	}
	return false
}

// passesInputThrough reports whether the node has no output of its own: the engine passes its input
// on.
func (d *def[S]) passesInputThrough() bool {
	return d.shape == shapePass || d.shape == shapeIf || d.shape == shapeRoutes || d.shape == shapeSleep
}

func (d *def[S]) define() *def[S] {
	c := *d
	return &c
}

// NewNode returns a node of any type that calls fn; [TypeTool] is the type for functions of your
// own. At most one NodeOptions may be passed.
func NewNode[S any](id string, t NodeType, fn Func[S], opts ...NodeOptions) Node[S] {
	d := &def[S]{id: id, typ: t, run: fn}
	switch {
	case d.take(opts):
	case fn == nil:
		d.problem = problemf("Node %q requires a function", id)
	case !t.known():
		d.problem = problemf("Node %q has the unknown type %q", id, t)
	}
	return d
}

// Do returns a node that changes its copy of the state in place; the differences are written
// afterwards. On an error nothing is written. Use [NewNode] for a node that reads outputs, has an
// output, chooses the next node or raises signals. At most one NodeOptions may be passed.
func Do[S any](id string, fn func(ctx context.Context, s *S) error, opts ...NodeOptions) Node[S] {
	if fn == nil {
		return NewNode(id, TypeTool, Func[S](nil), opts...)
	}
	n := NewNode(id, TypeTool, func(ctx context.Context, c *Context[S]) (Result[S], error) {
		err := fn(ctx, &c.State)
		return Result[S]{Update: &c.State}, err
	}, opts...)
	if d, ok := n.(*def[S]); ok {
		d.do = fn
	}
	return n
}

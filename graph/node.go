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

// NodeType is what a node is, as pictures and queries show it.
type NodeType string

const (
	TypeAgent    NodeType = "agent"
	TypeTool     NodeType = "tool"
	TypeDecision NodeType = "decision"
	TypeWait     NodeType = "wait"
	TypeAskUser  NodeType = "ask_user"
	TypeSubgraph NodeType = "subgraph"
	TypeParallel NodeType = "parallel"
	// TypeSleep is not of the document.
	TypeSleep NodeType = "sleep"
	// TypeMap is not of the document.
	TypeMap NodeType = "map"
)

// known tells whether it is one of the document's (S2-60).
func (t NodeType) known() bool {
	switch t {
	case TypeAgent, TypeTool, TypeDecision, TypeWait, TypeAskUser, TypeSubgraph, TypeParallel:
		return true
	}
	return false
}

// Node is a node to be added to a builder: what [Do], [NewNode] and [DecisionNode] give, or one of the structs whose names end in Config:
// [ToolConfig], [CustomToolConfig], [WaitConfig], [AskUserConfig], [ParallelConfig], [SubgraphConfig], [AgentConfig], [SubagentConfig],
// [ParallelSubagentConfig], [ContextMonitorConfig], [ClearContextConfig].
type Node[S any] interface{ define() *def[S] }

// Func is what a node does. It works on its own copy of the state, returns what changed, and heeds ctx. It may be called again after a failure or a
// crash; [Context.Key] is then the same.
type Func[S any] func(ctx context.Context, c *Context[S]) (Result[S], error)

// Context is what one attempt of a node sees. It belongs to the attempt and is not safe for concurrent use.
type Context[S any] struct {
	// State is a copy; changes of it count only when they come back in [Result.Update].
	State S
	// ExecutionID is the run's id, NodeID the node's.
	ExecutionID, NodeID string
	// Attempt counts the tries of this execution from 1.
	Attempt int
	// Key is an idempotency key: equal for all attempts of one execution, also after a crash (D6).
	Key string
	// Input is the output of the node before as JSON, null where it gave none; for the first node it is the state that the run began with.
	Input json.RawMessage
	// Errors are the failed attempts of the run so far, oldest first; of more than 100 the last (S2-78). The slice is not to be changed.
	Errors []ExecutionError
	// LastUpdated is when a node of the run had ended last (S2-75).
	LastUpdated time.Time
	// Config is what the graph was compiled with. Nothing that it points at is to be changed.
	Config *Config
	// Feedback tells of the attempt that failed before this one; nil on the first. The handler of [Builder.Catch] gets the failure that it handles (S2-58).
	Feedback *ErrorFeedback
	// Model is what the node is to use: its own, else that of the run, else that of the graph; "" leaves it to the provider (S2-79).
	Model string
	// ContextWindowUsage is how full the window of the last agent was, nil where none has run; ContextWindowThreshold is in percent (S2-70).
	ContextWindowUsage     *ContextWindowUsage
	ContextWindowThreshold float64
	// Runtime is what the program offers; a field that neither the graph nor the engine sets is nil (S2-71).
	Runtime Runtime

	graph    sight
	seen     program.Outputs
	fields   program.State
	loaded   map[string]json.RawMessage
	within   program.CallerContext
	services *program.Services
	emitted  []program.Signal
	problem  error // an event that could not be kept
}

// Emit sends an event of the program's own, of any type, to watchers of the run (S2-73). It is recorded with what the attempt gives; those of an
// attempt that fails are dropped. Data must be what JSON can hold, else the attempt fails.
func (c *Context[S]) Emit(kind string, data map[string]any) {
	fields, err := encodeFields(data)
	if err != nil {
		c.problem = fmt.Errorf("encode event %s: %w", kind, err)
		return
	}
	c.emitted = append(c.emitted, program.Signal{Name: kind, Data: fields, Event: true, At: time.Now().UTC().Truncate(time.Microsecond)})
}

// Outputs gives the outputs of all nodes that this one can see, by node id. The map is the caller's own to read, not to change.
func (c *Context[S]) Outputs() map[string]json.RawMessage {
	if c.loaded == nil && c.graph != nil {
		c.loaded = c.graph.outputsOf(c.seen, c.fields)
	}
	return c.loaded
}

// Output gives the output of a node; false where it gave none, or where this node cannot see it: branches do not see each other (P42).
func (c *Context[S]) Output(node string) (json.RawMessage, bool) {
	v, ok := c.Outputs()[node]
	return v, ok
}

// Result is what a node gave. The zero value changes nothing and follows the edges.
type Result[S any] struct {
	// Update is the changed copy of the state. Written are the top-level fields that differ from the copy that the node received (D27); nil: none.
	Update *S
	// Output is any value that JSON can hold; it stands under the node's id. Nil: no output.
	Output any
	// Goto overrides the edges: the nodes that follow, each once (S2-34). A node cannot leave its branch of a parallel block this way.
	Goto []string
	// Signals are notes to watchers of the run.
	Signals []Signal
	// Usage tells the nodes that follow how full the context window is; nil: as before (S2-70). Of concurrent branches that of the last one declared counts.
	Usage *ContextWindowUsage
}

// Signal is a note of a node.
type Signal struct {
	Type    SignalType     `json:"type"`
	Message string         `json:"message,omitempty"`
	Data    map[string]any `json:"data,omitempty"`
}

// SignalType names a signal.
type SignalType string

const (
	SignalContextWindowWarning SignalType = "context_window_warning"
	SignalCheckpoint           SignalType = "checkpoint"
	SignalHumanInputRequired   SignalType = "human_input_required"
	SignalDebugReport          SignalType = "debug_report_generated"
)

// NodeOptions are what every kind of node may have. The zero value is good.
type NodeOptions struct {
	// Name is shown to people; "" means the id.
	Name, Description string
	// Model is for nodes that use one; "" and "inherit" leave it to the run and the graph (S2-79).
	Model string
	// Retry says how failures are tried again. The zero Retry is, for nodes that call a function, 3 attempts, after 1 s and 2 s; none for all others.
	Retry Retry
	// OnError decides what becomes of a failed attempt, before Retry does: [OnError] makes it of a function.
	OnError ErrorHandler
	// Recovery lets an error handler go to this node (S2-42).
	Recovery bool
	// Budget bounds what all executions of the node use in a run, with sub-agents, sessions and what a block or an inner graph runs; a node that meets it fails with the code
	// `node_budget`, which is not tried again. The zero Budget: those around it alone bound it.
	Budget Budget
	// Timeout bounds each execution of the node, with all attempts, the waits between them and what runs inside of it; 0: none. When it is over the node fails with the code
	// `timeout`, which OnError may lead elsewhere. For a question to a person it is a Deadline. Decisions and sleeps have none.
	Timeout time.Duration
	// InputSchema is checked against the state before each attempt, OutputSchema against the changed state after it; nil: no check (S2-61).
	InputSchema, OutputSchema *Schema
}

// Retry says how a failed attempt is tried again. The delay before attempt n+1 is Backoff * Multiplier^(n-1) (S2-40).
type Retry struct {
	// MaxAttempts includes the first; 0 is 3. Less than 1, [Zero] too, is an error at Compile (S2-41).
	MaxAttempts int
	// Backoff is the delay before the second attempt; 0 is 1 s, [Zero] none.
	Backoff time.Duration
	// Multiplier of the delay from attempt to attempt; 0 is 2.
	Multiplier float64
	// RetryOn tells which errors are worth another attempt; nil: all. It must be pure. The error is a *[NodeExecutionError] around the one that the function
	// returned, so errors.Is and errors.As find your own in it. What comes out of a subgraph is text by then, but for *[SchemaValidationError] and
	// [ErrUnknownOutcome].
	RetryOn func(err error) bool
}

// The defaults of Retry (S2-60).
const (
	defaultAttempts   = 3
	defaultBackoff    = time.Second
	defaultMultiplier = 2.0
)

// defaultRetry is how nodes that call a function are tried again where they do not say otherwise.
func defaultRetry() Retry {
	return Retry{MaxAttempts: defaultAttempts, Backoff: defaultBackoff, Multiplier: defaultMultiplier}
}

// Zero is a limit or a delay of 0 where 0 means the default: no step ([Config].MaxSteps), one pass of a loop ([LoopConfig].MaxIterations), no wait
// ([Retry].Backoff, [ErrorAction].Delay). Where there must be at least one it is an error, as any other negative number is.
const Zero = -1 << 31

// amount gives what a number of the API says: whether it says anything, and what.
func amount[T int | time.Duration](n T) (said bool, is T) {
	if n == Zero {
		return true, 0
	}
	return n != 0, n
}

// said tells whether a Retry says anything.
func (r Retry) said() bool {
	return r.MaxAttempts != 0 || r.Backoff != 0 || r.Multiplier != 0 || r.RetryOn != nil
}

// ErrorHandler decides what becomes of failed attempts of a node: [OnError] makes one. The zero ErrorHandler decides nothing.
type ErrorHandler struct{ fn any }

// OnError makes an ErrorHandler of a function, which must be pure. The error is as in [Retry].RetryOn. S must be the state of the graph, which Compile checks.
func OnError[S any](fn func(err error, c *Context[S]) ErrorAction[S]) ErrorHandler {
	if fn == nil {
		return ErrorHandler{}
	}
	return ErrorHandler{fn}
}

// Action is what an error handler wants; "" lets Retry decide, as without a handler.
type Action string

const (
	// ActionRetry tries again, within MaxAttempts.
	ActionRetry Action = "retry"
	// ActionSkip takes the node for done; its successors run.
	ActionSkip Action = "skip"
	// ActionAbort fails the node at once.
	ActionAbort Action = "abort"
	// ActionGoto goes on at a recovery node instead of the successors.
	ActionGoto Action = "goto"
)

// ErrorAction is the answer of an error handler (S2-42). The zero value lets the retry policy decide.
type ErrorAction[S any] struct {
	Action Action
	// Delay before the retry; 0 is the policy's, [Zero] none.
	Delay time.Duration
	// Fallback is the state after a skip, as in [Result.Update]; nil changes nothing.
	Fallback *S
	// Err replaces the error of an abort; nil keeps it.
	Err error
	// Node is the target of a goto; it must have Recovery set.
	Node string
}

// shape is what a node is compiled into.
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

// def is a node as the builder keeps it.
type def[S any] struct {
	id    string
	typ   NodeType
	shape shape
	opts  NodeOptions
	run   Func[S]
	// do is the function of Do, which sees the state alone; nil: run.
	do func(ctx context.Context, s *S) error
	// problem is a misuse that the constructor met, "" where there was none.
	problem string

	cond     func(View[S]) bool // shapeIf
	routes   []Route[S]
	fallback string
	wait     *waiting[S]
	await    *awaiting[S]
	parallel *ParallelConfig[S]
	loop     *loop[S]     // of both loop nodes
	sub      *subgraph[S] // of a map, too: the graph of its items
	each     *each[S]
	sleep    *workflow.SleepNode
	sleeps   time.Duration // as the program says it; 0: until a time

	at diag.Span // the call that added it
}

// take takes over the options of a constructor. True: there are several, which is a problem.
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

// handsOn tells whether the node has no output of its own: the engine hands on what it was given.
func (d *def[S]) handsOn() bool {
	return d.shape == shapePass || d.shape == shapeIf || d.shape == shapeRoutes || d.shape == shapeSleep
}

func (d *def[S]) define() *def[S] {
	c := *d
	return &c
}

// NewNode makes a node of any type that calls fn (S2-76); [TypeTool] is that of functions of your own. One NodeOptions at most may be given.
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

// Do makes a node that changes its copy of the state in place; what differs afterwards is written. On an error nothing is. Use [NewNode] for a node
// that reads outputs, gives one, chooses what follows or raises signals. One NodeOptions at most may be given.
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

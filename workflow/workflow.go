package workflow

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/diag"
)

// Workflow is a definition: a graph with the agents and limits that it needs.
type Workflow struct {
	// ID is the ID of the workflow in a catalog; it is empty for a document that was never stored.
	ID          string `json:"id,omitempty"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	// Version is the author's name for this version of a Go graph, whose functions are not part of
	// the definition.
	Version string `json:"version,omitempty"`
	// Format is the language in which the document was written (`canvas`, `rounds`, `graph`,
	// `routes`, `steps`).
	Format string `json:"format,omitempty"`
	// Entry is the ID of the node that receives the run's input; it is empty if there are no nodes:
	// a run then completes immediately, without output.
	Entry  string  `json:"entry"`
	Nodes  []Node  `json:"nodes"`
	Edges  []Edge  `json:"edges"`
	Agents []Agent `json:"agents,omitempty"`
	Limits Limits  `json:"limits,omitzero"`
	Rules  Rules   `json:"rules,omitzero"`
	// Flows holds the workflows that subflow nodes refer to, by name.
	Flows map[string]*Workflow `json:"flows,omitempty"`
	// Branches are graphs in addition to the main one, connected neither with it nor with each
	// other, and each run on its own. They are identified by their IDs and have no branches
	// themselves. [Workflow.Graph] selects what a run runs.
	Branches []*Workflow `json:"branches,omitempty"`
	// Called holds the workflows in files that nodes run, by ToolNode.Workflow.
	Called map[string]*Workflow `json:"called,omitempty"`
	// Labels are set on each run of the workflow.
	Labels Labels `json:"labels,omitempty"`
	// Schedules specify when runs of the main graph, or of the branch, start automatically; nil
	// means never.
	Schedules []Schedule `json:"schedules,omitempty"`
	// Concurrency limits the number of concurrent runs; nil means no limit. That of a workflow
	// applies to its branches too, unless they have their own.
	Concurrency *Concurrency `json:"concurrency,omitempty"`
	// Toolsets are the toolsets that tool nodes may use, in the form of Agent.Toolsets. Permissions
	// apply to their calls as Agent.Permissions do to those of an agent.
	Toolsets    []json.RawMessage `json:"toolsets,omitempty"`
	Permissions []Permissions     `json:"permissions,omitempty"`
	// Inputs are the named inputs of runs, in the order of a form; nil means that the input is
	// text.
	Inputs []Input `json:"inputs,omitempty"`
	// Output is the output of runs, a value with expressions; nil means the output of the step that
	// ended last. OutputSchema is the JSON Schema that it must match.
	Output       json.RawMessage `json:"output,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Providers holds the model providers that the document declares, by name, for the wiring; the
	// engine does not read them.
	Providers map[string]Provider `json:"providers,omitempty"`

	// Source maps the parts of the workflow to positions in the document. It is not part of the
	// definition: neither of its JSON nor of its digest.
	Source Source `json:"-"`
}

// Provider is a model provider as a document declares it.
type Provider struct {
	// Kind is the protocol: `openai` (Chat Completions), `anthropic` or `google`.
	Kind    string `json:"kind"`
	BaseURL string `json:"baseURL,omitempty"`
	// KeyEnv is the name of the environment variable that holds the API key; the key itself is
	// never in a definition.
	KeyEnv string `json:"keyEnv,omitempty"`
	// Omit lists parameters that are never sent, of those that [OmitParameters] returns. Without
	// response_format, a schema is part of the system prompt; of max_tokens and
	// max_completion_tokens, the other one is sent.
	Omit []string `json:"omit,omitempty"`
}

// Edge leads from a port of one node to another node.
type Edge struct {
	// ID is the document's own ID, if it has one.
	ID   string `json:"id,omitempty"`
	From string `json:"from"`
	// Port is the port of From; "" means PortOut.
	Port string `json:"port,omitempty"`
	To   string `json:"to"`
	// When guards the edge; nil means always.
	When *Condition `json:"when,omitempty"`
	// Loop marks a counted back-edge: taking it starts another iteration of the loop whose header
	// is To.
	Loop bool `json:"loop,omitempty"`
	// Label is shown in drawings.
	Label string `json:"label,omitempty"`
}

// Ports that the engine fires itself.
const (
	PortOut     = "out"
	PortError   = "error"
	PortApprove = "approve"
	PortReject  = "reject"
	PortTimeout = "timeout"
	PortLimit   = "limit"
	PortTrue    = "true"
	PortFalse   = "false"
	// PortCalls is fired by an agent in a shared conversation that requests tool calls; its edge
	// leads to an exec node.
	PortCalls = "calls"
)

// PortName returns the port of the edge, or PortOut if none is set.
func (e Edge) PortName() string {
	if e.Port == "" {
		return PortOut
	}
	return e.Port
}

// Condition is a yes-or-no question. Language determines how it is evaluated:
//
//   - LangMatch: Op (`equal`, `contains`, or an operator for numbers such as `less_or_equal`) with
//     Text as operand against the step's input;
//   - LangExpr: Text is an expression over step outputs;
//   - LangFunc: Func names a Go function of the program.
type Condition struct {
	Language string `json:"language"`
	Op       string `json:"op,omitempty"`
	Text     string `json:"text,omitempty"`
	Func     string `json:"func,omitempty"`
}

// The values of Condition.Language.
const (
	LangMatch = "match"
	LangExpr  = "expr"
	LangFunc  = "func"
)

// Limits are the limits of a run. Zero means the default documented at the field; formats and flags
// may set others.
type Limits struct {
	// MaxSteps is the maximum number of executions of document nodes; the default is
	// DefaultMaxSteps, or what one loop over all nodes needs (Workflow.StepLimit), plus
	// DefaultItemSteps for each item that a map begins. Nil means the default; an explicit 0 allows
	// none.
	MaxSteps *int `json:"maxSteps,omitempty"`
	// MaxRounds ends the run as completed after that many full cycles; 0 means that it does not.
	MaxRounds int `json:"maxRounds,omitempty"`
	// MaxLoopIterations is the maximum number of executions of a loop's header since the loop was
	// entered; the default is DefaultMaxLoopIterations.
	MaxLoopIterations int `json:"maxLoopIterations,omitempty"`
	// Timeout limits the time in which the run has an owner and is not paused; 0 means no limit.
	Timeout Duration `json:"timeout,omitempty"`
	// MaxConcurrency is the maximum number of steps in flight; 0 means that the run has no limit of
	// its own.
	MaxConcurrency int `json:"maxConcurrency,omitempty"`
	// MaxTokens, MaxCostUSD and MaxCalls (model calls and tool calls, counting attempts) are
	// budgets; 0 means none.
	MaxTokens  int64   `json:"maxTokens,omitempty"`
	MaxCostUSD float64 `json:"maxCostUSD,omitempty"`
	MaxCalls   int64   `json:"maxCalls,omitempty"`
	// OnBudget specifies what happens when a budget is exceeded: OnBudgetFail (the default) or
	// OnBudgetPause.
	OnBudget string `json:"onBudget,omitempty"`
	// Uncounted is like Budget.Uncounted, for the run's own budget.
	Uncounted string `json:"uncounted,omitempty"`
	// MaxBytes is the maximum number of bytes that the run takes in and produces: prompts, replies,
	// arguments, results, outputs and answers, counted each time that they are recorded. It cannot
	// be set in documents, only at the start of a run. 0 means no limit.
	MaxBytes int64 `json:"maxBytes,omitempty"`
}

// Defaults and limits of runs and agents.
const (
	DefaultMaxSteps          = 1000
	DefaultItemSteps         = 100
	DefaultMaxLoopIterations = 100
	DefaultMaxTurns          = 50
	DefaultNoProgress        = 5
	DefaultRepairs           = 2
	DefaultModelRetries      = 2
	DefaultCooldown          = time.Minute
	DefaultCompactAt         = 0.8
	DefaultCompactKeep       = 6
	// MinCompactTokens is the minimum of Compaction.Tokens.
	MinCompactTokens = 100
	// MaxCompactKeep is the maximum of Compaction.Keep.
	MaxCompactKeep = 10_000
	// MaxModelRetries is the maximum of Agent.FallbackRetries.
	MaxModelRetries = 100
)

// StepLimit returns the maximum number of steps of a run of w with its own limits, without the
// additional steps for items of maps.
func (w *Workflow) StepLimit() int {
	if w.Limits.MaxSteps == nil && slices.ContainsFunc(w.Edges, func(e Edge) bool { return e.Loop }) {
		return w.Limits.LoopSteps(len(w.Nodes))
	}
	return w.Limits.Steps()
}

// LoopSteps returns the default of MaxSteps for a graph of that many nodes that has a counted loop:
// it leaves room for one loop over all nodes, which ends by a limit of its own (S4-9).
func (l Limits) LoopSteps(nodes int) int {
	passes := min(l.LoopIterations(), math.MaxInt32/max(nodes, 1)-1) + 1 // the last one fails
	return max(DefaultMaxSteps, passes*nodes)
}

// Steps returns MaxSteps or its default for a graph without counted loops, without the additional
// steps for items of maps.
func (l Limits) Steps() int {
	if l.MaxSteps == nil {
		return DefaultMaxSteps
	}
	return *l.MaxSteps
}

// LoopIterations returns MaxLoopIterations or its default.
func (l Limits) LoopIterations() int {
	if l.MaxLoopIterations <= 0 {
		return DefaultMaxLoopIterations
	}
	return l.MaxLoopIterations
}

// Rules specify the points in which formats differ in how a graph runs.
type Rules struct {
	// OnFailure specifies what an unhandled failure of a step does to steps in flight: FailFast
	// (default) cancels them; FailDrain lets calls in flight finish and starts nothing new.
	OnFailure string `json:"onFailure,omitempty"`
	// HoldWhilePaused queues newly ready steps while a wait is open. By default, other branches
	// continue.
	HoldWhilePaused bool `json:"holdWhilePaused,omitempty"`
	// SharedConversation makes all agents share one list of messages.
	SharedConversation bool `json:"sharedConversation,omitempty"`
	// Conversational offers every agent a tool `end` that ends the run.
	Conversational bool `json:"conversational,omitempty"`
	// InputIsState makes the fields of the run's input, which must be an object, the state that the
	// first step sees. An empty input has no fields.
	InputIsState bool `json:"inputIsState,omitempty"`
	// StateFlows makes a sub-flow without an initial state of its own begin with the state of the
	// enclosing flow, and return its final state instead of the output of its last step.
	StateFlows bool `json:"stateFlows,omitempty"`
	// KeepErrors lets functions see all failed attempts of the run, and when a step last completed.
	KeepErrors bool `json:"keepErrors,omitempty"`
	// ReportFailures lets the program turn the failure with which a run ends into a signal.
	ReportFailures bool `json:"reportFailures,omitempty"`
	// FinishOnCancel lets functions that are running when the run is cancelled finish, and uses
	// their results.
	FinishOnCancel bool `json:"finishOnCancel,omitempty"`
	// UnknownFails makes a tool call whose outcome is unknown fail its node; no person is asked and
	// the call is not repeated.
	UnknownFails bool `json:"unknownFails,omitempty"`
	// HideLosers hides the outputs of branches that lost their block from the steps after it.
	HideLosers bool `json:"hideLosers,omitempty"`
	// StepLimitText and TimeoutText are the failure messages of a run that reached its step limit
	// or its timeout; `{max}` in them is replaced by the limit, in steps or milliseconds. Empty
	// means the default messages.
	StepLimitText string `json:"stepLimitText,omitempty"`
	TimeoutText   string `json:"timeoutText,omitempty"`
	// Serial prevents a scope from starting anything while one of its steps runs or waits: nodes
	// run one at a time, in the order of the queue. Branches of a fork have their own scopes and
	// run concurrently.
	Serial bool `json:"serial,omitempty"`
	// DefaultInput is the run's input if the caller's input is empty.
	DefaultInput json.RawMessage `json:"defaultInput,omitempty"`
	// Handoff is the wait node that is entered instead of failing at the step limit, the timeout or
	// an oscillation; empty means none.
	Handoff string `json:"handoff,omitempty"`
	// Reducers specify, by field, how a top-level field of the state is merged if branches change
	// it: `append`, `sum`, `merge`, `last` or `func:NAME`. A field without a reducer may be changed
	// by only one branch.
	Reducers map[string]string `json:"reducers,omitempty"`
}

// The policies for failures: see Rules.OnFailure, Fork.OnFailure and Map.OnItemError.
const (
	FailFast     = "fail_fast"
	FailCollect  = "collect"
	FailContinue = "continue"
	FailSkip     = "skip"
	FailDrain    = "drain"
)

// Retry specifies how a failed call of a step is retried.
type Retry struct {
	// MaxRetries is the number of attempts after the first; 0 means none.
	MaxRetries int `json:"maxRetries"`
	// Delay is the delay before the first retry; 0 means none.
	Delay Duration `json:"delay,omitempty"`
	// Multiplier is the factor by which the delay grows from one retry to the next; 0 and 1 keep it
	// constant.
	Multiplier float64 `json:"multiplier,omitempty"`
	// On lists patterns, one of which must occur in the error's code or message, ignoring case and
	// treating `_` and space as equal; empty means any error.
	On []string `json:"on,omitempty"`
	// Func is the name of a Go predicate of the program.
	Func string `json:"func,omitempty"`
}

// Source maps parts of a workflow to positions in its document.
type Source struct {
	File   string
	Nodes  map[string]diag.Span
	Edges  []diag.Span // parallel to Workflow.Edges; may be shorter
	Agents map[string]diag.Span
	// Files are files whose texts became part of the workflow, relative to the document.
	Files []string
}

// Node returns the position of the node id, or only the file if the position is unknown.
func (s Source) Node(id string) diag.Span { return s.at(s.Nodes, id) }

// Agent returns the position of the agent id.
func (s Source) Agent(id string) diag.Span { return s.at(s.Agents, id) }

// Edge returns the position of edge i.
func (s Source) Edge(i int) diag.Span {
	if i < len(s.Edges) {
		return s.Edges[i]
	}
	return diag.Span{File: s.File}
}

func (s Source) at(m map[string]diag.Span, id string) diag.Span {
	if sp, ok := m[id]; ok {
		return sp
	}
	return diag.Span{File: s.File}
}

// Node returns the node with the given ID, or nil if there is none.
func (w *Workflow) Node(id string) *Node {
	for i := range w.Nodes {
		if w.Nodes[i].ID == id {
			return &w.Nodes[i]
		}
	}
	return nil
}

// Graph returns what a run of the branch with the given ID runs, or the main graph for "": a
// separate definition, without the other branches and without schedules, so that changes to those
// do not change its digest. It returns nil if there is no such branch.
func (w *Workflow) Graph(branch string) *Workflow {
	g := w
	if branch != "" {
		i := slices.IndexFunc(w.Branches, func(b *Workflow) bool { return b != nil && b.ID == branch })
		if i < 0 {
			return nil
		}
		g = w.Branches[i]
	}
	c := *g
	c.Branches, c.Schedules = nil, nil
	return &c
}

// Callers returns what calls tools: the agents, followed by an agent without an ID that stands for
// the tool nodes, if w has tool nodes or lists what they may use. Those of sub-flows and branches
// are not included.
func (w *Workflow) Callers() []Agent {
	own := Agent{Toolsets: w.Toolsets, Permissions: w.Permissions}
	for i := range w.Nodes {
		if n := &w.Nodes[i]; n.Tool != nil && !slices.Contains(own.Tools, n.Tool.Tool) {
			own.Tools = append(own.Tools, n.Tool.Tool)
		}
	}
	for _, n := range w.Calls() {
		own.Toolsets = append(slices.Clip(own.Toolsets), n.Tool.toolset())
	}
	if len(own.Tools)+len(own.Toolsets)+len(own.Permissions) == 0 {
		return w.Agents
	}
	return append(slices.Clip(w.Agents), own)
}

// Agent returns the agent with the given ID, or nil if there is none.
func (w *Workflow) Agent(id string) *Agent {
	for i := range w.Agents {
		if w.Agents[i].ID == id {
			return &w.Agents[i]
		}
	}
	return nil
}

// TypedRules returns the rules of a graph whose steps share a typed state, as Go graphs do: all
// rules about the state, and those that follow from it.
func TypedRules() Rules {
	return Rules{
		InputIsState: true, StateFlows: true, KeepErrors: true, ReportFailures: true, FinishOnCancel: true,
		UnknownFails: true, HideLosers: true,
		TimeoutText: "Graph execution timed out after {max}ms",
	}
}

// StepLimitMessage returns the message of a run that reached its step limit.
func (r Rules) StepLimitMessage(most int64) string {
	return withMax(cmp.Or(r.StepLimitText, "Exceeded maximum steps ({max})"), most)
}

// TimeoutMessage returns the message of a run that reached its timeout, which was ms milliseconds.
func (r Rules) TimeoutMessage(ms int64) string {
	return withMax(cmp.Or(r.TimeoutText, "run timed out after {max}ms"), ms)
}

func withMax(text string, most int64) string {
	return strings.ReplaceAll(text, "{max}", strconv.FormatInt(most, 10))
}

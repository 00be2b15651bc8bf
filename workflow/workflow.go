package workflow

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/hocket-run/hocket/diag"
)

// Workflow is a definition: a graph with the agents and limits that it needs.
type Workflow struct {
	// ID names the workflow in a catalog; empty for a document that was never stored.
	ID          string `json:"id,omitempty"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	// Version is the author's word for this version of a Go graph, whose functions the definition does not hold (D29).
	Version string `json:"version,omitempty"`
	// Format is the language in which the document was written (`canvas`, `rounds`, `graph`, `routes`, `steps`).
	Format string `json:"format,omitempty"`
	// Entry is the id of the node that receives the run's input; "" where there are no nodes: a run then completes at once, without output (S1-7).
	Entry  string  `json:"entry"`
	Nodes  []Node  `json:"nodes"`
	Edges  []Edge  `json:"edges"`
	Agents []Agent `json:"agents,omitempty"`
	Limits Limits  `json:"limits,omitzero"`
	Rules  Rules   `json:"rules,omitzero"`
	// Flows are the workflows that subflow nodes name, by that name.
	Flows map[string]*Workflow `json:"flows,omitempty"`
	// Branches are graphs beside the main one, not connected with it or each other, each run by itself (S1-20). Their ids tell them apart; they have
	// none of their own. [Workflow.Graph] picks what a run runs.
	Branches []*Workflow `json:"branches,omitempty"`
	// Called are the workflows of the files that nodes run, by ToolNode.Workflow.
	Called map[string]*Workflow `json:"called,omitempty"`
	// Labels are those of each run of the workflow.
	Labels Labels `json:"labels,omitempty"`
	// Schedules say when runs of the main graph, or of the branch, start by themselves; nil: never.
	Schedules []Schedule `json:"schedules,omitempty"`
	// Concurrency bounds how many runs run at once; nil: nothing does. That of a workflow holds for its branches, which may have their own.
	Concurrency *Concurrency `json:"concurrency,omitempty"`
	// Toolsets are what tool nodes may use, in the form of Agent.Toolsets, and Permissions hold for their calls as Agent.Permissions for those of an agent.
	Toolsets    []json.RawMessage `json:"toolsets,omitempty"`
	Permissions []Permissions     `json:"permissions,omitempty"`
	// Inputs are the named inputs of runs, in the order of a form; nil: the input is a text.
	Inputs []Input `json:"inputs,omitempty"`
	// Output is the output of runs, a value with expressions; nil: that of the step that ended last. OutputSchema is the JSON Schema that it must fit.
	Output       json.RawMessage `json:"output,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Providers are model providers that the document declares, by name, for the wiring; the engine does not read them.
	Providers map[string]Provider `json:"providers,omitempty"`

	// Source tells where the parts are in the document. It is no part of the definition: not in its JSON, not in its digest.
	Source Source `json:"-"`
}

// Provider is a model provider as a document declares it.
type Provider struct {
	// Kind is the protocol: `openai` (Chat Completions), `anthropic` or `google`.
	Kind    string `json:"kind"`
	BaseURL string `json:"baseURL,omitempty"`
	// KeyEnv names the environment variable that holds the key; the key itself is never in a definition.
	KeyEnv string `json:"keyEnv,omitempty"`
}

// Edge leads from a port of one node to another node.
type Edge struct {
	// ID is the document's own id, where it has one.
	ID   string `json:"id,omitempty"`
	From string `json:"from"`
	// Port is the port of From; "" means PortOut.
	Port string `json:"port,omitempty"`
	To   string `json:"to"`
	// When guards the edge; nil means always.
	When *Condition `json:"when,omitempty"`
	// Loop marks a counted back-edge: taking it is one more pass of the loop whose header is To (S4-35).
	Loop bool `json:"loop,omitempty"`
	// Label is shown on pictures.
	Label string `json:"label,omitempty"`
}

// Ports that the engine fires by itself.
const (
	PortOut     = "out"
	PortError   = "error"
	PortApprove = "approve"
	PortReject  = "reject"
	PortTimeout = "timeout"
	PortLimit   = "limit"
	PortTrue    = "true"
	PortFalse   = "false"
	// PortCalls is fired by an agent of a shared conversation that asks for tools; its edge leads to an exec node.
	PortCalls = "calls"
)

// PortName gives the port of the edge, PortOut where none is written.
func (e Edge) PortName() string {
	if e.Port == "" {
		return PortOut
	}
	return e.Port
}

// Condition is one question with a yes or no. Language says how Text is read:
//
//   - LangMatch: Op (`equal`, `contains`) with Text as operand against the step's input (S0-20);
//   - LangExpr: Text is an expression over step outputs (D9);
//   - LangFunc: Func names a Go function of the program (D4).
type Condition struct {
	Language string `json:"language"`
	Op       string `json:"op,omitempty"`
	Text     string `json:"text,omitempty"`
	Func     string `json:"func,omitempty"`
}

const (
	LangMatch = "match"
	LangExpr  = "expr"
	LangFunc  = "func"
)

// Limits bound a run. Zero means the default named at the field; formats and flags may set others.
type Limits struct {
	// MaxSteps bounds executions of document nodes; default DefaultMaxSteps, and DefaultItemSteps more for each item that a map begins. Nil is the default: an explicit 0 allows
	// none (D28).
	MaxSteps *int `json:"maxSteps,omitempty"`
	// MaxRounds ends the run as completed after that many full cycles (S1-13); 0: no such end.
	MaxRounds int `json:"maxRounds,omitempty"`
	// MaxLoopIterations bounds executions of a loop's header since the loop was entered; default DefaultMaxLoopIterations.
	MaxLoopIterations int `json:"maxLoopIterations,omitempty"`
	// Timeout bounds the time in which the run has an owner and is not paused (D21); 0: none.
	Timeout Duration `json:"timeout,omitempty"`
	// MaxConcurrency bounds steps in flight; 0: no bound of the run's own.
	MaxConcurrency int `json:"maxConcurrency,omitempty"`
	// MaxTokens, MaxCostUSD and MaxCalls (model calls and tool calls, by attempt) are budgets; 0: none.
	MaxTokens  int64   `json:"maxTokens,omitempty"`
	MaxCostUSD float64 `json:"maxCostUSD,omitempty"`
	MaxCalls   int64   `json:"maxCalls,omitempty"`
	// OnBudget says what happens where a budget is met: OnBudgetFail ("" too) or OnBudgetPause.
	OnBudget string `json:"onBudget,omitempty"`
	// Uncounted is that of Budget, for the run's own budget.
	Uncounted string `json:"uncounted,omitempty"`
	// MaxBytes bounds what the run takes in and makes, in bytes: prompts, replies, arguments, results, outputs, answers, each as often as it is recorded (SEC17). Documents
	// cannot say it; the start of the run does. 0: none.
	MaxBytes int64 `json:"maxBytes,omitempty"`
}

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
	// MinCompactTokens is the least Compaction.Tokens, and MaxCompactKeep the most groups that stay.
	MinCompactTokens, MaxCompactKeep = 100, 10_000
	// MaxModelRetries bounds Agent.FallbackRetries.
	MaxModelRetries = 100
)

// Steps gives MaxSteps or its default, which is that of a run that began no items of maps.
func (l Limits) Steps() int {
	if l.MaxSteps == nil {
		return DefaultMaxSteps
	}
	return *l.MaxSteps
}

// LoopIterations gives MaxLoopIterations or its default.
func (l Limits) LoopIterations() int {
	if l.MaxLoopIterations <= 0 {
		return DefaultMaxLoopIterations
	}
	return l.MaxLoopIterations
}

// Rules are the points in which formats differ on how a graph runs.
type Rules struct {
	// OnFailure says what a step's unhandled failure does to steps in flight: FailFast (default) cancels them, FailDrain lets
	// the calls that were started finish and starts nothing new (S0-46).
	OnFailure string `json:"onFailure,omitempty"`
	// HoldWhilePaused queues newly ready steps while a wait is open (S0-41, D18). Default: other branches go on (P32).
	HoldWhilePaused bool `json:"holdWhilePaused,omitempty"`
	// SharedConversation gives all agents one list of messages (S3-23).
	SharedConversation bool `json:"sharedConversation,omitempty"`
	// Conversational offers every agent a tool `end` that ends the run (S3-6).
	Conversational bool `json:"conversational,omitempty"`
	// InputIsState makes the fields of the run's input, which must be an object, the state that the first step sees. An empty input is no field.
	InputIsState bool `json:"inputIsState,omitempty"`
	// StateFlows: a sub-flow that is given no state of its own begins with that of the flow around it, and gives its last state, not the output of its last step.
	StateFlows bool `json:"stateFlows,omitempty"`
	// KeepErrors: functions see all failed attempts of the run, and when a step completed last (S2-75, S2-78).
	KeepErrors bool `json:"keepErrors,omitempty"`
	// ReportFailures: the program may make a signal of the failure with which a run ends (S2-59).
	ReportFailures bool `json:"reportFailures,omitempty"`
	// FinishOnCancel: functions that run when the run is cancelled may finish, and their results count (S2-36).
	FinishOnCancel bool `json:"finishOnCancel,omitempty"`
	// UnknownFails: a tool call whose outcome is unknown fails its node; no person is asked and the call is not repeated (S2-46).
	UnknownFails bool `json:"unknownFails,omitempty"`
	// HideLosers: outputs of branches that lost their block are not seen behind it (S2-57).
	HideLosers bool `json:"hideLosers,omitempty"`
	// StepLimitText and TimeoutText are the messages of the failure of a run that reached its limit of steps or its timeout; `{max}` in them is the limit, in steps or
	// milliseconds. "": the usual messages.
	StepLimitText string `json:"stepLimitText,omitempty"`
	TimeoutText   string `json:"timeoutText,omitempty"`
	// Serial lets a scope start nothing while one of its steps runs or waits: nodes run one at a time, in the order of the queue (S2-30). Branches of
	// a fork are scopes of their own and run together (S2-62).
	Serial bool `json:"serial,omitempty"`
	// DefaultInput is the run's input where the caller gives an empty one.
	DefaultInput json.RawMessage `json:"defaultInput,omitempty"`
	// Handoff is the wait node that is entered instead of failing at the step limit, the timeout or an oscillation (S3-15); "": none.
	Handoff string `json:"handoff,omitempty"`
	// Reducers say how a top-level field of the state is merged where branches change it, by field: `append`, `sum`, `merge`, `last` or
	// `func:NAME` (D27). A field without one may be changed by one branch only.
	Reducers map[string]string `json:"reducers,omitempty"`
}

const (
	FailFast     = "fail_fast"
	FailCollect  = "collect"
	FailContinue = "continue"
	FailSkip     = "skip"
	FailDrain    = "drain"
)

// Retry says how a failed call of a step is tried again.
type Retry struct {
	// MaxRetries counts tries after the first; 0 means none (S4-20, D11).
	MaxRetries int `json:"maxRetries"`
	// Delay before the first retry; 0: none.
	Delay Duration `json:"delay,omitempty"`
	// Multiplier of the delay from one retry to the next; 0 and 1: the delay stays.
	Multiplier float64 `json:"multiplier,omitempty"`
	// On lists patterns, any of which must be in the error's code or message, case aside, `_` and space equal (S4-22); empty: any error.
	On []string `json:"on,omitempty"`
	// Func names a Go predicate of the program (D4).
	Func string `json:"func,omitempty"`
}

// Source maps parts of a workflow to places in its document.
type Source struct {
	File   string
	Nodes  map[string]diag.Span
	Edges  []diag.Span // beside Workflow.Edges; may be shorter
	Agents map[string]diag.Span
}

// Node gives the place of the node id; the file alone where it is not known.
func (s Source) Node(id string) diag.Span { return s.at(s.Nodes, id) }

// Agent gives the place of the agent id.
func (s Source) Agent(id string) diag.Span { return s.at(s.Agents, id) }

// Edge gives the place of edge i.
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

// Node gives the node with that id, nil where there is none.
func (w *Workflow) Node(id string) *Node {
	for i := range w.Nodes {
		if w.Nodes[i].ID == id {
			return &w.Nodes[i]
		}
	}
	return nil
}

// Graph gives what a run of the branch with that id runs, the main graph for "": a definition of its own, without the branches beside it and without
// schedules, so that changes of those do not change its digest. Nil where there is no such branch (S1-21).
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

// Callers gives what calls tools: the agents, and behind them, as an agent without an id, the tool nodes, where w has some or lists what they may use. Those of sub-flows and branches are not
// among them.
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

// Agent gives the agent with that id, nil where there is none.
func (w *Workflow) Agent(id string) *Agent {
	for i := range w.Agents {
		if w.Agents[i].ID == id {
			return &w.Agents[i]
		}
	}
	return nil
}

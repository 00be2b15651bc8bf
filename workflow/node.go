package workflow

import (
	"cmp"
	"encoding/json"
	"strings"
)

// Node is one node. Exactly the field of its kind is set; start, end and exec nodes have none.
//
// The output depends on the kind: start, decide, end and approvals pass their input through as
// output; a question returns the answer; a fork with its join returns the outputs of the branches;
// all others return their own result.
type Node struct {
	// ID is unique in the workflow. If IDs of a document repeat in different scopes, it is a path
	// that ends in `/id`.
	ID string `json:"id"`
	// Name is the display name; empty means ID.
	Name string `json:"name,omitempty"`
	Kind Kind   `json:"kind"`
	// Parent is the fork whose branch, or the map whose body, contains the node; it is empty
	// outside of any.
	Parent string `json:"parent,omitempty"`
	// Hidden nodes exist only in the compiled graph: they are neither entries of the run nor steps.
	// Joins of forks are always hidden.
	Hidden bool `json:"hidden,omitempty"`

	Agent   *AgentNode `json:"agent,omitempty"`
	Tool    *ToolNode  `json:"tool,omitempty"`
	Func    *FuncNode  `json:"func,omitempty"`
	Decide  *Decide    `json:"decide,omitempty"`
	Wait    *Wait      `json:"wait,omitempty"`
	Fork    *Fork      `json:"fork,omitempty"`
	Join    *Join      `json:"join,omitempty"`
	Subflow *Subflow   `json:"subflow,omitempty"`
	Set     *SetNode   `json:"set,omitempty"`
	Sleep   *SleepNode `json:"sleep,omitempty"`
	Map     *Map       `json:"map,omitempty"`
	// End specifies how an end node ends the run; nil means completed, with its input.
	End *EndNode `json:"end,omitempty"`

	// If is evaluated when the step starts. If it does not hold, the step is skipped: it does
	// nothing, has no output, and passes its input on through PortOut. Nil means that the step
	// always runs.
	If *Condition `json:"if,omitempty"`
	// Catch lets the run continue if the step has failed permanently; if it is nil, an edge of
	// PortError or PortLimit does, or the failure propagates outward.
	Catch *Catch `json:"catch,omitempty"`
	Retry *Retry `json:"retry,omitempty"`
	// Timeout limits the duration of the step from its start, including all attempts, the delays
	// between them and everything that runs inside it. When it expires, whatever is running is
	// cancelled, and the step fails with the code `timeout`, which no retry policy retries; 0 means
	// no limit.
	Timeout Duration `json:"timeout,omitempty"`
	// CallTimeout limits each call of the step; 0 means the driver's default.
	CallTimeout Duration `json:"callTimeout,omitempty"`
	// Budget limits what the node uses; if nil, only the run's budget applies.
	Budget *Budget `json:"budget,omitempty"`
	// First makes a fired port take only the first edge whose guard holds. By default it takes
	// every such edge.
	First bool `json:"first,omitempty"`
	// Recovery marks a node that an error handler may go to.
	Recovery bool `json:"recovery,omitempty"`
	// OnError is the name of the program's Go error handler.
	OnError string `json:"onError,omitempty"`
	// Reads lists the nodes whose outputs the node's templates and conditions refer to, sorted, for
	// lint.
	Reads []string `json:"reads,omitempty"`
	// Notes are warnings of the document that the run's log repeats at this node.
	Notes []Note `json:"notes,omitempty"`
}

// Note is a warning that belongs to one port of a node: a run's log shows Text each time that the
// node fires Port.
type Note struct {
	Port string `json:"port,omitempty"` // "" means PortOut
	Text string `json:"text"`
	// Target is the node that an edge of the document names and that does not exist, if that is
	// what the warning is about.
	Target string `json:"target,omitempty"`
}

// Title returns Name, or ID if there is no name.
func (n *Node) Title() string {
	if n.Name != "" {
		return n.Name
	}
	return n.ID
}

// AgentNode runs the agent loop of one agent.
type AgentNode struct {
	// Agent is the ID of an entry of Workflow.Agents.
	Agent  string `json:"agent"`
	Prompt Prompt `json:"prompt"`
	// Routing lets the agent choose its successor by value; nil means that the step fires PortOut.
	Routing *Routing `json:"routing,omitempty"`
}

// Prompt specifies how the user message of an agent step is built.
type Prompt struct {
	Mode PromptMode `json:"mode"`
	// Text is interpreted according to Mode.
	Text string `json:"text,omitempty"`
	// Default is sent instead of a blank input if Text is blank, in the mode PromptTemplate.
	Default string `json:"default,omitempty"`
	// Expressions makes Text an interpolation, instead of text with tokens only, in the modes
	// PromptTemplate and PromptTurns. A reference without a value fails the step.
	Expressions bool `json:"expressions,omitempty"`
}

// PromptMode is a way of building the user message.
type PromptMode string

const (
	// PromptTemplate sends Text with every `{{PREVIOUS_OUTPUT}}` replaced by the input, and every
	// `{{APPROVAL_NOTE}}` by the note of the last answered approval on the path to the node, or
	// nothing if there is none; if Text is blank, it sends the input itself.
	PromptTemplate PromptMode = "template"
	// PromptContext sends the block of prior outputs that the step can see, a blank line, and the
	// run's input; Text replaces an empty input.
	PromptContext PromptMode = "context"
	// PromptTurns sends Text (a turn instruction), the recent turns and the last output.
	PromptTurns PromptMode = "turns"
	// PromptShared sends the shared conversation.
	PromptShared PromptMode = "shared"
	// PromptFunc calls the Go function named by Text.
	PromptFunc PromptMode = "func"
)

// Routing lets an agent name its successor: with an injected tool, or with a JSON reply with a
// string `next`. A name that is none of the values counts as the one that [Named] finds.
type Routing struct {
	// Tool is the name of the injected tool; empty means that no tool is offered.
	Tool string `json:"tool,omitempty"`
	// ToolOnly means that a JSON reply names no successor: it is text like any other.
	ToolOnly bool `json:"toolOnly,omitempty"`
	// Values are the values that the agent may choose from, in order. A value fires its port,
	// [NextPort].
	Values []string `json:"values,omitempty"`
	// Calls are values that lead to an exec node as a tool call does: they fire PortCalls and are
	// not offered, since calling a tool is sufficient.
	Calls []string `json:"calls,omitempty"`
	// Else is fired if no value matches; it is empty if the node has no such edge.
	Else string `json:"else,omitempty"`
}

// Named returns the value that a name means: itself, or else the only value that it equals
// regardless of case and of white space around it. END is only found by itself. Without such a
// value it returns the name.
func Named(name string, values ...string) string {
	found := ""
	for _, v := range values {
		switch {
		case v == name:
			return name
		case v == "END" || !strings.EqualFold(v, strings.TrimSpace(name)) || v == found:
		case found != "":
			return name
		default:
			found = v
		}
	}
	return cmp.Or(found, name)
}

// NextPort returns the port that a value chosen by an agent or a person fires; no value can clash
// with a port that the engine fires itself.
func NextPort(value string) string { return "next:" + value }

// ToolPort returns the port that an exec node fires after the tool.
func ToolPort(tool string) string { return "tool:" + tool }

// ToolNode calls one tool.
type ToolNode struct {
	Tool string `json:"tool"`
	// Args is a JSON object whose strings are interpolations; null sends the input, which must then
	// be an object, or {"input": text}.
	Args json.RawMessage `json:"args,omitempty"`
	// ArgsFunc is the name of a Go function that returns the arguments.
	ArgsFunc string `json:"argsFunc,omitempty"`
	// Workflow is set if Tool runs another workflow, and specifies which: `ID`, `ID@VERSION`, or a
	// path relative to the document that begins with `./` or `../`. Tool is then its [CallTool];
	// the toolset is that of w.Callers. Empty means that Tool is any other tool.
	Workflow string `json:"workflow,omitempty"`
}

// SetNode creates a value without a call.
type SetNode struct {
	// Value is JSON whose strings are interpolations. It is the output.
	Value json.RawMessage `json:"value"`
}

// SleepNode delays the steps after it. Exactly one of its strings is set; both are interpolations.
// The step has no output, and passes its input on.
type SleepNode struct {
	// For is how long to sleep; see [ParseDuration].
	For string `json:"for,omitempty"`
	// Until is when the sleep ends, in RFC 3339 format; the step ends immediately if that time has
	// passed.
	Until string `json:"until,omitempty"`
}

// EndNode specifies how the run ends.
type EndNode struct {
	// Status is EndCompleted (the default) or EndFailed.
	Status string `json:"status,omitempty"`
	// Output is JSON whose strings are interpolations; null means that the input is the output.
	Output json.RawMessage `json:"output,omitempty"`
	// Message is an interpolation, the message of the failure; empty means a default message.
	Message string `json:"message,omitempty"`
}

// The values of End.Status.
const (
	EndCompleted = "completed"
	EndFailed    = "failed"
)

// Catch continues after a failure that no retry fixed. The failure can be read until the step
// completes. Limits of the run are not handled; see the codes of failures.
type Catch struct {
	// Port is the port that is fired: PortOut, or PortError if it has edges.
	Port string `json:"port"`
	// Default is the output of a step that continues through PortOut: JSON whose strings are
	// interpolations; null means no output, and the step's input is passed on.
	Default json.RawMessage `json:"default,omitempty"`
}

// FuncNode calls a Go function that the program registered.
type FuncNode struct {
	Func string `json:"func"`
}

// Decide chooses ports. The first case that holds fires its port; if none holds, Else is fired, or,
// if Else is empty, the step fails with `no_route`.
type Decide struct {
	Cases []Case `json:"cases"`
	Else  string `json:"else,omitempty"`
}

// Case is one output of a decide node.
type Case struct {
	Port string    `json:"port"`
	When Condition `json:"when"`
}

// Wait opens a question to a person, or waits for a signal.
type Wait struct {
	// Kind is WaitApproval, WaitQuestion or WaitSignal.
	Kind   string `json:"kind"`
	Prompt string `json:"prompt,omitempty"`
	// PromptFunc is the name of a Go function that returns the question: a JSON string, or an
	// object {"prompt": string, "options": [string], "data": object}. It takes precedence over
	// Prompt.
	PromptFunc string `json:"promptFunc,omitempty"`
	// Signal is raised when the question is opened, with the prompt as its message and, in its
	// data, nodeId, requestId and the data of PromptFunc; empty means none. The data of PromptFunc
	// is also sent as an event defined by the program.
	Signal string `json:"signal,omitempty"`
	// Mapper is the name of a Go function that derives changes of the state from the answer. It is
	// called like a merge function (see Fork.Merge), with the answer as the only output, under the
	// node's ID.
	Mapper string `json:"mapper,omitempty"`
	// Options are the answers that are offered; for approvals they are always approve and reject. A
	// question without options accepts free text.
	Options []string `json:"options,omitempty"`
	// Deadline is the duration after which PortTimeout is fired or, if there is no such edge, the
	// step fails; 0 means none.
	Deadline Duration `json:"deadline,omitempty"`
	// Remind is how long the wait is open before a reminder is sent, once; 0 means the run's
	// setting. A reminder that is not before Deadline is never sent.
	Remind Duration `json:"remind,omitempty"`
	// Route fires [NextPort] of the answer if it has an edge, and otherwise PortOut; if that has no
	// edge either, the run continues at the entry.
	Route bool `json:"route,omitempty"`
	// AutoApprove continues immediately with an empty answer.
	AutoApprove bool `json:"autoApprove,omitempty"`
	// Template makes the prompt an interpolation, instead of text with tokens only.
	Template bool `json:"template,omitempty"`
	// Schema is the JSON Schema that the answer to a question must match; null means any answer.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Roles specifies who may answer: run, edit and admin are roles of access tokens, which include
	// the roles above them; any other word is the name of a token, or of the endpoint to which an
	// approve link was sent. Empty means everyone who may answer waits of the kind. There are at
	// most [MaxRoles].
	Roles []string `json:"roles,omitempty"`
	// FailReject fails the step if a person rejects and PortReject has no edge.
	FailReject bool `json:"failReject,omitempty"`
	// OnDeadline is PortApprove or PortReject if an approval counts as answered that way at its
	// deadline; if empty, see Deadline.
	OnDeadline string `json:"onDeadline,omitempty"`
	// Default is the answer to a question at its deadline: JSON whose strings are interpolations;
	// if null, see Deadline.
	Default json.RawMessage `json:"default,omitempty"`
	// DefaultFunc is the name of a Go function that returns the answer at the deadline; it takes
	// precedence over Default.
	DefaultFunc string `json:"defaultFunc,omitempty"`
	// Await is the name of the signal that a wait of kind WaitSignal accepts; see [SignalName]. The
	// signal's value is the output.
	Await string `json:"await,omitempty"`
	// Filter determines which signals with that name the wait accepts: in the language LangExpr,
	// through `$signal`, the value; otherwise like the condition of an edge that leaves the node,
	// which sees the value as the node's output. Nil means all.
	Filter *Condition `json:"filter,omitempty"`
}

// Limits of Wait.Roles, and of the length of a role in bytes.
const (
	MaxRoles    = 32
	MaxRoleSize = 400
)

// The values of Wait.Kind.
const (
	WaitApproval = "approval"
	WaitQuestion = "question"
	WaitSignal   = "signal"
)

// Fork starts each of its branches and keeps running until its join settles; it is one step,
// retried as a whole. Branch i begins at the edge whose port is Branches[i].ID. When the block has
// settled, the step fires PortOut of the join.
type Fork struct {
	Join     string   `json:"join"`
	Branches []Branch `json:"branches"`
	// Until specifies what settles the block: UntilAll (default), UntilAny (first success),
	// UntilRace (first settled) or UntilQuorum.
	Until  string `json:"until,omitempty"`
	Quorum int    `json:"quorum,omitempty"`
	// OnFailure specifies what happens when a branch fails: FailFast (default), FailCollect or
	// FailContinue. UntilAny and UntilQuorum fail once too few can succeed.
	OnFailure string `json:"onFailure,omitempty"`
	// MaxConcurrency is the maximum number of branches in flight; 0 means that all run
	// concurrently.
	MaxConcurrency int `json:"maxConcurrency,omitempty"`
	// Shape is the shape of the block's output: ShapeSteps (default) or ShapeMap.
	Shape string `json:"shape,omitempty"`
	// Merge is the name of a Go function that merges the branches' outputs into the state.
	Merge string `json:"merge,omitempty"`
}

// The values of Fork.Until and Fork.Shape.
const (
	UntilAll    = "all"
	UntilAny    = "any"
	UntilRace   = "race"
	UntilQuorum = "quorum"

	// ShapeSteps is {"steps": {id: {"output", "agent"}}, "order": [ids]}.
	ShapeSteps = "steps"
	// ShapeMap is {branch: output}, in declared order.
	ShapeMap = "map"
)

// Branch is one branch of a fork.
type Branch struct {
	// ID names the branch and is the port at which it begins; in ShapeSteps it is the child step's
	// ID.
	ID string `json:"id"`
}

// Join waits for inbound paths. If Fork is set, it closes that fork. Otherwise it is a free join:
// it fires once every inbound path has arrived or can no longer arrive, and its output is an object
// of the arrived outputs keyed by source node.
type Join struct {
	Fork string `json:"fork,omitempty"`
}

// Map runs its body once for each item of a list and keeps running until all items have ended; it
// is one step. The body consists of the nodes whose parent it is: each item has its own scope, in
// which the step after the entry receives the item. The output is the list of the items' results in
// the order of the items; an item's result is the output of the step that completed last in it.
// Changes that steps of the body make to the typed state are visible only within their item.
type Map struct {
	// Over is JSON whose strings are interpolations, and which evaluates to the list; null means
	// that the input of the step is the list.
	Over json.RawMessage `json:"over,omitempty"`
	// OverFunc is the name of a Go function that returns the list.
	OverFunc string `json:"overFunc,omitempty"`
	// Entry is the node of the body at which each item begins.
	Entry string `json:"entry"`
	// As is the name of the item in expressions of the body, `$NAME`; its index, counting from 0,
	// is `$NAME_index`. Empty means `item`.
	As string `json:"as,omitempty"`
	// MaxConcurrency is the maximum number of items in progress; 0 means [DefaultMapConcurrency].
	MaxConcurrency int `json:"maxConcurrency,omitempty"`
	// OnItemError specifies what happens when an item fails: FailFast (default) fails the map
	// immediately, FailSkip puts null in place of the item, and FailCollect lets all items end
	// before it fails the map.
	OnItemError string `json:"onItemError,omitempty"`
	// Merge is the name of a Go function that derives changes of the state from the list. It is
	// called like a merge function (see Fork.Merge), with the list as the only output, under the
	// node's ID.
	Merge string `json:"merge,omitempty"`
}

const (
	// MaxItems is the maximum length of the list of a map.
	MaxItems = 10_000
	// DefaultMapConcurrency is the number of items of a map that are in progress concurrently by
	// default.
	DefaultMapConcurrency = 10
	// DefaultItem is the default name of the item of a map.
	DefaultItem = "item"
)

// Item returns the name of the item in expressions.
func (m *Map) Item() string { return cmp.Or(m.As, DefaultItem) }

// Concurrency returns the maximum number of items in progress.
func (m *Map) Concurrency() int { return cmp.Or(m.MaxConcurrency, DefaultMapConcurrency) }

// ItemIndex returns the name, in expressions, of the index of the item with the given name.
func ItemIndex(item string) string { return item + "_index" }

// Subflow runs another workflow as one step, which is retried as a whole. Steps inside count
// against the run's limits; the flow's own limits are ignored. If the flow has typed state, that
// state is its own.
type Subflow struct {
	// Flow is a key of Workflow.Flows.
	Flow string `json:"flow"`
	// Input is the name of a Go function that returns the initial typed state, a JSON object; empty
	// means the state that the step sees.
	Input string `json:"input,omitempty"`
	// Mapper is the name of a Go function that derives changes of the step's own state from the
	// flow's final state. It is called like a merge function (see Fork.Merge), with that state as
	// the only output, under the node's ID, and the step then has no output. If empty, the final
	// state is the step's output.
	Mapper string `json:"mapper,omitempty"`
}

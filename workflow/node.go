package workflow

import (
	"cmp"
	"encoding/json"
)

// Node is one node. Exactly the field of its kind is set; start, end and exec nodes have none.
//
// What a kind gives on: start, decide, end and approvals pass their input through as output; a question gives the answer; a fork with its
// join gives the branches' outputs; all others give their own result.
type Node struct {
	// ID is unique in the workflow. Where ids of a document repeat in different scopes it is a path that ends in `/id`.
	ID string `json:"id"`
	// Name is what people see; "" means ID.
	Name string `json:"name,omitempty"`
	Kind Kind   `json:"kind"`
	// Parent is the fork in whose branch, or the map in whose body the node stands; "" outside of all.
	Parent string `json:"parent,omitempty"`
	// Hidden nodes are in the compiled graph only: neither entries of the run nor steps (D13). Joins of forks are always hidden.
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
	// End says how an end node ends the run; nil: completed, with its input.
	End *EndNode `json:"end,omitempty"`

	// If is asked when the step starts. Where it does not hold the step is skipped: it does nothing, has no output, and what it was given goes on by PortOut. Nil: always.
	If *Condition `json:"if,omitempty"`
	// Catch says that the run goes on where the step has failed for good; nil: an edge of PortError or PortLimit does, or the failure goes outward.
	Catch *Catch `json:"catch,omitempty"`
	Retry *Retry `json:"retry,omitempty"`
	// Timeout bounds the step from its start, with all attempts, the waits between them and all that runs inside of it. When it is over what runs is cancelled, and the step fails with the
	// code `timeout`, which no retry policy repeats; 0: none.
	Timeout Duration `json:"timeout,omitempty"`
	// CallTimeout bounds each call of the step; 0: the driver's default.
	CallTimeout Duration `json:"callTimeout,omitempty"`
	// Budget bounds what the node uses; nil: the run's budget alone does.
	Budget *Budget `json:"budget,omitempty"`
	// First makes a fired port take only the first edge whose guard holds (S1-4). Default: every one.
	First bool `json:"first,omitempty"`
	// Recovery marks a node that an error handler may go to (S2-42).
	Recovery bool `json:"recovery,omitempty"`
	// OnError names a Go error handler of the program (S2-42).
	OnError string `json:"onError,omitempty"`
	// Reads lists the nodes whose outputs the node's templates and conditions name, sorted, for lint.
	Reads []string `json:"reads,omitempty"`
	// Notes are warnings of the document that the run's log repeats at this node.
	Notes []Note `json:"notes,omitempty"`
}

// Note is a warning that belongs to one port of a node: a run's log shows Text each time that the node fires Port (S0-6).
type Note struct {
	Port string `json:"port,omitempty"` // "" means PortOut
	Text string `json:"text"`
	// Target is the node that an edge of the document names and that does not exist, where that is the warning.
	Target string `json:"target,omitempty"`
}

// Title gives Name, or ID where there is no name.
func (n *Node) Title() string {
	if n.Name != "" {
		return n.Name
	}
	return n.ID
}

// AgentNode runs the agent loop of one agent.
type AgentNode struct {
	// Agent is the id of an entry of Workflow.Agents.
	Agent  string `json:"agent"`
	Prompt Prompt `json:"prompt"`
	// Routing lets the agent choose its successor by value (S3-10); nil: the step fires PortOut.
	Routing *Routing `json:"routing,omitempty"`
}

// Prompt says how the user message of an agent step is made.
type Prompt struct {
	Mode PromptMode `json:"mode"`
	// Text depends on Mode.
	Text string `json:"text,omitempty"`
	// Expressions: Text is an interpolation, not a text with tokens alone, in the modes PromptTemplate and PromptTurns. A reference without a value fails the step.
	Expressions bool `json:"expressions,omitempty"`
}

// PromptMode is a way to make the user message.
type PromptMode string

const (
	// PromptTemplate sends Text with every `{{PREVIOUS_OUTPUT}}` replaced by the input, and every `{{APPROVAL_NOTE}}` by the note of the last answered approval on
	// the path to the node, empty where there is none (ADR 46); the input itself where Text is blank (S0-11, S0-12).
	PromptTemplate PromptMode = "template"
	// PromptContext sends the block of prior outputs that the step can see, a blank line, and the run's input (S4-3); Text stands for an
	// empty input.
	PromptContext PromptMode = "context"
	// PromptTurns sends Text (a turn instruction), the recent turns and the last output (S1-3).
	PromptTurns PromptMode = "turns"
	// PromptShared sends the shared conversation (S3-23).
	PromptShared PromptMode = "shared"
	// PromptFunc asks the Go function named by Text (D4).
	PromptFunc PromptMode = "func"
)

// Routing lets an agent name its successor: by an injected tool, or by a JSON reply with a string `next`.
type Routing struct {
	// Tool is the name of the injected tool; "" offers none.
	Tool string `json:"tool,omitempty"`
	// Values are what the agent may choose, in order. A value fires the port [NextPort] of it.
	Values []string `json:"values,omitempty"`
	// Calls are values that lead to an exec node as a tool call does: they fire PortCalls and are not offered, since calling a tool is enough (S3-9).
	Calls []string `json:"calls,omitempty"`
	// Else is fired where no value matches; "" where the node has no such edge.
	Else string `json:"else,omitempty"`
}

// NextPort is the port that a value fires, chosen by an agent or a person; no value can meet a port that the engine fires by itself.
func NextPort(value string) string { return "next:" + value }

// ToolPort is the port that an exec node fires after the tool (S3-3).
func ToolPort(tool string) string { return "tool:" + tool }

// ToolNode calls one tool.
type ToolNode struct {
	Tool string `json:"tool"`
	// Args is a JSON object whose texts are interpolations; null sends the input, which must then be an object, or {"input": text}.
	Args json.RawMessage `json:"args,omitempty"`
	// ArgsFunc names a Go function that gives the arguments (D4).
	ArgsFunc string `json:"argsFunc,omitempty"`
	// Workflow says that Tool runs another workflow, and which: `ID`, `ID@VERSION`, or a path relative to the document that begins with `./` or `../`. Tool is [CallTool] of it; the toolset
	// is that of w.Callers. "": Tool is another one's.
	Workflow string `json:"workflow,omitempty"`
}

// SetNode makes a value without a call.
type SetNode struct {
	// Value is JSON whose texts are interpolations. It is the output.
	Value json.RawMessage `json:"value"`
}

// SleepNode lets the steps behind it begin later. Exactly one of its texts is set; both are interpolations. The step has no output, and hands on what it was given.
type SleepNode struct {
	// For is how long it rests: see [ParseDuration].
	For string `json:"for,omitempty"`
	// Until is when it ends, in the form of RFC 3339; at once where that has passed.
	Until string `json:"until,omitempty"`
}

// EndNode says how the run ends.
type EndNode struct {
	// Status is EndCompleted ("" too) or EndFailed.
	Status string `json:"status,omitempty"`
	// Output is JSON whose texts are interpolations; null: the input is the output.
	Output json.RawMessage `json:"output,omitempty"`
	// Message is an interpolation, the message of the failure; "": a usual one.
	Message string `json:"message,omitempty"`
}

const (
	EndCompleted = "completed"
	EndFailed    = "failed"
)

// Catch goes on after a failure that no retry mended. The failure can be read until the step completes. Bounds of the run are not handled: see the codes of failures.
type Catch struct {
	// Port is fired: PortOut, or PortError where edges leave by it.
	Port string `json:"port"`
	// Default is the output of the step that goes on by PortOut: JSON whose texts are interpolations; null: none, and what the step was given goes on.
	Default json.RawMessage `json:"default,omitempty"`
}

// FuncNode calls a Go function that the program registered.
type FuncNode struct {
	Func string `json:"func"`
}

// Decide chooses ports. The first case that holds fires its port; none holding fires Else, or fails the step with `no_route` where Else
// is empty.
type Decide struct {
	Cases []Case `json:"cases"`
	Else  string `json:"else,omitempty"`
}

// Case is one way out of a decide node.
type Case struct {
	Port string    `json:"port"`
	When Condition `json:"when"`
}

// Wait opens a question to a person, or waits for a signal.
type Wait struct {
	// Kind is WaitApproval, WaitQuestion or WaitSignal.
	Kind   string `json:"kind"`
	Prompt string `json:"prompt,omitempty"`
	// PromptFunc names a Go function that gives the question (D4): a JSON string, or an object {"prompt": text, "options": [texts], "data": object}. It wins
	// over Prompt.
	PromptFunc string `json:"promptFunc,omitempty"`
	// Signal is raised when the question is opened, with the prompt as its message and, in its data, nodeId, requestId and what PromptFunc gave (S2-53); "":
	// none. Data of PromptFunc also go out as an event of the program's own.
	Signal string `json:"signal,omitempty"`
	// Mapper names a Go function that makes changes of the state of the answer (S2-52). It is called as one that merges (see Fork.Merge), with the answer
	// as the only output, under the node's id.
	Mapper string `json:"mapper,omitempty"`
	// Options are the answers that are offered; for approvals always approve, reject. A question without options takes free text.
	Options []string `json:"options,omitempty"`
	// Deadline after which PortTimeout is fired, or the step fails where no such edge exists; 0: none.
	Deadline Duration `json:"deadline,omitempty"`
	// Remind is how long the wait is open before a reminder is sent, once; 0: as the run says. One that is not before Deadline never comes.
	Remind Duration `json:"remind,omitempty"`
	// Route fires [NextPort] of the answer where an edge leaves by it (S3-15), else PortOut; where no edge leaves there either, the entry follows.
	Route bool `json:"route,omitempty"`
	// AutoApprove continues immediately with an empty answer (S2-52).
	AutoApprove bool `json:"autoApprove,omitempty"`
	// Template: the prompt is an interpolation, not a text with tokens alone.
	Template bool `json:"template,omitempty"`
	// Schema is the JSON Schema that the answer to a question must fit; null: any answer.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Roles are those who may answer: run, edit and admin are roles of access tokens, with those above them; any other word is the name of a token, or of the endpoint that an approve link
	// was sent to. Empty: all who may answer waits of the kind. At most [MaxRoles].
	Roles []string `json:"roles,omitempty"`
	// FailReject fails the step where a person rejects and no edge leaves by PortReject.
	FailReject bool `json:"failReject,omitempty"`
	// OnDeadline is PortApprove or PortReject where an approval counts as so answered at its deadline; "": see Deadline.
	OnDeadline string `json:"onDeadline,omitempty"`
	// Default is the answer to a question at its deadline: JSON whose texts are interpolations; null: see Deadline.
	Default json.RawMessage `json:"default,omitempty"`
	// DefaultFunc names a Go function that gives the answer at the deadline (D4); it wins over Default.
	DefaultFunc string `json:"defaultFunc,omitempty"`
	// Await is the name of the signal that a wait of kind WaitSignal takes: see [SignalName]. Its value is the output.
	Await string `json:"await,omitempty"`
	// Filter tells which signals of the name the wait takes: in the language LangExpr by `$signal`, the value; else as the condition of an edge that leaves the node sees the value as its output.
	// Nil: all.
	Filter *Condition `json:"filter,omitempty"`
}

// Bounds of Wait.Roles, and of the bytes of one.
const (
	MaxRoles    = 32
	MaxRoleSize = 400
)

const (
	WaitApproval = "approval"
	WaitQuestion = "question"
	WaitSignal   = "signal"
)

// Fork starts one branch for each of its branches and stays running until its join settles; it is one step, retried as a whole (S4-23).
// Branch i begins at the edge whose port is Branches[i].ID. When the block has settled, the step fires PortOut of the join.
type Fork struct {
	Join     string   `json:"join"`
	Branches []Branch `json:"branches"`
	// Until says what settles the block: UntilAll (default), UntilAny (first success), UntilRace (first settled) or UntilQuorum.
	Until  string `json:"until,omitempty"`
	Quorum int    `json:"quorum,omitempty"`
	// OnFailure of a branch: FailFast (default), FailCollect or FailContinue (D12). UntilAny and UntilQuorum fail once too few can succeed.
	OnFailure string `json:"onFailure,omitempty"`
	// MaxConcurrency bounds branches in flight; 0: all at once.
	MaxConcurrency int `json:"maxConcurrency,omitempty"`
	// Shape of the block's output: ShapeSteps (default) or ShapeMap.
	Shape string `json:"shape,omitempty"`
	// Merge names a Go function that merges the branches' outputs into the state (S2-57).
	Merge string `json:"merge,omitempty"`
}

const (
	UntilAll    = "all"
	UntilAny    = "any"
	UntilRace   = "race"
	UntilQuorum = "quorum"

	// ShapeSteps is {"steps": {id: {"output", "agent"}}, "order": [ids]} (S4-34).
	ShapeSteps = "steps"
	// ShapeMap is {branch: output}, in declared order.
	ShapeMap = "map"
)

// Branch is one branch of a fork.
type Branch struct {
	// ID names the branch and is the port at which it begins: in ShapeSteps the child step's id.
	ID string `json:"id"`
}

// Join waits. With Fork set it closes that fork. Without, it is a free join: it fires once when every inbound path has arrived or can no
// longer arrive (P2, P5), and its output is an object of the arrived outputs keyed by source node.
type Join struct {
	Fork string `json:"fork,omitempty"`
}

// Map runs its body once for each item of a list and stays running until all items have ended; it is one step. The body are the nodes whose parent it is: each item is a scope
// of its own, in which the step behind the entry is given the item. The output is the list of what the items gave, each that of its step which completed last, in the order of the
// items. What steps of the body change in the typed state is seen in their item alone.
type Map struct {
	// Over is JSON whose texts are interpolations, which gives the list; null: the input of the step is the list.
	Over json.RawMessage `json:"over,omitempty"`
	// OverFunc names a Go function that gives the list (D4).
	OverFunc string `json:"overFunc,omitempty"`
	// Entry is the node of the body with which each item begins.
	Entry string `json:"entry"`
	// As names the item in expressions of the body: `$NAME`, and its place, counted from 0, `$NAME_index`; "" means `item`.
	As string `json:"as,omitempty"`
	// MaxConcurrency bounds the items at work; 0: [DefaultMapConcurrency].
	MaxConcurrency int `json:"maxConcurrency,omitempty"`
	// OnItemError says what the failure of an item does: FailFast (default) fails the map at once, FailSkip gives null in the place of the item, FailCollect lets all items end and fails
	// then.
	OnItemError string `json:"onItemError,omitempty"`
	// Merge names a Go function that makes changes of the state of the list (S2-57). It is called as one that merges (see Fork.Merge), with the list as the only output, under the node's
	// id.
	Merge string `json:"merge,omitempty"`
}

const (
	// MaxItems bounds the list of a map.
	MaxItems = 10_000
	// DefaultMapConcurrency is how many items of a map are at work where it does not say.
	DefaultMapConcurrency = 10
	// DefaultItem is the name of the item of a map that gives none.
	DefaultItem = "item"
)

// Item is the name of the item in expressions.
func (m *Map) Item() string { return cmp.Or(m.As, DefaultItem) }

// Concurrency is how many items may be at work.
func (m *Map) Concurrency() int { return cmp.Or(m.MaxConcurrency, DefaultMapConcurrency) }

// ItemIndex is the name of the place of an item in expressions, by that of the item.
func ItemIndex(item string) string { return item + "_index" }

// Subflow runs another workflow as one step, which is tried again as a whole (S4-23). Steps inside count against the run's limits; the flow's own limits
// are not looked at. Where the flow has typed state, that is a state of its own.
type Subflow struct {
	// Flow is a key of Workflow.Flows.
	Flow string `json:"flow"`
	// Input names a Go function that gives the first typed state (D4), a JSON object; "": the state that the step sees.
	Input string `json:"input,omitempty"`
	// Mapper names a Go function that makes changes of the step's own state of the flow's last one (S2-66). It is called as one that merges (see
	// Fork.Merge), with that state as the only output, under the node's id, and the step then has no output. "": the last state is the step's output.
	Mapper string `json:"mapper,omitempty"`
}

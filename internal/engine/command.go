package engine

import (
	"iter"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

// Command is work that the engine requests. A driver may start it once the events up to its After
// are durable (D7), and answers it with the input that has the same id. Ids are derived from (step,
// frame, call, attempt) (D6).
type Command interface{ command() }

// CallModel asks a model to continue a conversation.
type CallModel struct {
	ID string
	// Key is the idempotency key, the same for all attempts of one call (D6).
	Key     string
	After   uint64
	Node    string
	Step    int
	Attempt int
	Agent   *workflow.Agent
	// Model is the model reference to use; "" selects the run's default.
	Model        string
	System       string
	Conversation string
	// Messages is the conversation; it is shared and must not be changed.
	Messages []chat.Message
	// Tools are the tools that the engine itself answers (sub-agents, routing, end); the driver
	// adds those granted to the agent.
	Tools []chat.ToolDef
	// Timeout is the maximum duration of the attempt; 0 means the driver's default (P11).
	Timeout time.Duration
	// MaxOutput is what a budget leaves for the answer, including reasoning; 0 means that no budget
	// limits it.
	MaxOutput int64
	// Within are the ids of the agents as whose sub-agent the agent works, innermost first.
	Within []string
	// Compaction means that the call requests a summary. Such a call has no tools, no schema and
	// none of the agent's parameters.
	Compaction bool
}

// CallTool requests one tool call.
type CallTool struct {
	ID        string
	Key       string
	After     uint64
	Node      string
	Step      int
	Attempt   int
	Agent     *workflow.Agent // nil for tool nodes
	Tool      string
	Arguments event.Value
	// Offered are the tools that the engine itself answers for the agent: sub-agents, the handoff,
	// routing. They are used in errors about a tool that does not exist.
	Offered []string
	// Within is as in CallModel. Delegates means that the engine itself carries out the call, by
	// starting a sub-agent or handing over: the driver only answers whether the permissions allow
	// it.
	Within    []string
	Delegates bool
	// Iteration is the number of this execution of the node, Definition the workflow's digest; an
	// approval is bound to them in addition to the rest (SEC12).
	Iteration  int
	Definition string
	// Approved is the binding of the action that a person approved; "" means that no person was
	// asked. A driver that finds a different action asks again.
	Approved string
	// Held are the arguments with which the call was held if the person who approved it changed
	// them to Arguments; nil means that they were not changed.
	Held event.Value
	// CheckOnly asks whether a person must decide about the call, which is made later.
	CheckOnly bool
	// Retry is the number of earlier retries by the policy of the step.
	Retry   int
	Timeout time.Duration
}

// CallFunc requests one call of a Go function. Input, State and Outputs are what the step saw when
// it started, on every attempt.
type CallFunc struct {
	ID      string
	Key     string
	After   uint64
	Node    string
	Step    int
	Attempt int
	Func    string
	Input   event.Value
	State   typed.State
	Outputs Outputs
	// Last is the failure of the previous attempt; nil on the first (S2-58).
	Last *event.Failure
	// LastOutput is what that attempt returned despite its failure; nil means nothing.
	LastOutput event.Value
	// Errors are the failed attempts of the run, oldest first, at most [MaxErrors]; Updated is when
	// a step last completed (S2-75, S2-78).
	Errors  []FailedAttempt
	Updated time.Time
	// Notes are the notes recorded for this step so far, oldest first.
	Notes   []loop.Note
	Timeout time.Duration
}

// MaxErrors is the maximum number of failed attempts that a function receives: the most recent
// ones.
const MaxErrors = 100

// Outputs are the outputs of the nodes that a step can see. Its methods may be called by any
// goroutine at any time.
type Outputs struct {
	flow  *plan.Flow
	seen  []graph.Entry
	steps graph.Blocks[loop.Step] // ended steps are never written again
}

// Get returns the output of a node, or false if the step cannot see one.
func (o *Outputs) Get(node string) (event.Value, bool) {
	for _, e := range o.seen {
		if o.flow.Nodes[e.Node].ID == node {
			return o.steps.At(e.Step - 1).Output.Value(), true
		}
	}
	return nil, false
}

// All yields node ids and outputs, in the order in which the nodes first ran.
func (o *Outputs) All() iter.Seq2[string, event.Value] {
	return func(yield func(string, event.Value) bool) {
		for _, e := range o.seen {
			if !yield(o.flow.Nodes[e.Node].ID, o.steps.At(e.Step-1).Output.Value()) {
				return
			}
		}
	}
}

// StartTimer requests TimerDue at At. Deadline means that the timer is the deadline of a wait, a
// reminder for it, or the timeout of a step; such timers stay while the run is paused (D21).
type StartTimer struct {
	ID       string
	After    uint64
	At       time.Time
	Deadline bool
}

// CancelCalls requests that the named commands be stopped. Each still answers with whatever it has
// (D10).
type CancelCalls struct {
	IDs   []string
	After uint64
}

// OpenWait announces that a person is asked. It needs no answer from the driver and is not issued
// again after a crash: the wait is open in the state, where [Run.Waits] and answers find it.
type OpenWait struct {
	Wait  string
	After uint64
	Node  string
	Step  int
}

// Finish announces that the run has ended with Status. It is the last command unless the run is
// reopened.
type Finish struct {
	Status event.Status
	After  uint64
}

func (*CallModel) command()   {}
func (*CallTool) command()    {}
func (*CallFunc) command()    {}
func (*StartTimer) command()  {}
func (*CancelCalls) command() {}
func (*OpenWait) command()    {}
func (*Finish) command()      {}

// Decision is the result of an activation: events to be stored in one transaction, then commands to
// be executed.
type Decision struct {
	Events   []event.Event
	Commands []Command
}

// WaitInfo describes an open wait.
type WaitInfo struct {
	ID       string
	Node     string
	Step     int
	Kind     string
	Prompt   string
	Options  []string
	Since    time.Time
	Deadline time.Time
	// Call is the tool call that the wait is about, or "" for wait nodes. Binding is "" if the
	// question is about the outcome of the call; otherwise Tool, Arguments, Binding, Changed,
	// Schema, Signal, Filter and Roles are as in WaitOpened.
	Call      string
	Tool      string
	Arguments event.Value
	Binding   string
	Changed   bool
	Schema    event.Value
	Below     *event.Below
	Signal    string
	Filter    string
	Roles     []string
}

// CommandID returns the id of the command for an attempt of a call; call and attempt are as in
// events.
func CommandID(call string, attempt int) string { return commandID(call, attempt) }

// CallID returns the id of a command that requests a call, which its result also has, or "" for
// other commands.
func CallID(c Command) string {
	switch c := c.(type) {
	case *CallModel:
		return c.ID
	case *CallTool:
		return c.ID
	case *CallFunc:
		return c.ID
	}
	return ""
}

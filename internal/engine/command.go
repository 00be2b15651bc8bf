package engine

import (
	"iter"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

// Command is work that the engine wants done. A driver may begin it once the events up to its After are durable (D7), and answers it by
// the input of the same id. Ids are derived: (step, frame, call, attempt) (D6).
type Command interface{ command() }

// CallModel asks a model to continue a conversation.
type CallModel struct {
	ID string
	// Key is the idempotency key, equal for all attempts of one call (D6).
	Key     string
	After   uint64
	Node    string
	Step    int
	Attempt int
	Agent   *workflow.Agent
	// Model is the reference to use; "" leaves it to the run's default.
	Model        string
	System       string
	Conversation string
	// Messages is the conversation, shared and never changed.
	Messages []chat.Message
	// Tools are tools that the engine itself answers (sub-agents, routing, end); the driver adds those that the agent is granted.
	Tools []chat.ToolDef
	// Timeout bounds the attempt; 0: the driver's default (P11).
	Timeout time.Duration
	// MaxOutput is what a budget leaves for the answer, reasoning included; 0: no budget does.
	MaxOutput int64
	// Compaction: the call asks for a summary. It has no tools, no schema and none of the agent's parameters.
	Compaction bool
}

// CallTool asks for one tool call.
type CallTool struct {
	ID        string
	Key       string
	After     uint64
	Node      string
	Step      int
	Attempt   int
	Agent     *workflow.Agent // nil for tool nodes
	Tool      string
	Arguments Value
	// Offered are the tools that the engine itself answers for the agent: sub-agents, the hand-off, routing. For errors about a tool that does not exist.
	Offered []string
	// Iteration is the n-th execution of the node, Definition the workflow's digest: what an approval is bound to beside the rest (SEC12).
	Iteration  int
	Definition string
	// Approved is the binding of the action that a person approved; "": no person was asked. A driver that finds another action asks again.
	Approved string
	// Held are the arguments with which the call was held, where the person who approved it changed them to Arguments; nil: they were not changed.
	Held Value
	// Retry counts how often the policy of the step tried again what failed before.
	Retry   int
	Timeout time.Duration
}

// CallFunc asks for one call of a Go function. Input, State and Outputs are what the step saw when it started, on every attempt.
type CallFunc struct {
	ID      string
	Key     string
	After   uint64
	Node    string
	Step    int
	Attempt int
	Func    string
	Input   Value
	State   typed.State
	Outputs Outputs
	// Last is the failure of the former attempt; nil on the first (S2-58).
	Last *Failure
	// LastOutput is what that attempt gave despite its failure; nil: nothing.
	LastOutput Value
	// Errors are the failed attempts of the run, oldest first, at most [MaxErrors], and Updated is when a step had completed last (S2-75, S2-78).
	Errors  []FailedAttempt
	Updated time.Time
	// Notes are those taken of this step so far, oldest first.
	Notes   []Note
	Timeout time.Duration
}

// MaxErrors bounds the failed attempts that a function is given: the last ones.
const MaxErrors = 100

// Note is [loop.Note].
type Note = loop.Note

// Outputs are the outputs of the nodes that a step can see. Its methods may be called by any goroutine, at any time.
type Outputs struct {
	flow  *plan.Flow
	seen  []graph.Entry
	steps graph.Blocks[loop.Step] // those that ended are never written again
}

// Get gives the output of a node, or false where the step cannot see one.
func (o *Outputs) Get(node string) (Value, bool) {
	for _, e := range o.seen {
		if o.flow.Nodes[e.Node].ID == node {
			return o.steps.At(e.Step - 1).Output.Value(), true
		}
	}
	return nil, false
}

// All gives node ids and outputs, in the order in which the nodes first ran.
func (o *Outputs) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for _, e := range o.seen {
			if !yield(o.flow.Nodes[e.Node].ID, o.steps.At(e.Step-1).Output.Value()) {
				return
			}
		}
	}
}

// StartTimer asks for TimerDue at At. Deadline: the timer is the deadline of a wait, a reminder of it, or the timeout of a step, which stay while the run is paused (D21).
type StartTimer struct {
	ID       string
	After    uint64
	At       time.Time
	Deadline bool
}

// CancelCalls asks that the commands named be stopped. Each still answers, with whatever it has (D10).
type CancelCalls struct {
	IDs   []string
	After uint64
}

// OpenWait tells that a person is asked. It needs no answer from the driver and is not given again after a crash: the wait is open in the state, where [Run.Waits] and answers find it.
type OpenWait struct {
	Wait  string
	After uint64
	Node  string
	Step  int
}

// Finish tells that the run has ended with Status. It is the last command unless the run is reopened.
type Finish struct {
	Status Status
	After  uint64
}

func (*CallModel) command()   {}
func (*CallTool) command()    {}
func (*CallFunc) command()    {}
func (*StartTimer) command()  {}
func (*CancelCalls) command() {}
func (*OpenWait) command()    {}
func (*Finish) command()      {}

// Decision is what an activation gives: events to be stored in one transaction, then commands to be carried out.
type Decision struct {
	Events   []Event
	Commands []Command
}

// WaitInfo is an open wait as it is shown.
type WaitInfo struct {
	ID       string
	Node     string
	Step     int
	Kind     string
	Prompt   string
	Options  []string
	Since    time.Time
	Deadline time.Time
	// Call is the tool call that is asked about, "" for wait nodes. Binding is "" where the question is what became of it; else Tool, Arguments, Binding,
	// Changed, Schema, Signal, Filter and Roles are as in WaitOpened.
	Call      string
	Tool      string
	Arguments Value
	Binding   string
	Changed   bool
	Schema    Value
	Below     *Below
	Signal    string
	Filter    string
	Roles     []string
}

// CommandID gives the id of the command that asks for an attempt of a call, both as events name them.
func CommandID(call string, attempt int) string { return commandID(call, attempt) }

// CallID gives the id of a command that asks for a call, which its result has; "" for others.
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

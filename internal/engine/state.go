package engine

import (
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/workflow"
)

// state is everything that a run knows. It follows from the events, and only apply changes it.
type state struct {
	Seq     uint64
	At      time.Time
	Status  Status
	Created *RunCreated
	Limits  workflow.Limits
	// Active is the time spent running (D21).
	Active time.Duration

	Convs  map[string][]chat.Message
	Calls  map[string]*call
	Timers map[string]timer
	Waits  waits.Waits

	// Bytes count against MaxBytes; 0 where there is no such bound.
	Bytes int64
	// Ledger is what the run may use and has used.
	Ledger ledger.Ledger
	// Ending is set once the run can only end, by failure, limit or cancellation.
	Ending *ending
	// Limit is the bound that ended the run, so that it may be reopened (D20).
	Limit string
	// Trips counts transitions by trip, where Rules.Handoff is set (S3-15).
	Trips map[string]int
	// Errors are the failed attempts, and Updated is when a step completed last, where the state is typed.
	Errors  []FailedAttempt
	Updated time.Time
	// SettleAt is when the run stops waiting for cancelled calls (D10).
	SettleAt time.Time
}

// ending is why the run is about to end.
type ending struct {
	Status  Status
	Failure Failure
	// Reason is that of a cancellation.
	Reason string
	// Limit: tokens and calls are kept for a reopening.
	Limit bool
}

// step is one execution of a node. A run keeps each of its steps: what only a running one needs is in work.
type step struct {
	Node  int
	Scope int
	From  int
	Group int
	// Approval is the last answered approval on the path to the step, the step itself included: the number of its wait; 0: there is none.
	Approval int
	Calls    int // calls numbered so far
	Status   stepStatus
	Output   output
	*work
}

// work is what a step has while it runs. An ended step keeps Input, Block and By, and its work until its last call has settled; one that has none of these has graph.none, which is
// never written.
type work struct {
	// Input is what the step was given where that is neither the output of From nor made by a recipe.
	Input   Value
	Iter    int
	Retries int
	Tries   int // attempts of the call of a tool or function node so far
	Last    *Failure
	Wait    string
	// Seen and View are what a function sees: the outputs and the state as they were when the step started.
	Seen []entry
	View typed.State
	// Notes are what sub-steps of a function gave.
	Notes []Note
	Agent *agentRun
	Block *block
	// By is the agent that gave the output, where the conversation was handed over to it.
	By string
	// Flow is the sub-flow that the step runs.
	Flow int
	// Due: the step begins anew as soon as there is a slot.
	Due bool
	// calls counts the step's entries in Calls, open those that are out. They follow from Calls.
	calls, open int
	// given is the last result of the step, changed what it changes in View. Both are there only within the activation that brought the result.
	given   Data
	changed typed.Changes
}

// agentRun is an agent loop at work. Root is the frame of the step's own agent.
type agentRun struct {
	Root   int
	Frames []frame
}

// frame is one agent loop: the step's own, or a sub-agent's inside another frame.
type frame struct {
	Agent  string
	Conv   string
	System string // where it differs from the definition's
	// Parent frame and tool call of a sub-agent; Parent is -1 for a root.
	Parent     int
	ToolCallID string
	Call       string
	Depth      int
	Turns      int
	Repairs    int
	// Input are the tokens of the last call's input, as its provider counted them, and Seen the messages that it had.
	Input int64
	Seen  int
	Model int // 0: Agent.Model, n: Fallbacks[n-1]
	Done  bool
	// Turn are the tool calls of the last reply that are not all answered yet.
	Turn []turnCall
	// Sig and Same count identical tool calls one after another (P27). Recent are the calls that were answered last, with their results: see progress.go.
	Sig    string
	Same   int
	Recent []string
	// Spent are the turns of agents that handed the frame over, by id; nil where none did. Turns are those of the agent that has it.
	Spent map[string]int
	// First is the System of the agent that began a frame which was handed over.
	First string
}

type turnCall struct {
	ID   string
	Name string
	Done bool
	Text string
	Err  bool
}

type callKind uint8

const (
	callModel callKind = iota + 1
	callTool
	callFunc
)

type callState uint8

const (
	callOpen      callState = iota // asked for, no result
	callFailed                     // failed, and what follows is being decided
	callSleeping                   // waits for its retry timer
	callAsking                     // a person is asked what became of it
	callCancelled                  // cancelled, has not settled
	callDue                        // to be tried again as soon as there is a slot
)

// call is a command without its last word.
type call struct {
	Kind    callKind
	State   callState
	Step    int
	Frame   int
	Attempt int
	Model   string
	Length  int
	Tool    string // or the function's name
	ToolID  string
	Args    Value
	Seq     uint64 // the event that asked
	// Approved is the binding that a person approved; Unknown counts the attempts that gave no answer.
	Approved string
	Unknown  int
	// Reserved is what a budget keeps for a model call that is out.
	Reserved *Reserved
	// Of a function: what the attempt before gave although it failed, how many attempts of the run had failed, and when the state had changed last.
	Last    Value
	Kept    int // attempts that ended because a budget was used up: they are none to the function
	Errors  int
	Updated time.Time
}

// timer is a retry timer of a call or a step.
type timer struct {
	At   time.Time
	Step int
	Seq  uint64
}

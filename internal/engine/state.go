package engine

import (
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/engine/prompt"
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

	Flows   []flowRun
	Scopes  []scope
	Steps   stepList // step n is at n-1
	Running []int    // steps that have not ended, in order of start
	Ready   []token
	Held    []token // the queue of a paused run (D18)
	Tokens  int     // tokens made so far
	Parked  int     // tokens of Ready that stand at a free join

	Convs  map[string][]chat.Message
	Calls  map[string]*call
	Timers map[string]timer
	Waits  waits.Waits

	Used int // steps that count against MaxSteps
	// Bytes count against MaxBytes; 0 where there is no such bound.
	Bytes int64
	// Ledger is what the run may use and has used.
	Ledger ledger.Ledger
	Round  int
	// Seen are the nodes run in this round, while MaxRounds is set.
	Seen map[int]bool
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

// flowRun is one execution of a workflow's graph: the run itself (0) or a sub-flow.
type flowRun struct {
	// Step is the subflow step; 0 for the run.
	Step   int
	Counts counts // executions by node
	// Like is the first execution of the same sub-flow at the same place, which counts for all of them; 0: this one is.
	Like int
}

// scope is what one branch, one sub-flow or the run (0) may see, and what it counts.
type scope struct {
	Flow  int
	Owner int // the fork or subflow step; 0 for the run
	// Branch counts the branches of the owner from 1; 0 for flows.
	Branch int
	// Live counts tokens and steps in the scope itself. Steps that own scopes live as long as those.
	Live    int
	Started bool
	Dead    bool // cancelled or settled: nothing may happen in it any more
	// Arrived is the step whose output reached the join last; Last the step that completed last.
	Arrived int
	Last    int
	Failed  *Failure
	// Base are the outputs seen at the fork, Entries those since (D5). One entry a node, at the place of its first execution (S4-4).
	Base    []entry
	Entries []entry
	Loops   counts
	// State is the typed state as the scope sees it: that at the fork, or the one with which the sub-flow or the run began, with what was written since (D5).
	State  typed.State
	Writes map[string]write
	// shared: Entries were handed out, so they are copied before one of them changes.
	shared bool
	// context is what the scope's last prompt of prior outputs showed.
	context prompt.Context
}

type entry struct {
	Node int
	Step int
}

// write is a change of one field of the typed state and who made it.
type write struct {
	Value *typed.Value
	Node  string
}

type token struct {
	ID    int
	Node  int
	Scope int
	From  int // step whose output it carries; 0: the run's input
	Edge  int
	Group int
}

type stepStatus uint8

const (
	stepRunning stepStatus = iota
	stepCompleted
	stepFailed
	stepCancelled
	stepSkipped
)

// step is one execution of a node.
type step struct {
	Node   int
	Scope  int
	Iter   int
	Status stepStatus
	From   int
	Group  int
	// Approval is the last answered approval on the path to the step, the step itself included: the number of its wait; 0: there is none.
	Approval int
	Input    Value
	Output   output
	Goto     []string
	Retries  int
	Calls    int // calls numbered so far
	Tries    int // attempts of the call of a tool or function node so far
	Last     *Failure
	Wait     string
	// Seen and View are what a function sees: the outputs and the state as they were when the step started. They are gone when it ends.
	Seen []entry
	View typed.State
	// Notes are what sub-steps of a function gave. They are gone when the step ends.
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

// block is a fork at work: Scopes are those of its branches, in declared order, of the present attempt.
type block struct {
	Scopes []int
	Base   []entry
	View   typed.State
	// settled counts the branches, from the first on, that are known to have settled.
	settled int
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

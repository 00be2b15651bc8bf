package engine

import (
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/workflow"
)

// state is everything that a run knows. It is plain data: JSON of it is a snapshot, and only apply changes it.
type state struct {
	Seq     uint64          `json:"seq"`
	At      time.Time       `json:"at"`
	Status  Status          `json:"status"`
	Created *RunCreated     `json:"created,omitempty"`
	Limits  workflow.Limits `json:"limits"`
	// Active is the time spent running (D21).
	Active time.Duration `json:"active"`

	Flows   []flowRun `json:"flows"`
	Scopes  []scope   `json:"scopes"`
	Steps   stepList  `json:"steps"`             // step n is at n-1
	Running []int     `json:"running,omitempty"` // steps that have not ended, in order of start
	Ready   []token   `json:"ready,omitempty"`
	Held    []token   `json:"held,omitempty"`   // the queue of a paused run (D18)
	Tokens  int       `json:"tokens"`           // tokens made so far
	Parked  int       `json:"parked,omitempty"` // tokens of Ready that stand at a free join

	Convs  map[string][]chat.Message `json:"convs,omitempty"`
	Calls  map[string]*call          `json:"calls,omitempty"`
	Timers map[string]timer          `json:"timers,omitempty"`
	Waits  []wait                    `json:"waits,omitempty"`
	Open   int                       `json:"open,omitempty"` // open waits

	Used int `json:"used"` // steps that count against MaxSteps
	// Bytes count against MaxBytes; 0 where there is no such bound.
	Bytes int64 `json:"bytes,omitempty"`
	// Spent is what budgets have to bear so far, NodeSpent that of nodes with a budget of their own.
	Spent     spending            `json:"spent,omitzero"`
	NodeSpent map[string]spending `json:"nodeSpent,omitempty"`
	// Above is what the run above leaves for this one; Children are the runs that calls of this one started, by id.
	Above    *workflow.Budget  `json:"above,omitempty"`
	Children map[string]*child `json:"children,omitempty"`
	// Reservations are those of model calls that functions and tools make themselves, by key.
	Reservations map[string]*reservation `json:"reservations,omitempty"`
	Round        int                     `json:"round,omitempty"`
	// Seen are the nodes run in this round, while MaxRounds is set.
	Seen map[int]bool `json:"seen,omitempty"`
	// Ending is set once the run can only end, by failure, limit or cancellation.
	Ending *ending `json:"ending,omitempty"`
	// Limit is the bound that ended the run, so that it may be reopened (D20).
	Limit string `json:"limit,omitempty"`
	Drain drain  `json:"drain,omitzero"`
	// Trips counts transitions by trip, where Rules.Handoff is set (S3-15).
	Trips map[string]int `json:"trips,omitempty"`
	// Errors are the failed attempts, and Updated is when a step completed last, where the state is typed.
	Errors  []FailedAttempt `json:"errors,omitempty"`
	Updated time.Time       `json:"updated,omitzero"`
	// SettleAt is when the run stops waiting for cancelled calls (D10).
	SettleAt time.Time `json:"settleAt,omitzero"`
}

// ending is why the run is about to end.
type ending struct {
	Status  Status  `json:"status"`
	Failure Failure `json:"failure,omitzero"`
	// Reason is that of a cancellation.
	Reason string `json:"reason,omitempty"`
	// Limit: tokens and calls are kept for a reopening.
	Limit bool `json:"limit,omitempty"`
}

// drain is the order in which a held run goes on after an answer (D18): the branch of the answer, then each entry of Held.
type drain struct {
	On    bool `json:"on,omitempty"`
	Group int  `json:"group,omitempty"`
}

// flowRun is one execution of a workflow's graph: the run itself (0) or a sub-flow.
type flowRun struct {
	// Step is the subflow step; 0 for the run.
	Step   int    `json:"step,omitempty"`
	Counts counts `json:"counts,omitempty"` // executions by node
	// Like is the first execution of the same sub-flow at the same place, which counts for all of them; 0: this one is.
	Like int `json:"like,omitempty"`
}

// scope is what one branch, one sub-flow or the run (0) may see, and what it counts.
type scope struct {
	Flow  int `json:"flow,omitempty"`
	Owner int `json:"owner,omitempty"` // the fork or subflow step; 0 for the run
	// Branch counts the branches of the owner from 1; 0 for flows.
	Branch int `json:"branch,omitempty"`
	// Live counts tokens and steps in the scope itself. Steps that own scopes live as long as those.
	Live    int  `json:"live"`
	Started bool `json:"started,omitempty"`
	Dead    bool `json:"dead,omitempty"` // cancelled or settled: nothing may happen in it any more
	// Arrived is the step whose output reached the join last; Last the step that completed last.
	Arrived int      `json:"arrived,omitempty"`
	Last    int      `json:"last,omitempty"`
	Failed  *Failure `json:"failed,omitempty"`
	// Base are the outputs seen at the fork, Entries those since (D5). One entry a node, at the place of its first execution (S4-4).
	Base    []entry          `json:"base,omitempty"`
	Entries []entry          `json:"entries,omitempty"`
	Loops   counts           `json:"loops,omitempty"`
	Writes  map[string]write `json:"writes,omitempty"`
	// View is the state at the fork, or the one with which the sub-flow or the run began.
	View map[string]Value `json:"view,omitempty"`
	// now is View under Writes, made when asked for; nil after a change.
	now map[string]Value
	// shared: Entries were handed out, so they are copied before one of them changes.
	shared bool
}

type entry struct {
	Node int `json:"n"`
	Step int `json:"s"`
}

// write is a change of one field of the typed state and who made it.
type write struct {
	Value Value  `json:"v"`
	Node  string `json:"n"`
}

type token struct {
	ID    int `json:"id"`
	Node  int `json:"n"`
	Scope int `json:"sc,omitempty"`
	From  int `json:"f,omitempty"` // step whose output it carries; 0: the run's input
	Edge  int `json:"e"`
	Group int `json:"g,omitempty"`
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
	Node   int        `json:"n"`
	Scope  int        `json:"sc,omitempty"`
	Iter   int        `json:"i"`
	Status stepStatus `json:"st"`
	From   int        `json:"f,omitempty"`
	Group  int        `json:"g,omitempty"`
	// Approval is the last answered approval on the path to the step, the step itself included: its place in Waits, from 1; 0: there is none.
	Approval int              `json:"ap,omitempty"`
	Input    Value            `json:"in,omitempty"`
	Output   Value            `json:"out,omitempty"`
	Goto     []string         `json:"goto,omitempty"`
	Retries  int              `json:"r,omitempty"`
	Calls    int              `json:"c,omitempty"` // calls numbered so far
	Tries    int              `json:"t,omitempty"` // attempts of the call of a tool or function node so far
	Last     *Failure         `json:"last,omitempty"`
	Wait     string           `json:"w,omitempty"`
	Update   map[string]Value `json:"up,omitempty"`
	// Seen and View are what a function sees: the outputs and the state as they were when the step started. They are gone when it ends.
	Seen []entry          `json:"seen,omitempty"`
	View map[string]Value `json:"view,omitempty"`
	// Notes are what sub-steps of a function gave. They are gone when the step ends.
	Notes []Note    `json:"notes,omitempty"`
	Agent *agentRun `json:"agent,omitempty"`
	Block *block    `json:"block,omitempty"`
	// By is the agent that gave the output, where the conversation was handed over to it.
	By string `json:"by,omitempty"`
	// Flow is the sub-flow that the step runs.
	Flow int `json:"flow,omitempty"`
	// Due: the step begins anew as soon as there is a slot.
	Due bool `json:"due,omitempty"`
	// calls counts the step's entries in Calls, open those that are out. They follow from Calls.
	calls, open int
}

// block is a fork at work: Scopes are those of its branches, in declared order, of the present attempt.
type block struct {
	Scopes []int            `json:"scopes"`
	Base   []entry          `json:"base,omitempty"`
	View   map[string]Value `json:"view,omitempty"`
	// settled counts the branches, from the first on, that are known to have settled.
	settled int
}

// agentRun is an agent loop at work. Root is the frame of the step's own agent.
type agentRun struct {
	Root   int     `json:"root"`
	Frames []frame `json:"frames"`
}

// frame is one agent loop: the step's own, or a sub-agent's inside another frame.
type frame struct {
	Agent  string `json:"a"`
	Conv   string `json:"c"`
	System string `json:"sys,omitempty"` // where it differs from the definition's
	// Parent frame and tool call of a sub-agent; Parent is -1 for a root.
	Parent     int    `json:"p"`
	ToolCallID string `json:"tc,omitempty"`
	Call       string `json:"call,omitempty"`
	Depth      int    `json:"d,omitempty"`
	Turns      int    `json:"t,omitempty"`
	Repairs    int    `json:"rep,omitempty"`
	// Input are the tokens of the last call's input, as its provider counted them, and Seen the messages that it had.
	Input int64 `json:"in,omitempty"`
	Seen  int   `json:"sn,omitempty"`
	Model int   `json:"m,omitempty"` // 0: Agent.Model, n: Fallbacks[n-1]
	Done  bool  `json:"done,omitempty"`
	// Turn are the tool calls of the last reply that are not all answered yet.
	Turn []turnCall `json:"turn,omitempty"`
	// Sig and Same count identical tool calls one after another (P27). Recent are the calls that were answered last, with their results: see progress.go.
	Sig    string   `json:"sig,omitempty"`
	Same   int      `json:"same,omitempty"`
	Recent []string `json:"rc,omitempty"`
	// Spent are the turns of agents that handed the frame over, by id; nil where none did. Turns are those of the agent that has it.
	Spent map[string]int `json:"sp,omitempty"`
	// First is the System of the agent that began a frame which was handed over.
	First string `json:"sys1,omitempty"`
}

type turnCall struct {
	ID   string `json:"id"`
	Name string `json:"n"`
	Done bool   `json:"d,omitempty"`
	Text string `json:"x,omitempty"`
	Err  bool   `json:"e,omitempty"`
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
	Kind    callKind  `json:"k"`
	State   callState `json:"st,omitempty"`
	Step    int       `json:"s"`
	Frame   int       `json:"f,omitempty"`
	Attempt int       `json:"a"`
	Model   string    `json:"m,omitempty"`
	Length  int       `json:"l,omitempty"`
	Tool    string    `json:"t,omitempty"` // or the function's name
	ToolID  string    `json:"ti,omitempty"`
	Args    Value     `json:"args,omitempty"`
	Seq     uint64    `json:"q"` // the event that asked
	// Approved is the binding that a person approved; Unknown counts the attempts that gave no answer.
	Approved string `json:"ap,omitempty"`
	Unknown  int    `json:"un,omitempty"`
	// Reserved is what a budget keeps for a model call that is out.
	Reserved *Reserved `json:"rv,omitempty"`
	// Of a function: what the attempt before gave although it failed, how many attempts of the run had failed, and when the state had changed last.
	Last    Value     `json:"lo,omitempty"`
	Kept    int       `json:"kp,omitempty"` // attempts that ended because a budget was used up: they are none to the function
	Errors  int       `json:"er,omitempty"`
	Updated time.Time `json:"up,omitzero"`
}

type timer struct {
	At       time.Time `json:"at"`
	Deadline bool      `json:"dl,omitempty"`
	Step     int       `json:"s"`
	Seq      uint64    `json:"q"`
}

type wait struct {
	ID       string        `json:"id"`
	Step     int           `json:"s"`
	Kind     string        `json:"k"`
	Prompt   string        `json:"p,omitempty"`
	Options  []string      `json:"o,omitempty"`
	Call     string        `json:"c,omitempty"`
	Since    time.Time     `json:"at"`
	Deadline time.Time     `json:"dl,omitzero"`
	Answer   *WaitAnswered `json:"ans,omitempty"`
	Closed   string        `json:"x,omitempty"`
	// Ended is the position of the event that answered or closed it; 0: it is open.
	Ended uint64 `json:"e,omitempty"`
	// Of a held call, as in WaitOpened. Args is gone once the wait is no longer open.
	Tool    string `json:"t,omitempty"`
	Args    Value  `json:"a,omitempty"`
	Binding string `json:"b,omitempty"`
	Changed bool   `json:"ch,omitempty"`
	Schema  Value  `json:"sc,omitempty"`
	// Limit is the budget about which is asked.
	Limit *LimitReached `json:"lm,omitempty"`
	// Below is the wait of another run that this one repeats.
	Below *Below `json:"bw,omitempty"`
}

// ofNode tells whether the wait is what its step is there for, and not about a call or a budget.
func (w *wait) ofNode() bool { return w.Call == "" && w.Limit == nil }

func (w *wait) open() bool { return w.Answer == nil && w.Closed == "" }

package driver

import (
	"context"
	"iter"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// Driver carries out runs. Safe for concurrent use. Opening one is not part of it; drivertest covers all the rest.
//
// All methods that name a run fail with an error that matches journal.ErrNotFound where there is none, and with ErrClosed after Close.
// A done ctx ends the waiting, never the run. What needs no driver (export, import, fork) works on the journal alone: package stored.
type Driver interface {
	Runner
	Follower
	Owners
	Upkeep
}

// Runner begins runs and changes how they go on.
type Runner interface {
	// Start begins a run and gives its id once its first events are durable. Errors: what Compile says; journal.ErrExists for Spec.Run; *journal.BusyError for
	// Spec.Session. Then no run is stored (D25).
	Start(ctx context.Context, spec Spec) (run string, err error)
	// Launch is Start that does not wait until the run is stored: Launched.Wait does, and waits for its end. Errors: those that are known before.
	Launch(ctx context.Context, spec Spec) (Launched, error)
	// Resume continues a run whose owner died or was interrupted; on a paused run it fires deadlines that are due and does nothing else.
	//
	// Errors: journal.ErrOwned where a living owner drives it elsewhere; engine.ErrEnded; *QuarantineError.
	Resume(ctx context.Context, run string) error
	// Answer answers a wait and returns when the answer is durable, whatever process owns the run (D16). A run without living owner is taken over,
	// unless the answer is refused, which changes nothing. The same answer again is no error (P24).
	//
	// a.By is recorded, also where another process takes the answer. A signal without key gets one. Errors: those of engine for answers (ErrWait…, ErrAnswer, ErrEnded) and for signals (ErrSignal…).
	Answer(ctx context.Context, run string, a engine.Answer) error
	// Cancel cancels a run and returns when that is durable; calls in flight settle after it. Errors: engine.ErrEnded.
	Cancel(ctx context.Context, run, reason string) error
	// Reopen lets a run that ended by a limit go on; only limits that are set count (D20). by is recorded. Errors: engine.ErrNotReopenable;
	// *journal.BusyError where the run's session has another one by now.
	Reopen(ctx context.Context, run string, limits workflow.Limits, by engine.Actor) error
	// Extend lets a run go on that ended because it had used what its parent left for it: parent is what it may use in all by now. Errors: those of Reopen.
	Extend(ctx context.Context, run string, parent *workflow.Budget) error
}

// Launched is a run that a driver was told to begin.
type Launched interface {
	// ID is the run's.
	ID() string
	// Wait waits until the run has left memory for the first time: it ended, paused, was interrupted, or could not be stored. begun tells whether it was stored, which is
	// always known when Wait returns. Errors: those of Start, where the run did not begin; ctx's, where it did and ctx was done first. To be called once.
	Wait(ctx context.Context) (begun bool, err error)
}

// Follower tells what happens to runs.
type Follower interface {
	// Wait waits until the run has ended, or is paused with no call in flight, or has no living owner.
	Wait(ctx context.Context, run string) (State, error)
	// Watch gives the events after the event from, then live ones and what is said meanwhile, until the run ends, ctx is done or the
	// consumer leaves. Events come once each and in order (P22); of the deltas some may be missing, which their offsets show. An error is the
	// last thing given.
	Watch(ctx context.Context, run string, from uint64) iter.Seq2[Update, error]
	// Follow is Wait that gives the run's events meanwhile: from the first on, each once, in order, and all that were stored when Follow returns. They come in batches, late;
	// Watch is for those who want each one when it happens. What take points at is shared and must not be changed. An error of take ends following and is returned.
	Follow(ctx context.Context, run string, take func(*engine.Event) error) (State, error)
}

// Owners says which process drives a run, and changes it.
type Owners interface {
	// Interrupt stops driving a run, as Close does for all. It returns when the run has left memory; one that is not driven here is left alone.
	Interrupt(ctx context.Context, run string) error
	// TakeOver takes a run, and the active runs below it that the same owner drives, from an owner that lives: one that hangs, as the caller says. The run has no owner
	// then, and Resume, Answer or Cancel go on with it here. It gives the former owner; the zero Owner where there was none, or it is this process.
	//
	// Errors: *journal.OwnedError where yet another process took it.
	TakeOver(ctx context.Context, run string) (journal.Owner, error)
	// Adopt gives a run to this driver: to all workers of Temporal together, or away from them, to the program that has its functions or else to servers and workers, of which any process of the
	// embedded driver may continue it. It goes on there when it is resumed; a tool call that was out is then one with an unknown outcome (P12). A run that this driver has stays as it is.
	//
	// Errors: *journal.OwnedError where a living process has it; journal.ErrNoCommon.
	Adopt(ctx context.Context, run string) error
	// IsHung tells whether an owner lives and has given no sign for so long that its runs are taken over.
	IsHung(owner string) bool
	// IsForeign tells whether a run has functions that another program has, and no living owner.
	IsForeign(ctx context.Context, run string) (bool, error)
	// Left tells whether an answer to a run is in the store that its program has not taken yet.
	Left(ctx context.Context, run string) (bool, error)
}

// Upkeep is what a process does beside single runs.
type Upkeep interface {
	// Tend is the work of a process that stays: it recovers interrupted runs of its kind, those of owners that hang too, and fires the deadlines of paused ones, until ctx is
	// done or the driver is closed (D15, D21). What goes wrong is logged and tried again.
	Tend(ctx context.Context)
	// Work is Tend for programs: it takes up the runs for which mine holds, also those with answers that were left in the store. Runs that were interrupted here stay so.
	Work(ctx context.Context, mine func(journal.Head) bool)
	// TakeAnswers takes up the runs for which mine holds whose answers were left in the store while no process drove them. It waits for none.
	TakeAnswers(ctx context.Context, mine func(journal.Head) bool) error
	// Forget makes the driver ask anew for the program of the definition with this digest when a run of it comes into memory. Runs that are in memory keep theirs.
	Forget(digest string)
	// Health tells whether the store takes writes, by the signs of life of a driver that tends: an error where the last one was not stored, or one has been under way for
	// too long. Before the first one it tells nothing.
	Health() error
	// Drain begins no call any more, takes up no run, and leaves each run to other processes when none of its calls is in progress. It returns when no run is driven here, or ctx
	// is done; Close interrupts the rest.
	Drain(ctx context.Context)
	// Close interrupts every run: its calls are stopped, what came back is journaled, and it can be resumed. It returns when no goroutine of the driver is left, or with
	// ctx's error when that takes longer than ctx allows. A second Close waits like the first.
	Close(ctx context.Context) error
}

// Spec says what to run.
type Spec struct {
	// Run is the id to use, which must be new; "" makes one.
	Run string
	// Workflow is valid and not changed any more.
	Workflow *workflow.Workflow
	// WorkflowID and WorkflowName are those under which the run is listed: of the whole document where Workflow is one of its branches. Both "":
	// those of Workflow.
	WorkflowID, WorkflowName string
	// Input is the run's input; nil is an empty text.
	Input engine.Value
	// Limits win over the workflow's where they are set.
	Limits workflow.Limits
	// Prices are recorded with the run, for its budgets of money: engine.RunCreated.Prices.
	Prices []engine.Price
	// Remind is kept as engine.RunCreated.Remind.
	Remind time.Duration
	// Model overrides the model of every agent (D26); "" overrides none. It is kept for a resume.
	Model string
	// Meta is kept with the run: target ids, branch, definition version. Keys that begin with `hocket.` are the driver's, and
	// refused.
	Meta map[string]string
	// Facts are kept as engine.RunCreated.Facts.
	Facts map[string]string
	// Files are kept with the run by digest, for a resume (D19): the tools file, the reply script. They hold no secret.
	Files map[string][]byte
	// Program holds the functions of a Go graph until the run leaves memory; then the finder of programs is asked. Nil: it is asked at once. It must be
	// comparable.
	Program Program
	// Above is kept as engine.RunCreated.Above.
	Above *workflow.Budget
	// Observe, if not nil, is given the run and each batch of its events, in order and from the first event on, once they are durable, until the run leaves memory for
	// the first time. It holds the run up, must not change what it is given, and must not use the run after it returned, unless the run has left memory.
	Observe func(run *engine.Run, events []engine.Event)
	// Trigger and Labels are kept as engine.RunCreated has them.
	Trigger string
	Labels  workflow.Labels
	// ParentRun and ForkedFrom name the run that this one belongs to.
	ParentRun, ForkedFrom string
	// Place is the machine whose files and programs the run needs; "": it can go on anywhere.
	Place string
	// Slot is what the run has asked the store for, so that few runs of a name run at once; nil: nothing. Queued: it has no slot yet, and does nothing until it has one. Errors of Start: ErrNoQueue
	// where the driver cannot wait for that.
	Slot   *journal.Slot
	Queued bool
	// Session is the session that the run belongs to; "" for none. At most one run of a session has not ended (P19).
	Session string
}

// State is where a run stands.
type State struct {
	Status engine.Status
	// Interrupted: the run could go on and has no living owner (D15).
	Interrupted bool
}

// Update is one thing that a watcher sees: an event, or a piece of what a model is saying.
type Update struct {
	// Event is nil for a delta.
	Event *engine.Event
	Delta *Delta
}

// Delta is a piece of a model's answer that is being received. It is never stored.
type Delta struct {
	Node string `json:"node,omitempty"`
	Step int    `json:"step,omitempty"`
	Call string `json:"call"`
	// Attempt tells a retry from the call before it: what an earlier attempt said is void (P22).
	Attempt int `json:"attempt"`
	// Offset counts the bytes of Text of this attempt that came before.
	Offset    int    `json:"offset"`
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
}

// Program is a Go program that registered functions: the pure ones that the engine calls, and the nodes.
type Program interface {
	engine.Host
	// Call carries out a node function. It returns soon after ctx is done, and keeps nothing of c, which is used again. by takes what its sub-steps give, what it starts and what it uses; nil: nothing does.
	Call(ctx context.Context, run string, c *engine.CallFunc, by Caller) engine.FuncResult
}

// Recorder takes notes of calls that are under way. Safe for concurrent use.
type Recorder interface {
	// Record returns nil once the note is durable. It waits for the store as long as that takes, whatever became of the call's context: what was done
	// when a run was interrupted is kept if there is time.
	//
	// Errors: engine.ErrNote; anything else says that the call is not this process's to carry out any more, and that nothing is known of the note.
	Record(note engine.FuncNote) error
}

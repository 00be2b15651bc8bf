package driver

import (
	"context"
	"iter"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/workflow"
)

// Driver carries out runs. Safe for concurrent use. Opening, recovering and closing one is the business of whoever wires it.
//
// All methods that name a run fail with an error that matches journal.ErrNotFound where there is none, and with ErrClosed after Close.
// A done ctx ends the waiting, never the run.
type Driver interface {
	// Start begins a run and gives its id once its first events are durable. Errors: what Compile says; journal.ErrExists for Spec.Run; *journal.BusyError for
	// Spec.Session. Then no run is stored (D25).
	Start(ctx context.Context, spec Spec) (run string, err error)
	// Resume continues a run whose owner died or was interrupted; on a paused run it fires deadlines that are due and does nothing else.
	//
	// Errors: journal.ErrOwned where a living owner drives it elsewhere; engine.ErrEnded; *QuarantineError.
	Resume(ctx context.Context, run string) error
	// Answer answers a wait and returns when the answer is durable, whoever owns the run (D16). A run without living owner is taken over,
	// unless the answer is refused, which changes nothing. The same answer again is no error (P24).
	//
	// a.By is recorded, also where another process takes the answer. Errors: those of engine for answers (ErrWait…, ErrAnswer, ErrEnded).
	Answer(ctx context.Context, run string, a engine.Answer) error
	// Cancel cancels a run and returns when that is durable; calls in flight settle after it. Errors: engine.ErrEnded.
	Cancel(ctx context.Context, run, reason string) error
	// Reopen lets a run that ended by a limit go on; only limits that are set count (D20). by is recorded. Errors: engine.ErrNotReopenable;
	// *journal.BusyError where the run's session has another one by now.
	Reopen(ctx context.Context, run string, limits workflow.Limits, by engine.Actor) error
	// Wait waits until the run has ended, or is paused with no call in flight, or has no living owner.
	Wait(ctx context.Context, run string) (State, error)
	// Watch gives the events after the event from, then live ones and what is said meanwhile, until the run ends, ctx is done or the
	// consumer leaves. Events come once each and in order (P22); of the deltas some may be missing, which their offsets show. An error is the
	// last thing given.
	Watch(ctx context.Context, run string, from uint64) iter.Seq2[Update, error]
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
	// Model overrides the model of every agent (D26); "" overrides none. It is kept for whoever resumes the run.
	Model string
	// Meta is kept with the run: target ids, branch, definition version. Keys that begin with `hocket.` are the driver's, and
	// refused.
	Meta map[string]string
	// Facts are kept as engine.RunCreated.Facts.
	Facts map[string]string
	// Files are kept with the run by digest, for whoever resumes it (D19): the tools file, the reply script. They hold no secret.
	Files map[string][]byte
	// Program holds the functions of a Go graph until the run leaves memory; then whoever finds programs is asked. Nil: it is asked at once. It must be
	// comparable.
	Program Program
	// Above is kept as engine.RunCreated.Above.
	Above *workflow.Budget
	// Observe, if not nil, is given the run and each batch of its events, in order and from the first event on, once they are durable, until the run leaves memory for
	// the first time. It holds the run up, must not change what it is given, and must not use the run after it returned, unless the run has left memory.
	Observe func(run *engine.Run, events []engine.Event)
	// ParentRun and ForkedFrom name the run that this one belongs to.
	ParentRun, ForkedFrom string
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

// Delta is a piece of a model's answer on its way. It is never stored.
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
	// Call carries out a node function. It returns soon after ctx is done, and keeps nothing of c, which is used again. rec takes what its sub-steps give.
	Call(ctx context.Context, run string, c *engine.CallFunc, rec Recorder) engine.FuncResult
}

// Recorder takes notes of calls that are under way. Safe for concurrent use.
type Recorder interface {
	// Record returns nil once the note is durable. It waits for the store as long as that takes, whatever became of the call's context: what was done
	// when a run was interrupted is kept if there is time.
	//
	// Errors: engine.ErrNote; anything else says that the call is not this process's to carry out any more, and that nothing is known of the note.
	Record(note engine.FuncNote) error
}

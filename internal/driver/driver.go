package driver

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// Driver executes runs. It is safe for concurrent use. Opening a driver is not part of the
// interface; drivertest covers everything else.
//
// All methods that name a run return an error that matches journal.ErrNotFound if the run does not
// exist, and ErrClosed after Close. A done ctx ends the wait, never the run. Operations that need
// no driver (export, import, fork) work on the journal alone: see package stored.
type Driver interface {
	Runner
	Follower
	Owners
	Maintainer
}

// Runner starts runs and changes how they continue.
type Runner interface {
	// Start starts a run and returns its id once its first events are durable. Errors: those of
	// Compile; journal.ErrExists for Spec.Run; *journal.BusyError for Spec.Session. After an error
	// no run is stored (D25).
	Start(ctx context.Context, spec Spec) (run string, err error)
	// Launch is like Start but does not wait until the run is stored; Launched.Wait waits for that
	// and for the run's end. It returns only errors that are known before.
	Launch(ctx context.Context, spec Spec) (Launched, error)
	// Resume continues a run whose owner died or was interrupted. On a paused run it only fires the
	// deadlines that are due.
	//
	// Errors: journal.ErrOwned if a living owner drives the run elsewhere; engine.ErrEnded;
	// *QuarantineError.
	Resume(ctx context.Context, run string) error
	// Answer answers a wait and returns when the answer is durable, regardless of which process
	// owns the run (D16). A run without a living owner is taken over, unless the answer is
	// rejected, which changes nothing. Repeating the same answer is not an error (P24).
	//
	// a.By is recorded, even if another process takes the answer. A signal without a key is
	// assigned one. Errors: those of package waits, and engine.ErrEnded.
	Answer(ctx context.Context, run string, a engine.Answer) error
	// Cancel cancels a run and returns when the cancellation is durable; calls in flight settle
	// afterwards. Errors: engine.ErrEnded.
	Cancel(ctx context.Context, run, reason string) error
	// Reopen continues a run that was ended by a limit; only limits that are set apply (D20). by is
	// recorded. Errors: engine.ErrNotReopenable; *journal.BusyError if the run's session has
	// another run by now.
	Reopen(ctx context.Context, run string, limits workflow.Limits, by event.Actor) error
	// Extend continues a run that ended because it had used up what its parent left for it: parent
	// is the total that it may use by now. Errors: those of Reopen.
	Extend(ctx context.Context, run string, parent *workflow.Budget) error
}

// Launched is a run that a driver was asked to start.
type Launched interface {
	// ID returns the run's id.
	ID() string
	// Wait waits until the run has left memory for the first time: it ended, paused, was
	// interrupted, or could not be stored. begun reports whether the run was stored, which is
	// always known when Wait returns. Errors: those of Start if the run did not start; ctx's error
	// if it did and ctx was done first. Wait must be called only once.
	Wait(ctx context.Context) (begun bool, err error)
}

// Follower reports what happens to runs.
type Follower interface {
	// Wait waits until the run has ended, is paused with no call in flight, or has no living owner.
	Wait(ctx context.Context, run string) (State, error)
	// Watch yields the events after the event from, then live events and deltas, until the run
	// ends, ctx is done or the consumer stops. Each event is yielded once and in order (P22);
	// deltas may be missing, which their offsets show. An error is the last value yielded.
	Watch(ctx context.Context, run string, from uint64) iter.Seq2[Update, error]
	// Follow is Wait that also calls take with the run's events: from the first on, each once, in
	// order, including all that were stored when Follow returns. Events arrive in batches and late;
	// use Watch to receive each event when it happens. Data that the event points to is shared and
	// must not be changed. An error from take stops Follow and is returned.
	Follow(ctx context.Context, run string, take func(*event.Event) error) (State, error)
}

// Owners reports and changes which process drives a run.
type Owners interface {
	// Interrupt stops driving a run, as Close does for all runs. It returns when the run has left
	// memory; a run that is not driven here is left alone.
	Interrupt(ctx context.Context, run string) error
	// TakeOver takes a run, and its active child runs that the same owner drives, from a living
	// owner that the caller considers hung. The run then has no owner, and Resume, Answer or Cancel
	// continue it here. TakeOver returns the former owner, or the zero Owner if there was none or
	// it is this process.
	//
	// Errors: *journal.OwnedError if a third process took the run.
	TakeOver(ctx context.Context, run string) (journal.Owner, error)
	// Adopt transfers a run to this driver. With Temporal, the run then belongs to all Temporal
	// workers together; with the embedded driver, to the program that has its functions, or else to
	// the servers and workers, any of which may continue it. The run continues there when it is
	// resumed; a tool call that was in flight then has an unknown outcome (P12). A run that this
	// driver already has is unchanged.
	//
	// Errors: *journal.OwnedError if a living process has the run; journal.ErrNoCommon.
	Adopt(ctx context.Context, run string) error
	// IsHung reports whether an owner is alive but has sent no heartbeat for so long that its runs
	// are taken over.
	IsHung(owner string) bool
	// IsForeign reports whether a run has functions that belong to another program, and no living
	// owner.
	IsForeign(ctx context.Context, run string) (bool, error)
	// Left reports whether the store holds an answer to a run that its program has not taken yet.
	Left(ctx context.Context, run string) (bool, error)
}

// Maintainer is the work of a process that is not about a single run.
type Maintainer interface {
	// Maintain is the work of a long-lived process: it recovers interrupted runs of its kind,
	// including those of hung owners, and fires the deadlines of paused runs, until ctx is done or
	// the driver is closed (D15, D21). Errors are logged and the work is retried.
	Maintain(ctx context.Context)
	// Work is Maintain for programs: it resumes the runs for which mine returns true, including
	// those with answers that were left in the store. Runs that were interrupted here remain
	// interrupted.
	Work(ctx context.Context, mine func(journal.Head) bool)
	// TakeAnswers resumes the runs for which mine returns true whose answers were left in the store
	// while no process drove them. It does not wait for them.
	TakeAnswers(ctx context.Context, mine func(journal.Head) bool) error
	// Forget makes the driver look up the program of the definition with this digest again when the
	// next run with that definition is loaded into memory. Runs in memory keep their program.
	Forget(digest string)
	// Health reports whether the store accepts writes, as seen from the heartbeats of a driver that
	// tends: it returns an error if the last heartbeat was not stored, or if one has been in
	// progress for too long. It returns nil before the first heartbeat.
	Health() error
	// Drain starts no more calls, resumes no run, and leaves each run to other processes once none
	// of its calls is in progress. It returns when no run is driven here or ctx is done; Close
	// interrupts the rest.
	Drain(ctx context.Context)
	// Close interrupts every run: its calls are stopped, returned results are journaled, and the
	// run can be resumed. Close returns when no goroutine of the driver is left, or with ctx's
	// error if that takes longer than ctx allows. A second Close waits like the first.
	Close(ctx context.Context) error
}

// Spec specifies the run to start.
type Spec struct {
	// Run is the id to use, which must be new; "" generates one.
	Run string
	// Workflow must be valid and must not be changed afterwards.
	Workflow *workflow.Workflow
	// WorkflowID and WorkflowName are the id and name under which the run is listed: the whole
	// document's if Workflow is one of its branches. If both are "", Workflow's own are used.
	WorkflowID, WorkflowName string
	// Input is the run's input; nil is an empty string.
	Input event.Value
	// Limits override the workflow's limits where they are set.
	Limits workflow.Limits
	// Prices are recorded with the run, for its money budgets, as event.RunCreated.Prices.
	Prices []event.Price
	// Remind is recorded as event.RunCreated.Remind.
	Remind time.Duration
	// Model overrides the model of every agent (D26) unless it is "". It is kept for a resume.
	Model string
	// Meta is stored with the run: target ids, branch, definition version. Keys with the prefix
	// `hocket.` are reserved for the driver and are rejected.
	Meta map[string]string
	// Facts are recorded as event.RunCreated.Facts.
	Facts map[string]string
	// Files are stored with the run by digest, for a resume (D19): the tools file, the reply
	// script. They contain no secrets.
	Files map[string][]byte
	// Program holds the functions of a Go graph until the run leaves memory; after that the program
	// is looked up. If nil, it is looked up immediately. It must be comparable.
	Program Program
	// Above is recorded as event.RunCreated.Above.
	Above *workflow.Budget
	// Observe, if not nil, is called with the run and each batch of its events, in order and from
	// the first event on, once they are durable, until the run leaves memory for the first time. It
	// blocks the run, must not change its arguments, and must not use the run after it has returned
	// unless the run has left memory.
	Observe func(run *engine.Run, events []event.Event)
	// Trigger and Labels are recorded as in event.RunCreated.
	Trigger string
	Labels  workflow.Labels
	// ParentRun and ForkedFrom name the runs from which this run was started or forked.
	ParentRun, ForkedFrom string
	// Place is the machine whose files and programs the run needs; "" means that it can continue
	// anywhere.
	Place string
	// Slot is the run's request to the store for a slot that limits how many runs of a name run
	// concurrently; nil means no request. If Queued, the run has no slot yet and does
	// nothing until it has one.
	Slot   *journal.Slot
	Queued bool
	// Session is the session that the run belongs to; "" means none. At most one run of a session
	// is unfinished (P19).
	Session string
}

// State is the state of a run.
type State struct {
	Status event.Status
	// Interrupted means that the run could continue but has no living owner (D15).
	Interrupted bool
}

// Update is one item that a watcher receives: an event, or a piece of model output.
type Update struct {
	// Event is nil for a delta.
	Event *event.Event
	Delta *Delta
}

// Delta is a piece of a model's reply that is still being received. It is never stored.
type Delta struct {
	Node string `json:"node,omitempty"`
	Step int    `json:"step,omitempty"`
	Call string `json:"call"`
	// Attempt distinguishes a retry from the call before it: output of an earlier attempt is void
	// (P22).
	Attempt int `json:"attempt"`
	// Offset is the number of bytes of Text that came before in this attempt.
	Offset    int    `json:"offset"`
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
}

// Program is a Go program that registered functions: the pure functions that the engine calls, and
// the nodes.
type Program interface {
	engine.Host
	// Call executes a node function. It returns soon after ctx is done, and keeps nothing of c,
	// which is reused. by receives the results of its sub-steps, the runs that it starts and what
	// it uses; if nil, nothing does.
	Call(ctx context.Context, run string, c *engine.CallFunc, by Caller) engine.FuncResult
}

// Recorder takes notes from calls in progress. It is safe for concurrent use.
type Recorder interface {
	// Record returns nil once the note is durable. It waits for the store as long as that takes,
	// whatever happened to the call's context: work that was done when a run was interrupted is
	// kept if there is time.
	//
	// Errors: loop.ErrNote; any other error means that the call no longer belongs to this
	// process, and that the fate of the note is unknown.
	Record(note engine.FuncNote) error
}

// Blobs reads blobs; a journal.Log does.
type Blobs interface {
	Blob(ctx context.Context, hash string) ([]byte, error)
}

// ReadDefinition reads the workflow that a run was started with, by its digest. It returns a
// *journal.CorruptError if the definition is missing or is not a workflow, or the error from
// reading.
func ReadDefinition(ctx context.Context, blobs Blobs, digest string) (*workflow.Workflow, error) {
	data, err := blobs.Blob(ctx, digest)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, &journal.CorruptError{Reason: "its definition is missing"}
	}
	if err != nil {
		return nil, err
	}
	w, err := workflow.Parse(data)
	if err != nil {
		return nil, &journal.CorruptError{Reason: "its definition cannot be read: " + err.Error()}
	}
	return w, nil
}

package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// Append adds one record to a run, and everything else that changes in the same transaction.
type Append struct {
	Run string
	// Create creates the run, with epoch 1 and the handle as its owner; Epoch is then ignored. If
	// nil, the record is added to an existing run.
	Create *NewRun
	// Epoch is the epoch in which the caller owns the run.
	Epoch uint64
	// Common marks the run as shared (see [Sharing]): its Kind is KindTemporal, and its epoch must
	// be Epoch, whichever process appended last. A created run becomes shared.
	Common bool
	Record Record
	// More are the records that continue the activation of Record if it has many events: see
	// [EncodeParts].
	More []Record
	// Events are the events of Record, passed to an [EventKeeper] instead of Record.Data; nil for
	// all other stores. They must not be modified afterwards.
	Events []event.Event
	// Blobs are held by the run from now on, for as long as it exists: the values that Record
	// stores as blobs, and the definitions with which it was started. Naming a blob again has no
	// effect.
	Blobs []Blob
	// At becomes Head.Updated, and also Head.Ended if Status is an ended status and the previous
	// append's was not. An active or paused status clears Head.Ended.
	At time.Time
	// Status and Waiting are the run's values after the last record. Status must be a known one.
	Status  Status
	Waiting int
	// Release releases the run in the same transaction, as a run that pauses or ends does.
	// ClaimSome returns a released run that is active, unless the append creates it: such a run
	// waits to be claimed by id.
	Release bool
	// NotStarted records, with Release, that none of the run's open calls has started, as
	// Dispatch.Return does in the same transaction: the next claim returns the run with
	// Head.NotStarted. ClaimSome then also returns a run that the append creates.
	NotStarted bool
	// Notices describe events in the records; only their Seq and Type are stored.
	Notices []Notice
	// Index, if not nil, is stored in the same transaction: what lists and searches know about the
	// run from now on.
	Index *Index
}

// Last returns the number of the last event of the append.
func (a *Append) Last() uint64 {
	if n := len(a.More); n > 0 {
		return a.More[n-1].Last
	}
	return a.Record.Last
}

// Validate returns an error if no store accepts a. Every Append calls it first.
func (a *Append) Validate() error {
	switch r := a.Record; {
	case a.Run == "":
		return errors.New("append journal: run has no id")
	case r.First == 0 || r.Last < r.First:
		return fmt.Errorf("append journal: record of events %d to %d", r.First, r.Last)
	case a.Create != nil && a.Create.Labels.Check() != nil:
		return fmt.Errorf("append journal: %w", a.Create.Labels.Check())
	case a.Create != nil && r.First != 1:
		return fmt.Errorf("append journal: new run begins with event %d", r.First)
	case len(r.Data) == 0 && len(a.Events) == 0:
		return errors.New("append journal: record has no data")
	case len(a.Events) > 0 && (len(r.Data) > 0 || a.Events[0].Seq != r.First ||
		a.Events[len(a.Events)-1].Seq != r.Last):
		return fmt.Errorf("append journal: events %d to %d in a record of events %d to %d", a.Events[0].Seq,
			a.Events[len(a.Events)-1].Seq, r.First, r.Last)
	case r.Version > RecordVersion:
		return &NewerError{What: "record", Have: RecordVersion, Found: int(r.Version)}
	case !a.Status.IsKnown():
		return fmt.Errorf("append journal: unknown status %q", a.Status)
	case a.Common && a.Create != nil && a.Create.Kind != KindTemporal:
		return fmt.Errorf("append journal: a new run of kind %q is not held in common", a.Create.Kind)
	case a.NotStarted && (!a.Release || a.Common):
		return errors.New("append journal: calls that have not begun, of a run that is not given up to one process")
	case len(a.Events) > 0 && len(a.More) > 0:
		return errors.New("append journal: events as values and more records")
	}
	last := a.Record.Last
	for _, r := range a.More {
		switch {
		case r.First != last+1 || r.Last < r.First:
			return fmt.Errorf("append journal: record of events %d to %d after event %d", r.First, r.Last, last)
		case len(r.Data) == 0:
			return errors.New("append journal: record has no data")
		case r.Version > RecordVersion:
			return &NewerError{What: "record", Have: RecordVersion, Found: int(r.Version)}
		}
		last = r.Last
	}
	for i := range a.Blobs {
		b := &a.Blobs[i]
		if b.hashed {
			continue
		}
		if _, err := ParseHash(b.Hash); err != nil {
			return fmt.Errorf("append journal: blob %q: %w", b.Hash, err)
		}
		if b.Data != nil && HashOf(b.Data) != b.Hash {
			return fmt.Errorf("append journal: blob %s: data has another hash", b.Hash)
		}
	}
	return a.validNotices()
}

// Log stores the records of runs, and the blobs that they reference.
//
// The ports of a store ([Backend]) belong to a handle: a handle belongs to one owner, and several
// handles, in one process or many, may share the stored data. All stores pass journaltest.Run. A
// Log is safe for concurrent use. Slices passed in remain the caller's; returned slices belong to
// the caller.
type Log interface {
	// Append stores a and returns when it is durable: all of its records, or none. Appends of
	// several runs may share one commit; a rejected append does not affect the others. A done ctx
	// ends only the wait for a place in a commit: then the error is ctx's and nothing was written.
	// Once the commit has started, Append waits for its outcome.
	//
	// Errors: ErrFenced, ErrConflict, ErrNotFound, ErrExists (Create), and *BusyError if a run
	// starts, or continues after it had ended, while another run of its session has not ended; each
	// leaves everything unchanged. After any other error it is not known whether a was stored: the
	// caller must read again.
	Append(ctx context.Context, a Append) error
	// Read returns the records with events beyond after, in order; the first record may start
	// before it. It verifies them (P17).
	//
	// Errors: ErrNotFound, *CorruptError, *NewerError; it never returns a part of the journal.
	Read(ctx context.Context, run string, after uint64) ([]Record, error)
	// Each calls take with the records of a run with events beyond after, in order; the first
	// record may start before it. It verifies each record before passing it to take, and the end of
	// the journal after the last one (P17): records passed to take before an error must not be
	// used. Each stops at an error of take and returns it unchanged. No store resources are held
	// while take runs.
	//
	// Errors: those of Read.
	Each(ctx context.Context, run string, after uint64, take func(Record) error) error
	// Blob returns a blob's data. Errors: ErrNotFound, *CorruptError.
	Blob(ctx context.Context, hash string) ([]byte, error)
	// Part returns up to n bytes of a blob starting at offset, and the size of the whole blob;
	// fewer than n only at its end. It does not verify that the content matches the hash; a caller
	// that reads the whole blob must do that. Errors: ErrNotFound.
	Part(ctx context.Context, hash string, offset int64, n int) (part []byte, size int64, err error)
}

// Lists is the index of runs.
type Lists interface {
	// Head returns the index entry of a run, or ErrNotFound.
	Head(ctx context.Context, run string) (Head, error)
	// List returns a page of runs, newest first, and the cursor of the next page, which is empty
	// after the last one. Runs that are created or pruned meanwhile neither repeat nor hide other
	// runs. Errors: ErrCursor.
	List(ctx context.Context, q Query) (page []Head, next string, err error)
	// Counts counts the runs of q, grouped by their common values; q's Limit and Cursor are
	// ignored.
	Counts(ctx context.Context, q Query) ([]Tally, error)
	// Count returns the number of runs with one of the statuses.
	Count(ctx context.Context, statuses ...Status) (int, error)
	// Prune deletes runs with all the data they hold, and blobs that no run holds any more, in
	// small steps between which other writes can proceed. It is not atomic: after an error some
	// runs may be gone, each of them completely.
	//
	// Errors: ErrNotFound and *OwnedError for runs named in q.Runs, before anything is deleted.
	Prune(ctx context.Context, q PruneQuery) (PruneResult, error)
}

// Owner is a process that executes runs through one handle.
type Owner struct {
	ID   string // unique across all handles that ever exist
	Kind Kind
	PID  int // 0 if there is no process, as in memory
	// Host is the name of the machine, or empty. Seen is the time of the last heartbeat by the
	// owner's own clock, zero if it has sent none yet.
	Host string
	Seen time.Time
	// Place is where the process continues other processes' runs; "" means it continues none.
	Place string
}

// String returns the kind and process in readable form.
func (o Owner) String() string {
	switch {
	case o.PID != 0 && o.Host != "":
		return fmt.Sprintf("hocket %s, process %d on %s", o.Kind, o.PID, o.Host)
	case o.PID != 0:
		return fmt.Sprintf("hocket %s, process %d", o.Kind, o.PID)
	case o.Kind != "":
		return fmt.Sprintf("hocket %s", o.Kind)
	}
	return "owner " + o.ID
}

// Ownership records which process executes which run (P18, D15). Ownership has no time limit: it
// lasts until the owner releases the run, the owner dies (which is detected immediately), or the
// run is taken from it. A hung process is alive; missing heartbeats reveal it. An owner that lost a
// run is fenced by the epoch, even if it is not dead.
type Ownership interface {
	// Owner returns the handle's own owner, without Seen.
	Owner() Owner
	// Claim makes the handle the owner of a run that has no owner, or a dead one, in the next
	// epoch. If several handles claim simultaneously, one succeeds.
	//
	// Errors: ErrNotFound; *OwnedError if a living owner has the run, including the handle itself,
	// or if the run is shared.
	Claim(ctx context.Context, run string) (Head, error)
	// Release releases a run that the handle owns in this epoch. Errors: ErrNotFound, ErrFenced.
	Release(ctx context.Context, run string, epoch uint64) error
	// Alive reports whether the owner with this id is alive. An unknown id is not.
	Alive(ctx context.Context, owner string) (bool, error)
	// Sign stores a heartbeat: the handle's process was working at time at, which becomes
	// Owner.Seen. It is meant to be called every 5 s, and is a write like any other: a process that
	// cannot write sends no heartbeat.
	Sign(ctx context.Context, at time.Time) error
	// Owners returns the living owners of active runs and the living leader of the schedules, each
	// once, with Seen set; it does not include CommonOwner.
	Owners(ctx context.Context) ([]Owner, error)
	// Evict takes a run from its owner, whether that owner is alive or not: the run then has no
	// owner, in the next epoch, and appends of the former owner fail with ErrFenced. A run without
	// an owner is left unchanged.
	//
	// Errors: ErrNotFound; *OwnedError if the run has another owner or is shared.
	Evict(ctx context.Context, run, owner string) error
}

// Sharing manages runs that no single process owns. A run of KindTemporal is shared by all handles:
// each of them appends to it, with Append.Common, provided that the epoch and the last event are
// the ones it expects. While such a run is active its owner is [CommonOwner], which is always
// alive, so the run is never interrupted; while paused or ended it has none. No handle can claim
// it.
type Sharing interface {
	// SetKind assigns a run to another kind of process, in the next epoch: pending appends of the
	// former epoch fail with ErrFenced. A run that becomes shared and is active has CommonOwner
	// from then on; a run that is no longer shared has no owner. A run that already has that kind
	// is left unchanged.
	//
	// Errors: ErrNotFound; *OwnedError if a living process has the run; ErrNoCommon.
	SetKind(ctx context.Context, run string, kind Kind) error
	// StoreID returns the id that the store was given when it was created, at most 36 letters,
	// digits and hyphens. It tells stores apart whose processes meet elsewhere, such as in one
	// Temporal namespace. A copy made with `store copy` has another id, a restored backup the same.
	//
	// Errors: ErrNoCommon.
	StoreID(ctx context.Context) (string, error)
}

// CommonOwner is the id of the owner of active shared runs.
const CommonOwner = "temporal"

// Common returns CommonOwner as an Owner.
func Common() Owner { return Owner{ID: CommonOwner, Kind: KindTemporal} }

// Request is a request to a run that another process owns: an answer, a cancellation (D16).
type Request struct {
	ID   uint64 // assigned by Post
	Run  string
	Kind string // a term of the service layer: answer, cancel
	Data []byte // opaque
	At   time.Time
}

// Inbox delivers requests to owners and results back. A request is delivered at least once: if its
// owner dies before Settle, the next owner of the run gets it too, so requests must be idempotent.
type Inbox interface {
	// Post stores a request for the current or a future owner of the run. It returns ErrNotFound if
	// the run does not exist.
	Post(ctx context.Context, r Request) (id uint64, err error)
	// Take returns the open requests to runs that this handle owns, oldest first, each once per
	// handle. It is cheap if there are none.
	Take(ctx context.Context) ([]Request, error)
	// Unclaimed returns the open requests to runs that have no living owner or are shared, oldest
	// first: those to one run, or to all runs if run is "", in which case they have no Data. It
	// takes none of them.
	Unclaimed(ctx context.Context, run string) ([]Request, error)
	// Settle stores the result of a request. The first result is kept; a second Settle changes
	// nothing. Errors: ErrNotFound.
	Settle(ctx context.Context, id uint64, result []byte) error
	// Result returns the result of a request, once there is one. Errors: ErrNotFound, also after
	// the run was pruned.
	Result(ctx context.Context, id uint64) (result []byte, done bool, err error)
}

// Backend is a handle of a store with all its ports, for the code that wires them. Other code
// should require only the port that it uses.
type Backend interface { //nolint:interfacebloat,nolintlint // the ports are small
	Log
	Lists
	Ownership
	Sharing
	Dispatch
	Inbox
	Schedules
	Controls
	Notices
	Changes
	Lines
	Slots
	Deltas
	// Close waits for appends in progress, releases every run that the handle owns, and frees it.
	// Every later call fails with ErrClosed; a second Close has no effect.
	Close() error
}

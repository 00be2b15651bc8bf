package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
)

// Append adds one record to a run, and with it everything else that changes in the same transaction.
type Append struct {
	Run string
	// Create makes the run, with epoch 1 and the handle as its owner; Epoch is then not looked at. Nil adds to a run that is there.
	Create *NewRun
	// Epoch is the one in which the caller owns the run.
	Epoch uint64
	// Common says that the run is held in common (see [Sharing]): its Kind is KindTemporal, and it has to have this epoch, whichever process appended last. A run that is created becomes one.
	Common bool
	Record Record
	// More are the records that go on with the activation of Record, where its events are many: [EncodeParts].
	More []Record
	// Events are those of Record, for an [EventKeeper] and in the place of Record.Data; nil for all other stores. They must not be changed afterwards.
	Events []engine.Event
	// Blobs are held by the run from now on, as long as it is there: the values that Record puts aside, and the definitions it was started
	// with. Naming one again does nothing.
	Blobs []Blob
	// At becomes Head.Updated, and Head.Ended where Status is an ended one and that of the append before was not. An active or paused status
	// clears Head.Ended.
	At time.Time
	// Status and Waiting are the run's after the last record. Status must be a known one.
	Status  Status
	Waiting int
	// Release gives the run up in the same transaction, as a run that pauses or ends does. One that is active is given by ClaimSome, unless it is created by the append: then it waits to be claimed by
	// name.
	Release bool
	// Unbegun says, with Release, that none of the run's open calls has begun, as Dispatch.Return does in the same transaction: the next claim gives the run with Head.Unbegun. ClaimSome gives it also
	// where the append creates it.
	Unbegun bool
	// Notices tell of events in the records; of each, Seq and Type are stored.
	Notices []Notice
	// Index, if not nil, is stored in the same transaction: what lists and searches know of the run from now on.
	Index *Index
}

// Last gives the number of the last event of the append.
func (a *Append) Last() uint64 {
	if n := len(a.More); n > 0 {
		return a.More[n-1].Last
	}
	return a.Record.Last
}

// Validate tells what no store accepts. Every Append calls it first.
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
	case len(a.Events) > 0 && (len(r.Data) > 0 || a.Events[0].Seq != r.First || a.Events[len(a.Events)-1].Seq != r.Last):
		return fmt.Errorf("append journal: events %d to %d in a record of events %d to %d", a.Events[0].Seq, a.Events[len(a.Events)-1].Seq, r.First, r.Last)
	case r.Version > RecordVersion:
		return &NewerError{What: "record", Have: RecordVersion, Found: int(r.Version)}
	case !a.Status.IsKnown():
		return fmt.Errorf("append journal: unknown status %q", a.Status)
	case a.Common && a.Create != nil && a.Create.Kind != KindTemporal:
		return fmt.Errorf("append journal: a new run of kind %q is not held in common", a.Create.Kind)
	case a.Unbegun && (!a.Release || a.Common):
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

// Log keeps the records of runs, and the blobs that they put aside.
//
// The ports of a store ([Backend]) are those of a handle: it belongs to one owner, and several handles, in one process or many, may share what is stored. All stores pass
// journaltest.Run. Safe for concurrent use. Slices handed in stay the caller's; slices given out are the caller's own.
type Log interface {
	// Append stores a and returns when it is durable: all of its records, or none. Appends of several runs may share one commit; one that is refused does not hinder the
	// others. A done ctx ends only the wait for a place in a commit: then the error is ctx's and nothing was written. Once the commit has
	// begun its outcome is waited for.
	//
	// Errors: ErrFenced, ErrConflict, ErrNotFound, ErrExists (Create), *BusyError where another run of the session of a run that begins, or goes on after it had
	// ended, has not ended; each with nothing changed. After any other error it is not known
	// whether a was stored: the caller reads again.
	Append(ctx context.Context, a Append) error
	// Read gives the records with events beyond after, in order; the first of them may begin before it. It verifies them (P17).
	//
	// Errors: ErrNotFound, *CorruptError, *NewerError; never a part of the journal.
	Read(ctx context.Context, run string, after uint64) ([]Record, error)
	// Each gives take the records of a run with events beyond after, in order; the first of them may begin before it. It verifies each record before take gets it,
	// and the end of the journal after the last (P17): what take got before an error is not to be used. An error of take ends it and is given back as it is. No
	// place in the store is held while take runs.
	//
	// Errors: those of Read.
	Each(ctx context.Context, run string, after uint64, take func(Record) error) error
	// Blob gives a blob's data. Errors: ErrNotFound, *CorruptError.
	Blob(ctx context.Context, hash string) ([]byte, error)
	// Part gives up to n bytes of a blob from an offset on, and the size of all of it; fewer only at its end. Whether the blob has the content that its hash
	// names is for the caller to verify, who reads all of it. Errors: ErrNotFound.
	Part(ctx context.Context, hash string, offset int64, n int) (part []byte, size int64, err error)
}

// Lists is the index of runs.
type Lists interface {
	// Head gives the index entry of a run, or ErrNotFound.
	Head(ctx context.Context, run string) (Head, error)
	// List gives a page of runs, newest first, and the cursor of the next page: empty after the last. Runs that are made or pruned meanwhile
	// neither repeat nor hide others. Errors: ErrCursor.
	List(ctx context.Context, q Query) (page []Head, next string, err error)
	// Counts counts the runs of q by what they have in common; its Limit and Cursor do not count.
	Counts(ctx context.Context, q Query) ([]Tally, error)
	// Count tells how many runs have one of the statuses.
	Count(ctx context.Context, statuses ...Status) (int, error)
	// Prune deletes runs with all they hold, and blobs that no run holds any more, in small steps between which others write. Not atomic:
	// after an error a part may be gone, each run whole.
	//
	// Errors: ErrNotFound and *OwnedError for runs named in q.Runs, before anything is deleted.
	Prune(ctx context.Context, q PruneQuery) (PruneResult, error)
}

// Owner is a process that drives runs through one handle.
type Owner struct {
	ID   string // unique over all handles there ever are
	Kind Kind
	PID  int // 0 where there is no process, as in memory
	// Host is the name of the machine, or empty. Seen is the last sign of life by the owner's own clock, zero where it gave none yet.
	Host string
	Seen time.Time
	// Place is where the process continues runs of others; "": it continues none.
	Place string
}

// String gives the kind and process for people.
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

// Ownership says who drives which run (P18, D15). Ownership has no time limit: it lasts until the owner releases the run, dies, which is detected at once, or the run is
// taken from it. A process that hangs is alive; the absence of its heartbeats shows it. An owner that lost a run is fenced by the epoch, even if it is not dead.
type Ownership interface {
	// Owner is the handle's own, without Seen.
	Owner() Owner
	// Claim makes the handle the owner of a run that has none, or a dead one, in the next epoch. Of several that claim at once, one wins.
	//
	// Errors: ErrNotFound; *OwnedError where a living owner has it, the handle itself included, or it is held in common.
	Claim(ctx context.Context, run string) (Head, error)
	// Release gives up a run that the handle owns in this epoch. Errors: ErrNotFound, ErrFenced.
	Release(ctx context.Context, run string, epoch uint64) error
	// Alive tells whether the owner with this id lives. An id that was never seen does not.
	Alive(ctx context.Context, owner string) (bool, error)
	// Sign stores that the handle's process was at work at a time: it becomes Owner.Seen. It is meant to be called every 5 s, and is a write like any other: a process
	// that cannot write gives no sign.
	Sign(ctx context.Context, at time.Time) error
	// Owners gives the living owners of active runs and the living leader of the schedules, each once, with Seen; not CommonOwner.
	Owners(ctx context.Context) ([]Owner, error)
	// Evict takes a run from its owner, whether that one lives or not: the run has none then, in the next epoch, and what the former owner appends is ErrFenced.
	// A run that has no owner stays as it is.
	//
	// Errors: ErrNotFound; *OwnedError where another owner than this one has it, or it is held in common.
	Evict(ctx context.Context, run, owner string) error
}

// Sharing is for runs that no single process owns. A run of KindTemporal is held in common by all handles: each of them appends to it, with Append.Common, on condition that the epoch and the last
// event are as it believes. While such a run is active its owner is [CommonOwner], which always lives, so that it is never interrupted; paused and ended it has none. No handle can claim it.
type Sharing interface {
	// SetKind gives a run to another kind of process, in the next epoch: what was to be appended in the former one is ErrFenced. A run that becomes common and is active has CommonOwner from now on;
	// one that is common no more has no owner. A run of that kind stays as it is.
	//
	// Errors: ErrNotFound; *OwnedError where a living process has it; ErrNoCommon.
	SetKind(ctx context.Context, run string, kind Kind) error
}

// CommonOwner is the id of the owner of active runs that are held in common.
const CommonOwner = "temporal"

// Common is CommonOwner as an owner.
func Common() Owner { return Owner{ID: CommonOwner, Kind: KindTemporal} }

// Request asks something of a run that another process owns: an answer, a cancellation (D16).
type Request struct {
	ID   uint64 // given by Post
	Run  string
	Kind string // a word of the service layer: answer, cancel
	Data []byte // opaque
	At   time.Time
}

// Inbox carries requests to owners and results back. A request is handed out at least once: if its owner dies before Settle, the next owner
// of the run gets it too, so what it asks for must be safe to ask twice.
type Inbox interface {
	// Post leaves a request for the owner of the run, now or later. Errors: ErrNotFound for the run.
	Post(ctx context.Context, r Request) (id uint64, err error)
	// Take gives the open requests to runs that this handle owns, oldest first, each once per handle. It is cheap where there are none.
	Take(ctx context.Context) ([]Request, error)
	// Unclaimed gives the open requests to runs that have no living owner or are held in common, oldest first: those to one run, or those to all for "", which come without Data. It takes
	// none.
	Unclaimed(ctx context.Context, run string) ([]Request, error)
	// Settle stores the result of a request. The first result stays; a second Settle changes nothing. Errors: ErrNotFound.
	Settle(ctx context.Context, id uint64, result []byte) error
	// Result gives the result, once there is one. Errors: ErrNotFound, also after the run was pruned.
	Result(ctx context.Context, id uint64) (result []byte, done bool, err error)
}

// Backend is a handle of a store with all its ports, for those who wire them. Ask for the port that is used.
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
	// Close waits for appends under way, gives up every run that the handle owns, and frees it. Every call after it fails with ErrClosed; a
	// second Close does nothing.
	Close() error
}

package journal

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// Status is the state of a run.
type Status = event.Status

// The engine's statuses.
const (
	StatusPending   = event.StatusPending
	StatusRunning   = event.StatusRunning
	StatusPaused    = event.StatusPaused
	StatusCompleted = event.StatusCompleted
	StatusFailed    = event.StatusFailed
	StatusCancelled = event.StatusCancelled
)

// Statuses returns every status.
func Statuses() []Status {
	return []Status{StatusPending, StatusRunning, StatusPaused, StatusCompleted, StatusFailed, StatusCancelled}
}

// Kind is a kind of process. A process recovers runs started by its own kind (D15).
type Kind string

// The kinds of processes.
const (
	KindRun       Kind = "run"
	KindServe     Kind = "serve"
	KindScheduler Kind = "scheduler"
	KindWorker    Kind = "worker"
	// KindProgram is a Go program that embeds Hocket.
	KindProgram Kind = "program"
	// KindTemporal is the kind shared by all processes that execute runs through Temporal
	// ([Sharing]).
	KindTemporal Kind = "temporal"
)

// Head is the index entry of a run: what a list shows without reading a record. Times are UTC in
// microseconds; a store truncates them.
type Head struct {
	Run string
	NewRun
	// Status, Waiting and Updated are those of the last append. Ended is the time of the append
	// that ended the run, zero before it.
	Status         Status
	Waiting        int
	Updated, Ended time.Time
	// LastSeq is the number of the last event.
	LastSeq uint64
	// Epoch counts the owners that the run has had, from 1. Owner is the id of the current owner,
	// empty for none; it may be dead.
	Epoch uint64
	Owner string
	// By describes the owner: its location and its last heartbeat. It is zero if Owner is empty.
	By Owner
	// Interrupted reports whether the run is active and has no living owner.
	Interrupted bool
	// WaitingFor is the place that an interrupted run waits for: no living process has it. Stores
	// leave it empty; package service fills it in.
	WaitingFor string
	// Turn is the position of a pending run in the queue of its concurrency key; nil means
	// it is in no queue. Stores leave it nil; package service fills it in for one run.
	Turn *Turn
	// Outcome is the outcome from the last append that set one.
	Outcome Outcome
	// NotStarted reports whether no open call of the run has started since its last append. Only a
	// claim sets it, for a run that was released with Dispatch.Return or equivalently by an append.
	NotStarted bool
}

// NewRun is what is known about a run when it is created; it never changes except for Kind
// ([Sharing]).
type NewRun struct {
	// Workflow is the id of the stored workflow or the name of the document, WorkflowName its
	// display name, Format the format in which it was written.
	Workflow, WorkflowName, Format string
	// Parent is the parent run, or empty.
	Parent string
	// Session is the name of the session to which the run belongs, or empty. At most one run of a
	// session has not ended (P19).
	Session string
	// Kind is the kind of process that may recover the run.
	Kind Kind
	// Place is the name of the machine whose files and programs the run needs; "" means it can
	// continue anywhere. Dispatch.Move changes it.
	Place string
	// Definition is the hash of the blob with the definition, or empty if there is none.
	Definition string
	Created    time.Time
	// Branch is the branch of the workflow that runs; "" means its main graph. Trigger is what
	// started the run, in terms of the service layer.
	Branch, Trigger string
	// Labels are valid labels by which runs are selected. Nil and empty are equivalent.
	Labels workflow.Labels
	// Preview is the start of the input on one line.
	Preview string
	// Meta is for the caller that starts runs: small, shown in lists, not searched. Nil and empty
	// are equivalent.
	Meta map[string]string
}

// Query selects the runs that List returns. The zero Query selects all runs. Filters are combined
// with AND.
type Query struct {
	// Statuses selects runs with any of these statuses; empty means any.
	Statuses []Status
	// Prefix selects runs whose ids start with it, compared bytewise; empty means any.
	Prefix string
	// Workflow, Parent, Session and Kind are matched exactly; empty means any.
	Workflow, Parent, Session string
	Kind                      Kind
	// Format, Branch, Trigger and Code (the Outcome's code) are matched exactly; empty means any.
	Format, Branch, Trigger, Code string
	// Labels selects runs by their labels.
	Labels []Selector
	// Search holds the terms that the run's search text must contain: what ParseSearch returns for
	// SearchText, which stores do not parse. Search results are ordered by Cursor.Key alone.
	Search     []Term
	SearchText string
	// MinCost, MaxCost, MinDuration and MaxDuration are inclusive limits; nil means none. Cost is
	// the Outcome's cost. The duration of a run is known once it has ended: a run that has not
	// ended never matches a duration limit.
	MinCost, MaxCost         *chat.Money
	MinDuration, MaxDuration *time.Duration
	// Interrupted selects only runs that are active and have no living owner.
	Interrupted bool
	// CreatedFrom is inclusive, CreatedBefore exclusive; zero means no limit.
	CreatedFrom, CreatedBefore time.Time
	// Limit is the page size: 0 means 50, more than 1,000 means 1,000.
	Limit int
	// Cursor continues where the previous page ended; empty starts with the newest run.
	Cursor string
}

const (
	defaultLimit = 50
	maxLimit     = 1000
)

// PageSize returns the number of runs on a page of q.
func (q Query) PageSize() int {
	switch {
	case q.Limit <= 0:
		return defaultLimit
	case q.Limit > maxLimit:
		return maxLimit
	}
	return q.Limit
}

func (q *Query) matches(h Head) bool {
	return (len(q.Statuses) == 0 || slices.Contains(q.Statuses, h.Status)) &&
		strings.HasPrefix(h.Run, q.Prefix) &&
		(q.Workflow == "" || q.Workflow == h.Workflow) &&
		(q.Parent == "" || q.Parent == h.Parent) &&
		(q.Kind == "" || q.Kind == h.Kind) &&
		(q.Session == "" || q.Session == h.Session) &&
		(!q.Interrupted || h.Interrupted) &&
		(q.CreatedFrom.IsZero() || !h.Created.Before(q.CreatedFrom)) &&
		(q.CreatedBefore.IsZero() || h.Created.Before(q.CreatedBefore)) &&
		(!q.Selects() || q.selects(h))
}

// Selects reports whether q has filters that a plain list cannot answer. Unless labels or a search
// select the runs, every run that matches the rest of q must be inspected.
func (q *Query) Selects() bool {
	return len(q.Labels) > 0 || len(q.Search) > 0 || q.Format != "" || q.Branch != "" || q.Trigger != "" ||
		q.Code != "" ||
		q.MinCost != nil || q.MaxCost != nil || q.MinDuration != nil || q.MaxDuration != nil
}

// selects reports whether h matches the filters that Selects covers, except the search.
func (q *Query) selects(h Head) bool {
	took := h.Ended.Sub(h.Created)
	return (q.Format == "" || q.Format == h.Format) &&
		(q.Branch == "" || q.Branch == h.Branch) &&
		(q.Trigger == "" || q.Trigger == h.Trigger) &&
		(q.Code == "" || q.Code == h.Outcome.Code) &&
		(q.MinCost == nil || h.Outcome.Cost >= *q.MinCost) &&
		(q.MaxCost == nil || h.Outcome.Cost <= *q.MaxCost) &&
		(q.MinDuration == nil || !h.Ended.IsZero() && took >= *q.MinDuration) &&
		(q.MaxDuration == nil || !h.Ended.IsZero() && took <= *q.MaxDuration) &&
		Selected(q.Labels, h.Labels)
}

// Tally is one row of the result of Counts: the number of runs that share the values of the other
// fields.
type Tally struct {
	Status                    Status
	Workflow, Trigger, Format string
	Runs                      int
}

// Cursor is the position of a run in the order of List: newest first by Created, then by Key, which
// increases with every run that a store accepts. Its string form is opaque to everything but
// stores.
type Cursor struct {
	Created int64 // microseconds since 1970
	Key     int64
}

// String returns the string form for Query.Cursor.
func (c Cursor) String() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(c.Created))
	binary.BigEndian.PutUint64(b[8:], uint64(c.Key))
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// ParseCursor parses the string form of a cursor. The error is ErrCursor, wrapped.
func ParseCursor(text string) (Cursor, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != 16 {
		return Cursor{}, fmt.Errorf("list runs: %w", ErrCursor)
	}
	c := Cursor{Created: int64(binary.BigEndian.Uint64(b)), Key: int64(binary.BigEndian.Uint64(b[8:]))}
	if c.String() != text { // the decoder ignores line endings
		return Cursor{}, fmt.Errorf("list runs: %w", ErrCursor)
	}
	return c, nil
}

// PruneQuery selects the runs to delete. The zero query deletes none. The times never select a run
// with a living owner.
type PruneQuery struct {
	// EndedBefore selects runs that ended before it, PausedBefore runs that are paused and were
	// last written before it. Zero selects none.
	EndedBefore, PausedBefore time.Time
	// Runs selects these runs, regardless of their status.
	Runs []string
}

// PruneResult is the result of a Prune.
type PruneResult struct {
	// Runs and Blobs are the numbers of deleted runs and blobs.
	Runs, Blobs int
	// Freed is the number of bytes by which the store shrank on disk. It may be negative if other
	// writers were active meanwhile.
	Freed int64
}

// microseconds returns t with the precision that stores keep.
func microseconds(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

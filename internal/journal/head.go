package journal

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/workflow"
)

// Status is the state of a run.
type Status = engine.Status

// The statuses, as the engine has them.
const (
	StatusPending   = engine.StatusPending
	StatusRunning   = engine.StatusRunning
	StatusPaused    = engine.StatusPaused
	StatusCompleted = engine.StatusCompleted
	StatusFailed    = engine.StatusFailed
	StatusCancelled = engine.StatusCancelled
)

// Statuses lists every status.
func Statuses() []Status {
	return []Status{StatusPending, StatusRunning, StatusPaused, StatusCompleted, StatusFailed, StatusCancelled}
}

// Kind is a kind of process. A process recovers runs that its own kind started (D15).
type Kind string

const (
	KindRun       Kind = "run"
	KindServe     Kind = "serve"
	KindScheduler Kind = "scheduler"
	KindWorker    Kind = "worker"
	// KindProgram is a Go program that embeds Hocket.
	KindProgram Kind = "program"
	// KindTemporal is what carries runs by way of Temporal: all processes together ([Sharing]).
	KindTemporal Kind = "temporal"
)

// Head is the index entry of a run: what a list shows without reading a record. Times are UTC in microseconds; a store cuts off the rest.
type Head struct {
	Run string
	NewRun
	// Status, Waiting and Updated are those of the last append. Ended is the time of the append that ended the run, zero before.
	Status         Status
	Waiting        int
	Updated, Ended time.Time
	// LastSeq is the number of the last event.
	LastSeq uint64
	// Epoch counts the owners that the run had, from 1. Owner is the id of the present one, empty for none; it may be dead.
	Epoch uint64
	Owner string
	// By describes the owner: where it runs, and its last heartbeat. Zero where Owner is empty.
	By Owner
	// Interrupted: the run is active and has no living owner.
	Interrupted bool
	// WaitingFor is the place that an interrupted run waits for: no living process has it. Stores leave it empty; package service fills it in.
	WaitingFor string
	// Turn is where a pending run is in the line of its concurrency key; nil: it is in none. Stores leave it nil; package service fills it in for one run.
	Turn *Turn
	// Outcome is that of the last append that told one.
	Outcome Outcome
	// Unbegun: no open call of the run has begun since its last append. Only what claims a run gives it, of a run that was given up by Dispatch.Return, or so by an append.
	Unbegun bool
}

// NewRun is what is known of a run when it is created, and never changes but for Kind ([Sharing]).
type NewRun struct {
	// Workflow is the id of the stored workflow or the name of the document, WorkflowName what people call it, Format the way it was written.
	Workflow, WorkflowName, Format string
	// Parent is the run that started this one, or empty.
	Parent string
	// Session is the name of the session that the run belongs to, or empty. Of the runs of a session at most one has not ended (P19).
	Session string
	// Kind is the kind of process that may recover the run.
	Kind Kind
	// Place is the name of the machine whose files and programs the run needs; "": it can go on anywhere. Dispatch.Move changes it.
	Place string
	// Definition is the hash of the blob with the definition; empty where there is none.
	Definition string
	Created    time.Time
	// Branch is the branch of the workflow that runs; "": its main graph. Trigger says what began the run: a word of the service layer.
	Branch, Trigger string
	// Labels are valid ones, by which runs are selected. Nil and empty are the same.
	Labels workflow.Labels
	// Preview is the beginning of the input on one line.
	Preview string
	// Meta is for the caller that starts runs: small, shown in lists, not searched. Nil and empty are the same.
	Meta map[string]string
}

// Query says which runs List gives. The zero Query is all of them. Filters are joined by and.
type Query struct {
	// Statuses: any of these; empty means any.
	Statuses []Status
	// Prefix: only runs whose ids begin with it, by their bytes; empty means any.
	Prefix string
	// Workflow, Parent, Session and Kind: exactly this; empty means any.
	Workflow, Parent, Session string
	Kind                      Kind
	// Format, Branch, Trigger and Code, that of Outcome: exactly this; empty means any.
	Format, Branch, Trigger, Code string
	// Labels select by the run's labels.
	Labels []Selector
	// Search is what the run's texts must have, as ParseSearch gives it of SearchText, which stores do not read. A list of what it finds is ordered by Cursor.Key alone.
	Search     []Term
	SearchText string
	// MinCost, MaxCost, MinDuration and MaxDuration are bounds, included; nil means none. Cost is that of Outcome. The duration of a run is known when it has ended: others are within no bound of it.
	MinCost, MaxCost         *chat.Money
	MinDuration, MaxDuration *time.Duration
	// Interrupted: only runs that are active and have no living owner.
	Interrupted bool
	// CreatedFrom is included, CreatedBefore is not; zero means no bound.
	CreatedFrom, CreatedBefore time.Time
	// Limit is the size of a page: 0 means 50, more than 1,000 means 1,000.
	Limit int
	// Cursor continues where the page before ended; empty begins with the newest run.
	Cursor string
}

const (
	defaultLimit = 50
	maxLimit     = 1000
)

// PageSize is the number of runs on a page of q.
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

// Selects tells whether q asks for what only an index tells: each run with the rest of q has to be looked at, unless labels or a search give them.
func (q *Query) Selects() bool {
	return len(q.Labels) > 0 || len(q.Search) > 0 || q.Format != "" || q.Branch != "" || q.Trigger != "" || q.Code != "" ||
		q.MinCost != nil || q.MaxCost != nil || q.MinDuration != nil || q.MaxDuration != nil
}

// selects is matches for what Selects names, without the search.
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

// Tally is how many runs of those that Counts counted are alike: in each of the words of one row.
type Tally struct {
	Status                    Status
	Workflow, Trigger, Format string
	Runs                      int
}

// Cursor is the place of a run in the order of List: newest first by Created, then by Key, which grows with every run that a store takes.
// Its text is opaque to all but stores.
type Cursor struct {
	Created int64 // microseconds since 1970
	Key     int64
}

// String gives the text for Query.Cursor.
func (c Cursor) String() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(c.Created))
	binary.BigEndian.PutUint64(b[8:], uint64(c.Key))
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// ParseCursor reads the text of a cursor. The error is ErrCursor, wrapped.
func ParseCursor(text string) (Cursor, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != 16 {
		return Cursor{}, fmt.Errorf("list runs: %w", ErrCursor)
	}
	c := Cursor{Created: int64(binary.BigEndian.Uint64(b)), Key: int64(binary.BigEndian.Uint64(b[8:]))}
	if c.String() != text { // the decoder passes over line ends
		return Cursor{}, fmt.Errorf("list runs: %w", ErrCursor)
	}
	return c, nil
}

// PruneQuery says which runs are deleted. The zero query deletes none. Times never select a run with a living owner.
type PruneQuery struct {
	// EndedBefore takes runs that ended before it, PausedBefore runs that are paused and were last written before it. Zero takes none.
	EndedBefore, PausedBefore time.Time
	// Runs takes these, whatever their status.
	Runs []string
}

// PruneResult tells what a Prune did.
type PruneResult struct {
	// Runs and Blobs are the numbers of those that are gone.
	Runs, Blobs int
	// Freed is by how many bytes the store became smaller on disk. It may be negative where others wrote meanwhile.
	Freed int64
}

// microseconds is t as stores keep it.
func microseconds(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

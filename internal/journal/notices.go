package journal

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Notice records that a run has an event of which others may be notified: it ended, or it waits for
// a person. It is stored with the record that has the event, in one transaction, so that a reader
// that remembers the last notice misses none, whichever process dies in between. It is deleted when
// its run is pruned.
type Notice struct {
	// ID is greater than the ID of every notice stored before, across all runs. In Append it is
	// ignored, as are Run and At.
	ID uint64
	// Run and Seq identify the event, Type is its type: `wait.opened`.
	Run  string
	Seq  uint64
	Type string
	// At is Append.At.
	At time.Time
}

// Notices reads notices.
type Notices interface {
	// Notices returns the notices with an ID greater than after, oldest first: at most limit, and
	// at most 1,000 if limit is 0 or larger than that.
	Notices(ctx context.Context, after uint64, limit int) ([]Notice, error)
	// LastNotice returns the ID of the newest stored notice, or 0 if there is none.
	LastNotice(ctx context.Context) (uint64, error)
}

// maxNotices is the maximum number of notices that one call of Notices returns.
const maxNotices = 1000

// NoticePage returns the maximum number of notices to return for a limit passed to Notices.
func NoticePage(limit int) int {
	if limit <= 0 || limit > maxNotices {
		return maxNotices
	}
	return limit
}

func (a *Append) validNotices() error {
	for _, n := range a.Notices {
		if n.Type == "" || n.Seq < a.Record.First || n.Seq > a.Last() {
			return fmt.Errorf("append journal: notice %q of event %d in records of events %d to %d", n.Type, n.Seq,
				a.Record.First, a.Last())
		}
	}
	return nil
}

func (h *memHandle) Notices(ctx context.Context, after uint64, limit int) ([]Notice, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var found []Notice
	for _, n := range h.m.notices {
		if n.ID > after && n.Run != "" && len(found) < NoticePage(limit) {
			found = append(found, n)
		}
	}
	return found, nil
}

func (h *memHandle) LastNotice(ctx context.Context) (uint64, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	for _, n := range slices.Backward(h.m.notices) {
		if n.Run != "" {
			return n.ID, nil
		}
	}
	return 0, nil
}

func (h *memHandle) Count(ctx context.Context, statuses ...Status) (int, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	n := 0
	for _, r := range h.m.runs {
		if slices.Contains(statuses, r.head.Status) {
			n++
		}
	}
	return n, nil
}

// busy returns the run of a session, other than run, that has not ended, or "" if there is none.
func (m *Memory) busy(session, run string) string {
	if session == "" {
		return ""
	}
	for id, r := range m.runs {
		if r.head.Session == session && id != run && !r.head.Status.Ended() {
			return id
		}
	}
	return ""
}

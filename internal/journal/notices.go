package journal

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Notice says that a run has an event of which others may be notified: it ended, or it waits for a person. It is stored with the record that has the event, in one
// transaction, so that a reader of notices that remembers the last one misses none, whatever dies in between. It goes when its run is pruned.
type Notice struct {
	// ID is greater than that of every notice that was stored before, over all runs. In Append it is ignored, as Run and At are.
	ID uint64
	// Run and Seq name the event, Type says what it is: `wait.opened`.
	Run  string
	Seq  uint64
	Type string
	// At is Append.At.
	At time.Time
}

// Notices reads notices.
type Notices interface {
	// Notices gives those after the notice after, oldest first: limit at most, and 1,000 where limit is 0 or more than that.
	Notices(ctx context.Context, after uint64, limit int) ([]Notice, error)
	// LastNotice gives the ID of the newest that is there; 0 where there is none.
	LastNotice(ctx context.Context) (uint64, error)
}

// maxNotices bounds what Notices gives at once.
const maxNotices = 1000

// NoticePage is how many notices a limit asks for.
func NoticePage(limit int) int {
	if limit <= 0 || limit > maxNotices {
		return maxNotices
	}
	return limit
}

func (a *Append) validNotices() error {
	for _, n := range a.Notices {
		if n.Type == "" || n.Seq < a.Record.First || n.Seq > a.Last() {
			return fmt.Errorf("append journal: notice %q of event %d in records of events %d to %d", n.Type, n.Seq, a.Record.First, a.Last())
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

// busy gives the unended run of a session other than run; "" where there is none.
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

package held

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
)

// HasStored reports whether the journal contains exactly the records of ap.
func HasStored(ctx context.Context, log journal.Log, ap journal.Append) (bool, error) {
	first, more := ap.Record, ap.More
	if ap.Events != nil {
		var err error
		if first, more, _, err = journal.EncodeParts(nil, ap.Events); err != nil {
			return false, err
		}
	}
	n := 0
	err := log.Each(ctx, ap.Run, first.First-1, func(r journal.Record) error {
		switch want := first; {
		case n > len(more):
			return nil
		case n > 0:
			want = more[n-1]
			fallthrough
		default:
			if r.First != want.First || r.Last != want.Last || !bytes.Equal(r.Data, want.Data) {
				return errOther
			}
		}
		n++
		return nil
	})
	if errors.Is(err, errOther) {
		return false, nil
	}
	return n > len(more), err
}

// errOther means that a record differs.
var errOther = errors.New("the record has different events")

// Earliest returns the earliest deadline of a wait among open commands, or the zero time if there
// is none.
func Earliest(open []engine.Command) time.Time {
	var first time.Time
	for _, c := range open {
		if t, ok := c.(*engine.StartTimer); ok && t.Deadline && (first.IsZero() || t.At.Before(first)) {
			first = t.At
		}
	}
	return first
}

// Due returns the timers of waits that are due by now, earliest first, for a run that was just read
// (D21).
func Due(run *engine.Run, now time.Time) []*engine.StartTimer {
	var due []*engine.StartTimer
	for _, c := range run.Open() {
		if t, ok := c.(*engine.StartTimer); ok && t.Deadline && !t.At.After(now) {
			due = append(due, t)
		}
	}
	slices.SortStableFunc(due, func(a, b *engine.StartTimer) int { return a.At.Compare(b.At) })
	return due
}

// NewAppend builds the stored form of events that a decision added to a run: records, blobs, status
// and notices. buf is the buffer for the data of the first record, which the next use of buf
// overwrites. asValues keeps events that can be encoded as values, for a journal.EventKeeper. The
// caller adds the data about the run's owner, and validates the result.
func NewAppend(run *engine.Run, id string, events []event.Event, buf *[]byte, asValues bool) (journal.Append, error) {
	ap := journal.Append{
		Run: id, At: events[len(events)-1].At,
		Record: journal.Record{First: events[0].Seq, Last: events[len(events)-1].Seq},
		Status: driver.StatusOf(run), Waiting: len(run.Waits()), Notices: driver.Notices(events),
		Index: driver.Index(run, events),
	}
	if asValues && journal.IsEncodable(events) {
		ap.Events = events
		return ap, nil
	}
	var err error
	ap.Record, ap.More, ap.Blobs, err = journal.EncodeParts(*buf, events)
	if *buf = ap.Record.Data; cap(*buf) > maxBuf {
		*buf = nil
	}
	return ap, err
}

// maxBuf is the maximum size of the buffer that is kept for the next record.
const maxBuf = 4 << 10

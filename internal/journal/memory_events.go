package journal

import (
	"crypto/sha256"
	"fmt"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// EventKeeper is implemented by stores that keep events as values: their Append accepts
// Append.Events instead of Record.Data and builds records when they are read. Only events for which
// [IsEncodable] returns true may be passed this way.
type EventKeeper interface {
	Log
	KeepsEvents()
}

// KeepsEvents implements EventKeeper.
func (h *memHandle) KeepsEvents() {}

var _ EventKeeper = (*memHandle)(nil)

// IsEncodable reports whether Encode is certain to accept events created by the engine: everything
// they hold was valid JSON when it entered the engine. This is known for the events of Go functions
// and of the flow between steps; it is false for all other events, which are encoded when they are
// stored.
func IsEncodable(events []event.Event) bool {
	for i := range events {
		if !utf8.ValidString(events[i].Node) {
			return false
		}
		switch events[i].Data.(type) {
		case *event.RunCreated, *event.RunStarted, *event.RunCompleted, *event.StepStarted, *event.StepCompleted,
			*event.EdgeTaken, *event.ConditionChecked,
			*event.FuncCalled, *event.FuncNoted, *event.FuncReturned:
		default:
			return false
		}
	}
	return true
}

// encode builds records, once, from the events that a run keeps as values. The caller must hold
// m.mu. A *CorruptError means a bug in Hocket.
func (m *Memory) encode(r *memRun) error {
	for _, events := range r.values {
		first, more, blobs, err := EncodeParts(nil, events)
		if err != nil {
			return &CorruptError{Run: r.head.Run, Seq: events[0].Seq,
				Reason: fmt.Sprintf("its events have no stored form: %v", err)}
		}
		for i := range blobs {
			m.hold(r, &blobs[i])
		}
		r.link(first, first.Digest())
		for _, one := range more {
			r.link(one, one.Digest())
		}
		r.values = r.values[1:]
	}
	r.values = nil
	return nil
}

// link appends a record to those of the run.
func (r *memRun) link(rec Record, digest [sha256.Size]byte) {
	if len(r.links) == 0 {
		r.sum = Genesis(r.head.Run)
	}
	r.sum = r.sum.Next(rec, digest)
	r.links = append(r.links, Link{Record: rec, Sum: r.sum})
}

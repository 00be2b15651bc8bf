package journal

import (
	"crypto/sha256"
	"fmt"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/engine"
)

// EventKeeper is implemented by stores that keep events as values: their Append takes Append.Events in the place of Record.Data, and makes records of them when they
// are read. Only events of which [IsEncodable] says that they can be encoded may be given to it so.
type EventKeeper interface {
	Log
	KeepsEvents()
}

// KeepsEvents implements EventKeeper.
func (h *memHandle) KeepsEvents() {}

var _ EventKeeper = (*memHandle)(nil)

// IsEncodable tells whether Encode is certain to take events that the engine made: all that they hold was valid JSON where it entered the engine. That is known of the
// events of Go functions and of the flow between steps; false for all others, which are encoded where they are stored.
func IsEncodable(events []engine.Event) bool {
	for i := range events {
		if !utf8.ValidString(events[i].Node) {
			return false
		}
		switch events[i].Data.(type) {
		case *engine.RunCreated, *engine.RunStarted, *engine.RunCompleted, *engine.StepStarted, *engine.StepCompleted, *engine.EdgeTaken, *engine.ConditionChecked,
			*engine.FuncCalled, *engine.FuncNoted, *engine.FuncReturned:
		default:
			return false
		}
	}
	return true
}

// encode makes records of the events that a run keeps as values, once. m.mu is held. Errors: *CorruptError, a defect of Hocket.
func (m *Memory) encode(r *memRun) error {
	for _, events := range r.values {
		first, more, blobs, err := EncodeParts(nil, events)
		if err != nil {
			return &CorruptError{Run: r.head.Run, Seq: events[0].Seq, Reason: fmt.Sprintf("its events have no stored form: %v", err)}
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

// link adds a record behind those that the run has.
func (r *memRun) link(rec Record, digest [sha256.Size]byte) {
	if len(r.links) == 0 {
		r.sum = Genesis(r.head.Run)
	}
	r.sum = r.sum.Next(rec, digest)
	r.links = append(r.links, Link{Record: rec, Sum: r.sum})
}

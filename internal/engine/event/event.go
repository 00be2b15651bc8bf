package event

import (
	"encoding/json"
	"time"

	"github.com/hocket-run/hocket/internal/engine/typed"
)

// Value is any JSON value in compact form; nil is JSON null. A text is a JSON string. Values are shared and never changed.
type Value = json.RawMessage

// Edit is a change of a part of one field of a typed state.
type Edit = typed.Edit

// Type names an event as it is stored and shown.
type Type string

// Event is one recorded fact of a run. Seq counts from 1 without gaps. At is UTC in microseconds. Node and Step are empty where the event
// belongs to the whole run.
type Event struct {
	Seq  uint64
	At   time.Time
	Node string
	// Step counts executions in the run from 1 (D6).
	Step int
	Data Data
}

// Data is the content of an event; each event type has its own. Only this package implements it.
type Data interface {
	Type() Type
}

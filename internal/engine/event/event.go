package event

import (
	"encoding/json"
	"time"

	"github.com/hocket-run/hocket/internal/engine/typed"
)

// Value is any JSON value in compact form; nil is JSON null, and a text is a JSON string. Values
// are shared and must not be changed.
type Value = json.RawMessage

// Edit is a partial change of one field of a typed state.
type Edit = typed.Edit

// Type is the name of an event type as it is stored and shown.
type Type string

// Event is one recorded fact of a run. Seq counts from 1 without gaps. At is UTC with microsecond
// precision. Node and Step are empty if the event belongs to the whole run.
type Event struct {
	Seq  uint64
	At   time.Time
	Node string
	// Step is the number of the execution in the run, counted from 1 (D6).
	Step int
	Data Data
}

// Data is the content of an event; each event type has its own. Only this package implements it.
type Data interface {
	Type() Type
}

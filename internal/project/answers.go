package project

import (
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// Answer is the outcome of a wait that was answered or that timed out at its deadline.
type Answer struct {
	Wait string `json:"wait"`
	Node string `json:"node"`
	Kind string `json:"kind"`
	// Tool is the name of the held call's tool, as in Waiting.
	Tool string `json:"tool,omitempty"`
	// Decision is the answer to an approval and Answer the answer to a question; both are absent if
	// the deadline passed.
	Decision string      `json:"decision,omitempty"`
	Answer   event.Value `json:"answer,omitempty"`
	Note     string      `json:"note,omitempty"`
	// Arguments are the approved call's arguments if the answer changed them, and Held its original
	// arguments; both are absent if it did not.
	Arguments event.Value `json:"arguments,omitempty"`
	Held      event.Value `json:"held,omitempty"`
	// By is the actor who answered, with the channel used; the channel is `clock` if the deadline
	// passed.
	By event.Actor `json:"by"`
	At time.Time   `json:"at"`
}

// answered records how a wait ended. w is nil if the wait had already ended.
func (f *Folder) answered(w *wait, a Answer) {
	if w == nil {
		return
	}
	a.Wait, a.Node, a.Kind, a.Tool = w.Wait, w.node, w.Kind, w.Tool
	if a.Arguments != nil {
		a.Held = w.Arguments
	}
	f.answers = append(f.answers, a)
}

package project

import (
	"time"

	"github.com/hocket-run/hocket/internal/engine"
)

// Answer is what became of a wait that was answered, or that the clock closed at its deadline.
type Answer struct {
	Wait string `json:"wait"`
	Node string `json:"node"`
	Kind string `json:"kind"`
	// Tool is that of a held call, as in Waiting.
	Tool string `json:"tool,omitempty"`
	// Decision is that of an approval, Answer that of a question; both are absent where the deadline passed.
	Decision string       `json:"decision,omitempty"`
	Answer   engine.Value `json:"answer,omitempty"`
	Note     string       `json:"note,omitempty"`
	// Arguments are those of the approved call where the answer changed them, and Held those with which it was held; both are absent where it did not.
	Arguments engine.Value `json:"arguments,omitempty"`
	Held      engine.Value `json:"held,omitempty"`
	// By is who answered, and by which way in; its channel is `clock` where the deadline passed.
	By engine.Actor `json:"by"`
	At time.Time    `json:"at"`
}

// answered notes how a wait ended. w is nil where the wait had ended before.
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

package graph

import (
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
)

// Step is one execution of a node. A run keeps each of its steps: what only a running one needs is in work.
type Step[L any] struct {
	Node  int
	Scope int
	From  int
	Group int
	// Approval is the last answered approval on the path to the step, the step itself included: the number of its wait; 0: there is none.
	Approval int
	Calls    int // calls that were numbered, once the step has ended
	Status   event.StepStatus
	Output   Output
	*work[L]
}

// work is what a step has while it runs. An ended step keeps Input, Block and By, and its work until its last call has settled; one that has none of these has the one that holds nothing, which is
// never written.
type work[L any] struct {
	// Input is what the step was given where that is neither the output of From nor made by a recipe.
	Input   event.Value
	Iter    int
	Retries int
	Last    *event.Failure
	Wait    string
	// Seen and View are what a function sees: the outputs and the state as they were when the step started.
	Seen []Entry
	View typed.State
	// Loop is what the loop keeps of the step. The graph does not read it.
	Loop  L
	Block *block
	// By is the agent that gave the output, where the conversation was handed over to it.
	By string
	// Flow is the sub-flow that the step runs.
	Flow int
	// expiry is when the step's timeout is over; nil: it has none.
	expiry *expiry
	// given is the last result of the step, changed what it changes in View. Both are there only within the activation that brought the result.
	given   event.Data
	changed typed.Changes
}

// works gives steps their work, that of ended ones first. The zero works is ready for use.
type works[L any] struct {
	none  *work[L]
	spare []*work[L]
	block []work[L] // room for further ones
	size  int       // of the last block
}

// mostWorks bounds a block: what is kept of one work keeps its whole block.
const mostWorks = 32

// begin gives a step that starts its work.
func (m *works[L]) begin(w work[L]) *work[L] {
	n := len(m.spare)
	if n == 0 {
		if len(m.block) == 0 {
			m.size = min(max(1, 2*m.size), mostWorks)
			m.block = make([]work[L], m.size)
		}
		p := &m.block[0]
		m.block = m.block[1:]
		*p = w
		return p
	}
	p := m.spare[n-1]
	m.spare = m.spare[:n-1]
	*p = w
	return p
}

// end gives what an ended step keeps of its work.
func (m *works[L]) end(w *work[L], awaited bool) *work[L] {
	*w = work[L]{Input: w.Input, Block: w.Block, By: w.By, Loop: w.Loop}
	if w.Input != nil || w.Block != nil || w.By != "" || awaited {
		return w
	}
	if m.none == nil {
		m.none = new(work[L])
	}
	m.spare = append(m.spare, w)
	return m.none
}

// expiry is the timer of a step's timeout.
type expiry struct {
	at    time.Time
	seq   uint64 // the event that started it
	fired bool
}

// ExpireAt starts the timer of the step's timeout, by event seq.
func (s *Step[L]) ExpireAt(at time.Time, seq uint64) { s.expiry = &expiry{at: at, seq: seq} }

// Expiry is when the step's timeout is over, and the event that said so. False: it has none, or its timer has fired.
func (s *Step[L]) Expiry() (at time.Time, seq uint64, ok bool) {
	if s.expiry == nil || s.expiry.fired {
		return time.Time{}, 0, false
	}
	return s.expiry.at, s.expiry.seq, true
}

// Expire notes that the step's timeout is over.
func (s *Step[L]) Expire() { s.expiry.fired = true }

// IsExpired tells whether the step's timeout is over.
func (s *Step[L]) IsExpired() bool { return s.expiry != nil && s.expiry.fired }

// Await notes the wait that the step has opened.
func (s *Step[L]) Await(wait string) { s.Wait = wait }

// Join puts the step in the group of a queued token (D18).
func (s *Step[L]) Join(group int) { s.Group = group }

// Approve notes the number of the last answered approval on the path to the step.
func (s *Step[L]) Approve(wait int) { s.Approval = wait }

// HasResult tells whether the step has a result to which its completion may refer.
func (s *Step[L]) HasResult() bool { return s.given != nil }

package graph

import (
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
)

// Step is one execution of a node. A run keeps all of its steps, so data that only a running step
// needs is in work.
type Step[L any] struct {
	Node  int
	Scope int
	From  int
	Group int
	// Approval is the wait number of the last answered approval on the path to the step, the step
	// itself included; 0 means there is none.
	Approval int
	Calls    int // number of calls, set once the step has ended
	Status   event.StepStatus
	Output   Output
	*work[L]
}

// work is the data of a running step. An ended step keeps Input, Block, By and Stop, and keeps its
// work until its last call has settled. Ended steps with none of these share one empty work, which
// is never written.
type work[L any] struct {
	// Input is the input of the step if it is neither the output of From nor built by a recipe.
	Input   event.Value
	Iter    int
	Retries int
	Last    *event.Failure
	Wait    string
	// Seen and View are the outputs and the state visible to a function, as they were when the step
	// started.
	Seen []Entry
	View typed.State
	// Loop is the state that the loop keeps for the step. The graph does not read it.
	Loop  L
	Block *block
	// By is the agent that produced the output, if the conversation was handed over to it.
	By string
	// Stop is why the reply with the output ended, if that is unusual: see loop.Frame.
	Stop string
	// Flow is the sub-flow that the step runs.
	Flow int
	// Expired reports that the step's timeout has passed.
	Expired bool
	// result is the last result of the step, and changed is what it changes in View. Both are set
	// only during the activation that received the result.
	result  event.Data
	changed typed.Changes
}

// workPool allocates work for steps and reuses that of ended steps first. The zero workPool is
// ready for use.
type workPool[L any] struct {
	empty *work[L]
	spare []*work[L]
	block []work[L] // free entries of the last block
	size  int       // of the last block
}

// maxWorkBlock is the maximum size of a block. Blocks are small because one retained work keeps its
// whole block in memory.
const maxWorkBlock = 32

// begin returns the work of a step that starts, set to w.
func (m *workPool[L]) begin(w work[L]) *work[L] {
	n := len(m.spare)
	if n == 0 {
		if len(m.block) == 0 {
			m.size = min(max(1, 2*m.size), maxWorkBlock)
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

// end clears the work of an ended step and returns what the step keeps of it.
func (m *workPool[L]) end(w *work[L], awaited bool) *work[L] {
	*w = work[L]{Input: w.Input, Block: w.Block, By: w.By, Stop: w.Stop, Loop: w.Loop}
	if w.Input != nil || w.Block != nil || w.By != "" || w.Stop != "" || awaited {
		return w
	}
	if m.empty == nil {
		m.empty = new(work[L])
	}
	m.spare = append(m.spare, w)
	return m.empty
}

// Expire records that the step's timeout has passed.
func (s *Step[L]) Expire() { s.Expired = true }

// Await records the wait that the step has opened.
func (s *Step[L]) Await(wait string) { s.Wait = wait }

// Join adds the step to the group of a queued token (D18).
func (s *Step[L]) Join(group int) { s.Group = group }

// Approve records the number of the last answered approval on the path to the step.
func (s *Step[L]) Approve(wait int) { s.Approval = wait }

// HasResult reports whether the step has a result that its completion can refer to.
func (s *Step[L]) HasResult() bool { return s.result != nil }

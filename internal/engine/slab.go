package engine

import (
	"slices"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/plan"
)

// slabMax is the maximum size of a block of a slab. Blocks are small because one retained value
// keeps its whole block in memory.
const slabMax = 32

// slab allocates values from its own blocks, so that a step costs fewer allocations than it has
// events. The zero slab is ready for use.
type slab[T any] struct {
	free []T
	// size is the size of the last block, and want the number of further values expected: blocks
	// have room for no more than that.
	size, want int32
}

// alloc allocates a copy of v.
func (s *slab[T]) alloc(v T) *T { return &s.allocSlice(v)[0] }

// allocSlice is alloc, returning a slice of length 1.
func (s *slab[T]) allocSlice(v T) []T {
	if len(s.free) == 0 {
		s.grow()
	}
	p := s.free[:1:1]
	s.free = s.free[1:]
	p[0] = v
	return p
}

func (s *slab[T]) grow() {
	if s.want > 0 {
		s.size = min(s.want, slabMax)
		s.want -= s.size
	} else {
		s.size = min(max(1, 2*s.size), slabMax)
	}
	s.free = make([]T, s.size)
}

// expect makes room for one execution of each node of f.
func (m *slabs) expect(f *plan.Flow) {
	n, funcs := int32(len(f.Nodes)), int32(f.Funcs)
	m.started.want, m.edges.want, m.tokens.want = n, n, n
	m.completed.want = n - funcs // functions share one: Plan.completed
	m.asked.want, m.returned.want, m.commands.want = funcs, funcs, funcs
}

// slabs are the slabs for what a run creates at every step.
type slabs struct {
	started   slab[event.StepStarted]
	completed slab[event.StepCompleted]
	edges     slab[event.EdgeTaken]
	checked   slab[event.ConditionChecked]
	asked     slab[event.FuncCalled]
	returned  slab[event.FuncReturned]
	funcs     slab[CallFunc]
	tokens    slab[int]
	commands  slab[Command]
	// events is the block that holds the events of consecutive activations.
	events []event.Event
	// lastEvents and before are the numbers of events of the last two activations; blocks is the
	// number of activations of that size for which the last block had room.
	lastEvents, before, blocks int32
}

// maxActivations is the maximum number of activations that one block of events has room for. It is
// small because one retained event keeps its whole block in memory.
const maxActivations = 4

// firstEvents is the room for the events of the first activation of a run.
const firstEvents = 6

// room returns an empty list with room for the events of an activation.
func (m *slabs) room() []event.Event {
	if need := int(max(m.lastEvents, m.before)); need == 0 {
		m.events = make([]event.Event, 0, firstEvents)
	} else if cap(m.events)-len(m.events) < need {
		m.blocks = min(max(1, 2*m.blocks), maxActivations)
		m.events = make([]event.Event, 0, int(m.blocks)*need)
	}
	return m.events[len(m.events):]
}

// commitEvents marks the room that an activation used, unless it needed more and was moved. The
// returned list has no spare capacity.
func (m *slabs) commitEvents(out []event.Event) []event.Event {
	if len(out) > 0 {
		m.lastEvents, m.before = int32(len(out)), m.lastEvents
	}
	n := len(m.events)
	if len(out) > 0 && &out[0] == &m.events[:n+1][n] {
		m.events = m.events[:n+len(out)]
	}
	return slices.Clip(out)
}

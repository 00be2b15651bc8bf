package journal

import (
	"context"
	"slices"
)

// memSlots are the queues of runs that request slots, by name, each in order.
type memSlots struct {
	of    map[string][]*memSlot
	names map[string]string // by run
}

type memSlot struct {
	Slot
	owner    string // the owner that vouches for it
	admitted bool
}

// isHeld reports whether the run has not ended, as far as is known.
func (m *Memory) isHeld(s *memSlot) bool {
	r := m.runs[s.Run]
	return s.owner != "" && m.owners[s.owner] || r != nil && !r.head.Status.Ended()
}

// isWaiting reports whether a waiting run continues when it gets a slot.
func (m *Memory) isWaiting(s *memSlot) bool {
	if s.owner != "" && m.owners[s.owner] {
		return true
	}
	r := m.runs[s.Run]
	return r != nil && r.head.Status == StatusPending && (r.head.Owner != "" &&
		(r.head.Owner == CommonOwner || m.owners[r.head.Owner]) || r.head.Owner == "" && r.waits != notWaiting)
}

// turn returns the position of a run in its queue, and forgets runs that have ended.
func (m *Memory) turn(run string) (Turn, *memSlot) {
	name, ok := m.slots.names[run]
	if !ok {
		return Turn{}, nil
	}
	m.slots.of[name] = slices.DeleteFunc(m.slots.of[name], func(s *memSlot) bool {
		if s.Run == run || m.isHeld(s) {
			return false
		}
		delete(m.slots.names, s.Run)
		return true
	})
	var t Turn
	var mine *memSlot
	for _, s := range m.slots.of[name] {
		switch {
		case s.Run == run:
			mine = s
		case s.admitted:
			t.Busy = append(t.Busy, s.Run)
		case mine == nil && m.isWaiting(s):
			t.Before++
			t.Behind = s.Run
		}
	}
	if t.Admitted = mine.admitted; t.Admitted {
		t.Before, t.Behind = 0, ""
	}
	return t, mine
}

// Queue implements Slots.
func (h *memHandle) Queue(ctx context.Context, s Slot) (Turn, error) {
	if err := s.Validate(); err != nil {
		return Turn{}, err
	}
	unlock, err := h.lock(ctx)
	if err != nil {
		return Turn{}, err
	}
	defer unlock()
	if h.m.slots.of == nil {
		h.m.slots = memSlots{of: map[string][]*memSlot{}, names: map[string]string{}}
	}
	for _, old := range h.m.slots.of[h.m.slots.names[s.Run]] {
		if old.Run == s.Run && h.m.isHeld(old) {
			return Turn{}, ErrExists
		}
	}
	h.m.unqueue(s.Run)
	h.m.slots.of[s.Name], h.m.slots.names[s.Run] = append(h.m.slots.of[s.Name], &memSlot{Slot: s, owner: h.owner.ID}),
		s.Name
	t := h.m.admit(s.Run)
	if !t.Admitted && s.OnlyFree {
		h.m.unqueue(s.Run)
	}
	return t, nil
}

// Admit implements Slots.
func (h *memHandle) Admit(ctx context.Context, run string) (Turn, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return Turn{}, err
	}
	defer unlock()
	if _, ok := h.m.slots.names[run]; !ok {
		return Turn{}, ErrNotFound
	}
	return h.m.admit(run), nil
}

// admit assigns a slot to a queued run if it may have one.
func (m *Memory) admit(run string) Turn {
	t, mine := m.turn(run)
	if t.Before == 0 && len(t.Busy) < mine.Max {
		mine.admitted, t.Admitted = true, true
	}
	t.Before = 0
	return t
}

// Turn implements Slots.
func (h *memHandle) Turn(ctx context.Context, run string) (Turn, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return Turn{}, err
	}
	defer unlock()
	t, mine := h.m.turn(run)
	if mine == nil {
		return t, ErrNotFound
	}
	return t, nil
}

// Confirm implements Slots.
func (h *memHandle) Confirm(ctx context.Context, run string) error {
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	for _, s := range h.m.slots.of[h.m.slots.names[run]] {
		if s.Run == run {
			s.owner = ""
		}
	}
	return nil
}

// Unqueue implements Slots.
func (h *memHandle) Unqueue(ctx context.Context, run string) error {
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	h.m.unqueue(run)
	h.m.hub.Signal(OfRun(run))
	return nil
}

func (m *Memory) unqueue(run string) {
	name, ok := m.slots.names[run]
	if !ok {
		return
	}
	delete(m.slots.names, run)
	rest := slices.DeleteFunc(m.slots.of[name], func(s *memSlot) bool { return s.Run == run })
	if m.slots.of[name] = rest; len(rest) == 0 {
		delete(m.slots.of, name)
	}
}

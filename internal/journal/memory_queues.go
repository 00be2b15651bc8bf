package journal

import (
	"context"
	"slices"
)

// memQueues are the queues of an in-memory store. last is the last place ever assigned.
type memQueues struct {
	last uint64
	of   map[Line][]memPlace
}

type memPlace struct {
	id    uint64
	owner string
}

// position returns the position of a place among the places of living owners, and their total
// number.
func (m *Memory) position(line Line, place uint64) (s Position, found bool) {
	for _, p := range m.lines.of[line] {
		if !m.owners[p.owner] {
			continue
		}
		s.All++
		switch {
		case place == 0 || p.id < place:
			s.Before++
		case p.id == place:
			found = true
		}
	}
	return s, found || place == 0
}

// Enter implements Lines.
func (h *memHandle) Enter(ctx context.Context, line Line) (uint64, error) {
	if err := line.Validate(); err != nil {
		return 0, err
	}
	unlock, err := h.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if h.m.lines.of == nil {
		h.m.lines.of = map[Line][]memPlace{}
	}
	if line.Kind == LineKey {
		h.m.lines.of[line] = slices.DeleteFunc(h.m.lines.of[line], func(p memPlace) bool {
			return p.owner == h.owner.ID
		})
	}
	h.m.lines.last++
	h.m.lines.of[line] = append(h.m.lines.of[line], memPlace{h.m.lines.last, h.owner.ID})
	h.m.hub.Signal(OfLines())
	return h.m.lines.last, nil
}

// Position implements Lines.
func (h *memHandle) Position(ctx context.Context, line Line, place uint64) (Position, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return Position{}, err
	}
	defer unlock()
	s, found := h.m.position(line, place)
	if !found {
		return Position{}, ErrNotFound
	}
	return s, nil
}

// Leave implements Lines.
func (h *memHandle) Leave(ctx context.Context, line Line, place uint64) error {
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	var rest []memPlace
	for _, p := range h.m.lines.of[line] {
		if p.id != place && h.m.owners[p.owner] {
			rest = append(rest, p)
		}
	}
	if h.m.lines.of[line] = rest; len(rest) == 0 {
		delete(h.m.lines.of, line)
	}
	h.m.hub.Signal(OfLines())
	return nil
}

package journal

import (
	"context"
	"slices"
)

// claim makes the handle the owner of a run.
func (h *memHandle) claim(r *memRun) Head {
	r.stopTrail()
	r.head.Owner, r.owner = h.owner.ID, h.owner
	r.head.Epoch++
	h.m.hub.Signal(OfRun(r.head.Run))
	head := h.m.headOf(r)
	head.NotStarted = r.waits == callsNotStarted
	r.waits = notWaiting
	return head
}

// clearOwner takes a run from its owner.
func (m *Memory) clearOwner(r *memRun, isNotStarted bool) {
	r.stopTrail()
	r.head.Owner, r.owner, r.waits = "", Owner{}, notWaiting
	switch {
	case isNotStarted:
		r.waits = callsNotStarted
	case r.head.Status.IsActive():
		r.waits = waits
	default:
		return
	}
	m.hub.SignalKind(TopicRequests)
}

// claimState describes whether a released run can be claimed.
type claimState uint8

const (
	notWaiting claimState = iota
	waits
	callsNotStarted // none of its open calls has started
)

// isClaimable reports whether a run can continue and has no living owner.
func (m *Memory) isClaimable(r *memRun) bool {
	if r.head.Owner == "" {
		return r.waits != notWaiting
	}
	return !m.owners[r.head.Owner] && r.head.Status.IsActive()
}

func (h *memHandle) ClaimSome(ctx context.Context, q ClaimQuery) ([]Head, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var found []*memRun
	for _, r := range h.m.runs {
		if h.m.isClaimable(r) && q.matches(r.head) && !slices.Contains(q.Except, r.head.Run) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *memRun) int { return int(a.key - b.key) })
	var heads []Head
	for _, r := range found[:min(len(found), max(q.Limit, 0))] {
		heads = append(heads, h.claim(r))
	}
	return heads, nil
}

func (h *memHandle) Move(ctx context.Context, run, place string) error {
	if err := CheckPlace(place); err != nil {
		return err
	}
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := h.m.run("move run", run)
	if err != nil {
		return err
	}
	r.head.Place = place
	h.m.hub.Signal(OfRun(run))
	h.m.hub.SignalKind(TopicRequests)
	return nil
}

func (h *memHandle) Processes(ctx context.Context) ([]Owner, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var found []Owner
	for id, o := range h.m.handles {
		if h.m.owners[id] {
			found = append(found, h.m.withHeartbeat(o))
		}
	}
	return found, nil
}

package journal

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Open returns a handle with its own owner. kind appears in the errors that other handles get.
func (m *Memory) Open(kind Kind) Backend { return m.OpenAt(kind, "") }

// OpenAt returns a handle whose process continues runs at a place.
func (m *Memory) OpenAt(kind Kind, place string) Backend {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := &memHandle{m: m, owner: Owner{ID: "owner-" + strconv.Itoa(len(m.owners)), Kind: kind, Place: place}}
	m.owners[h.owner.ID], m.handles[h.owner.ID] = true, h.owner
	return h
}

func (h *memHandle) Owner() Owner { return h.owner }

func (h *memHandle) Alive(ctx context.Context, owner string) (bool, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	return h.m.owners[owner], nil
}

func (h *memHandle) Claim(ctx context.Context, run string) (Head, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return Head{}, err
	}
	defer unlock()
	r, err := h.m.run("claim run", run)
	if err != nil {
		return Head{}, err
	}
	switch {
	case r.head.Kind == KindTemporal:
		return Head{}, &OwnedError{Run: run, Owner: Common()}
	case h.m.owners[r.head.Owner]:
		return Head{}, &OwnedError{Run: run, Owner: h.m.withHeartbeat(r.owner)}
	}
	return h.claim(r), nil
}

func (h *memHandle) Release(ctx context.Context, run string, epoch uint64) error {
	return h.release(ctx, run, epoch, false)
}

func (h *memHandle) Return(ctx context.Context, run string, epoch uint64) error {
	return h.release(ctx, run, epoch, true)
}

func (h *memHandle) release(ctx context.Context, run string, epoch uint64, isNotStarted bool) error {
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := h.m.run("release run", run)
	if err != nil {
		return err
	}
	if r.head.Owner != h.owner.ID || r.head.Epoch != epoch {
		return fmt.Errorf("release run %s: %w", run, ErrFenced)
	}
	h.m.clearOwner(r, isNotStarted)
	h.m.hub.Signal(OfRun(run))
	return nil
}

// withHeartbeat returns o with its last heartbeat.
func (m *Memory) withHeartbeat(o Owner) Owner {
	o.Seen = m.heartbeats[o.ID]
	return o
}

func (h *memHandle) Sign(ctx context.Context, at time.Time) error {
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	h.m.heartbeats[h.owner.ID] = microseconds(at)
	return nil
}

func (h *memHandle) Owners(ctx context.Context) ([]Owner, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	found := map[string]Owner{}
	add := func(o Owner) {
		if h.m.owners[o.ID] && o.ID != CommonOwner {
			found[o.ID] = h.m.withHeartbeat(o)
		}
	}
	for _, l := range h.m.schedules.leaders {
		add(l)
	}
	for _, r := range h.m.runs {
		if r.head.Status.IsActive() {
			add(r.owner)
		}
	}
	return slices.Collect(maps.Values(found)), nil
}

func (h *memHandle) Evict(ctx context.Context, run, owner string) error {
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := h.m.run("take over run", run)
	switch {
	case err != nil:
		return err
	case r.head.Owner == "":
		return nil
	case r.head.Owner != owner, owner == CommonOwner:
		return &OwnedError{Run: run, Owner: h.m.withHeartbeat(r.owner)}
	}
	h.m.clearOwner(r, false)
	r.head.Epoch++
	return nil
}

// SetKind implements Sharing.
func (h *memHandle) SetKind(ctx context.Context, run string, kind Kind) error {
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := h.m.run("move run", run)
	switch {
	case err != nil:
		return err
	case r.head.Kind == kind:
		return nil
	case h.m.owners[r.head.Owner] && r.head.Owner != CommonOwner:
		return &OwnedError{Run: run, Owner: h.m.withHeartbeat(r.owner)}
	}
	r.head.Kind = kind
	h.m.clearOwner(r, false)
	if kind == KindTemporal && r.head.Status.IsActive() {
		r.head.Owner, r.owner = CommonOwner, Common()
	}
	r.head.Epoch++
	h.m.hub.Signal(OfRun(run))
	return nil
}

// StoreID implements Sharing.
func (h *memHandle) StoreID(context.Context) (string, error) { return h.m.id, nil }

func (h *memHandle) Prune(ctx context.Context, q PruneQuery) (PruneResult, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return PruneResult{}, err
	}
	defer unlock()
	for _, id := range q.Runs {
		r, err := h.m.run("prune run", id)
		if err != nil {
			return PruneResult{}, err
		}
		if h.m.owners[r.head.Owner] {
			return PruneResult{}, &OwnedError{Run: id, Owner: h.m.withHeartbeat(r.owner)}
		}
	}
	var res PruneResult
	for id, r := range h.m.runs {
		if !slices.Contains(q.Runs, id) && (h.m.owners[r.head.Owner] || !q.takes(r.head)) {
			continue
		}
		res.Runs++
		blobs, bytes := h.m.drop(r)
		res.Blobs += blobs
		res.Freed += bytes
	}
	return res, nil
}

func (q PruneQuery) takes(h Head) bool {
	return h.Status.Ended() && h.Ended.Before(q.EndedBefore) || h.Status == StatusPaused &&
		h.Updated.Before(q.PausedBefore)
}

// drop removes a run and what only that run held.
func (m *Memory) drop(r *memRun) (blobs int, freed int64) {
	delete(m.runs, r.head.Run)
	m.hub.Signal(OfRun(r.head.Run))
	m.removeNotices(r)
	m.untrackEnded(r)
	for _, s := range m.slots.of[m.slots.names[r.head.Run]] {
		if s.Run == r.head.Run && s.owner == "" {
			m.unqueue(s.Run)
			break
		}
	}
	for _, l := range r.links {
		freed += int64(len(l.Data))
	}
	for hash := range r.blobs.all() {
		b := m.blobs[hash]
		if b.holders--; b.holders == 0 {
			delete(m.blobs, hash)
			blobs++
			freed += int64(len(b.data))
		}
	}
	for id, q := range m.inbox.open {
		if q.Run == r.head.Run {
			delete(m.inbox.open, id)
		}
	}
	return blobs, freed
}

// memInbox keeps requests until their run is pruned.
type memInbox struct {
	last uint64
	open map[uint64]*memRequest
}

type memRequest struct {
	Request
	taken  string // the owner that has taken it
	done   bool
	result []byte
}

func (h *memHandle) Post(ctx context.Context, q Request) (uint64, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if _, err := h.m.run("post to run", q.Run); err != nil {
		return 0, err
	}
	h.m.inbox.last++
	q.ID = h.m.inbox.last
	q.Data = bytes.Clone(q.Data)
	q.At = microseconds(q.At)
	h.m.inbox.open[q.ID] = &memRequest{Request: q}
	h.m.hub.Signal(OfRequests())
	return q.ID, nil
}

func (h *memHandle) Take(ctx context.Context) ([]Request, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var taken []Request
	for _, q := range h.m.inbox.open {
		if q.done || q.taken == h.owner.ID || h.m.runs[q.Run].head.Owner != h.owner.ID {
			continue
		}
		q.taken = h.owner.ID
		r := q.Request
		r.Data = bytes.Clone(r.Data)
		taken = append(taken, r)
	}
	slices.SortStableFunc(taken, func(a, b Request) int { return int(a.ID) - int(b.ID) })
	return taken, nil
}

func (h *memHandle) Unclaimed(ctx context.Context, run string) ([]Request, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var open []Request
	for _, q := range h.m.inbox.open {
		if q.done || run != "" && q.Run != run || h.m.owners[h.m.runs[q.Run].head.Owner] &&
			h.m.runs[q.Run].head.Owner != CommonOwner {
			continue
		}
		r := q.Request
		if r.Data = bytes.Clone(r.Data); run == "" {
			r.Data = nil
		}
		open = append(open, r)
	}
	slices.SortStableFunc(open, func(a, b Request) int { return int(a.ID) - int(b.ID) })
	return open, nil
}

func (h *memHandle) Settle(ctx context.Context, id uint64, result []byte) error {
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	q := h.m.inbox.open[id]
	if q == nil {
		return fmt.Errorf("settle request %d: %w", id, ErrNotFound)
	}
	if !q.done {
		q.done, q.result = true, bytes.Clone(result)
		h.m.hub.Signal(OfRequests())
	}
	return nil
}

func (h *memHandle) Result(ctx context.Context, id uint64) ([]byte, bool, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	q := h.m.inbox.open[id]
	if q == nil {
		return nil, false, fmt.Errorf("look up request %d: %w", id, ErrNotFound)
	}
	return bytes.Clone(q.result), q.done, nil
}

var _ Backend = (*memHandle)(nil)

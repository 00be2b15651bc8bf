package journal

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"iter"
	"maps"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// Memory is a store without a file: for `--db :memory:`, for tests and simulation. Several handles
// share it. A closed handle is a dead owner, so a crash is simulated by closing one handle and
// opening another. It is safe for concurrent use.
type Memory struct {
	mu         sync.Mutex
	unlock     func() // mu.Unlock, allocated once
	id         string // see StoreID
	keys       int64
	owners     map[string]bool // true while alive
	handles    map[string]Owner
	heartbeats map[string]time.Time // last heartbeat, by owner
	runs       map[string]*memRun
	blobs      map[[sha256.Size]byte]*memBlob
	inbox      memInbox
	hub        Hub
	lines      memQueues
	slots      memSlots
	ears       listeners
	schedules  memSchedules

	notices        []Notice
	lastNotice     uint64 // the ID of the newest notice ever stored
	removedNotices int    // notices whose runs were removed
	kept           retention
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	m := &Memory{
		id:         rand.Text(),
		owners:     map[string]bool{},
		handles:    map[string]Owner{},
		heartbeats: map[string]time.Time{},
		runs:       map[string]*memRun{},
		blobs:      map[[sha256.Size]byte]*memBlob{},
		inbox:      memInbox{open: map[uint64]*memRequest{}},
		schedules: memSchedules{leaders: map[string]Owner{}, entries: map[ScheduleKey]Registration{},
			controls: map[ScheduleKey]Control{}},
	}
	m.unlock = m.mu.Unlock
	m.owners[CommonOwner] = true
	return m
}

type memRun struct {
	key   int64
	head  Head // Interrupted is computed on demand
	owner Owner
	waits claimState
	sum   Sum
	links []Link
	// values are the events of the activations after links that have not been encoded yet.
	values [][]event.Event
	// texts are searched as they are; nil if there are none.
	texts *Texts
	// notices are the IDs of the run's notices; retained is its number of events while it is among
	// the retained ended runs, otherwise 0.
	notices  []uint64
	retained int
	blobs    heldBlobs
}

// heldBlobs are the blobs of a run, by hash. Most runs have only their definition, which needs no
// map.
type heldBlobs struct {
	first [sha256.Size]byte
	some  bool
	more  map[[sha256.Size]byte]bool
}

// add adds a hash and reports whether it was new.
func (b *heldBlobs) add(hash [sha256.Size]byte) bool {
	switch {
	case !b.some:
		b.first, b.some = hash, true
		return true
	case hash == b.first || b.more[hash]:
		return false
	case b.more == nil:
		b.more = map[[sha256.Size]byte]bool{}
	}
	b.more[hash] = true
	return true
}

// all yields the hashes, in any order.
func (b *heldBlobs) all() iter.Seq[[sha256.Size]byte] {
	return func(yield func([sha256.Size]byte) bool) {
		if !b.some || !yield(b.first) {
			return
		}
		for hash := range b.more {
			if !yield(hash) {
				return
			}
		}
	}
}

type memBlob struct {
	data    []byte
	holders int
}

type memHandle struct {
	m      *Memory
	owner  Owner
	closed bool // guarded by m.mu
}

// lock starts a call; each call is a single critical section, which is the transaction.
func (h *memHandle) lock(ctx context.Context) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h.m.mu.Lock()
	if h.closed {
		h.m.mu.Unlock()
		return nil, ErrClosed
	}
	return h.m.unlock, nil
}

func (m *Memory) run(op, id string) (*memRun, error) {
	if r := m.runs[id]; r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("%s %s: %w", op, id, ErrNotFound)
}

func (h *memHandle) Append(ctx context.Context, a Append) error {
	if err := a.Validate(); err != nil {
		return err
	}
	rec := a.Record
	var digest [sha256.Size]byte
	var more []Record
	if a.Events == nil {
		rec = rec.clone()
		digest = rec.Digest()
		for _, r := range a.More {
			more = append(more, r.clone())
		}
	}
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()

	r, err := h.target(a)
	if err != nil {
		return fmt.Errorf("append to run %s: %w", a.Run, err)
	}
	for i := range a.Blobs {
		if b := &a.Blobs[i]; b.Data == nil && h.m.blobs[b.key()] == nil {
			return fmt.Errorf("append to run %s: blob %s: %w", a.Run, b.Hash, ErrNotFound)
		}
	}
	if a.Events == nil { // records must stay in order
		if err := h.m.encode(r); err != nil {
			return err
		}
	}

	// Nothing fails from here on.
	h.m.runs[a.Run] = r
	h.m.addNotices(r, a)
	for i := range a.Blobs {
		h.m.hold(r, &a.Blobs[i])
	}
	if a.Events != nil {
		r.values = append(r.values, a.Events)
	} else {
		r.link(rec, digest)
		for _, one := range more {
			r.link(one, one.Digest())
		}
	}
	r.head.LastSeq = a.Last()
	r.head.Updated = microseconds(a.At)
	r.head.Status, r.head.Waiting = a.Status, a.Waiting
	switch {
	case !a.Status.Ended():
		r.head.Ended = time.Time{}
	case r.head.Ended.IsZero():
		r.head.Ended = r.head.Updated
	}
	if a.Index != nil {
		if r.head.Outcome = a.Index.Outcome; a.Index.Texts != nil {
			r.texts = a.Index.Texts
		}
	}
	switch {
	case a.Release:
		if h.m.clearOwner(r, a.NotStarted); a.Create != nil && !a.NotStarted {
			r.waits = notWaiting
		}
	case a.Common:
		r.head.Owner, r.owner = CommonOwner, Common()
	}
	if a.Status.Ended() || r.retained > 0 {
		h.m.trackEnd(r)
	}
	h.m.hub.Signal(OfRun(a.Run))
	if len(a.Notices) > 0 {
		h.m.hub.Signal(OfNotices())
	}
	if a.Create != nil {
		h.m.hub.Signal(OfStarts())
	}
	return nil
}

// target returns the run that a continues, or the new run, which is not yet in the store.
func (h *memHandle) target(a Append) (*memRun, error) {
	r := h.m.runs[a.Run]
	switch {
	case a.Create != nil && r != nil:
		return nil, ErrExists
	case a.Create != nil:
		h.m.keys++
		r = &memRun{key: h.m.keys, owner: h.owner}
		r.head = Head{Run: a.Run, NewRun: *a.Create, Epoch: 1, Owner: h.owner.ID}
		r.head.Created = microseconds(a.Create.Created)
		if other := h.m.busy(r.head.Session, a.Run); other != "" && !a.Status.Ended() {
			return nil, &BusyError{Session: r.head.Session, Run: other}
		}
		if r.head.Meta = nil; len(a.Create.Meta) > 0 {
			r.head.Meta = maps.Clone(a.Create.Meta)
		}
		r.head.Labels = workflow.Labels(nil).With(a.Create.Labels)
		return r, nil
	case r == nil:
		return nil, ErrNotFound
	case a.Common && r.head.Kind != KindTemporal, !a.Common && r.head.Owner != h.owner.ID, r.head.Epoch != a.Epoch:
		return nil, ErrFenced
	case r.head.LastSeq+1 != a.Record.First:
		return nil, ErrConflict
	case r.head.Status.Ended() && !a.Status.Ended():
		if other := h.m.busy(r.head.Session, a.Run); other != "" {
			return nil, &BusyError{Session: r.head.Session, Run: other}
		}
	}
	return r, nil
}

func (m *Memory) hold(r *memRun, b *Blob) {
	hash := b.key()
	stored := m.blobs[hash]
	if stored == nil {
		stored = &memBlob{data: bytes.Clone(b.Data)}
		m.blobs[hash] = stored
	}
	if r.blobs.add(hash) {
		stored.holders++
	}
}

func (h *memHandle) Read(ctx context.Context, run string, after uint64) ([]Record, error) {
	links, err := h.links(ctx, run, after)
	if err != nil {
		return nil, err
	}
	records := make([]Record, 0, len(links))
	for _, l := range links {
		records = append(records, l.clone())
	}
	return records, nil
}

// links returns the records of a run with events beyond after, verified. They never change.
func (h *memHandle) links(ctx context.Context, run string, after uint64) ([]Link, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r, err := h.m.run("read run", run)
	if err == nil {
		err = h.m.encode(r)
	}
	if err != nil {
		return nil, err
	}
	from, base := 0, Genesis(run)
	seq := uint64(0)
	for from < len(r.links) && r.links[from].Last <= after {
		seq, base = r.links[from].Last, r.links[from].Sum
		from++
	}
	if err := VerifyChain(run, seq, base, r.links[from:], r.head.LastSeq, r.sum); err != nil {
		return nil, err
	}
	return r.links[from:], nil
}

func (h *memHandle) Blob(ctx context.Context, hash string) ([]byte, error) {
	sum, err := ParseHash(hash)
	if err != nil {
		return nil, fmt.Errorf("read blob %q: %w", hash, ErrNotFound)
	}
	unlock, err := h.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	b := h.m.blobs[sum]
	if b == nil {
		return nil, fmt.Errorf("read blob %s: %w", hash, ErrNotFound)
	}
	if HashOf(b.data) != hash {
		return nil, &CorruptError{Reason: "blob " + hash + " has different data"}
	}
	return append([]byte{}, b.data...), nil
}

func (h *memHandle) Head(ctx context.Context, run string) (Head, error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return Head{}, err
	}
	defer unlock()
	r, err := h.m.run("look up run", run)
	if err != nil {
		return Head{}, err
	}
	return h.m.headOf(r), nil
}

func (m *Memory) headOf(r *memRun) Head {
	head := r.head
	head.Meta, head.Labels = maps.Clone(head.Meta), maps.Clone(head.Labels)
	if head.Owner != "" {
		head.By = m.withHeartbeat(r.owner)
	}
	head.Interrupted = head.Status.IsActive() && !m.owners[head.Owner]
	return head
}

func (h *memHandle) Close() error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	h.closed = true
	h.m.owners[h.owner.ID] = false
	delete(h.m.handles, h.owner.ID)
	h.m.hub.SignalAll()
	return nil
}

package sqlite

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// maxRemembered is the maximum number of runs that the writer remembers: about 200 bytes each, and
// only runs that the handle is executing.
const maxRemembered = 16384

// memory is what the writer knows about the runs it appended to, by ID. It saves a query per append
// and is trusted only as far as the conditions of sqlMoveHead check it, because another process may
// have changed anything meanwhile. Only the writer's goroutine uses it.
type memory map[string]*target

// target is the destination of an append.
type target struct {
	id            int64
	epoch         uint64
	owner         int64
	last          uint64
	sum           journal.Sum
	record        int64
	status        journal.Status
	waiting       int
	ended         int64
	session       string
	isRemembered  bool
	isJustCreated bool
	isGrouped     bool // its next record is in the writer's group
}

// Append implements journal.Log.
func (s *Store) Append(ctx context.Context, a journal.Append) error {
	if err := a.Validate(); err != nil {
		return err
	}
	if a.Common {
		return fmt.Errorf("append to run %s: %w", a.Run, journal.ErrNoCommon)
	}
	a.Record.Version = cmp.Or(a.Record.Version, journal.RecordVersion)
	p, _ := s.pending.Get().(*pendingAppend)
	if p == nil {
		p = &pendingAppend{op: op{done: make(chan struct{}, 1)}}
		p.do, p.appends = func(c *conn) error { return s.writer.append(c, p) }, p
	}
	p.Append, p.digest = a, a.Record.Digest()
	size := len(a.Record.Data)
	if len(a.More) > 0 {
		p.More = slices.Clone(a.More)
		for i := range p.More {
			r := &p.More[i]
			r.Version = cmp.Or(r.Version, journal.RecordVersion)
			p.digests = append(p.digests, r.Digest())
			size += len(r.Data)
		}
	}
	for _, b := range a.Blobs {
		hash, _ := journal.ParseHash(b.Hash) // checked by Validate
		p.hashes = append(p.hashes, hash)
		size += len(b.Data)
	}
	if a.Create != nil {
		if err := p.create(ctx, s); err != nil {
			return err
		}
	} else {
		p.owner = s.owners.number.Load()
	}
	if a.Index != nil && a.Index.Texts != nil {
		p.words = a.Index.Texts.IndexWords()
	}
	p.bytes = size + len(p.words)
	isWaiting := a.Release && p.formerOwner() != 0
	err, isOver := s.writer.do(ctx, &p.op)
	if isOver {
		*p = pendingAppend{op: op{do: p.do, done: p.done, appends: p}, hashes: p.hashes[:0]}
		s.pending.Put(p)
	}
	if err != nil {
		return fmt.Errorf("append to run %s: %w", a.Run, err)
	}
	s.changes.hub.Signal(journal.OfRun(a.Run))
	if len(a.Notices) > 0 {
		s.changes.hub.Signal(journal.OfNotices())
	}
	if a.Create != nil {
		s.changes.hub.Signal(journal.OfStarts())
	}
	if isWaiting {
		s.changes.hub.Signal(journal.OfRequests())
	}
	return nil
}

// pendingAppend is an append with everything that can be computed before its turn comes.
//
// It is reused for another append when nothing refers to it any more; see Store.pending.
type pendingAppend struct {
	op
	journal.Append
	owner      int64 // 0 if the handle never owned a run
	digest     [sha256.Size]byte
	digests    [][sha256.Size]byte // of More
	hashes     [][sha256.Size]byte
	definition []byte
	meta       []byte
	labels     []byte
	words      string // of Index.Texts
}

func (p *pendingAppend) create(ctx context.Context, s *Store) (err error) {
	if p.owner, err = s.owners.register(ctx, s.writer); err != nil {
		return err
	}
	if p.Create.Definition != "" {
		hash, err := journal.ParseHash(p.Create.Definition)
		if err != nil {
			return fmt.Errorf("append journal: definition %q: %w", p.Create.Definition, err)
		}
		p.definition = hash[:]
	}
	if len(p.Create.Labels) > 0 {
		if p.labels, err = json.Marshal(p.Create.Labels); err != nil {
			return fmt.Errorf("append journal: %w", err)
		}
	}
	if len(p.Create.Meta) > 0 {
		if p.meta, err = json.Marshal(p.Create.Meta); err != nil {
			return fmt.Errorf("append journal: %w", err)
		}
	}
	return nil
}

// append runs on the writer's goroutine inside a transaction.
func (w *writer) append(c *conn, p *pendingAppend) error {
	t, err := w.target(c, p)
	if err != nil {
		return err
	}
	if err := w.findBlobs(c, p); err != nil {
		return err
	}
	if t.isJustCreated {
		return w.first(c, p, t)
	}
	return w.next(c, p, t)
}

// findBlobs rejects p if a blob that it names without data is not stored.
func (w *writer) findBlobs(c *conn, p *pendingAppend) error {
	for i, b := range p.Blobs {
		if b.Data != nil {
			continue
		}
		r, err := c.lookUp(sqlBlobID, p.hashes[i][:])
		if err != nil {
			return err
		}
		if r != nil {
			continue
		}
		// The blob may be gone because the run is; that is the better error.
		delete(w.memory, p.Run)
		if _, err := w.target(c, p); err != nil {
			return err
		}
		return refusal{fmt.Errorf("blob %s: %w", b.Hash, journal.ErrNotFound)}
	}
	return nil
}

// target finds the destination of p, and rejects an append that has none.
func (w *writer) target(c *conn, p *pendingAppend) (*target, error) {
	t := w.memory[p.Run]
	if t == nil || p.Create != nil {
		r, err := c.lookUp(sqlTarget, p.Run)
		if err != nil {
			return nil, err
		}
		switch {
		case p.Create != nil && r != nil:
			return nil, refusal{journal.ErrExists}
		case p.Create != nil:
			t = &target{owner: p.owner, epoch: 1, sum: journal.Genesis(p.Run), session: p.Create.Session,
				isJustCreated: true}
			return t, checkSessionFree(c, p, t)
		case r == nil:
			return nil, refusal{journal.ErrNotFound}
		}
		_, sum := unseal(r.bytes(4))
		t = &target{
			id: r.int(0), epoch: uint64(r.int(1)), owner: r.int(2), last: uint64(r.int(3)), sum: sum, record: r.int(5),
			status: journal.Status(r.text(6)), waiting: int(r.int(7)), ended: r.int(8), session: r.text(9),
		}
	}
	switch {
	case t.isRemembered && (t.epoch != p.Epoch || t.last+1 != p.Record.First):
		// Memory may be outdated; the rejection must not be.
		delete(w.memory, p.Run)
		return w.target(c, p)
	case t.refuses(p) != nil:
		return nil, t.refuses(p)
	case t.status.Ended():
		err := checkSessionFree(c, p, t)
		if err != nil && t.isRemembered {
			delete(w.memory, p.Run)
			return w.target(c, p)
		}
		return t, err
	}
	return t, nil
}

// checkSessionFree rejects p if it would open a run in a session in which another run is open.
func checkSessionFree(c *conn, p *pendingAppend, t *target) error {
	if t.session == "" || p.Status.Ended() {
		return nil
	}
	r, err := c.lookUp(sqlOpenRun, t.session)
	if err != nil || r == nil {
		return err
	}
	return refusal{&journal.BusyError{Session: t.session, Run: r.text(0)}}
}

// first stores a new run with its first record.
func (w *writer) first(c *conn, p *pendingAppend, t *target) error {
	n, o := p.Create, p.outcome()
	t.status, t.waiting, t.ended = p.Status, p.Waiting, p.ended(0)
	res, err := c.exec(sqlNewRun, p.Run, tables.Micros(n.Created), string(p.Status), p.Waiting, t.ended, n.Workflow,
		n.WorkflowName, n.Format,
		n.Parent, string(n.Kind), nullable(p.definition), nullableText(p.meta), n.Session, n.Place,
		n.Branch, n.Trigger, nullableText(p.labels), n.Preview, o.Tokens, o.Calls, int64(o.Cost), o.Code, o.Message)
	if err != nil {
		return err
	}
	if t.id, err = res.LastInsertId(); err != nil {
		return err
	}
	for key, value := range n.Labels {
		if _, err := c.exec(sqlNewLabel, key, value, tables.Micros(n.Created), t.id); err != nil {
			return err
		}
	}
	sealed, err := insert(c, p, t)
	if err != nil {
		return err
	}
	if _, err := c.exec(sqlNewHead, t.id, t.owner, t.last, sealed, t.record, tables.Micros(p.At)); err != nil {
		return err
	}
	return w.storeExtras(c, p, t)
}

// next stores records that continue a run.
func (w *writer) next(c *conn, p *pendingAppend, t *target) error {
	former := t.record
	sealed, err := insert(c, p, t)
	if err != nil {
		return err
	}
	n, err := c.change(sqlMoveHead, t.last, sealed, t.record, tables.Micros(p.At), t.id, t.epoch, former)
	switch {
	case err != nil:
		return err
	case n > 0:
		return w.storeExtras(c, p, t)
	case !t.isRemembered:
		return fmt.Errorf("head of run %s changed inside a transaction", p.Run)
	}
	return errChanged
}

// insert stores the records, moves t to the last one and returns its seal.
func insert(c *conn, p *pendingAppend, t *target) (sealed []byte, err error) {
	sealed, err = t.add(c, p.Record, p.digest)
	for i := 0; i < len(p.More) && err == nil; i++ {
		sealed, err = t.add(c, p.More[i], p.digests[i])
	}
	return sealed, err
}

// add stores a record, moves t to it and returns its seal.
func (t *target) add(c *conn, r journal.Record, digest [sha256.Size]byte) (sealed []byte, err error) {
	t.sum = t.sum.Next(r, digest)
	sealed = appendSeal(nil, r.Version, t.sum)
	res, err := c.exec(sqlNewRecord, t.id, t.record, r.Last, sealed, r.Data)
	if err != nil {
		return nil, err
	}
	t.last = r.Last
	t.record, err = res.LastInsertId()
	return sealed, err
}

// storeExtras stores everything that comes with a record, and remembers the run. If it fails, the
// transaction is rolled back, and memory with it.
func (w *writer) storeExtras(c *conn, p *pendingAppend, t *target) error {
	for i, b := range p.Blobs {
		if err := storeBlob(c, t.id, p.hashes[i][:], b.Data); err != nil {
			return err
		}
	}
	switch isMoved := t.status != p.Status || t.waiting != p.Waiting; {
	case p.Index != nil && !t.isJustCreated:
		t.status, t.waiting, t.ended = p.Status, p.Waiting, p.ended(t.ended)
		o := p.outcome()
		if _, err := c.exec(sqlSetOutcome, string(t.status), t.waiting, t.ended, o.Tokens, o.Calls, int64(o.Cost),
			o.Code, o.Message, t.id); err != nil {
			return err
		}
	case isMoved:
		t.status, t.waiting, t.ended = p.Status, p.Waiting, p.ended(t.ended)
		if _, err := c.exec(sqlSetStatus, string(t.status), t.waiting, t.ended, t.id); err != nil {
			return err
		}
	}
	if p.words != "" {
		w.texts = append(w.texts, text{t.id, p.words})
	}
	for _, n := range p.Notices {
		if _, err := c.exec(sqlNotice, t.id, n.Seq, n.Type, tables.Micros(p.At)); err != nil {
			return err
		}
	}
	if p.Release {
		delete(w.memory, p.Run)
		former := p.formerOwner()
		_, err := c.exec(sqlDisown, former, t.id, t.epoch, t.owner)
		if err == nil && former != 0 {
			_, err = c.exec(sqlRequestsChanged)
		}
		return err
	}
	if len(w.memory) >= maxRemembered {
		clear(w.memory)
	}
	t.isRemembered, t.isJustCreated = true, false
	w.memory[p.Run] = t
	return nil
}

// outcome returns what is known about the run after p.
func (p *pendingAppend) outcome() journal.Outcome {
	if p.Index == nil {
		return journal.Outcome{}
	}
	return p.Index.Outcome
}

// storeBlob stores a blob if it is new and makes run one of its holders.
func storeBlob(c *conn, run int64, hash, data []byte) error {
	r, err := c.lookUp(sqlBlobID, hash)
	if err != nil {
		return err
	}
	var id int64
	switch {
	case r != nil:
		id = r.int(0)
	case data == nil:
		return fmt.Errorf("blob %x disappeared inside a transaction", hash)
	default:
		res, err := c.exec(sqlNewBlob, hash, data)
		if err != nil {
			return err
		}
		if id, err = res.LastInsertId(); err != nil {
			return err
		}
	}
	_, err = c.exec(sqlHold, run, id)
	return err
}

// ended returns the time at which the run ended; former is that time before p.
func (p *pendingAppend) ended(former int64) int64 {
	switch {
	case !p.Status.Ended():
		return 0
	case former != 0:
		return former
	}
	return tables.Micros(p.At)
}

// sealBytes is the size of a seal.
const sealBytes = 1 + len(journal.Sum{})

// appendSeal appends the stored form of a record's version and sum: one version byte, then the sum.
func appendSeal(b []byte, version uint8, sum journal.Sum) []byte {
	return append(append(b, version), sum[:]...)
}

// unseal is the inverse of appendSeal. An invalid seal is read as version 0 with a sum that matches
// nothing stored with it.
func unseal(b []byte) (version uint8, sum journal.Sum) {
	if len(b) != 1+len(sum) {
		return 0, sum
	}
	return b[0], journal.Sum(b[1:])
}

func nullable(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

func nullableText(b []byte) any {
	if b == nil {
		return nil
	}
	return string(b)
}

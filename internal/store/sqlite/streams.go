package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/journal"
)

// batchBytes is how much of a run's records is read in one transaction.
const batchBytes = 256 << 10

// Each implements journal.Log. It first reads the numbers of the records, newest to oldest, then
// the records in batches. Pruning renumbers records: if a batch does not continue what was read,
// the numbers are read again, in the same transaction as the batch.
func (s *Store) Each(ctx context.Context, run string, after uint64, take func(journal.Record) error) error {
	w := walk{run: run, sum: journal.Genesis(run)}
	err := s.readers.read(ctx, func(c *conn) error { return w.find(ctx, c, after) })
	if err != nil {
		return fault("read run", run, err)
	}
	for len(w.ids) > 0 {
		err := s.readers.read(ctx, func(c *conn) error { return w.batch(ctx, c, s.batchBytes) })
		if err == nil {
			err = w.verify()
		}
		if _, isStale := errors.AsType[*journal.CorruptError](err); isStale {
			err = s.readers.read(ctx, func(c *conn) error {
				if err := w.find(ctx, c, max(after, w.seq)); err != nil {
					return err
				}
				return w.batch(ctx, c, s.batchBytes)
			})
			if err == nil {
				err = w.verify()
			}
		}
		if err != nil {
			return fault("read run", run, err)
		}
		for _, l := range w.links {
			if err := take(l.Record); err != nil {
				return err
			}
		}
	}
	return nil
}

// walk is an Each in progress.
type walk struct {
	run     string
	ids     []int64 // numbers of the records not read yet, oldest first
	hasBase bool    // the first of ids contains no requested event
	head    uint64
	headSum journal.Sum

	seq   uint64 // the last verified event; 0 if none
	sum   journal.Sum
	links []journal.Link
}

func (w *walk) find(ctx context.Context, c *conn, after uint64) error {
	w.ids = w.ids[:0]
	r, err := c.one(ctx, sqlPosition, w.run)
	if err != nil {
		return err
	}
	if r == nil {
		return journal.ErrNotFound
	}
	w.head = uint64(r.int(0))
	_, w.headSum = unseal(r.bytes(1))
	before := int64(0)
	if err := c.query(ctx, sqlChainIDs, func(r row) error {
		w.ids, before = append(w.ids, r.int(0)), r.int(1)
		return nil
	}, r.int(2), after); err != nil {
		return err
	}
	if len(w.ids) == 0 {
		return &journal.CorruptError{Run: w.run, Seq: after + 1, Reason: "a record is missing"}
	}
	slices.Reverse(w.ids)
	first, err := c.one(ctx, sqlRecord, w.ids[0])
	if err != nil || first == nil {
		return errors.Join(err, journal.ErrNotFound)
	}
	if w.hasBase = uint64(first.int(0)) <= after; !w.hasBase && before != 0 {
		return &journal.CorruptError{Run: w.run, Seq: after + 1, Reason: "a record is missing"}
	}
	return nil
}

// batch reads the next records, up to and including the one that passes limit bytes.
func (w *walk) batch(ctx context.Context, c *conn, limit int) error {
	w.links = w.links[:0]
	size := 0
	for _, id := range w.ids {
		if size >= limit {
			return nil
		}
		r, err := c.one(ctx, sqlRecord, id)
		if err != nil {
			return err
		}
		if r == nil { // the run was pruned meanwhile, or the record is lost
			if p, err := c.one(ctx, sqlPosition, w.run); err != nil || p == nil {
				return errors.Join(err, journal.ErrNotFound)
			}
			return &journal.CorruptError{Run: w.run, Seq: w.seq + 1, Reason: "a record is missing"}
		}
		l := journal.Link{Record: journal.Record{Last: uint64(r.int(0)), Data: r.bytes(2)}}
		l.Version, l.Sum = unseal(r.bytes(1))
		w.links = append(w.links, l)
		size += len(l.Data)
	}
	return nil
}

// verify checks that the links continue what was verified before, and accepts them: links are then
// the requested records, ids those that follow.
func (w *walk) verify() error {
	links, seq, sum := w.links, w.seq, w.sum
	head, headSum := w.head, w.headSum
	if n := len(links); len(w.ids) > n {
		head, headSum = links[n-1].Last, links[n-1].Sum
	}
	if w.hasBase { // the first is only what the others continue
		base := links[0]
		if seq > 0 && (base.Last != seq || base.Sum != sum) {
			return &journal.CorruptError{Run: w.run, Seq: seq, Reason: "it was changed while it was read"}
		}
		links, seq, sum = links[1:], base.Last, base.Sum
	}
	first := seq + 1
	for i := range links {
		links[i].First = first
		first = links[i].Last + 1
	}
	if err := journal.VerifyChain(w.run, seq, sum, links, head, headSum); err != nil {
		return err
	}
	w.ids = w.ids[len(w.links):]
	w.links, w.hasBase, w.seq, w.sum = links, false, head, headSum
	return nil
}

// Part implements journal.Log.
func (s *Store) Part(ctx context.Context, hash string, offset int64, n int) ([]byte, int64, error) {
	sum, err := journal.ParseHash(hash)
	if err != nil {
		return nil, 0, fmt.Errorf("read blob %q: %w", hash, journal.ErrNotFound)
	}
	var r row
	err = s.readers.read(ctx, func(c *conn) (err error) {
		if n == 0 { // the data is not read just for its length
			r, err = c.one(ctx, sqlBlobSize, sum[:])
		} else {
			r, err = c.one(ctx, sqlBlobPart, offset+1, n, sum[:])
		}
		if err == nil && r == nil {
			err = journal.ErrNotFound
		}
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("read blob %s: %w", hash, err)
	}
	return r.bytes(1), r.int(0), nil
}

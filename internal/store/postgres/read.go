package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/hocket-run/hocket/internal/journal"
)

// batchBytes is how much of a run's records is read at once, including the record that passes the
// limit.
const batchBytes = 256 << 10

// Read implements journal.Log.
func (s *Store) Read(ctx context.Context, run string, after uint64) ([]journal.Record, error) {
	records := []journal.Record{}
	err := s.Each(ctx, run, after, func(r journal.Record) error {
		records = append(records, r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// Each implements journal.Log. The first statement returns the head and the first records in one
// state of the store; the records that follow up to that head do not change.
func (s *Store) Each(ctx context.Context, run string, after uint64, take func(journal.Record) error) error {
	w := walk{run: run}
	if err := s.begin(ctx, &w, min(after, math.MaxInt64)); err != nil {
		return fault("read run", run, err)
	}
	for {
		if err := w.verify(); err != nil {
			return err
		}
		for _, l := range w.links {
			if err := take(l.Record); err != nil {
				return err
			}
		}
		if w.seq >= w.head {
			return nil
		}
		if err := s.readNext(ctx, &w); err != nil {
			return fault("read run", run, err)
		}
	}
}

// walk is an Each in progress: its links continue the event seq with the sum sum.
type walk struct {
	run     string
	id      int64
	head    uint64
	headSum journal.Sum
	seq     uint64
	sum     journal.Sum
	links   []journal.Link
}

// begin reads the head and the first records.
func (s *Store) begin(ctx context.Context, w *walk, after uint64) error {
	var head int64
	var headSeal, seal, data []byte
	var last *int64
	found := false
	err := s.query(ctx, sqlRead, []any{bytesOf(w.run), int64(after), s.batchBytes},
		[]any{&w.id, &head, &headSeal, &last, &seal, &data}, func() {
			w.seq, w.sum, w.links, found = 0, journal.Genesis(w.run), nil, false
		}, func() error {
			found = true
			w.head = uint64(head)
			_, w.headSum = unseal(headSeal)
			if last == nil {
				return nil // there is no record
			}
			if l := uint64(*last); l <= after {
				w.seq = l
				_, w.sum = unseal(seal)
				return nil
			}
			w.add(*last, seal, data)
			return nil
		})
	if err == nil && !found {
		err = journal.ErrNotFound
	}
	return err
}

// readNext reads the next records.
func (s *Store) readNext(ctx context.Context, w *walk) error {
	var last int64
	var seal, data []byte
	err := s.query(ctx, sqlReadOn, []any{w.id, int64(w.seq), s.batchBytes, int64(w.head)}, []any{&last, &seal, &data},
		func() { w.links = nil }, func() error {
			w.add(last, seal, data)
			return nil
		})
	if err != nil || len(w.links) > 0 {
		return err
	}
	var isThere bool
	found, err := s.queryRow(ctx, sqlIsThere, []any{w.id}, []any{&isThere})
	switch {
	case err != nil:
		return err
	case !found: // it was pruned meanwhile
		return journal.ErrNotFound
	}
	return &journal.CorruptError{Run: w.run, Seq: w.seq + 1, Reason: "a record is missing"}
}

func (w *walk) add(last int64, seal, data []byte) {
	first := w.seq + 1
	if n := len(w.links); n > 0 {
		first = w.links[n-1].Last + 1
	}
	l := journal.Link{Record: journal.Record{First: first, Last: uint64(last), Data: data}}
	l.Version, l.Sum = unseal(seal)
	w.links = append(w.links, l)
}

// verify checks that the links continue what was verified before, and end where they should.
func (w *walk) verify() error {
	head, sum := w.head, w.headSum
	if n := len(w.links); n > 0 && w.links[n-1].Last < w.head {
		head, sum = w.links[n-1].Last, w.links[n-1].Sum
	}
	if err := journal.VerifyChain(w.run, w.seq, w.sum, w.links, head, sum); err != nil {
		return err
	}
	w.seq, w.sum = head, sum
	return nil
}

// Blob implements journal.Log.
func (s *Store) Blob(ctx context.Context, hash string) ([]byte, error) {
	sum, err := journal.ParseHash(hash)
	if err != nil {
		return nil, fmt.Errorf("read blob %q: %w", hash, journal.ErrNotFound)
	}
	data := []byte{}
	found, err := s.queryRow(ctx, sqlBlob, []any{sum[:]}, []any{&data})
	if err == nil && !found {
		err = journal.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read blob %s: %w", hash, err)
	}
	if journal.HashOf(data) != hash {
		return nil, &journal.CorruptError{Reason: "blob " + hash + " has different data"}
	}
	return data, nil
}

// Part implements journal.Log.
func (s *Store) Part(ctx context.Context, hash string, offset int64, n int) (part []byte, size int64, err error) {
	sum, err := journal.ParseHash(hash)
	if err != nil {
		return nil, 0, fmt.Errorf("read blob %q: %w", hash, journal.ErrNotFound)
	}
	var found bool
	const most = math.MaxInt32 / 2 // more than a column can contain
	if n <= 0 || offset >= most {  // the data is not read just for its length
		found, err = s.queryRow(ctx, sqlBlobSize, []any{sum[:]}, []any{&size, &part})
	} else {
		found, err = s.queryRow(ctx, sqlBlobPart, []any{sum[:], int32(offset) + 1, int32(min(n, most))},
			[]any{&size, &part}) //nolint:gosec,nolintlint // bounded above
	}
	if err == nil && !found {
		err = journal.ErrNotFound
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read blob %s: %w", hash, err)
	}
	return part, size, nil
}

// fault adds the verb and the run to err; to a *journal.CorruptError it adds only the run, if it
// has none.
func fault(verb, run string, err error) error {
	if c, ok := errors.AsType[*journal.CorruptError](err); ok {
		if c.Run != "" {
			return err
		}
		return &journal.CorruptError{Run: run, Reason: c.Reason}
	}
	return fmt.Errorf("%s %s: %w", verb, run, err)
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
	if len(b) != sealBytes {
		return 0, sum
	}
	return b[0], journal.Sum(b[1:])
}

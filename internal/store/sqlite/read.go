package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/journal"
)

// chain is the stored part of a run's records after some event.
type chain struct {
	isThere bool
	head    uint64
	headSum journal.Sum
	links   []journal.Link // newest first, without First
	before  int64          // the prev of the oldest link
}

// Read implements journal.Log.
func (s *Store) Read(ctx context.Context, run string, after uint64) ([]journal.Record, error) {
	var ch chain
	err := s.readers.read(ctx, func(c *conn) (err error) {
		ch, err = readChain(ctx, c, run, after)
		return err
	})
	if err == nil && !ch.isThere {
		err = journal.ErrNotFound
	}
	if err != nil {
		return nil, fault("read run", run, err)
	}
	return ch.verify(run, after)
}

func readChain(ctx context.Context, c *conn, run string, after uint64) (chain, error) {
	var ch chain
	r, err := c.one(ctx, sqlPosition, run)
	if err != nil || r == nil {
		return ch, err
	}
	ch.isThere = true
	ch.head = uint64(r.int(0))
	_, ch.headSum = unseal(r.bytes(1))
	err = c.query(ctx, sqlChain, func(r row) error {
		ch.before = r.int(0)
		l := journal.Link{Record: journal.Record{Last: uint64(r.int(1)), Data: r.bytes(3)}}
		l.Version, l.Sum = unseal(r.bytes(2))
		ch.links = append(ch.links, l)
		return nil
	}, r.int(2), after)
	return ch, err
}

// verify returns the records with events after after, if they are what was written.
func (ch chain) verify(run string, after uint64) ([]journal.Record, error) {
	links := ch.links
	slices.Reverse(links)
	seq, base := uint64(0), journal.Genesis(run)
	switch {
	case len(links) > 0 && links[0].Last <= after:
		// The requested records continue the record before them.
		seq, base = links[0].Last, links[0].Sum
		links = links[1:]
	case len(links) == 0 || ch.before != 0:
		return nil, &journal.CorruptError{Run: run, Seq: after + 1, Reason: "a record is missing"}
	}
	first := seq + 1
	for i := range links {
		links[i].First = first
		first = links[i].Last + 1
	}
	if err := journal.VerifyChain(run, seq, base, links, ch.head, ch.headSum); err != nil {
		return nil, err
	}
	records := make([]journal.Record, len(links))
	for i, l := range links {
		records[i] = l.Record
	}
	return records, nil
}

// Blob implements journal.Log.
func (s *Store) Blob(ctx context.Context, hash string) ([]byte, error) {
	sum, err := journal.ParseHash(hash)
	if err != nil {
		return nil, fmt.Errorf("read blob %q: %w", hash, journal.ErrNotFound)
	}
	var data []byte
	err = s.readers.read(ctx, func(c *conn) error {
		r, err := c.one(ctx, sqlBlob, sum[:])
		if err != nil {
			return err
		}
		if r == nil {
			return journal.ErrNotFound
		}
		data = r.bytes(0)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read blob %s: %w", hash, err)
	}
	if journal.HashOf(data) != hash {
		return nil, &journal.CorruptError{Reason: "blob " + hash + " has different data"}
	}
	if data == nil {
		data = []byte{}
	}
	return data, nil
}

// fault adds the verb and the run to err; to a *journal.CorruptError without a run, it adds only
// the run.
func fault(verb, run string, err error) error {
	if c, ok := errors.AsType[*journal.CorruptError](err); ok && c.Run == "" {
		return &journal.CorruptError{Run: run, Reason: c.Reason}
	}
	return fmt.Errorf("%s %s: %w", verb, run, err)
}

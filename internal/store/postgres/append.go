package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// Append implements journal.Log.
func (s *Store) Append(ctx context.Context, a journal.Append) error {
	if err := a.Validate(); err != nil {
		return err
	}
	p := &pending{Append: a, done: make(chan error, 1)}
	err := p.prepare()
	if err != nil {
		return err
	}
	if a.Create != nil && !a.Common {
		if _, err := s.register(ctx); err != nil {
			return fmt.Errorf("append to run %s: %w", a.Run, err)
		}
	}
	if err = s.enter(ctx); err == nil {
		if p.owner = s.owner.number.Load(); a.Common {
			p.owner = commonOwner
		}
		err = s.writer.do(ctx, p)
		s.full.record(err)
		s.leave()
	}
	if err != nil {
		return fmt.Errorf("append to run %s: %w", a.Run, err)
	}
	return nil
}

// pending is an append with everything that can be computed before its turn comes.
type pending struct {
	journal.Append
	owner      int64            // 0 if the handle never owned a run
	records    []journal.Record // records of the append, with their versions
	digests    [][32]byte       // of records
	hashes     [][]byte         // of Blobs
	definition []byte
	meta       []byte
	labels     []byte
	words      string // of Index.Texts
	size       int

	// known is what the writer remembers about the run, if one statement can store p along with
	// others.
	known *target
	// seals are the seals of records, set once the preceding sum is known.
	seals [][]byte
	// isUncertain reports whether the connection was lost in a commit that included the append,
	// which may therefore be stored.
	isUncertain bool

	started   bool // its caller can no longer abandon it; guarded by writer.mu
	abandoned bool // its caller abandoned it; likewise
	done      chan error
}

func (p *pending) prepare() error {
	p.records = append(make([]journal.Record, 0, 1+len(p.More)), p.Record)
	p.records = append(p.records, p.More...)
	p.digests = make([][32]byte, len(p.records))
	for i := range p.records {
		r := &p.records[i]
		r.Version = cmp.Or(r.Version, journal.RecordVersion)
		p.digests[i] = r.Digest()
		p.size += len(r.Data)
	}
	for _, b := range p.Blobs {
		hash, _ := journal.ParseHash(b.Hash) // checked by Validate
		p.hashes = append(p.hashes, hash[:])
		p.size += len(b.Data)
	}
	if p.Index != nil && p.Index.Texts != nil {
		p.words = p.Index.Texts.IndexWords()
		p.size += len(p.words)
	}
	if p.Create == nil {
		return nil
	}
	if len(p.Create.Labels) > 0 {
		var err error
		if p.labels, err = json.Marshal(p.Create.Labels); err != nil {
			return fmt.Errorf("append journal: %w", err)
		}
	}
	if p.Create.Definition != "" {
		hash, err := journal.ParseHash(p.Create.Definition)
		if err != nil {
			return fmt.Errorf("append journal: definition %q: %w", p.Create.Definition, err)
		}
		p.definition = hash[:]
	}
	if len(p.Create.Meta) > 0 {
		var err error
		if p.meta, err = json.Marshal(p.Create.Meta); err != nil {
			return fmt.Errorf("append journal: %w", err)
		}
	}
	return nil
}

// changes reports whether p changes the row of a run, which was t before and is n after p.
func (p *pending) changes(t, n *target) bool {
	return t.status != n.status || t.waiting != n.waiting || t.ended != n.ended || p.Index != nil && p.Create == nil
}

// outcome returns what is known about the run after p. A negative number of tokens means that the
// previous outcome is kept.
func (p *pending) outcome() journal.Outcome {
	switch {
	case p.Index != nil:
		return p.Index.Outcome
	case p.Create != nil:
		return journal.Outcome{}
	}
	return journal.Outcome{Tokens: -1}
}

// seal computes the seals of the records, which continue sum, and returns the last sum.
func (p *pending) seal(sum journal.Sum) journal.Sum {
	p.seals = slices.Grow(p.seals[:0], len(p.records))
	for i, r := range p.records {
		sum = sum.Next(r, p.digests[i])
		p.seals = append(p.seals, appendSeal(nil, r.Version, sum))
	}
	return sum
}

func (p *pending) lastSeal() []byte { return p.seals[len(p.seals)-1] }

// ended returns the time at which the run ended; former is that time before p.
func (p *pending) ended(former int64) int64 {
	switch {
	case !p.Status.Ended():
		return 0
	case former != 0:
		return former
	}
	return tables.Micros(p.At)
}

// target is a run as its owner knows it: only the owner's appends can change it, as long as epoch
// and last are unchanged.
type target struct {
	id, epoch, owner int64
	last             uint64
	sum              journal.Sum
	status           string
	waiting          int
	ended            int64
	session, kind    []byte // kind is not cached
}

// reject returns the reason why p cannot continue the run, or nil if it can.
func (t *target) reject(p *pending) error {
	switch {
	case p.Common && journal.Kind(t.kind) != journal.KindTemporal, !p.Common && (t.owner != p.owner || p.owner == 0),
		t.epoch != key(p.Epoch):
		return journal.ErrFenced
	case t.last+1 != p.Record.First:
		return journal.ErrConflict
	}
	return nil
}

// after returns the run as it is after p.
func (t *target) after(p *pending, sum journal.Sum) *target {
	n := *t
	n.last, n.sum, n.status, n.waiting, n.ended = p.Last(), sum, string(p.Status), p.Waiting, p.ended(t.ended)
	return &n
}

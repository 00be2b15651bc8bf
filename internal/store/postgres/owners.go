package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// owner is a handle in its role as the owner of runs.
type owner struct {
	self   journal.Owner
	number atomic.Int64 // in the table of owners; 0 until the handle owns something

	mu       sync.Mutex // held while it registers
	reserved int64      // the number, from the first registration attempt on
}

func newOwner(kind journal.Kind, place string) *owner {
	host, _ := os.Hostname() // without a name it is omitted
	return &owner{self: journal.Owner{ID: uuid.NewString(), Kind: kind, PID: os.Getpid(), Host: host, Place: place}}
}

// commonOwner is the number of journal.CommonOwner.
const commonOwner = -1

// ownerRow is a row of owners.
type ownerRow struct {
	id                string
	kind, host, place []byte
	pid, seen         int64
}

func (o *ownerRow) columns() []any { return []any{&o.id, &o.kind, &o.pid, &o.host, &o.seen, &o.place} }

func (o *ownerRow) owner() journal.Owner {
	return journal.Owner{ID: o.id, Kind: journal.Kind(o.kind), PID: int(o.pid), Host: string(o.host),
		Seen: tables.TimeOf(o.seen), Place: string(o.place)}
}

// Owner implements journal.Ownership.
func (s *Store) Owner() journal.Owner { return s.owner.self }

// register makes the handle an owner, if it is not one yet, and returns its number. The number is
// never reused, and its lock is acquired before any row refers to it.
func (s *Store) register(ctx context.Context) (int64, error) {
	o := s.owner
	if n := o.number.Load(); n != 0 {
		return n, nil
	}
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := o.number.Load(); n != 0 {
		return n, nil
	}
	if o.reserved == 0 {
		if err := s.db.pool.QueryRow(ctx, s.text(sqlNextOwner)).Scan(&o.reserved); err != nil {
			return 0, fmt.Errorf("register owner: %w", s.fault(ctx, err))
		}
	}
	n := o.reserved
	err := s.db.session.acquireOwner(ctx, lock{s.class, n}, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, s.text(sqlNewOwner), n, o.self.ID, bytesOf(o.self.Kind), o.self.PID, bytesOf(o.self.Host),
			bytesOf(o.self.Place))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("register owner: %w", s.fault(ctx, err))
	}
	o.number.Store(n)
	return n, nil
}

// Alive implements journal.Ownership.
func (s *Store) Alive(ctx context.Context, owner string) (bool, error) {
	if uuid.Validate(owner) != nil && owner != journal.CommonOwner { // no owner has it, and it may not be valid text
		if err := s.enter(ctx); err != nil {
			return false, err
		}
		s.leave()
		return false, nil
	}
	var alive bool
	_, err := s.queryRow(ctx, sqlAlive, []any{owner}, []any{&alive})
	if err != nil {
		return false, fmt.Errorf("look for owner: %w", err)
	}
	return alive, nil
}

// Sign implements journal.Ownership. A process that does not listen uses it to check whether it
// still has the session. It also returns an error if the heartbeat is stored but appends find no
// space.
func (s *Store) Sign(ctx context.Context, at time.Time) error {
	self, err := s.register(ctx)
	if err == nil {
		err = s.fault(ctx, s.db.session.check(ctx))
	}
	if err == nil {
		_, err = s.exec(ctx, sqlSign, tables.Micros(at), self)
	}
	if err == nil {
		err = s.full.recent()
	}
	if err != nil {
		return fmt.Errorf("store the heartbeat: %w", err)
	}
	return nil
}

// Owners implements journal.Ownership.
func (s *Store) Owners(ctx context.Context) ([]journal.Owner, error) { return s.owners(ctx, sqlOwners) }

func (s *Store) owners(ctx context.Context, q sqlText) ([]journal.Owner, error) {
	var o ownerRow
	var found []journal.Owner
	err := s.query(ctx, q, nil, o.columns(), func() { found = nil }, func() error {
		found = append(found, o.owner())
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list owners: %w", err)
	}
	return found, nil
}

// Evict implements journal.Ownership.
func (s *Store) Evict(ctx context.Context, run, owner string) error {
	for {
		var n int64
		var err error
		if uuid.Validate(owner) == nil {
			n, err = s.exec(ctx, sqlEvict, bytesOf(run), owner)
		}
		if err != nil {
			return fmt.Errorf("take over run %s: %w", run, err)
		}
		if n > 0 {
			s.changes.stored(journal.OfRequests())
			return nil
		}
		h, err := s.Head(ctx, run)
		switch {
		case err != nil:
			return fmt.Errorf("take over run %s: %w", run, err)
		case h.Owner == "":
			return nil
		case h.Owner != owner, owner == journal.CommonOwner:
			return fmt.Errorf("take over run %s: %w", run, &journal.OwnedError{Run: run, Owner: h.By})
		}
	}
}

// Claim implements journal.Ownership. Whether the owner is alive is checked in the statement that
// changes it.
func (s *Store) Claim(ctx context.Context, run string) (journal.Head, error) {
	for n := 0; ; n++ {
		heads, err := s.claim(ctx, sqlClaim, bytesOf(run))
		if err != nil {
			return journal.Head{}, fmt.Errorf("claim run %s: %w", run, err)
		}
		if len(heads) > 0 {
			return heads[0], nil
		}
		h, err := s.Head(ctx, run)
		if err == nil && h.Kind == journal.KindTemporal {
			err = &journal.OwnedError{Run: run, Owner: journal.Common()}
		}
		if err == nil {
			err = s.refuseOwned(ctx, run)
		}
		if err == nil { // it is free by now, or this process has lost its session and will have it again soon
			err = s.fault(ctx, s.db.session.check(ctx))
		}
		if err == nil {
			err = backoffSleep(ctx, n)
		}
		if err != nil {
			return journal.Head{}, err
		}
	}
}

// refuseOwned returns *journal.OwnedError if a living owner has the run, and journal.ErrNotFound if
// the run does not exist.
func (s *Store) refuseOwned(ctx context.Context, run string) error {
	h, err := s.Head(ctx, run)
	if err != nil {
		return err
	}
	if h.Owner == "" {
		return nil
	}
	alive, err := s.Alive(ctx, h.Owner)
	if err != nil {
		return fmt.Errorf("look up owner of run %s: %w", run, err)
	}
	if alive {
		return &journal.OwnedError{Run: run, Owner: h.By}
	}
	return nil
}

// Release implements journal.Ownership.
func (s *Store) Release(ctx context.Context, run string, epoch uint64) error {
	return s.release(ctx, sqlDisown, run, epoch)
}

func (s *Store) release(ctx context.Context, q sqlText, run string, epoch uint64) error {
	s.writer.forget(run)
	self := s.owner.number.Load()
	n, err := s.exec(ctx, q, bytesOf(run), key(epoch), self)
	if err == nil && (n == 0 || self == 0) {
		if _, err = s.Head(ctx, run); err == nil {
			err = journal.ErrFenced
		}
	}
	if err != nil {
		if errors.Is(err, journal.ErrNotFound) {
			err = journal.ErrNotFound
		}
		return fmt.Errorf("release run %s: %w", run, err)
	}
	s.changes.stored(journal.OfRun(run), journal.OfRequests())
	return nil
}

// StoreID implements journal.Sharing.
func (s *Store) StoreID(ctx context.Context) (id string, err error) {
	if _, err = s.queryRow(ctx, sqlStoreID, nil, []any{&id}); err != nil {
		return "", fmt.Errorf("read the id of the store: %w", err)
	}
	return id, nil
}

// SetKind implements journal.Sharing.
func (s *Store) SetKind(ctx context.Context, run string, kind journal.Kind) error {
	for {
		s.writer.forget(run)
		n, err := s.exec(ctx, sqlSetKind, bytesOf(run), bytesOf(kind))
		if err != nil {
			return fmt.Errorf("move run %s: %w", run, err)
		}
		if n > 0 {
			s.changes.stored(journal.OfRun(run), journal.OfRequests())
			return nil
		}
		h, err := s.Head(ctx, run)
		switch {
		case err != nil:
			return fmt.Errorf("move run %s: %w", run, err)
		case h.Kind == kind:
			return nil
		}
		if alive, err := s.Alive(ctx, h.Owner); err != nil || alive && h.Owner != journal.CommonOwner {
			return cmp.Or(err, error(&journal.OwnedError{Run: run, Owner: h.By}))
		}
	}
}

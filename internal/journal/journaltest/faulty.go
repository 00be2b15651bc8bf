package journaltest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// ErrInjected is returned by a Faulty instead of performing a call, or after performing it.
var ErrInjected = errors.New("injected fault")

// Faulty is a handle that fails, or dies, on demand (D36). It counts writes: Append, Claim,
// Release, Prune, Post, Settle, and a Take that returns something. A simulation runs once to count
// them, then once per write and failure mode.
//
// Failing before a write simulates a full disk: nothing happened. Failing after it simulates a lost
// response: it happened and the caller does not know. A dead handle neither reads nor writes; its
// medium still considers its owner alive until Close. Faulty is safe for concurrent use; writes are
// serialized, so that the n-th is the n-th.
type Faulty struct {
	journal.Backend

	mu     sync.Mutex
	writes int
	plan   map[int]fault
	isDead bool
}

type fault struct{ isAfter, isDeath bool }

var _ journal.Backend = (*Faulty)(nil)

// NewFaulty wraps a handle. Without a plan it only counts.
func NewFaulty(b journal.Backend) *Faulty { return &Faulty{Backend: b, plan: map[int]fault{}} }

// FailBefore makes the n-th write, counted from 1 since creation, fail without being performed.
// Later writes are unaffected.
func (f *Faulty) FailBefore(n int) { f.set(n, fault{}) }

// FailAfter makes the n-th write return an error although it is performed.
func (f *Faulty) FailAfter(n int) { f.set(n, fault{isAfter: true}) }

// DieBefore is like FailBefore, but afterwards every call fails until Revive.
func (f *Faulty) DieBefore(n int) { f.set(n, fault{isDeath: true}) }

// DieAfter is like FailAfter, but afterwards every call fails until Revive.
func (f *Faulty) DieAfter(n int) { f.set(n, fault{isAfter: true, isDeath: true}) }

func (f *Faulty) set(n int, plan fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan[n] = plan
}

// Revive makes a dead handle work again, as after a network interruption. A process that died
// instead returns as a new handle on the medium.
func (f *Faulty) Revive() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.isDead = false
}

// IsDead reports whether every call fails.
func (f *Faulty) IsDead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.isDead
}

// Writes returns the number of writes, including failed ones.
func (f *Faulty) Writes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writes
}

// write performs one write as planned.
func (f *Faulty) write(what string, do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isDead {
		return fmt.Errorf("%s: dead: %w", what, ErrInjected)
	}
	f.writes++
	plan, isPlanned := f.plan[f.writes]
	if isPlanned {
		f.isDead = plan.isDeath
		if !plan.isAfter {
			return fmt.Errorf("%s: before write %d: %w", what, f.writes, ErrInjected)
		}
	}
	if err := do(); err != nil || !isPlanned {
		return err
	}
	return fmt.Errorf("%s: after write %d: %w", what, f.writes, ErrInjected)
}

// alive returns an error for reads of a dead handle.
func (f *Faulty) alive(what string) error {
	if f.IsDead() {
		return fmt.Errorf("%s: dead: %w", what, ErrInjected)
	}
	return nil
}

// Append implements journal.Log.
func (f *Faulty) Append(ctx context.Context, a journal.Append) error {
	return f.write("append", func() error { return f.Backend.Append(ctx, a) })
}

// Notices implements journal.Notices.
func (f *Faulty) Notices(ctx context.Context, after uint64, limit int) ([]journal.Notice, error) {
	if err := f.alive("read notices"); err != nil {
		return nil, err
	}
	return f.Backend.Notices(ctx, after, limit)
}

// LastNotice implements journal.Notices.
func (f *Faulty) LastNotice(ctx context.Context) (uint64, error) {
	if err := f.alive("read notices"); err != nil {
		return 0, err
	}
	return f.Backend.LastNotice(ctx)
}

// Count implements journal.Lists.
func (f *Faulty) Count(ctx context.Context, statuses ...journal.Status) (int, error) {
	if err := f.alive("count runs"); err != nil {
		return 0, err
	}
	return f.Backend.Count(ctx, statuses...)
}

// Counts implements journal.Lists.
func (f *Faulty) Counts(ctx context.Context, q journal.Query) ([]journal.Tally, error) {
	if err := f.alive("count runs"); err != nil {
		return nil, err
	}
	return f.Backend.Counts(ctx, q)
}

// Read implements journal.Log.
func (f *Faulty) Read(ctx context.Context, run string, after uint64) ([]journal.Record, error) {
	if err := f.alive("read"); err != nil {
		return nil, err
	}
	return f.Backend.Read(ctx, run, after)
}

// Blob implements journal.Log.
func (f *Faulty) Blob(ctx context.Context, hash string) ([]byte, error) {
	if err := f.alive("read blob"); err != nil {
		return nil, err
	}
	return f.Backend.Blob(ctx, hash)
}

// Head implements journal.Lists.
func (f *Faulty) Head(ctx context.Context, run string) (journal.Head, error) {
	if err := f.alive("look up run"); err != nil {
		return journal.Head{}, err
	}
	return f.Backend.Head(ctx, run)
}

// List implements journal.Lists.
func (f *Faulty) List(ctx context.Context, q journal.Query) ([]journal.Head, string, error) {
	if err := f.alive("list runs"); err != nil {
		return nil, "", err
	}
	return f.Backend.List(ctx, q)
}

// Prune implements journal.Lists.
func (f *Faulty) Prune(ctx context.Context, q journal.PruneQuery) (res journal.PruneResult, err error) {
	err = f.write("prune", func() (err error) {
		res, err = f.Backend.Prune(ctx, q)
		return err
	})
	return res, err
}

// Claim implements journal.Ownership.
func (f *Faulty) Claim(ctx context.Context, run string) (h journal.Head, err error) {
	err = f.write("claim run", func() (err error) {
		h, err = f.Backend.Claim(ctx, run)
		return err
	})
	if err != nil {
		return journal.Head{}, err
	}
	return h, nil
}

// Release implements journal.Ownership.
func (f *Faulty) Release(ctx context.Context, run string, epoch uint64) error {
	return f.write("release run", func() error { return f.Backend.Release(ctx, run, epoch) })
}

// Alive implements journal.Ownership.
func (f *Faulty) Alive(ctx context.Context, owner string) (bool, error) {
	if err := f.alive("look for owner"); err != nil {
		return false, err
	}
	return f.Backend.Alive(ctx, owner)
}

// Sign implements journal.Ownership. It is not counted: its timing depends only on the clock.
func (f *Faulty) Sign(ctx context.Context, at time.Time) error {
	if err := f.alive("give a sign of life"); err != nil {
		return err
	}
	return f.Backend.Sign(ctx, at)
}

// Owners implements journal.Ownership.
func (f *Faulty) Owners(ctx context.Context) ([]journal.Owner, error) {
	if err := f.alive("list owners"); err != nil {
		return nil, err
	}
	return f.Backend.Owners(ctx)
}

// Evict implements journal.Ownership.
func (f *Faulty) Evict(ctx context.Context, run, owner string) error {
	return f.write("take over run", func() error { return f.Backend.Evict(ctx, run, owner) })
}

// Post implements journal.Inbox.
func (f *Faulty) Post(ctx context.Context, r journal.Request) (id uint64, err error) {
	err = f.write("post request", func() (err error) {
		id, err = f.Backend.Post(ctx, r)
		return err
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

// Take implements journal.Inbox. A Take that finds nothing is a read.
func (f *Faulty) Take(ctx context.Context) ([]journal.Request, error) {
	if err := f.alive("take requests"); err != nil {
		return nil, err
	}
	taken, err := f.Backend.Take(ctx)
	if err != nil || len(taken) == 0 {
		return taken, err
	}
	// Only now is it known whether this was a write. Failing before it would be equivalent: the
	// next owner receives the requests again.
	if err := f.write("take requests", func() error { return nil }); err != nil {
		return nil, err
	}
	return taken, nil
}

// Unclaimed implements journal.Inbox.
func (f *Faulty) Unclaimed(ctx context.Context, run string) ([]journal.Request, error) {
	if err := f.alive("look for requests"); err != nil {
		return nil, err
	}
	return f.Backend.Unclaimed(ctx, run)
}

// Settle implements journal.Inbox.
func (f *Faulty) Settle(ctx context.Context, id uint64, result []byte) error {
	return f.write("settle request", func() error { return f.Backend.Settle(ctx, id, result) })
}

// Result implements journal.Inbox.
func (f *Faulty) Result(ctx context.Context, id uint64) ([]byte, bool, error) {
	if err := f.alive("look up request"); err != nil {
		return nil, false, err
	}
	return f.Backend.Result(ctx, id)
}

// Each implements journal.Log.
func (f *Faulty) Each(ctx context.Context, run string, after uint64, take func(journal.Record) error) error {
	if err := f.alive("read"); err != nil {
		return err
	}
	return f.Backend.Each(ctx, run, after, take)
}

// Part implements journal.Log.
func (f *Faulty) Part(ctx context.Context, hash string, offset int64, n int) ([]byte, int64, error) {
	if err := f.alive("read blob"); err != nil {
		return nil, 0, err
	}
	return f.Backend.Part(ctx, hash, offset, n)
}

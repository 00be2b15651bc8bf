package sqlite

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

const (
	tellAfter = 2 * time.Second // of waiting
	tellEvery = 5 * time.Second // from then on
	// sameWait: a wait goes on where the one before it, which failed, is not longer ago. So those who come while the store is held do not each wait the whole time.
	sameWait = 10 * time.Second
)

// patience counts how long other processes have held the file, for all who wait for it: it tells who holds it, and gives up in the end. Safe for concurrent use.
type patience struct {
	limit  time.Duration // 0: none
	tell   func(journal.LockWait)
	holder func() string
	now    func() time.Time

	mu                sync.Mutex
	since, last, told time.Time // zero: no caller waits
}

func newPatience(cfg Config, holder func() string) *patience {
	tell := cfg.Locked
	if tell == nil {
		tell = func(journal.LockWait) {}
	}
	return &patience{limit: cfg.LockTimeout, tell: tell, holder: holder, now: time.Now}
}

// busy notes that another process holds the file right now. It gives a *journal.LockedError once that has lasted too long.
func (p *patience) busy() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.since.IsZero() || now.Sub(p.last) > sameWait {
		p.since, p.told = now, time.Time{}
	}
	p.last = now
	waited := now.Sub(p.since)
	isOver := p.limit > 0 && waited >= p.limit
	isTold := !p.told.IsZero() && now.Sub(p.told) < tellEvery
	if !isOver && (waited < tellAfter || isTold) {
		return nil
	}
	w := journal.LockWait{Holder: p.holder(), For: waited, Limit: p.limit, Over: isOver}
	if !isTold || isOver {
		p.told = now
		p.tell(w)
	}
	if isOver {
		return &journal.LockedError{Holder: w.Holder, For: waited}
	}
	return nil
}

// free notes that the file could be used.
func (p *patience) free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since = time.Time{}
}

// pause lets another process go on, for a time that differs from its own pauses.
func pause() {
	time.Sleep(rand.N(time.Millisecond / 2)) //nolint:gosec // no secret
}

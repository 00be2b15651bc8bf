package sqlite

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

const (
	firstReportAfter = 2 * time.Second // waiting time before the first report
	reportInterval   = 5 * time.Second // interval of later reports
	// sameWait is the time within which a wait continues an earlier one that failed, so that
	// callers that arrive while the store is held do not each wait the whole time.
	sameWait = 10 * time.Second
)

// lockWait measures how long other processes have held the file, for all waiting callers: it
// reports the holder, and finally times out. It is safe for concurrent use.
type lockWait struct {
	limit  time.Duration // 0 means no limit
	tell   func(journal.LockWait)
	holder func() string
	now    func() time.Time

	mu                sync.Mutex
	since, last, told time.Time // zero if no caller waits
}

func newPatience(cfg Config, holder func() string) *lockWait {
	tell := cfg.Locked
	if tell == nil {
		tell = func(journal.LockWait) {}
	}
	return &lockWait{limit: cfg.LockTimeout, tell: tell, holder: holder, now: time.Now}
}

// busy records that another process currently holds the file. It returns a *journal.LockedError
// once that has lasted too long.
func (p *lockWait) busy() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.since.IsZero() || now.Sub(p.last) > sameWait {
		p.since, p.told = now, time.Time{}
	}
	p.last = now
	waited := now.Sub(p.since)
	isOver := p.limit > 0 && waited >= p.limit
	isTold := !p.told.IsZero() && now.Sub(p.told) < reportInterval
	if !isOver && (waited < firstReportAfter || isTold) {
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

// free records that the file could be used.
func (p *lockWait) free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since = time.Time{}
}

// pause lets another process continue, for a time that differs from that process's own pauses.
func pause() {
	time.Sleep(rand.N(time.Millisecond / 2)) //nolint:gosec // no secret
}

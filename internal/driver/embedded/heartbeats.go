package embedded

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/journal"
)

const (
	// heartbeatInterval is the interval at which a process that drives runs, or is long-lived,
	// stores a heartbeat.
	heartbeatInterval = 5 * time.Second
	// maxMissedHeartbeats is how many of its own heartbeats a process must miss before it checks
	// whether its runs still belong to it.
	maxMissedHeartbeats = 3
)

// heartbeats tracks the heartbeats of the driver itself and of other owners. It is safe for
// concurrent use.
type heartbeats struct {
	mu        sync.Mutex
	begun     time.Time // start of the attempt in progress; zero if none
	last      time.Time // time of the last stored heartbeat; zero if none
	err       error     // error of the last attempt
	errLogged bool      // err was logged
	lastCheck time.Time // time of the last check of other owners
	silence   map[string]*silence
}

// silence is how long an owner has gone without a heartbeat, measured by this process alone: the
// clocks of two machines need not agree.
type silence struct {
	seen time.Time
	long time.Duration
}

// startHeartbeats starts sending heartbeats, which continues as long as this process drives runs or
// tends. d.mu must be held.
func (d *Driver) startHeartbeats() {
	if !d.sendsHeartbeats {
		d.sendsHeartbeats = true
		d.wg.Go(d.sendHeartbeats)
	}
}

func (d *Driver) sendHeartbeats() {
	for {
		d.sendHeartbeat()
		ended := sleep(d.work, d.work, heartbeatInterval) != nil
		d.mu.Lock()
		if ended || len(d.runs) == 0 && d.maintaining == 0 {
			d.sendsHeartbeats = false
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
	}
}

// sendHeartbeat sends one heartbeat, and checks which owners send none.
func (d *Driver) sendHeartbeat() {
	s, now := &d.heartbeats, d.now()
	s.mu.Lock()
	s.begun = now
	s.mu.Unlock()
	err := d.cfg.Store.Sign(d.work, now)
	if d.work.Err() != nil {
		return
	}
	s.mu.Lock()
	isLate := !s.last.IsZero() && d.now().Sub(s.last) >= maxMissedHeartbeats*heartbeatInterval
	s.begun, s.err = time.Time{}, err
	if err == nil {
		s.last, s.errLogged = d.now(), false
	}
	d.mu.Lock()
	stays := d.maintaining > 0
	d.mu.Unlock()
	// a process that only drives its own runs reports store errors when an append fails
	tell := err != nil && !s.errLogged && stays
	s.errLogged = s.errLogged || tell
	if err != nil {
		s.silence = nil // other processes may be unable to write as well
	}
	s.mu.Unlock()
	switch {
	case tell:
		d.cfg.Logger.Warn("cannot store the heartbeat of this process", "err", err)
	case err == nil && isLate:
		d.checkOwned()
	}
	if err == nil && d.cfg.TakeOverAfter > 0 {
		d.trackSilence()
	}
}

// checkOwned makes every run that is driven here verify that it still belongs to this process:
// another process may have taken it while this one sent no heartbeat.
func (d *Driver) checkOwned() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.runs {
		a.deliver(&message{at: d.now(), check: true})
	}
}

// trackSilence measures how long other owners have gone without a heartbeat. A process that was
// suspended, or whose machine slept, does not count that time: at most heartbeatInterval is added
// between two of its own heartbeats, each of which was stored.
func (d *Driver) trackSilence() {
	owners, err := d.cfg.Store.Owners(d.work)
	if err != nil {
		if d.work.Err() == nil {
			d.cfg.Logger.Warn("cannot check the heartbeats of other processes", "err", err)
		}
		return
	}
	s, now, self := &d.heartbeats, d.now(), d.cfg.Store.Owner().ID
	s.mu.Lock()
	defer s.mu.Unlock()
	passed := max(0, min(now.Sub(s.lastCheck), heartbeatInterval)) // a clock that was set back subtracts nothing
	s.lastCheck = now
	heard := map[string]*silence{}
	for _, o := range owners {
		was := s.silence[o.ID]
		switch {
		case o.ID == self:
		case was == nil || !was.seen.Equal(o.Seen):
			heard[o.ID] = &silence{seen: o.Seen}
		default:
			heard[o.ID] = &silence{seen: o.Seen, long: was.long + passed}
		}
	}
	s.silence = heard
}

// IsHung implements driver.Driver.
func (d *Driver) IsHung(owner string) bool {
	d.heartbeats.mu.Lock()
	defer d.heartbeats.mu.Unlock()
	q := d.heartbeats.silence[owner]
	return q != nil && d.cfg.TakeOverAfter > 0 && q.long >= d.cfg.TakeOverAfter
}

// anyHung reports whether the runs of any owner are to be taken over.
func (d *Driver) anyHung() bool {
	d.heartbeats.mu.Lock()
	defer d.heartbeats.mu.Unlock()
	for _, q := range d.heartbeats.silence {
		if d.cfg.TakeOverAfter > 0 && q.long >= d.cfg.TakeOverAfter {
			return true
		}
	}
	return false
}

// evictHung takes the runs of this driver's kind for which mine returns true from hung owners, so
// that they can be recovered like the runs of dead owners.
func (d *Driver) evictHung(ctx context.Context, mine func(journal.Head) bool) error {
	if !d.anyHung() {
		return nil
	}
	q := journal.Query{Kind: d.cfg.Kind, Statuses: []journal.Status{journal.StatusPending, journal.StatusRunning},
		Limit: 1000}
	for {
		heads, next, err := d.cfg.Store.List(ctx, q)
		if err != nil {
			return err
		}
		for _, h := range heads {
			if h.Interrupted || !d.IsHung(h.Owner) || !mine(h) {
				continue
			}
			err := d.cfg.Store.Evict(ctx, h.Run, h.Owner)
			if err != nil && !held.IsPermanent(err) {
				return err
			}
			if err == nil {
				d.cfg.Logger.Warn("taking over a run from a process that does not respond", "run", h.Run, "owner",
					h.By.String(), "last sign", h.By.Seen)
			}
		}
		if q.Cursor = next; next == "" {
			return nil
		}
	}
}

// TakeOver implements driver.Driver.
func (d *Driver) TakeOver(ctx context.Context, run string) (journal.Owner, error) {
	head, err := d.cfg.Store.Head(ctx, run)
	if err != nil {
		return journal.Owner{}, err
	}
	former := head.By
	if head.Owner == "" || head.Owner == d.cfg.Store.Owner().ID {
		return journal.Owner{}, nil
	}
	if err := d.cfg.Store.Evict(ctx, run, head.Owner); err != nil {
		return journal.Owner{}, err
	}
	return former, d.evictChildRuns(ctx, run, head.Owner)
}

// evictChildRuns takes the active child runs of a run from an owner.
func (d *Driver) evictChildRuns(ctx context.Context, run, owner string) error {
	q := journal.Query{Parent: run, Statuses: []journal.Status{journal.StatusPending, journal.StatusRunning},
		Limit: 1000}
	for {
		heads, next, err := d.cfg.Store.List(ctx, q)
		if err != nil {
			return err
		}
		for _, h := range heads {
			if h.Owner != owner {
				continue
			}
			if err := d.cfg.Store.Evict(ctx, h.Run, owner); err != nil && !errors.Is(err, journal.ErrNotFound) {
				return err
			}
			if err := d.evictChildRuns(ctx, h.Run, owner); err != nil {
				return err
			}
		}
		if q.Cursor = next; next == "" {
			return nil
		}
	}
}

// Health implements driver.Driver.
func (d *Driver) Health() error {
	s := &d.heartbeats
	s.mu.Lock()
	defer s.mu.Unlock()
	if long := d.now().Sub(s.begun); !s.begun.IsZero() && long >= heartbeatInterval {
		return fmt.Errorf("no write to the store has succeeded for %s", long.Round(time.Second))
	}
	return s.err
}

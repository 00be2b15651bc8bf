package embedded

import (
	"context"
	"errors"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
)

// deadlines finds the deadlines of runs that other processes leave paused: periodically by a sweep
// of all runs, and through notices when runs are left. It serves one Maintain or Work.
type deadlines struct {
	d     *Driver
	mine  func(journal.Head) bool // other runs are left alone
	begun bool
	last  uint64
	swept time.Time
	// seen holds what was already inspected, by run and last change.
	seen map[string]time.Time
	// left holds runs that opened a wait in another process and may pause at any moment;
	// their changes are signalled on c until stop is called.
	left map[string]func()
	c    chan<- struct{}
}

// newDeadlines returns a deadlines. Its owner calls poll when notices arrive and after signals on
// c, and must close it.
func newDeadlines(d *Driver, mine func(journal.Head) bool, c chan<- struct{}) *deadlines {
	return &deadlines{d: d, mine: mine, seen: map[string]time.Time{}, left: map[string]func(){}, c: c}
}

func (h *deadlines) close() {
	for _, stop := range h.left {
		stop()
	}
}

// poll parks the runs that were left paused since the last call.
func (h *deadlines) poll(ctx context.Context) error {
	if now := time.Now(); now.Sub(h.swept) >= sweepEvery {
		err := h.skipNotices(ctx) // before the sweep, so that runs that pause during it are noticed
		if err == nil {
			err = h.sweep(ctx)
		}
		if err != nil {
			return err
		}
		h.swept = now
	}
	return h.follow(ctx)
}

// skipNotices skips the existing notices, because the sweep sees their runs.
func (h *deadlines) skipNotices(ctx context.Context) (err error) {
	if h.begun {
		return nil
	}
	h.last, err = h.d.cfg.Store.LastNotice(ctx)
	h.begun = err == nil
	return err
}

// follow parks the runs that were left paused since the last call.
func (h *deadlines) follow(ctx context.Context) error {
	for h.begun {
		page, err := h.d.cfg.Store.Notices(ctx, h.last, 0)
		if err != nil {
			return err
		}
		for _, n := range page {
			h.last = n.ID
			if n.Type == string((*event.WaitOpened)(nil).Type()) && h.left[n.Run] == nil {
				h.left[n.Run] = h.d.cfg.Store.Subscribe(h.c, journal.OfRun(n.Run))
			}
		}
		if len(page) == 0 {
			break
		}
	}
	for run, stop := range h.left {
		head, err := h.d.cfg.Store.Head(ctx, run)
		switch {
		case errors.Is(err, journal.ErrNotFound):
		case err != nil:
			return err
		case head.Status.IsActive() && !h.d.drives(run):
			continue // its driver tracks its deadlines until it pauses
		case head.Status == journal.StatusPaused && h.mine(head):
			if err := h.d.parkHead(ctx, head); err != nil {
				h.d.cfg.Logger.Warn("cannot read paused run", "run", run, "err", err)
			}
		}
		stop()
		delete(h.left, run)
	}
	return nil
}

// drives reports whether a run is in the memory of this process, which parks it when it pauses.
func (d *Driver) drives(run string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runs[run] != nil
}

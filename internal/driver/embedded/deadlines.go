package embedded

import (
	"context"
	"errors"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
)

// deadlines finds those of the runs that other processes leave paused: of all there are, now and then, and by their notices as they are left. It serves one Tend or Work.
type deadlines struct {
	d     *Driver
	mine  func(journal.Head) bool // others are left alone
	begun bool
	last  uint64
	swept time.Time
	// seen keeps what was looked at, by run and last change.
	seen map[string]time.Time
	// left are runs that opened a wait in another process and may be paused any moment; their changes are signalled on c until stop.
	left map[string]func()
	c    chan<- struct{}
}

// newDeadlines makes one whose owner calls look when notices come, and after signals on c. It is closed.
func newDeadlines(d *Driver, mine func(journal.Head) bool, c chan<- struct{}) *deadlines {
	return &deadlines{d: d, mine: mine, seen: map[string]time.Time{}, left: map[string]func(){}, c: c}
}

func (h *deadlines) close() {
	for _, stop := range h.left {
		stop()
	}
}

// look parks the runs that were left paused since it was called last.
func (h *deadlines) look(ctx context.Context) error {
	if now := time.Now(); now.Sub(h.swept) >= sweepEvery {
		err := h.begin(ctx) // first: runs that pause during the sweep are noticed
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

// begin passes over the notices there are: the sweep sees their runs.
func (h *deadlines) begin(ctx context.Context) (err error) {
	if h.begun {
		return nil
	}
	h.last, err = h.d.cfg.Store.LastNotice(ctx)
	h.begun = err == nil
	return err
}

// follow parks the runs that were left paused since it was called last.
func (h *deadlines) follow(ctx context.Context) error {
	for h.begun {
		page, err := h.d.cfg.Store.Notices(ctx, h.last, 0)
		if err != nil {
			return err
		}
		for _, n := range page {
			h.last = n.ID
			if n.Type == string((*engine.WaitOpened)(nil).Type()) && h.left[n.Run] == nil {
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
			continue // its driver keeps its deadlines until it pauses
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

// drives tells whether a run is in the memory of this process: it is parked when it pauses.
func (d *Driver) drives(run string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runs[run] != nil
}

package hooks

import (
	"context"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/access"
)

// Pace specifies how notifications are sent. Zero values mean the defaults.
type Pace struct {
	// Every is how often to check for due notifications; the default is 1 s. While nothing is due,
	// the interval grows to five times that.
	Every time.Duration
	// Timeout limits one attempt; the default is 20 s.
	Timeout time.Duration
	// Delays holds the delays before the second attempt, the third and so on; after the last one a
	// notification is given up on. The defaults add up to about 27 hours.
	Delays []time.Duration
	// Kept is how long settled notifications are kept; the default is 30 days.
	Kept time.Duration
}

func (p Pace) withDefaults() Pace {
	if p.Every <= 0 {
		p.Every = time.Second
	}
	if p.Timeout <= 0 {
		p.Timeout = 20 * time.Second
	}
	if p.Delays == nil {
		const m, h = time.Minute, time.Hour
		p.Delays = []time.Duration{5 * time.Second, 30 * time.Second, 2 * m, 10 * m, 30 * m, h, 2 * h, 4 * h, 8 * h,
			12 * h}
	}
	if p.Kept <= 0 {
		p.Kept = 30 * 24 * time.Hour
	}
	return p
}

// pollDelay returns how long to wait before the next check if nothing has been due for the duration
// quiet.
func (p Pace) pollDelay(quiet time.Duration) time.Duration {
	return min(max(quiet/8, p.Every), 5*p.Every)
}

// endpoints returns all endpoints of a namespace.
func (h *Hooks) endpoints(ctx context.Context, sp *space) ([]Endpoint, error) {
	stored, err := sp.store.Endpoints(ctx)
	if err != nil || sp.name != access.DefaultNamespace {
		return stored, err
	}
	return append(slices.Clone(h.cfg.Endpoints), stored...), nil
}

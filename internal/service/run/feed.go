package run

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
)

// Feed yields the notices that follow the notice after, oldest first, each once, and continues with
// new ones as the store signals them. It reads them from the store, where they are committed
// together with the events they are about: a reader that keeps the ID of the last notice that it
// processed, and continues after it following a crash, misses none. A slow consumer falls behind
// and loses nothing.
//
// It ends when the consumer stops, or with an error as the last value yielded: ctx's, or the
// store's. Each call is an independent feed.
func (s *Runner) Feed(ctx context.Context, after uint64) iter.Seq2[journal.Notice, error] {
	return func(yield func(journal.Notice, error) bool) {
		changed := make(chan struct{}, 1)
		defer s.store.Subscribe(changed, journal.OfNotices())()
		poll := time.NewTicker(journal.SafetyPoll)
		defer poll.Stop()
		for {
			page, err := s.store.Notices(ctx, after, 0)
			if err != nil {
				yield(journal.Notice{}, err)
				return
			}
			for _, n := range page {
				after = n.ID
				if !yield(n, nil) {
					return
				}
			}
			if len(page) > 0 {
				continue
			}
			select {
			case <-changed:
			case <-poll.C:
			case <-ctx.Done():
				yield(journal.Notice{}, ctx.Err())
				return
			}
		}
	}
}

// FeedSignals signals on notices that there may be new notices, and on starts that there may be new
// runs, as described for journal.Changes: a waiting caller subscribes, then reads, then receives,
// and also reads every journal.SafetyPoll without a signal.
func (s *Runner) FeedSignals(notices, starts chan<- struct{}) (stop func()) {
	first, second := s.store.Subscribe(notices, journal.OfNotices()), s.store.Subscribe(starts, journal.OfStarts())
	return func() {
		first()
		second()
	}
}

// Notices returns the current notices that follow the notice after, oldest first: at most limit, or
// 1,000 if limit is 0 or larger.
func (s *Runner) Notices(ctx context.Context, after uint64, limit int) ([]journal.Notice, error) {
	return s.store.Notices(ctx, after, limit)
}

// LastNotice returns the ID of the newest notice, or 0 if there is none: a feed from there has only
// future notices.
func (s *Runner) LastNotice(ctx context.Context) (uint64, error) { return s.store.LastNotice(ctx) }

// Noticed is the subject of a notice: the run as it is listed now, and the event.
type Noticed struct {
	Head  journal.Head
	Event event.Event
}

// Noticed returns the subject of a notice. It returns journal.ErrNotFound if the run has been
// pruned since.
func (s *Runner) Noticed(ctx context.Context, n journal.Notice) (Noticed, error) {
	h, err := s.store.Head(ctx, n.Run)
	if err != nil {
		return Noticed{}, err
	}
	var found event.Event
	err = s.EachEvent(ctx, n.Run, n.Seq-1, func(e event.Event) error {
		found = e
		return errOne
	})
	if err != nil && !errors.Is(err, errOne) {
		return Noticed{}, err
	}
	if found.Seq != n.Seq {
		return Noticed{}, fmt.Errorf("event %d of run %s: %w", n.Seq, n.Run, journal.ErrNotFound)
	}
	return Noticed{Head: h, Event: found}, nil
}

package run

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
)

// Feed gives the notices behind the notice after, oldest first, each once, and goes on with those that come, as the store signals them. It reads them from the store, in which they are since the commit of what they are about: a reader that keeps the ID of the last one that it dealt
// with, and begins behind it after a crash, misses none. A slow consumer falls behind and loses nothing.
//
// It ends when the consumer leaves, or with an error as the last thing given: ctx's, or the store's. Each call is a feed of its own.
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

// FeedSignals signals on notices that there may be new notices, and on starts that there may be new runs, as journal.Changes says: who waits subscribes, then reads, then receives, and
// reads every journal.SafetyPoll without a signal too.
func (s *Runner) FeedSignals(notices, starts chan<- struct{}) (stop func()) {
	first, second := s.store.Subscribe(notices, journal.OfNotices()), s.store.Subscribe(starts, journal.OfStarts())
	return func() {
		first()
		second()
	}
}

// Notices gives the notices behind the notice after that there are now, oldest first: limit at most, and 1,000 where limit is 0 or more than that.
func (s *Runner) Notices(ctx context.Context, after uint64, limit int) ([]journal.Notice, error) {
	return s.store.Notices(ctx, after, limit)
}

// LastNotice gives the ID of the newest notice, 0 where there is none: a feed from there on has only what happens from now on.
func (s *Runner) LastNotice(ctx context.Context) (uint64, error) { return s.store.LastNotice(ctx) }

// Noticed is what a notice is about: the run as it is listed now, and the event.
type Noticed struct {
	Head  journal.Head
	Event engine.Event
}

// Noticed reads what a notice is about. Errors: journal.ErrNotFound where the run was pruned since.
func (s *Runner) Noticed(ctx context.Context, n journal.Notice) (Noticed, error) {
	h, err := s.store.Head(ctx, n.Run)
	if err != nil {
		return Noticed{}, err
	}
	var found engine.Event
	err = s.EachEvent(ctx, n.Run, n.Seq-1, func(e engine.Event) error {
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

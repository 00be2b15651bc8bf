package openaiapi

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// settle waits until the run has ended or waits for a person, and resumes it if its owner died.
func settle(ctx context.Context, s *service.Service, run string) error {
	for {
		st, err := s.Wait(ctx, run)
		if err != nil || !st.Interrupted {
			return err
		}
		if err := resumeUnowned(ctx, s, run); err != nil {
			return err
		}
	}
}

// resumeUnowned resumes a run that has no owner. It does nothing if another process drives the run
// or the run has ended.
func resumeUnowned(ctx context.Context, s *service.Service, run string) error {
	err := s.Resume(ctx, run)
	if errors.Is(err, journal.ErrOwned) || errors.Is(err, engine.ErrEnded) {
		return nil
	}
	return err
}

// follow is like settle, but passes the updates after the event from to take meanwhile, and calls
// beat if nothing happens. It calls both functions on the caller's goroutine; if one returns an
// error, follow returns it.
func follow(ctx context.Context, s *service.Service, run string, from uint64, every time.Duration,
	take func(driver.Update) error, beat func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	var (
		watching sync.WaitGroup
		updates  = make(chan driver.Update)
		settled  = make(chan error, 1)
	)
	defer watching.Wait()
	defer cancel()
	watching.Go(func() {
		settled <- settle(ctx, s, run)
	})
	watching.Go(func() {
		for u, err := range s.Watch(ctx, run, from) {
			if err != nil {
				return // missed updates are in the journal, and settle reports the error
			}
			select {
			case updates <- u:
			case <-ctx.Done():
				return
			}
		}
	})
	pulse := time.NewTicker(every)
	defer pulse.Stop()
	seen := false // before the first event it is not certain that the run can be watched, so there is no heartbeat
	for {
		var err error
		select {
		case u := <-updates:
			seen, err = true, take(u)
		case <-pulse.C:
			if seen {
				err = beat()
			}
		case err := <-settled:
			return err
		}
		if err != nil {
			return err
		}
	}
}

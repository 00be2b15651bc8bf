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

// settle waits until the run has ended or waits for a person, and takes it up where its owner died.
func settle(ctx context.Context, s *service.Service, run string) error {
	for {
		st, err := s.Wait(ctx, run)
		if err != nil || !st.Interrupted {
			return err
		}
		if err := takeUp(ctx, s, run); err != nil {
			return err
		}
	}
}

// takeUp drives a run that has no owner; one that another process drives, or that has ended, is left alone.
func takeUp(ctx context.Context, s *service.Service, run string) error {
	err := s.Resume(ctx, run)
	if errors.Is(err, journal.ErrOwned) || errors.Is(err, engine.ErrEnded) {
		return nil
	}
	return err
}

// follow is settle that gives what happens meanwhile, after the event from, and beats where nothing happens. Both functions are called by the caller's goroutine; an
// error of theirs ends it.
func follow(ctx context.Context, s *service.Service, run string, from uint64, every time.Duration, take func(driver.Update) error, beat func() error) error {
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
				return // what was not seen is in the journal, and settle tells what is wrong
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
	seen := false // a run that is watched has events: before the first of them, a heartbeat would promise what is not known yet
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

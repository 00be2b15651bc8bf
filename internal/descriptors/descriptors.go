// Package descriptors waits for file descriptors.
//
// A process, or its machine, that has no descriptor left starts no program and opens no connection.
// This is temporary: other programs end, and connections are closed. Callers that need a
// descriptor therefore wait for one, for a bounded time, instead of failing.
//
// It opens nothing and counts nothing. The SQLite store does not need it: SQLite has its own error
// for this case, and the store's callers retry.
package descriptors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"time"
)

const (
	// retryEvery is how often Wait tries again.
	retryEvery = 50 * time.Millisecond
	// Limit is how long Wait waits.
	Limit = 30 * time.Second
)

// AreOut reports whether err means that this process or the machine has no file descriptor left.
func AreOut(err error) bool { return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) }

// Wait calls try until it returns nil or an error for which AreOut is false, until ctx is done, or
// until Limit has passed. It logs one warning, which names what; a nil log means none.
//
// In the last two cases it returns the error of the last try, with ctx's cause or the limit.
func Wait(ctx context.Context, log *slog.Logger, what string, try func() error) error {
	err := try()
	if !AreOut(err) {
		return err
	}
	if log != nil {
		log.Warn("waiting for a file descriptor; raise the limit of open files (ulimit -n), or lower limits.maxCalls",
			"for", what, "limit", Limit, "err", err)
	}
	tick := time.NewTicker(retryEvery)
	defer tick.Stop()
	for began := time.Now(); ; {
		select {
		case now := <-tick.C:
			if err = try(); !AreOut(err) {
				return err
			}
			if now.Sub(began) >= Limit {
				return fmt.Errorf("%w (waited %s for a file descriptor; raise the limit of open files)", err, Limit)
			}
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		}
	}
}

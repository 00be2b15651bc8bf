package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

// maxRetries is how often a transaction that the server aborted because of others is repeated.
const maxRetries = 50

// Tx runs do once inside a transaction. The tables of the schema have their plain names. If do
// returns an error, its changes are rolled back; do must return the errors of tx unchanged, or
// wrapped.
//
// Errors are those of do and ctx, journal.ErrClosed, *journal.CorruptError, *journal.RejectedError,
// and errors that match journal.ErrUnavailable. If the connection was lost in the commit, it is
// unknown whether the transaction was committed.
func (s *Store) Tx(ctx context.Context, o pgx.TxOptions, do func(tx pgx.Tx) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.beginPartTx(ctx, o, "", do)
}

// beginPartTx is like Tx, with additional settings at the start of the transaction.
func (s *Store) beginPartTx(ctx context.Context, o pgx.TxOptions, settings string, do func(tx pgx.Tx) error) error {
	// One message to the server: the path is set before any statement of do is parsed.
	o.BeginQuery = beginText(o) + "; SET LOCAL search_path TO " + quoted(s.schema) + settings
	err := pgx.BeginTxFunc(ctx, s.db.pool, o, do)
	if err != nil && errors.Is(err, pgx.ErrTxCommitRollback) {
		err = fmt.Errorf("commit: %w", err)
	}
	return s.fault(ctx, err)
}

// beginText returns the statement that starts a transaction. It consists of constants of pgx.
func beginText(o pgx.TxOptions) string {
	text := "BEGIN"
	if o.IsoLevel != "" {
		text += " ISOLATION LEVEL " + string(o.IsoLevel)
	}
	if o.AccessMode != "" {
		text += " " + string(o.AccessMode)
	}
	return text
}

// retryConflicts retries do until no other transaction interferes.
func (s *Store) retryConflicts(ctx context.Context, do func() error) error {
	for n := 0; ; n++ {
		err := do()
		if n == maxRetries || !isConflict(err) {
			return err
		}
		if err := backoffSleep(ctx, n); err != nil {
			return err
		}
	}
}

// backoffSleep waits after the nth attempt. It returns the error of ctx if ctx ends first.
func backoffSleep(ctx context.Context, n int) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(backoff(n)):
		return nil
	}
}

// backoff returns how long to wait after the nth attempt; it is randomized, so that waiters retry
// at different times.
func backoff(n int) time.Duration {
	return rand.N(time.Millisecond << min(n, 7)) //nolint:gosec // no secret
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

// retries is how often a transaction is done again that the server ended because of others.
const retries = 50

// Tx runs do once inside a transaction. The tables of the schema have their plain names. An error of do rolls back what it did; do must pass on the errors of tx as they are, or wrapped.
//
// Errors: do's, ctx's, journal.ErrClosed, *journal.CorruptError, *journal.RejectedError, those that match journal.ErrUnavailable: where the connection was lost in the commit it is
// not known whether it was done.
func (s *Store) Tx(ctx context.Context, o pgx.TxOptions, do func(tx pgx.Tx) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.lend(ctx, o, "", do)
}

// lend is Tx whose transaction begins with more settings.
func (s *Store) lend(ctx context.Context, o pgx.TxOptions, settings string, do func(tx pgx.Tx) error) error {
	// One message to the server: the path is set before any statement of do is parsed.
	o.BeginQuery = beginText(o) + "; SET LOCAL search_path TO " + quoted(s.schema) + settings
	err := pgx.BeginTxFunc(ctx, s.db.pool, o, do)
	if err != nil && errors.Is(err, pgx.ErrTxCommitRollback) {
		err = fmt.Errorf("commit: %w", err)
	}
	return s.fault(ctx, err)
}

// beginText begins a transaction. It is made of constants of pgx.
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

// again runs do until others are not in its way.
func (s *Store) again(ctx context.Context, do func() error) error {
	for n := 0; ; n++ {
		err := do()
		if n == retries || !isConflict(err) {
			return err
		}
		if err := rest(ctx, n); err != nil {
			return err
		}
	}
}

// rest waits after the nth attempt. Errors: ctx's.
func rest(ctx context.Context, n int) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause(n)):
		return nil
	}
}

// pause gives how long to wait after the nth attempt: others that wait come back at other times.
func pause(n int) time.Duration {
	return rand.N(time.Millisecond << min(n, 7)) //nolint:gosec // no secret
}

package pghome

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/postgres"
)

// Kind opens homes in PostgreSQL. Create one with [New]. It is safe for concurrent use.
type Kind struct {
	now func() time.Time
	// For tests; nil means none.
	relay  postgres.Relay
	tracer pgx.QueryTracer

	mu        sync.Mutex
	databases map[string]*database // by the settings that open them, which are secret
}

// New returns a Kind. now returns the time of this machine, which is compared with the time of
// servers; nil means time.Now.
func New(now func() time.Time) *Kind {
	if now == nil {
		now = time.Now
	}
	return &Kind{now: now, databases: map[string]*database{}}
}

// Look implements store.Kind.
func (k *Kind) Look(ctx context.Context, at store.Locator) (store.View, error) {
	t, err := targetOf(at.URL())
	if err != nil {
		return store.View{}, err
	}
	s, err := t.probe(ctx, at.Servers(), k.now)
	if err != nil {
		return store.View{}, err
	}
	view := store.View{Exists: s.isStore}
	if !s.isStore {
		return view, nil
	}
	err = t.withConn(ctx, func(c *pgx.Conn) error {
		schema := t.url.Schema()
		if at.Tenant() != access.DefaultNamespace {
			var number int64
			// The schema name consists of letters, digits and _ only.
			err := c.QueryRow(ctx, "SELECT number FROM "+quote(schema)+".namespaces WHERE name = $1", at.Tenant()).Scan(
				&number)
			if view.Exists = !errors.Is(err, pgx.ErrNoRows); !view.Exists {
				return nil
			}
			if err != nil {
				return t.explain(ctx, err)
			}
			schema = schemaOf(schema, number)
		}
		if err := c.QueryRow(ctx, postgres.SizeOf, schema).Scan(&view.Bytes); err != nil {
			return t.explain(ctx, err)
		}
		return nil
	})
	return view, err
}

// withConn calls do with a connection.
func (t target) withConn(ctx context.Context, do func(*pgx.Conn) error) error {
	c, err := pgx.ConnectConfig(ctx, t.conn)
	if err != nil {
		return t.explain(ctx, err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	return do(c)
}

// warnOfClock warns if the clocks differ: deadlines and schedules use this machine's clock.
func warnOfClock(log *slog.Logger, s server) {
	if log != nil && s.offset.Abs() >= maxClockOffset {
		log.Warn("the clocks of this machine and of the PostgreSQL server differ; deadlines and schedules use that "+
			"of the machine", "server_ahead", s.offset.Round(time.Second/10))
	}
}

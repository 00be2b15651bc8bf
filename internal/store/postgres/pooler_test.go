package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/journal/journaltest"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// pooled returns the configuration of a store behind a pooler, whose session connects to the server
// directly.
func pooled(t *testing.T, through func(string) string, at string) postgres.Config {
	t.Helper()
	cfg := postgres.Config{Kind: journal.KindRun}
	var err error
	if cfg.Pool, err = pgxpool.ParseConfig(through(at)); err == nil {
		cfg.Session, err = pgx.ParseConfig(strings.Split(at, "&schema=")[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestPooler_Journal checks that the journal fulfills its contract behind a pooler that assigns a
// different server session to each transaction.
func TestPooler_Journal(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Config{})
	through := pgtest.NewPooler(t, server)
	journaltest.Run(t, func(t *testing.T) journaltest.Medium {
		at := server.Reused(t)
		return journaltest.Medium{
			Open: func(t *testing.T) journal.Backend {
				t.Helper()
				s, err := postgres.Open(t.Context(), pooled(t, through, at))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := s.Close(); err != nil {
						t.Errorf("close: %v", err)
					}
				})
				return s
			},
			Damage: func(t *testing.T, d journaltest.Damage) { damage(t, at, d) },
		}
	})
}

// TestPooler_Tables is like TestPooler_Journal, for the other tables; their turns last as long as a
// transaction.
func TestPooler_Tables(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Config{})
	through, at := pgtest.NewPooler(t, server), server.URL(t)
	var parts []tables.DB
	for range 3 {
		s, err := postgres.Open(t.Context(), pooled(t, through, at))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		parts = append(parts, s.Tables(postgres.Catalog))
	}
	errMine := errors.New("mine")
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			err := parts[i%3].Write(t.Context(), 0, func(tx tables.Tx) error {
				_, err := tx.Exec(addAgent, fmt.Sprint("a", i), "NULL")
				if err == nil && i%2 == 1 {
					err = errMine
				}
				return err
			})
			if errors.Is(err, errMine) != (i%2 == 1) || i%2 == 0 && err != nil {
				t.Errorf("write %d: %v", i, err)
			}
			if c := row(t, parts[i%3], agentNamed, fmt.Sprint("a", i)); len(c) != (i+1)%2 || len(c) == 1 &&
				c[0] != "NULL" {
				t.Errorf("agent %d: %v", i, c)
			}
		})
	}
	wg.Wait()
	if n := row(t, parts[0], countAgents)[0]; n != int64(30) {
		t.Errorf("%d agents, want 30", n)
	}
	row(t, parts[0], someTypes)
}

package postgres_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store/postgres"
)

// TestIdleConnections checks that the connections needed for a burst of calls are closed again,
// although the store is queried twice every second.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	synctest.Test(t, func(t *testing.T) {
		s, err := postgres.Open(t.Context(), postgres.Config{URL: url, Kind: journal.KindRun})
		if err != nil {
			t.Fatal(err)
		}
		ask := func() {
			if _, err := s.LastNotice(t.Context()); err != nil {
				t.Error(err)
			}
		}
		most := 0
		for range 100 {
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(ask)
			}
			wg.Wait()
			most = max(most, s.Connections())
		}
		if most < 5 {
			t.Errorf("a burst of 20 calls used %d connections", most)
		}
		for range 120 {
			time.Sleep(500 * time.Millisecond)
			ask()
		}
		synctest.Wait()
		if n := s.Connections(); n != 1 {
			t.Errorf("%d connections of a store at rest, after %d of a burst", n, most)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

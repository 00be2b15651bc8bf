package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store/postgres"
)

// TestSessionsLostAtOnce checks that when the server ends all sessions, as in a restart or a
// failover, the process that reconnects first does not claim the runs of processes that have not
// reconnected yet. These continue their runs; if they do not reconnect in time, their runs are
// claimed.
func TestSessionsLostAtOnce(t *testing.T) {
	t.Parallel()
	for name, isBack := range map[string]bool{"back in time": true, "gone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := pgtest.Start(t, pgtest.Config{})
			at := server.URL(t)
			proxy := pgtest.NewProxy(t, at)
			openAt := func(url string) *postgres.Store {
				s, err := postgres.Open(t.Context(), postgres.Config{URL: url, Kind: journal.KindRun})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Close() })
				t.Cleanup(s.Subscribe(make(chan struct{}, 1), journal.OfRequests()))
				return s
			}
			late, first := openAt(proxy.URL()), openAt(at)
			if !isBack {
				first.SetSettleTime(300 * time.Millisecond)
			}
			for _, s := range []*postgres.Store{late, first} { // both are owners
				for _, a := range story(s.Owner().ID)[:2] {
					if err := s.Append(t.Context(), a); err != nil {
						t.Fatal(err)
					}
				}
			}
			run := late.Owner().ID
			proxy.Hold() // nothing from the late process reaches the server when it is back
			server.Restart(t, pgtest.Kill)
			defer proxy.Release()
			for alive := false; !alive; { // the first one is back
				var err error
				if alive, err = first.Alive(t.Context(), first.Owner().ID); err != nil &&
					!errors.Is(err, journal.ErrUnavailable) {
					t.Fatal(err)
				}
			}
			_, err := first.Claim(t.Context(), run)
			if isBack {
				if !errors.Is(err, journal.ErrOwned) {
					t.Errorf("claim of a run whose process may be back: %v, want %v", err, journal.ErrOwned)
				}
				if some, err := first.ClaimSome(t.Context(),
					journal.ClaimQuery{Kind: journal.KindRun, Limit: 10}); err != nil || len(some) != 0 {
					t.Errorf("claimed %v, %v", some, err)
				}
				proxy.Reset()
				proxy.Release()
				for _, a := range story(run)[2:] {
					if err := stubborn(t.Context(), late, a); err != nil {
						t.Errorf("append of a process that is back: %v", err)
					}
				}
				return
			}
			for until := time.Now().Add(30 * time.Second); errors.Is(err, journal.ErrOwned) &&
				time.Now().Before(until); {
				_, err = first.Claim(t.Context(), run)
			}
			if err != nil {
				t.Errorf("claim of a run whose process is gone: %v", err)
			}
			proxy.Reset()
		})
	}
}

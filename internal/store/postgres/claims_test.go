package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store/postgres"
)

// TestClaim_Concurrent checks that of 100 concurrent claims by three processes, each of one run or
// of several, each run without a living owner is claimed by exactly one (P18, D15).
func TestClaim_Concurrent(t *testing.T) {
	t.Parallel()
	const runs, claims = 10, 100
	at := pgtest.URL(t)
	first := open(t, at)
	for i := range runs {
		for _, a := range story(fmt.Sprint("run ", i))[:2] {
			if err := first.Append(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	var stores []*postgres.Store
	for range 3 {
		stores = append(stores, open(t, at))
	}
	var mu sync.Mutex
	owners := map[string][]string{} // by run
	won := func(s *postgres.Store, h journal.Head) {
		mu.Lock()
		defer mu.Unlock()
		owners[h.Run] = append(owners[h.Run], s.Owner().ID)
		if h.Epoch != 2 || h.Owner != s.Owner().ID {
			t.Errorf("claimed %+v", h)
		}
	}
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range claims {
		s := stores[i%len(stores)]
		all.Go(func() {
			<-begin
			if i%2 == 0 {
				heads, err := s.ClaimSome(t.Context(), journal.ClaimQuery{Kind: journal.KindRun, Limit: 2})
				if err != nil {
					t.Error(err)
				}
				for _, h := range heads {
					won(s, h)
				}
				return
			}
			switch h, err := s.Claim(t.Context(), fmt.Sprint("run ", i/2%runs)); {
			case err == nil:
				won(s, h)
			case !errors.Is(err, journal.ErrOwned):
				t.Error(err)
			}
		})
	}
	close(begin)
	all.Wait()
	if len(owners) != runs {
		t.Errorf("%d runs were claimed, want %d", len(owners), runs)
	}
	for run, by := range owners {
		if len(by) != 1 {
			t.Errorf("%s was given to %v", run, by)
		}
	}
}

// TestClaim_OwnRunsAfterSessionLost checks that a process whose session is lost, which counts as
// dead, claims none of its own runs: each claim would fence the one before (P18).
func TestClaim_OwnRunsAfterSessionLost(t *testing.T) {
	t.Parallel()
	at := pgtest.URL(t)
	s := open(t, at)
	for _, a := range story("r")[:2] {
		if err := s.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		endSession(t, at, s.Number())
		for _, sign := range []bool{false, true} { // without a session, and with a new one
			if sign {
				if err := s.Sign(t.Context(), time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			if heads, err := s.ClaimSome(t.Context(),
				journal.ClaimQuery{Kind: journal.KindRun, Limit: 9}); err != nil || len(heads) > 0 {
				t.Errorf("claimed %+v, %v", heads, err)
			}
		}
	}
	if h, err := s.Head(t.Context(), "r"); err != nil || h.Epoch != 1 || h.Owner != s.Owner().ID {
		t.Errorf("the run is %+v, %v", h, err)
	}
}

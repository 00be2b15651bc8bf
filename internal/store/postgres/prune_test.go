package postgres_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store/postgres"
)

// noRelay is a relay that passes nothing on, so that the store sends nothing by itself.
type noRelay struct{}

func (noRelay) Send(string, string)                       {}
func (noRelay) Listen(string, func(string)) (stop func()) { return func() {} }

// TestGroupCommit checks that appends queued while two batches are in flight become part of the
// next batches, each of which takes at least half of the queue while it is long.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	const runs = 600
	c := &cutter{}
	s, err := postgres.OpenOver(t.Context(), postgres.Config{URL: pgtest.URL(t), Relay: noRelay{}}, c.wrap)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	appendAll := func(seq int) {
		var wg sync.WaitGroup
		defer wg.Wait()
		release := c.hold()
		for i := range runs {
			wg.Go(func() {
				if err := s.Append(t.Context(), story(fmt.Sprintf("r%d", i))[seq]); err != nil {
					t.Error(err)
				}
			})
		}
		for s.Queued() < runs-2 {
			runtime.Gosched()
		}
		c.arm(0, false)
		release()
	}
	if err := s.Append(t.Context(), story("first")[0]); err != nil { // makes the handle an owner, and connects it
		t.Fatal(err)
	}
	appendAll(0)
	appendAll(1)
	if n := c.count(); n > 20 {
		t.Errorf("%d messages for %d appends that waited for two others", n, runs)
	}
}

// TestPrune_ConcurrentRuns checks that runs that end and are pruned while other runs with the same
// blobs start leave nothing behind, and that no run loses a blob.
func TestPrune_ConcurrentRuns(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	handles := []*postgres.Store{open(t, url), open(t, url)}
	shared := journal.NewBlob([]byte("held by many"))
	late := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			s := handles[i%2]
			for n := range 25 {
				run := fmt.Sprintf("r%d-%d", i, n)
				for seq, a := range story(run) {
					if seq == 0 {
						a.Blobs = append(a.Blobs, shared)
					}
					if err := s.Append(t.Context(), a); err != nil {
						t.Errorf("%s: %v", run, err)
						return
					}
					if _, err := s.Blob(t.Context(), shared.Hash); err != nil && seq < 4 {
						t.Errorf("%s holds a blob that is gone: %v", run, err)
					}
				}
				if _, err := s.Prune(t.Context(), journal.PruneQuery{EndedBefore: late}); err != nil {
					t.Errorf("prune: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if _, err := handles[0].Prune(t.Context(), journal.PruneQuery{EndedBefore: late}); err != nil {
		t.Fatal(err)
	}
	if _, err := handles[0].Blob(t.Context(), shared.Hash); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("the blob without holders: %v", err)
	}
	c := pgtest.Connect(t, url)
	for _, table := range []string{"runs", "heads", "records", "trash", "blobs", "holds", "inbox", "notices"} {
		var n int
		if err := c.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d rows are left in %s, %v", n, table, err)
		}
	}
}

// TestIdleConnections_OwnerAndListener checks that an idle handle that owns runs and listens has
// few connections.
func TestIdleConnections_OwnerAndListener(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url+"&application_name=rest")
	defer s.Subscribe(make(chan struct{}, 1), journal.OfRequests(), journal.OfNotices())()
	for _, a := range story("r") {
		if err := s.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	told(t, s, "r")
	var n int
	err := pgtest.Connect(t, url).QueryRow(t.Context(),
		`SELECT count(*) FROM pg_stat_activity WHERE application_name = 'rest'`).Scan(&n)
	if err != nil || n == 0 || n > 4 {
		t.Errorf("%d connections, %v", n, err)
	}
}

package sqlite_test

import (
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/longtest"
)

// TestHundredThousandRuns checks that every list returns its page in a store of 100,000 runs, and
// that pruning uses less than 50 MB of heap (P10): when pruning a fifth of the runs, and in the
// long form all of them. The times of the lists are logged (-v), not asserted, because machines
// differ, and the queries name the index that they must use.
//
// It does not run in parallel with other tests, because it measures. With the race detector there
// are 10,000 runs.
func TestHundredThousandRuns(t *testing.T) {
	const runs, workers = 100_000 / testScale, 500
	path := filepath.Join(t.TempDir(), "hocket.db")
	s := open(t, path)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < runs; i += workers {
				a := benchCreate(i)
				a.Status, a.Release = journal.StatusCompleted, true
				switch {
				case i%1000 == 0:
					a.Status, a.Create.Workflow = journal.StatusPaused, "rare"
				case i%5000 == 1:
					a.Status, a.Release = journal.StatusRunning, false
				}
				if err := s.Append(t.Context(), a); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	first, cursor, err := s.List(t.Context(), journal.Query{Limit: 1000})
	if err != nil || len(first) != 1000 {
		t.Fatal(len(first), err)
	}
	middle := first[0].Created.Add(-runs / 2 * time.Second)
	for _, tt := range []struct {
		name string
		q    journal.Query
		want int
	}{
		{"first page", journal.Query{}, 50},
		{"next page", journal.Query{Cursor: cursor}, 50},
		{"from the middle", journal.Query{CreatedBefore: middle}, 50},
		{"common status", journal.Query{Statuses: []journal.Status{"completed"}}, 50},
		{"rare status", journal.Query{Statuses: []journal.Status{"paused"}, Limit: 1000}, runs / 1000},
		{"no such status", journal.Query{Statuses: []journal.Status{"failed", "cancelled"}}, 0},
		{"common workflow", journal.Query{Workflow: "reports/weekly.yaml"}, 50},
		{"common workflow, rare status",
			journal.Query{Workflow: "reports/weekly.yaml", Statuses: []journal.Status{"running"}}, runs / 5000},
		{"rare workflow, common status", journal.Query{Workflow: "rare", Statuses: []journal.Status{"completed"}}, 0},
		{"interrupted", journal.Query{Interrupted: true}, 0},
		{"no such parent", journal.Query{Parent: "r"}, 0},
	} {
		start := time.Now()
		page, _, err := s.List(t.Context(), tt.q)
		t.Logf("%s: %v", tt.name, time.Since(start))
		if err != nil || len(page) != tt.want {
			t.Fatalf("%s: %d runs, %v", tt.name, len(page), err)
		}
	}

	var (
		done atomic.Bool
		peak uint64
		mem  runtime.MemStats
	)
	runtime.GC()
	runtime.ReadMemStats(&mem)
	before := mem.HeapAlloc
	peak = before
	wg.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for !done.Load() {
			<-tick.C
			runtime.ReadMemStats(&mem)
			peak = max(peak, mem.HeapAlloc)
		}
	})
	cut, pruned := first[0].Created.Add(-4*runs/5*time.Second), runs/5-runs/5/1000-runs/5/5000
	if longtest.Enabled() {
		cut, pruned = first[0].Created.Add(time.Hour), runs-runs/1000-runs/5000
	}
	start := time.Now()
	res, err := s.Prune(t.Context(), journal.PruneQuery{EndedBefore: cut})
	took := time.Since(start)
	done.Store(true)
	wg.Wait()
	if err != nil || res.Runs < pruned-10 || res.Runs > pruned+10 {
		t.Fatalf("pruned %+v, want about %d runs, %v", res, pruned, err)
	}
	t.Logf("pruned %+v in %v, heap grew by %d kB", res, took, (peak-before)>>10)
	if peak-before > 50<<20 {
		t.Errorf("pruning used %d bytes of heap", peak-before)
	}
}

package cluster

import (
	"context"
	"math/rand/v2"
	"net/url"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/hocket-run/hocket/bench/internal/fill"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/service"
)

// storedRuns is how many runs BenchmarkStored stores unless HOCKET_BENCH_RUNS is set.
const storedRuns = 100_000

// BenchmarkStored fills a store with many runs of 20 records, one in a hundred of them paused and
// one in ten failed. The records of nine in ten runs have almost no data, so that a million runs
// take some 6 GB. It reports the 95th percentile of the time to list runs, to show a run, and to
// claim one.
func BenchmarkStored(b *testing.B) {
	runs := storedRuns
	if text := os.Getenv("HOCKET_BENCH_RUNS"); text != "" {
		var err error
		if runs, err = strconv.Atoi(text); err != nil || runs < 1000 {
			b.Fatalf("HOCKET_BENCH_RUNS is %q; it is a number from 1,000 on", text)
		}
	}
	server := pgtest.Start(b,
		pgtest.Config{Settings: map[string]string{"shared_buffers": "512MB", "max_wal_size": "2GB"}})
	s, first := openFilled(b, server.URL(b), runs)
	home := s.Home().Journal
	span := time.Duration(runs) * storedEvery
	random := rand.New(rand.NewPCG(1, 2))
	moment := func() time.Time { return first.Add(time.Duration(random.Int64N(int64(span)))) }
	list := func(q journal.Query) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			q.CreatedBefore = moment()
			began := time.Now()
			_, _, err := home.List(b.Context(), q)
			return time.Since(began), err
		}
	}
	for _, bc := range []struct {
		name string
		do   func() (time.Duration, error)
		goal float64
	}{
		{"list", list(journal.Query{}), 50},
		{"filter-status", list(journal.Query{Statuses: []journal.Status{journal.StatusFailed}}), 50},
		{"filter-rare-status", list(journal.Query{Statuses: []journal.Status{journal.StatusPaused}}), 50},
		{"filter-workflow", list(journal.Query{Workflow: "none"}), 50},
		{"filter-kind", list(journal.Query{Kind: journal.KindScheduler}), 50},
		{"filter-interrupted", list(journal.Query{Interrupted: true}), 50},
		{"open", func() (time.Duration, error) {
			began := time.Now()
			_, err := s.Show(b.Context(), fill.ID(random.IntN(runs/10)*10+opened))
			return time.Since(began), err
		}, 50},
		{"claim", claim(b, home, runs, random), 5},
	} {
		b.Run(bc.name, func(b *testing.B) {
			var p95 []float64
			for b.Loop() {
				took := make([]time.Duration, 200)
				for i := range took {
					var err error
					if took[i], err = bc.do(); err != nil {
						b.Fatal(err)
					}
				}
				p95 = append(p95, milliseconds(percentile(took, 95)))
			}
			atMost(b, "p95-ms", median(p95), bc.goal)
		})
	}
}

const (
	storedEvery = time.Second // interval between two runs
	opened      = 2           // last digit of the numbers of the runs to show
)

// openFilled opens a service on a new store and fills it with copies of a run of 20 records.
func openFilled(b *testing.B, at string, runs int) (*service.Service, time.Time) {
	b.Helper()
	s, start, err := openService(b.Context(), at, work{steps: 19, maxCalls: 100})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	id, err := s.Start(b.Context(), start)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Wait(b.Context(), id); err != nil {
		b.Fatal(err)
	}
	records, err := s.Home().Journal.Read(b.Context(), id, 0)
	if err != nil || len(records) != 20 {
		b.Fatalf("a run has %d records, %v", len(records), err)
	}
	first := time.Now().Add(-time.Duration(runs) * storedEvery)
	c := pgtest.Connect(b, at)
	began := time.Now()
	err = fill.Runs(b.Context(), c, fill.Config{
		Schema: schemaOf(b, at), Run: id, Records: records, Runs: runs, First: first, Every: storedEvery,
		Status: func(i int) journal.Status {
			switch {
			case i%100 == 0:
				return journal.StatusPaused
			case i%10 == 1:
				return journal.StatusFailed
			}
			return journal.StatusCompleted
		},
		IsShort: func(i int) bool { return i%10 != opened },
	})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := c.Exec(b.Context(), "VACUUM ANALYZE"); err != nil {
		b.Fatal(err)
	}
	var bytes int64
	if err := c.QueryRow(b.Context(), `SELECT pg_database_size(current_database())`).Scan(&bytes); err != nil {
		b.Fatal(err)
	}
	b.Logf("%d runs and %d records are stored in %s: %.2f GB", runs, 20*runs, time.Since(began).Round(time.Second),
		float64(bytes)/1e9)
	return s, first
}

// claim returns a function that claims a paused run and releases it; the release is not counted.
func claim(b *testing.B, home journal.Backend, runs int, random *rand.Rand) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		began := time.Now()
		h, err := home.Claim(b.Context(), fill.ID(random.IntN(runs/100)*100))
		took := time.Since(began)
		if err != nil {
			return 0, err
		}
		return took, home.Release(context.WithoutCancel(b.Context()), h.Run, h.Epoch)
	}
}

// schemaOf returns the schema named in a URL of package pgtest.
func schemaOf(b *testing.B, at string) string {
	b.Helper()
	u, err := url.Parse(at)
	if err != nil {
		b.Fatal(err)
	}
	return u.Query().Get("schema")
}

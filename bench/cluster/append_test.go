package cluster

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
)

// benchRecord is the size in bytes of a record that holds the handful of events of one step.
const benchRecord = 400

// openJournal opens the journal of a store, creating it if needed.
func openJournal(b *testing.B, url string) journal.Backend {
	b.Helper()
	at, err := store.Parse(url, store.Servers{Postgres: pghome.New(nil)})
	if err != nil {
		b.Fatal(err)
	}
	home, err := at.Open(b.Context(), store.Config{Kind: journal.KindServe})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := home.Close(); err != nil {
			b.Error(err)
		}
	})
	return home.Journal
}

func benchRun(i int) string { return fmt.Sprintf("01JD%022d", i) }

// BenchmarkAppend measures step appends to one run, and to 1,000 concurrent runs, each in a
// goroutine that waits for its append. It alternates, in turns of half a second, with a floor on
// the same server: rows of the same size in a table without a key, over one connection, committed
// one by one for one run, and with COPY, 1,000 rows per transaction, for 1,000 runs. The goal is
// half of the floor. Figures are medians of the turns.
func BenchmarkAppend(b *testing.B) {
	for _, runs := range []int{1, 1000} {
		b.Run(fmt.Sprintf("runs=%d", runs), func(b *testing.B) {
			url := pgtest.URL(b)
			s := openJournal(b, url)
			next := make([]uint64, runs)
			var wg sync.WaitGroup
			for i := range runs {
				next[i] = 4
				wg.Go(func() {
					err := s.Append(b.Context(), journal.Append{
						Run: benchRun(i), Create: &journal.NewRun{Workflow: "reports/weekly.yaml", Format: "steps",
							Kind: journal.KindServe, Created: time.Now()},
						Record: journal.Record{First: 1, Last: 3, Data: make([]byte, benchRecord)}, At: time.Now(),
						Status: journal.StatusRunning,
					})
					if err != nil {
						b.Error(err)
					}
				})
			}
			wg.Wait()
			c := pgtest.Connect(b, url)
			if _, err := c.Exec(b.Context(), `CREATE TABLE floor (run bigint, last bigint, data bytea)`); err != nil {
				b.Fatal(err)
			}
			floor := func(d time.Duration) float64 { return inserts(b, c, d) }
			if runs > 1 {
				floor = func(d time.Duration) float64 { return copies(b, c, runs, d) }
			}
			var ours, theirs, ratios []float64
			turn := 500 * time.Millisecond
			appends(b, s, next, turn) // so that all statements are prepared
			floor(turn)
			for b.Loop() {
				o, f := appends(b, s, next, turn), floor(turn)
				ours, theirs, ratios = append(ours, o), append(theirs, f), append(ratios, o/f)
			}
			b.ReportMetric(median(ours), "appends/s")
			b.ReportMetric(median(theirs), "floor-rows/s")
			atLeast(b, "of-floor", median(ratios), 0.5)
		})
	}
}

// appends appends to all runs for d, and returns the appends per second.
func appends(b *testing.B, s journal.Backend, next []uint64, d time.Duration) float64 {
	b.Helper()
	data := make([]byte, benchRecord)
	var done atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for i := range next {
		wg.Go(func() {
			for time.Since(began) < d {
				err := s.Append(context.Background(), journal.Append{
					Run: benchRun(i), Epoch: 1, Record: journal.Record{First: next[i], Last: next[i] + 2, Data: data},
					At: time.Now(), Status: journal.StatusRunning,
				})
				if err != nil {
					b.Error(err)
					return
				}
				next[i] += 3
				done.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(done.Load()) / time.Since(began).Seconds()
}

// inserts commits rows one at a time for d, and returns the rows per second.
func inserts(b *testing.B, c *pgx.Conn, d time.Duration) float64 {
	b.Helper()
	data := make([]byte, benchRecord)
	n, began := 0, time.Now()
	for ; time.Since(began) < d; n++ {
		if _, err := c.Exec(context.Background(), `INSERT INTO floor (run, last, data) VALUES ($1, $2, $3)`, 1, n,
			data); err != nil {
			b.Fatal(err)
		}
	}
	return float64(n) / time.Since(began).Seconds()
}

// copies copies batches of rows for d, each in a transaction, and returns the rows per second.
func copies(b *testing.B, c *pgx.Conn, batch int, d time.Duration) float64 {
	b.Helper()
	data := make([]byte, benchRecord)
	n, began := 0, time.Now()
	for time.Since(began) < d {
		_, err := c.CopyFrom(context.Background(), pgx.Identifier{"floor"}, []string{"run", "last", "data"},
			pgx.CopyFromSlice(batch, func(i int) ([]any, error) {
				return []any{int64(i), int64(n), data}, nil
			}))
		if err != nil {
			b.Fatal(err)
		}
		n += batch
	}
	return float64(n) / time.Since(began).Seconds()
}

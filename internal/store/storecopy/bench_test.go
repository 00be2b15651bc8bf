package storecopy_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/storecopy"
)

const (
	benchRecords = 20   // per run
	benchRecord  = 1000 // bytes
	benchBlob    = 20000
)

// BenchmarkCopy copies a file with n and 2n runs of 20 records and a value into PostgreSQL and
// back, with full verification. In the same turn it measures a lower bound: the same number of
// bytes, copied with COPY as rows of a table without a key, 1,000 rows per transaction. The goal is
// 0.3 of that rate; memory does not grow with n. Figures are medians of the turns.
func BenchmarkCopy(b *testing.B) {
	const goal, margin = 0.3, 1.5 // fails if the ratio is worse than the goal by more than half
	for _, n := range []int{1000, 2000} {
		b.Run(fmt.Sprintf("runs=%d", n), func(b *testing.B) {
			from := file(b)
			load(b, from, n)
			url := pgtest.URL(b)
			open(b, locator(b, url, from.KeyFile()), access.DefaultNamespace) // creates the schema
			c := pgtest.Connect(b, url)
			_, err := c.Exec(b.Context(), `CREATE TABLE floor (run bigint, last bigint, seal bytea, data bytea)`)
			do(b, err)
			var there, back, floors, ratios, peaks []float64
			for b.Loop() {
				to := server(b, from)
				size := float64(n * (benchRecords*benchRecord + benchBlob))
				rate := func(work func()) float64 {
					began := time.Now()
					work()
					return size / time.Since(began).Seconds() / (1 << 20)
				}
				stop := watchHeap()
				t := rate(func() { copied(b, from, to, storecopy.Config{}) })
				peaks = append(peaks, stop())
				f := rate(func() { floor(b, c, n*(benchRecords+benchBlob/benchRecord)) })
				r := rate(func() { copied(b, to, file(b), storecopy.Config{}) })
				there, back, floors, ratios = append(there, t), append(back, r), append(floors, f), append(ratios, t/f)
			}
			b.ReportMetric(median(there), "MB/s")
			b.ReportMetric(median(back), "back-MB/s")
			b.ReportMetric(median(floors), "floor-MB/s")
			b.ReportMetric(median(ratios), "of-floor")
			b.ReportMetric(goal, "of-floor-goal")
			if r := median(ratios); r < goal/margin {
				b.Errorf("%.2f of COPY; the goal is %.2f", r, goal)
			}
			b.ReportMetric(median(peaks), "peak-heap-MB")
		})
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// load stores n runs.
func load(b *testing.B, at store.Locator, n int) {
	b.Helper()
	h := open(b, at, access.DefaultNamespace)
	var wg sync.WaitGroup
	for w := range 64 {
		wg.Go(func() {
			draw := rand.NewChaCha8([32]byte{byte(w)})
			bytes := func(n int) []byte {
				out := make([]byte, n)
				_, _ = draw.Read(out)
				return out
			}
			for i := w; i < n; i += 64 {
				run := fmt.Sprintf("01JD%022d", i)
				for k := range uint64(benchRecords) {
					a := journal.Append{Run: run, Epoch: 1, Record: journal.Record{Version: journal.RecordVersion,
						First: k*3 + 1, Last: k*3 + 3, Data: bytes(benchRecord)}, At: day,
						Status: journal.StatusRunning}
					if k == 0 {
						a.Create = &journal.NewRun{Workflow: "reports/weekly.yaml", Format: "steps",
							Kind: journal.KindServe, Created: day}
						a.Blobs = []journal.Blob{journal.NewBlob(bytes(benchBlob))}
					}
					if k == benchRecords-1 {
						a.Status, a.Release = journal.StatusCompleted, true
					}
					if err := h.Journal.Append(b.Context(), a); err != nil {
						b.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	do(b, h.Close())
}

// floor copies rows with as many bytes as records have.
func floor(b *testing.B, c *pgx.Conn, rows int) {
	b.Helper()
	data, seal := make([]byte, benchRecord), make([]byte, 17)
	for at := 0; at < rows; at += 1000 {
		_, err := c.CopyFrom(b.Context(), pgx.Identifier{"floor"}, []string{"run", "last", "seal", "data"},
			pgx.CopyFromSlice(min(1000, rows-at), func(i int) ([]any, error) {
				return []any{int64(i), int64(at), seal, data}, nil
			}))
		do(b, err)
	}
	_, err := c.Exec(b.Context(), `TRUNCATE floor`)
	do(b, err)
}

// watchHeap samples the heap until stop is called; stop returns the largest size in MB.
func watchHeap() (stop func() float64) {
	runtime.GC()
	debug.FreeOSMemory()
	end, peak := make(chan struct{}), make(chan float64)
	go func() {
		most := uint64(0)
		var m runtime.MemStats
		for {
			select {
			case <-end:
				peak <- float64(most) / (1 << 20)
				return
			case <-time.After(5 * time.Millisecond):
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapInuse)
			}
		}
	}()
	return func() float64 {
		close(end)
		return <-peak
	}
}

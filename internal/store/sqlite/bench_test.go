package sqlite_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// benchRecord is the size of a record with a few events of a step.
const benchRecord = 300

func benchRun(i int) string { return fmt.Sprintf("01JD%022d", i) }

func benchCreate(i int) journal.Append {
	at := time.Date(2026, 3, 1, 0, 0, i, 0, time.UTC)
	return journal.Append{
		Run: benchRun(i),
		Create: &journal.NewRun{Workflow: "reports/weekly.yaml", WorkflowName: "Weekly report", Format: "steps",
			Kind: journal.KindServe, Created: at},
		Record: journal.Record{First: 1, Last: 3, Data: make([]byte, benchRecord)},
		At:     at,
		Status: journal.StatusRunning,
	}
}

func benchNext(i int, first uint64, data []byte) journal.Append {
	return journal.Append{
		Run: benchRun(i), Epoch: 1, Record: journal.Record{First: first, Last: first + 2, Data: data},
		At: time.Date(2026, 3, 2, 0, 0, 0, int(first)*1000, time.UTC), Status: journal.StatusRunning,
	}
}

// BenchmarkAppend measures steps of one run (one sync each) and of 50 and 1,000 concurrent runs,
// each as a goroutine that waits for its append. Compare it with BenchmarkRawInsert: the goals are
// 0.8 of its rate for one run, and half of it and 30,000 per second for 1,000.
func BenchmarkAppend(b *testing.B) {
	for _, runs := range []int{1, 50, 1000} {
		b.Run(fmt.Sprintf("runs=%d", runs), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "hocket.db"))
			for i := range runs {
				if err := s.Append(b.Context(), benchCreate(i)); err != nil {
					b.Fatal(err)
				}
			}
			data := make([]byte, benchRecord)
			took := make([]time.Duration, b.N)
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for i := range runs {
				wg.Go(func() {
					first := uint64(4)
					for n := i; n < b.N; n += runs {
						start := time.Now()
						if err := s.Append(context.Background(), benchNext(i, first, data)); err != nil {
							b.Error(err)
							return
						}
						took[n] = time.Since(start)
						first += 3
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			slices.Sort(took)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

func rawDB(b *testing.B, table string) *sql.Conn {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "raw.db")+
		"?_pragma=auto_vacuum(2)&_pragma=journal_mode(wal)&_pragma=synchronous(full)&"+
		"_pragma=wal_autocheckpoint(4000)&_pragma=cache_size(-8192)")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	c, err := db.Conn(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	if _, err := c.ExecContext(b.Context(), table); err != nil {
		b.Fatal(err)
	}
	return c
}

// BenchmarkRawInsert measures the obvious implementation: the same driver, settings and bytes in
// one table with a key, rows of 1,000 runs in turn, from one goroutine through database/sql.
func BenchmarkRawInsert(b *testing.B) {
	for _, batch := range []int{1, 1000} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			c := rawDB(b, `CREATE TABLE records (run INTEGER, seq INTEGER, data BLOB, PRIMARY KEY (run, seq))`)
			insert, err := c.PrepareContext(b.Context(), `INSERT INTO records (run, seq, data) VALUES (?, ?, ?)`)
			if err != nil {
				b.Fatal(err)
			}
			defer insert.Close()
			data := make([]byte, benchRecord)
			exec := func(query string) {
				if _, err := c.ExecContext(context.Background(), query); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += batch {
				exec(`BEGIN IMMEDIATE`)
				for i := range min(batch, b.N-n) {
					if _, err := insert.ExecContext(context.Background(), i, n, data); err != nil {
						b.Fatal(err)
					}
				}
				exec(`COMMIT`)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkRawDriver measures the lower bound of the cost: the same without a key and without
// database/sql. Rows are only appended to the table, and cannot be looked up.
func BenchmarkRawDriver(b *testing.B) {
	for _, batch := range []int{1, 1000} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			err := rawDB(b, `CREATE TABLE records (id INTEGER PRIMARY KEY, run INTEGER, last INTEGER, data BLOB)`).Raw(
				func(dc any) error {
					stmt := func(query string) driver.StmtExecContext {
						s, err := dc.(driver.Conn).Prepare(query)
						if err != nil {
							b.Fatal(err)
						}
						return s.(driver.StmtExecContext)
					}
					exec := func(s driver.StmtExecContext, args ...driver.NamedValue) {
						if _, err := s.ExecContext(context.Background(), args); err != nil {
							b.Fatal(err)
						}
					}
					begin, insert, commit := stmt(`BEGIN IMMEDIATE`),
						stmt(`INSERT INTO records (run, last, data) VALUES (?, ?, ?)`), stmt(`COMMIT`)
					data := make([]byte, benchRecord)
					b.ReportAllocs()
					b.ResetTimer()
					for n := 0; n < b.N; n += batch {
						exec(begin)
						for i := range min(batch, b.N-n) {
							exec(insert, driver.NamedValue{Ordinal: 1, Value: int64(i)},
								driver.NamedValue{Ordinal: 2, Value: int64(n)},
								driver.NamedValue{Ordinal: 3, Value: data})
						}
						exec(commit)
					}
					b.StopTimer()
					return nil
				})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

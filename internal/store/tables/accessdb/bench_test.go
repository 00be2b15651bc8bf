package accessdb_test

import (
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/store/tables/accessdb"
	"github.com/hocket-run/hocket/internal/store/tables/tablestest"
)

// BenchmarkRecord measures the cost that a request pays for its record in the audit log, alone and
// concurrently with others, in each kind of store.
func BenchmarkRecord(b *testing.B) {
	record := access.Record{Namespace: "default", Token: "t1", Actor: "deploy", Channel: "http",
		Action: "POST /api/v1/runs", Target: "01JD000000000000000000000A", Outcome: "ok", Request: "q1",
		Remote: "127.0.0.1:1"}
	for _, at := range []struct {
		name  string
		fresh func(testing.TB) tablestest.Store
	}{
		{"sqlite", tablestest.SQLite}, {"postgres", func(t testing.TB) tablestest.Store {
			return tablestest.Postgres(t, postgres.Access)
		}},
	} {
		for _, many := range []struct {
			name string
			n    int
		}{{"alone", 0}, {"64 at once", 16}} { // per GOMAXPROCS
			b.Run(at.name+"/"+many.name, func(b *testing.B) {
				s := accessdb.New(at.fresh(b).Open(b))
				add := func() {
					r := record
					r.At = time.Now()
					if err := s.Record(b.Context(), r); err != nil {
						b.Fatal(err)
					}
				}
				if many.n == 0 {
					for b.Loop() {
						add()
					}
				} else {
					b.SetParallelism(many.n)
					b.ResetTimer()
					b.RunParallel(func(pb *testing.PB) {
						for pb.Next() {
							add()
						}
					})
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
			})
		}
	}
}

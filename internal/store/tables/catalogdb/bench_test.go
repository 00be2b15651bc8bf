package catalogdb_test

import (
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/store/tables/catalogdb"
)

// BenchmarkStoreHighLatency measures the time to store a workflow of 200 nodes and 200 edges in a
// database with a latency of 2 ms.
func BenchmarkStoreHighLatency(b *testing.B) {
	p := pgtest.NewProxy(b, pgtest.URL(b))
	opened, err := postgres.Open(b.Context(), postgres.Config{URL: p.URL()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = opened.Close() })
	s := catalogdb.New(opened.Tables(postgres.Catalog))
	p.Delay(time.Millisecond)
	n := 0
	for b.Loop() {
		n++
		if _, err := s.Put(b.Context(), []catalog.Put{numbered(n)}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

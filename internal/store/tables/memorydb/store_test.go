package memorydb_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/store/tables/memorydb"
	"github.com/hocket-run/hocket/internal/store/tables/tablestest"
	"github.com/hocket-run/hocket/internal/tool/memory"
	"github.com/hocket-run/hocket/internal/tool/memory/memorytest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	tablestest.Each(t, postgres.Memories, func(t *testing.T, fresh func(t testing.TB) tablestest.Store) {
		memorytest.Run(t, func(t *testing.T) (memory.Store, func() memory.Store) {
			t.Helper()
			s := fresh(t)
			again := func() memory.Store { return memorydb.New(s.Open(t)) }
			return again(), again
		})
	})
}

package memorydb_test

import (
	"path/filepath"
	"testing"

	db "github.com/hocket-run/hocket/internal/store/sqlite"
	"github.com/hocket-run/hocket/internal/store/tables/memorydb"
	"github.com/hocket-run/hocket/internal/tool/memory"
	"github.com/hocket-run/hocket/internal/tool/memory/memorytest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	memorytest.Run(t, func(t *testing.T) (memory.Store, func() memory.Store) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "hocket.db")
		again := func() memory.Store {
			file, err := db.Open(t.Context(), path, db.Config{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = file.Close() })
			return memorydb.New(file)
		}
		return again(), again
	})
}

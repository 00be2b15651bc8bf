package catalogdb_test

import (
	"path/filepath"
	"testing"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/catalog/catalogtest"
	db "github.com/hocket-run/hocket/internal/store/sqlite"
	"github.com/hocket-run/hocket/internal/store/tables/catalogdb"
)

func open(t *testing.T, path string) *catalogdb.Store {
	t.Helper()
	file, err := db.Open(t.Context(), path, db.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	return catalogdb.New(file)
}

func TestStore(t *testing.T) {
	t.Parallel()
	catalogtest.Run(t, func(t *testing.T) catalog.Store { return open(t, filepath.Join(t.TempDir(), "hocket.db")) })
}

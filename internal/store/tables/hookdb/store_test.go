package hookdb_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/api/hooks/hookdata"
	"github.com/hocket-run/hocket/internal/api/hooks/hookdata/hookdatatest"
	"github.com/hocket-run/hocket/internal/catalog"
	db "github.com/hocket-run/hocket/internal/store/sqlite"
	"github.com/hocket-run/hocket/internal/store/tables/catalogdb"
	"github.com/hocket-run/hocket/internal/store/tables/hookdb"
)

func openFile(t *testing.T, path string) *db.Store {
	t.Helper()
	file, err := db.Open(t.Context(), path, db.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

func TestStore(t *testing.T) {
	t.Parallel()
	hookdatatest.Run(t, func(t *testing.T) (hookdata.Store, func() hookdata.Store) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "hocket.db")
		again := func() hookdata.Store { return hookdb.New(openFile(t, path)) }
		return again(), again
	})
}

// TestWorkflowDeleted: webhooks of a deleted workflow are disabled with it, and a new workflow of its id does not get them (SEC18).
func TestWorkflowDeleted(t *testing.T) {
	t.Parallel()
	file := openFile(t, filepath.Join(t.TempDir(), "hocket.db"))
	s, stored := hookdb.New(file), catalogdb.New(file)
	save := func(id string) {
		t.Helper()
		if _, err := stored.Put(t.Context(), []catalog.Put{{ID: id, Format: "steps", Name: id, Text: []byte("x: y"), At: time.Now()}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	save("w")
	save("other")
	for _, w := range []string{"w", "other"} {
		if _, err := s.SetWebhook(t.Context(), "wh_"+w, func(h *hookdata.Webhook) error {
			*h = hookdata.Webhook{Path: w, Workflow: w, Created: time.Now().UTC()}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	disabled := func(id string) bool {
		t.Helper()
		w, err := s.Webhook(t.Context(), hookdata.Webhook{Path: id}.Digest())
		if err != nil {
			t.Fatal(err)
		}
		return !w.Disabled.IsZero() && w.Reason != ""
	}
	if disabled("w") {
		t.Error("disabled before")
	}
	if err := stored.Delete(t.Context(), "w", ""); err != nil {
		t.Fatal(err)
	}
	save("w")
	if !disabled("w") || disabled("other") {
		t.Errorf("w: %v, other: %v", disabled("w"), disabled("other"))
	}
}

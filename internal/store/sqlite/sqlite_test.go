package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/journal/journaltest"
	"github.com/hocket-run/hocket/internal/store/sqlite"
)

func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Config{Kind: journal.KindRun})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, func(t *testing.T) journaltest.Medium {
		path := filepath.Join(t.TempDir(), "hocket.db")
		return journaltest.Medium{
			OwnedOnly: true,
			NoDeltas:  true,
			Open:      func(t *testing.T) journal.Backend { return open(t, path) },
			Damage:    func(t *testing.T, d journaltest.Damage) { damage(t, path, d) },
		}
	})
}

// raw changes the file behind the store's back.
func raw(t testing.TB, path, query string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	res, err := db.ExecContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		t.Fatalf("%s: nothing changed, %v", query, err)
	}
}

var damages = map[journaltest.DamageKind]string{
	journaltest.FlipRecord: `UPDATE records SET data = CAST('E' || substr(data, 2) AS BLOB)
WHERE run = (SELECT id FROM runs WHERE run = ?) AND last = ?`,
	journaltest.DropRecord: `DELETE FROM records WHERE run = (SELECT id FROM runs WHERE run = ?) AND last = ?`,
	journaltest.NewerRecord: `UPDATE records SET seal = unhex('03' || substr(hex(seal), 3))
WHERE run = (SELECT id FROM runs WHERE run = ?) AND last = ?`,
	journaltest.FlipBlob: `UPDATE blobs SET data = CAST('S' || substr(data, 2) AS BLOB) WHERE hash = unhex(?)`,
}

func damage(t *testing.T, path string, d journaltest.Damage) {
	t.Helper()
	query := damages[d.Kind]
	switch d.Kind {
	case journaltest.FlipBlob:
		raw(t, path, query, d.Hash)
	default:
		raw(t, path, query, d.Run, d.Seq)
	}
}

package postgres_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/journal/journaltest"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store/postgres"
)

func open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Config{URL: url, Kind: journal.KindRun})
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
		url := pgtest.Reused(t)
		return journaltest.Medium{
			Open:   func(t *testing.T) journal.Backend { return open(t, url) },
			Damage: func(t *testing.T, d journaltest.Damage) { damage(t, url, d) },
		}
	})
}

var damages = map[journaltest.DamageKind]string{
	journaltest.FlipRecord: `UPDATE records SET data = 'E'::bytea || substring(data FROM 2) WHERE run = (SELECT id ` +
		`FROM runs WHERE run = $1) AND last = $2`,
	journaltest.DropRecord: `DELETE FROM records WHERE run = (SELECT id FROM runs WHERE run = $1) AND last = $2`,
	journaltest.NewerRecord: `UPDATE records SET seal = '\x03'::bytea || substring(seal FROM 2) WHERE run = (SELECT ` +
		`id FROM runs WHERE run = $1) AND last = $2`,
	journaltest.FlipBlob: `UPDATE blobs SET data = 'S'::bytea || substring(data FROM 2) WHERE hash = ` +
		`decode($1, 'hex')`,
}

// damage changes the tables behind the store's back.
func damage(t *testing.T, url string, d journaltest.Damage) {
	t.Helper()
	args := []any{[]byte(d.Run), d.Seq}
	if d.Kind == journaltest.FlipBlob {
		args = []any{d.Hash}
	}
	tag, err := pgtest.Connect(t, url).Exec(t.Context(), damages[d.Kind], args...)
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("%s: %d rows, %v", d.Kind, tag.RowsAffected(), err)
	}
}

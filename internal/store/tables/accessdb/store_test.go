package accessdb_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/access/accesstest"
	"github.com/hocket-run/hocket/internal/store/postgres"
	db "github.com/hocket-run/hocket/internal/store/sqlite"
	"github.com/hocket-run/hocket/internal/store/tables/accessdb"
	"github.com/hocket-run/hocket/internal/store/tables/tablestest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	tablestest.Each(t, postgres.Access, func(t *testing.T, fresh func(t testing.TB) tablestest.Store) {
		accesstest.Run(t, func(t *testing.T) (accesstest.Both, func() accesstest.Both) {
			t.Helper()
			at := fresh(t)
			again := func() accesstest.Both {
				s := accessdb.New(at.Open(t))
				s.Keep = accesstest.Keep
				return s
			}
			return again(), again
		})
	})
}

// TestAtRestInServer is like TestAtRest, for all columns of all tables in PostgreSQL.
func TestAtRestInServer(t *testing.T) {
	t.Parallel()
	at := tablestest.Postgres(t, postgres.Access)
	s := accessdb.New(at.Open(t))
	text, _, err := access.NewTokens(access.Config{Store: s}).Create(t.Context(),
		access.Grant{Name: "the-deploy-job", Role: access.RoleEdit})
	if err != nil {
		t.Fatal(err)
	}
	var stored string
	if err := at.SQL(t).QueryRowContext(t.Context(), `SELECT string_agg(a::text, ' ') FROM access_tokens a`).Scan(
		&stored); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{text, text[3:], text[:24], text[23:], hex.EncodeToString([]byte(text))} {
		if strings.Contains(stored, part) {
			t.Errorf("a part of %d characters is stored", len(part))
		}
	}
	if !strings.Contains(stored, "the-deploy-job") {
		t.Error("the search does not find the name")
	}
}

// TestAtRest checks that the file contains no token, nor any usable part of one (SEC2). The token's
// name is searched for in the same way, which shows that the search works.
func TestAtRest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, err := db.Open(t.Context(), filepath.Join(dir, "hocket.db"), db.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := accessdb.New(file)
	tokens := access.NewTokens(access.Config{Store: s})
	text, made, err := tokens.Create(t.Context(), access.Grant{Name: "the-deploy-job", Role: access.RoleEdit})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Find(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	if err := s.Record(t.Context(), access.Record{Action: "GET /", Outcome: "ok"}.By(made.Principal())); err != nil {
		t.Fatal(err)
	}
	count := func(what string) (n int) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(dir, "hocket.db*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if st, err := os.Stat(name); err != nil || st.IsDir() {
				continue
			}
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			n += bytes.Count(data, []byte(what))
		}
		return n
	}
	// Once with the log next to the file, as while the server runs, and once after the log was
	// folded in.
	for range 2 {
		for _, part := range []string{text, text[3:], text[:24], text[23:]} {
			if n := count(part); n != 0 {
				t.Errorf("%d times a part of %d characters", n, len(part))
			}
		}
		if n := count("the-deploy-job"); n == 0 {
			t.Error("the search does not find the name")
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

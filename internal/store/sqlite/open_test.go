package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/sqlite"
)

func tryOpen(t *testing.T, path string) error {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Config{})
	if err == nil {
		err = s.Close()
	}
	return err
}

// TestOpenRefuses checks that a file that is not a Hocket store results in a typed error and stays
// unchanged (P17).
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	execute := func(t *testing.T, path string, statements ...string) {
		t.Helper()
		db, err := sql.Open("sqlite", "file:"+path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, s := range statements {
			if _, err := db.ExecContext(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
	isNewer := func(err error) bool {
		e, ok := errors.AsType[*journal.NewerError](err)
		return ok && e.Found == 99 && e.Have >= 1 && e.What == "store"
	}
	isOld := func(err error) bool { return errors.Is(err, journal.ErrOldStore) }
	isNotStore := func(err error) bool { return errors.Is(err, journal.ErrNotStore) }
	for _, tt := range []struct {
		name string
		make func(t *testing.T, path string)
		want func(err error) bool
	}{
		{"text", func(t *testing.T, path string) {
			if err := os.WriteFile(path, bytes.Repeat([]byte("a workflow\n"), 1000), 0o600); err != nil {
				t.Fatal(err)
			}
		}, isNotStore},
		{"short text", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, isNotStore},
		{"another program's database", func(t *testing.T, path string) {
			execute(t, path, `CREATE TABLE runs (id INTEGER)`)
		}, isNotStore},
		{"another program's number", func(t *testing.T, path string) {
			execute(t, path, `PRAGMA application_id = 7`, `PRAGMA user_version = 1`)
		}, isNotStore},
		{"newer store", func(t *testing.T, path string) {
			if err := tryOpen(t, path); err != nil {
				t.Fatal(err)
			}
			execute(t, path, `PRAGMA user_version = 99`)
		}, isNewer},
		{"store of a build before the first release", func(t *testing.T, path string) {
			if err := tryOpen(t, path); err != nil {
				t.Fatal(err)
			}
			execute(t, path, `PRAGMA user_version = 13`)
		}, isOld},
		{"a folder", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, func(err error) bool { return err != nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "hocket.db")
			tt.make(t, path)
			before, _ := os.ReadFile(path) // a folder has no content
			if err := tryOpen(t, path); !tt.want(err) {
				t.Errorf("got error %v", err)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
		})
	}
}

// TestOpen_Paths checks that the file and the folders are private to their owner, and that all
// names of a file lead to one store.
func TestOpen_Paths(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Log("modes mean nothing here")
		return
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "new", "a?b%20'c#d", "hocket.db")
	s := open(t, path)
	if err := s.Append(t.Context(), benchCreate(0)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{
		filepath.Join(dir, "new"): 0o700 | os.ModeDir, filepath.Dir(path): 0o700 | os.ModeDir,
		path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600,
		path + ".owners": 0o700 | os.ModeDir, filepath.Join(path+".owners", s.Owner().ID+".lock"): 0o600,
	} {
		st, err := os.Stat(name)
		if err != nil || st.Mode() != want {
			t.Errorf("%s: %v, want %v, %v", strings.TrimPrefix(name, dir), st.Mode(), want, err)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 4 {
		t.Errorf("beside the store: %v, %v", entries, err)
	}
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, link).Claim(t.Context(), benchRun(0))
	if !errors.Is(err, journal.ErrOwned) {
		t.Errorf("claim by another name of the file: %v", err)
	}
}

// TestOpen_NoTraces checks that a handle that owns nothing leaves nothing behind.
func TestOpen_NoTraces(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	s := open(t, path)
	if _, _, err := s.List(t.Context(), journal.Query{Interrupted: true}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Take(t.Context()); got != nil || err != nil {
		t.Errorf("take: %v, %v", got, err)
	}
	if _, err := os.Stat(path + ".owners"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder of owners: %v", err)
	}
	if n := number(t, path, `SELECT count(*) FROM owners`); n != 0 {
		t.Errorf("%d owners", n)
	}
}

// TestOpen_Concurrent checks that many callers can open a new file at once.
func TestOpen_Concurrent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			s, err := sqlite.Open(t.Context(), path, sqlite.Config{})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Append(t.Context(), benchCreate(i)); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if page, _, err := open(t, path).List(t.Context(), journal.Query{}); err != nil || len(page) != 20 {
		t.Errorf("%d runs, %v", len(page), err)
	}
}

// TestDamagedFile checks corruption that SQLite itself detects (P17): a page of the records is
// overwritten.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	s := open(t, path)
	a := benchCreate(0)
	a.Record.Data = make([]byte, 200_000)
	if err := s.Append(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	pages := size(t, path) / 4096
	for _, tt := range []struct {
		name string
		harm func(b []byte) []byte
	}{
		{"overwritten at the end", func(b []byte) []byte {
			return append(b[:(pages-2)*4096:(pages-2)*4096], bytes.Repeat([]byte{0xff}, 8192)...)
		}},
		{"cut", func(b []byte) []byte { return b[:(pages-10)*4096] }},
		{"cut in the head", func(b []byte) []byte { return b[:4000] }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			harmed := filepath.Join(t.TempDir(), "hocket.db")
			if err := os.WriteFile(harmed, tt.harm(bytes.Clone(whole)), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := sqlite.Open(t.Context(), harmed, sqlite.Config{})
			if err == nil {
				defer s.Close()
				var records []journal.Record
				if records, err = s.Read(t.Context(), a.Run, 0); records != nil {
					t.Errorf("got %d records", len(records))
				}
			}
			if _, isCorrupt := errors.AsType[*journal.CorruptError](err); !isCorrupt &&
				!errors.Is(err, journal.ErrNotStore) {
				t.Errorf("got error %v", err)
			}
		})
	}
}

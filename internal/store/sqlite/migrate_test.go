package sqlite

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
)

// later returns this program's migrations and those of two hypothetical later releases.
func later(t *testing.T) []migration {
	t.Helper()
	steps, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	v := newest(steps)
	return append(steps,
		migration{v + 1, "one", "ALTER TABLE runs ADD COLUMN one TEXT; PRAGMA user_version = " + sqlText(digits(v+1)) +
			";"},
		migration{v + 2, "two", "ALTER TABLE runs ADD COLUMN two TEXT; PRAGMA user_version = " + sqlText(digits(v+2)) +
			";"})
}

func digits(v int) string { return string([]byte{byte('0' + v/10), byte('0' + v%10)}) }

// migrateTo brings a file up to date the way a program with these migrations does.
func migrateTo(t *testing.T, path string, steps []migration) (version int, _ error) {
	t.Helper()
	c, err := openWriter(t.Context(), path)
	if err != nil {
		return 0, err
	}
	defer c.close()
	have, err := schemaVersion(t.Context(), c, steps)
	if err == nil {
		err = migrate(t.Context(), c, steps, have)
	}
	version, stateErr := schemaVersion(t.Context(), c, steps)
	return version, errors.Join(err, stateErr)
}

// TestMigrate checks that an older store is brought up to date in place, each step once, by
// whichever of several processes comes first, and that the older program then rejects it (P38).
func TestMigrate(t *testing.T) {
	t.Parallel()
	path, steps := filepath.Join(t.TempDir(), "hocket.db"), later(t)
	s, err := Open(t.Context(), path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			c, err := dial(t.Context(), path) // like openWriter, but without its version check
			if err != nil {
				t.Error(err)
				return
			}
			defer c.close()
			if _, err := c.exec("PRAGMA busy_timeout = 60000"); err != nil {
				t.Error(err)
			}
			have, err := schemaVersion(t.Context(), c, steps)
			if err == nil {
				err = migrate(t.Context(), c, steps, have)
			}
			if v, stateErr := schemaVersion(t.Context(), c, steps); err != nil || stateErr != nil ||
				v != newest(steps) {
				t.Errorf("version %d, %v, %v", v, err, stateErr)
			}
		})
	}
	group.Wait()
	if _, err := Open(t.Context(), path, Config{}); !isNewer(err, newest(steps)) {
		t.Errorf("the older program: %v", err)
	}
}

// TestMigrateFails checks that a failed step leaves the store as the step before it left it.
func TestMigrateFails(t *testing.T) {
	t.Parallel()
	path, steps := filepath.Join(t.TempDir(), "hocket.db"), later(t)
	last := &steps[len(steps)-1]
	last.sql = "ALTER TABLE runs ADD COLUMN two TEXT; CREATE TABLE runs (id INTEGER);"
	v, err := migrateTo(t, path, steps)
	if err == nil || v != last.version-1 {
		t.Errorf("version %d, %v", v, err)
	}
}

func isNewer(err error, found int) bool {
	e, ok := errors.AsType[*journal.NewerError](err)
	return ok && e.Found == found
}

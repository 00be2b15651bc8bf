package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/store"
)

func parse(t *testing.T, text string) store.Locator {
	t.Helper()
	l, err := store.Parse(text, store.Servers{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestNamespace checks that a namespace's store is in a folder next to the default one, whatever
// link leads there, and that no name leads out of that folder (SEC16).
func TestNamespace(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "real.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.db", filepath.Join(dir, "link.db")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ db, name, want string }{
		{"/x/hocket.db", "default", "/x/hocket.db"},
		{"/x/hocket.db", "a", "/x/hocket.namespaces/a.db"},
		{"/x/store", "a-1", "/x/store.namespaces/a-1.db"},
		{filepath.Join(dir, "link.db"), "a", filepath.Join(dir, "real.namespaces", "a.db")},
		{store.Memory, "a", store.Memory},
	} {
		if got, err := parse(t, c.db).Namespace(c.name); err != nil || got.String() != c.want {
			t.Errorf("%s, %s: %s, %v", c.db, c.name, got, err)
		}
	}
	for _, name := range []string{"", "..", "a/b", "../default", `..\x`, "A", "a.db", "a\x00"} {
		var invalid *access.InvalidError
		if got, err := parse(t, "/x/hocket.db").Namespace(name); !errors.As(err, &invalid) {
			t.Errorf("%q: %s, %v", name, got, err)
		}
	}
}

// TestParse checks that paths and memory are accepted, that URLs are rejected by kind, and that no
// password is shown.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{store.Memory, "hocket.db", "/x/y.db", `C:\x\y.db`, "a:b", "postgres"} {
		if l, err := store.Parse(text, store.Servers{}); err != nil || l.String() != text ||
			l.IsMemory() != (text == store.Memory) {
			t.Errorf("%q: %v, %v", text, l, err)
		}
	}
	for text, want := range map[string]string{
		"":                               "the store has no path",
		"postgres:/ann:secret@db/runs":   "the URL of the store is not valid: it does not begin with postgres://",
		"PostgreSQL//ann:secret@db/runs": "the URL of the store is not valid: it does not begin with postgres://",
		"postgres://ann:secret@db.example.com:5432/runs?password=secret": "cannot use the store " +
			"postgres://db.example.com:5432/runs: this program was built without PostgreSQL; give the path of a " +
			"file, or :memory:",
		"POSTGRESQL://ann:secret@db/runs": "cannot use the store " +
			"POSTGRESQL://db/runs: this program was built without PostgreSQL; give the path of a file, or :memory:",
		"postgres://ann:sec ret@%zz": "cannot use the store postgres://…: this " +
			"program was built without PostgreSQL; give the path of a file, or :memory:",
		"postgres://ann:12/34@db/runs": "cannot use the store postgres://…: this " +
			"program was built without PostgreSQL; give the path of a file, or :memory:",
		"postgres://ann:12?34@db/runs": "cannot use the store postgres://…: this " +
			"program was built without PostgreSQL; give the path of a file, or :memory:",
		"postgres://ann:12#34@db/runs": "cannot use the store postgres://…: this " +
			"program was built without PostgreSQL; give the path of a file, or :memory:",
		"mysql://db/x": `cannot use the store mysql://db/x: stores ` +
			`of kind "mysql" are not supported; give the path of a file, or :memory:`,
	} {
		if _, err := store.Parse(text, store.Servers{}); err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
		if _, err := store.Open(t.Context(), text, store.Config{}); err == nil || err.Error() != want {
			t.Errorf("open %q: %v", text, err)
		}
	}
}

// TestLook checks that Look reports whether a home can be created before one is.
func TestLook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "a", "b", "hocket.db"), filepath.Join(dir, "hocket.db"),
		store.Memory} {
		view, err := parse(t, path).Look(t.Context())
		if err != nil || view.CanCreate != nil || view.Exists != (path == store.Memory) {
			t.Errorf("%s: %+v, %v", path, view, err)
		}
	}
	if view, err := parse(t, filepath.Join(file, "hocket.db")).Look(t.Context()); err == nil && view.CanCreate == nil {
		t.Errorf("below a file: %+v", view)
	}
}

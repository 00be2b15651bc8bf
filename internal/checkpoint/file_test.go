package checkpoint_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/checkpoint"
	"github.com/hocket-run/hocket/internal/checkpoint/checkpointtest"
)

func openFiles(t *testing.T, dir string) *checkpoint.Files {
	t.Helper()
	f, err := checkpoint.OpenFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestFiles(t *testing.T) {
	t.Parallel()
	checkpointtest.Run(t, func(t *testing.T) checkpointtest.Store {
		return openFiles(t, filepath.Join(t.TempDir(), "new", "folder"))
	})
}

// saved returns the checkpoint files under dir, by age.
func saved(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*", "*.checkpoint"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestFilesDamage checks that a state that differs from what was saved is reported as a
// *CorruptError, never returned, and can be deleted (P17).
func TestFilesDamage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		damage func(text string) string
		reason string
		lists  bool // the labels can still be read
	}{
		{"state altered", func(s string) string { return strings.Replace(s, `{"n":2}`, `{"n":3}`, 1) },
			"the state differs from the saved digest", true},
		{"state cut", func(s string) string { return s[:len(s)-1] }, "the state differs from the saved digest", true},
		{"state longer", func(s string) string { return s + " " }, "the state differs from the saved digest", true},
		{"empty", func(string) string { return "" }, "it has no header", false},
		{"header cut", func(s string) string { return s[:20] }, "it has no header", false},
		{"no header", func(string) string { return "{}\n1" }, "it has no header", false},
		{"long line", func(string) string { return strings.Repeat("x", 1<<20) }, "it has no header", false},
		{"another label", func(s string) string { return strings.Replace(s, `"step_2"`, `"step_3"`, 1) },
			"its header does not match its name", false},
		{"another run", func(s string) string {
			return strings.Replace(s, `"r"`, `"q"`, 1)
		}, "its header does not match its name", false},
		{"newer", func(s string) string { return strings.Replace(s, `"version":1`, `"version":2`, 1) }, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			f := openFiles(t, dir)
			for _, s := range []string{"1", "2"} {
				if err := f.Save(t.Context(), "r", json.RawMessage(`{"n":`+s+`}`), "step_"+s); err != nil {
					t.Fatal(err)
				}
			}
			name := saved(t, dir)[1]
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(tt.damage(string(text))), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, label := range []string{"step_2", ""} {
				got, err := f.Load(t.Context(), "r", label)
				corrupt, isCorrupt := errors.AsType[*checkpoint.CorruptError](err)
				if got != nil || err == nil || isCorrupt != (tt.reason != "") || isCorrupt &&
					!strings.HasPrefix(corrupt.Reason, tt.reason) {
					t.Errorf("label %q: got %s, %v", label, got, err)
				}
			}
			if got, err := f.Load(t.Context(), "r", "step_1"); err != nil || string(got) != `{"n":1}` {
				t.Errorf("the other: got %s, %v", got, err)
			}
			if _, err := f.List(t.Context(), "r"); (err == nil) != tt.lists {
				t.Errorf("list: got %v", err)
			}
			if err := f.Delete(t.Context(), "r", "step_2"); err != nil {
				t.Fatal(err)
			}
			if labels, err := f.List(t.Context(), "r"); err != nil || !cmp.Equal(labels, []string{"step_1"}) {
				t.Errorf("after delete: got %v, %v", labels, err)
			}
		})
	}
}

// TestFilesInterrupted checks that the remains of a process that died during a save are ignored.
func TestFilesInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := openFiles(t, dir)
	save := func(label, state string) {
		t.Helper()
		if err := f.Save(t.Context(), "r", json.RawMessage(state), label); err != nil {
			t.Fatal(err)
		}
	}
	save("a", `1`)
	first := saved(t, dir)[0]
	text, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	save("b", `2`)
	save("a", `3`)
	// one process died before it removed the old file, another while it wrote
	for name, content := range map[string]string{first: string(text),
		filepath.Join(filepath.Dir(first), ".ABC"): `{"hocket":`} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if labels, err := f.List(t.Context(), "r"); err != nil || !cmp.Equal(labels, []string{"b", "a"}) {
		t.Errorf("got %v, %v", labels, err)
	}
	if got, err := f.Load(t.Context(), "r", "a"); err != nil || string(got) != `3` {
		t.Errorf("got %s, %v", got, err)
	}
	if err := f.Delete(t.Context(), "r", "a"); err != nil {
		t.Fatal(err)
	}
	if labels, err := f.List(t.Context(), "r"); err != nil || !cmp.Equal(labels, []string{"b"}) {
		t.Errorf("after delete: got %v, %v", labels, err)
	}
}

// TestFilesReopened checks that another process finds the saved states, and that nothing is
// readable for other users.
func TestFilesReopened(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "checkpoints")
	f := openFiles(t, dir)
	if err := f.Save(t.Context(), "r", json.RawMessage(`1`), "a"); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err == nil && runtime.GOOS != "windows" && st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, st.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if err := f.Save(t.Context(), "r", json.RawMessage(`1`), "a"); !errors.Is(err, checkpoint.ErrClosed) {
		t.Errorf("save after close: %v", err)
	}
	if _, err := f.Load(t.Context(), "r", "a"); !errors.Is(err, checkpoint.ErrClosed) {
		t.Errorf("load after close: %v", err)
	}
	if got, err := openFiles(t, dir).Load(t.Context(), "r", "a"); err != nil || string(got) != `1` {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestFilesLinks checks that no symbolic link in the directory leads outside it (SEC16).
func TestFilesLinks(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	f := openFiles(t, dir)
	if err := f.Save(t.Context(), "r", json.RawMessage(`1`), "a"); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(saved(t, dir)[0])
	if err := os.Rename(folder, filepath.Join(outside, "r")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "r"), folder); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Load(t.Context(), "r", "a"); err == nil {
		t.Errorf("read %s through a link", got)
	}
	if err := f.Save(t.Context(), "r", json.RawMessage(`2`), "a"); err == nil {
		t.Error("wrote through a link")
	}
	if err := f.Delete(t.Context(), "r", ""); err != nil {
		t.Fatal(err)
	}
	if left := saved(t, outside); len(left) != 1 {
		t.Errorf("deleted through a link: %v are left", left)
	}
}

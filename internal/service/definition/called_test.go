package definition

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestCanonicalPath checks that a location is the file itself, whichever path leads to it.
func TestCanonicalPath(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "notes.yaml")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Mkdir(filepath.Join(dir, "dl"), 0o700),
		os.Symlink("../notes.yaml", filepath.Join(dir, "dl", "link.yaml"))); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(dir, "dl", "..", "notes.yaml"),
		filepath.Join(dir, "dl", "link.yaml")} {
		if got := PlaceOf(path); got != file {
			t.Errorf("PlaceOf(%s) = %s, want %s", path, got, file)
		}
	}
	if got := []string{PlaceOf("-"), PlaceOf(filepath.Join(dir, "none.yaml"))}; !slices.Equal(got, []string{"", ""}) {
		t.Errorf("places of nothing: %q", got)
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestNotice checks that each NOTICE equals the command's output, so that it names each linked
// module with its version.
func TestNotice(t *testing.T) {
	t.Parallel()
	for _, root := range roots {
		root = filepath.Join("..", "..", "..", root)
		want, err := notice(t.Context(), root)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(root, "NOTICE"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s/NOTICE is stale: run `go run ./internal/cmd/notice`, or `make docs`", root)
		}
	}
}

// TestNoLicence checks that a module without a license is an error.
func TestNoLicence(t *testing.T) {
	t.Parallel()
	for _, m := range []module{{"example.org/a", "v1.0.0", t.TempDir()}, {"example.org/b", "v1.0.0", ""}} {
		if text, err := licences(m); err == nil {
			t.Errorf("%s: %q", m.Path, text)
		}
	}
}

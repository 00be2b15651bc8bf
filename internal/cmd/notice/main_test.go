package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNotice checks that the notice of each program names each linked module with its version.
func TestNotice(t *testing.T) {
	t.Parallel()
	for _, root := range roots {
		root = filepath.Join("..", "..", "..", root)
		got, err := notice(t.Context(), root)
		if err != nil {
			t.Fatal(err)
		}
		list, err := os.ReadFile(filepath.Join(root, "testdata", "modules.txt"))
		if err != nil {
			t.Fatal(err)
		}
		modules := strings.Fields(string(list))
		if len(modules) == 0 {
			t.Fatalf("%s: no modules", root)
		}
		for _, m := range modules {
			if !regexp.MustCompile(`(?m)\b` + regexp.QuoteMeta(m) + ` v\d`).Match(got) {
				t.Errorf("%s: the notice does not name %s with its version", root, m)
			}
		}
	}
}

// TestLegalTexts_None checks that a module without a license is an error.
func TestLegalTexts_None(t *testing.T) {
	t.Parallel()
	for _, m := range []module{{"example.org/a", "v1.0.0", t.TempDir()}, {"example.org/b", "v1.0.0", ""}} {
		if text, err := legalTexts(m); err == nil {
			t.Errorf("%s: %q", m.Path, text)
		}
	}
}

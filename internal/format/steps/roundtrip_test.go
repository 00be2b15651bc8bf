package steps_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/hocket-run/hocket/internal/format/steps"
	"github.com/hocket-run/hocket/workflow"
)

// TestWrite_RoundTrip writes every workflow of the corpus and checks that reading it again yields
// the same definition and that nothing was inexpressible (P29).
func TestWrite_RoundTrip(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/read/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			w, diags := read(t, string(a.Files[0].Data), steps.Options{})
			if diags.HasErrors() {
				return
			}
			checkRoundTrip(t, w)
		})
	}
}

func checkRoundTrip(t *testing.T, w *workflow.Workflow) {
	t.Helper()
	data, unsupported := steps.Write(w)
	if len(unsupported) > 0 {
		t.Errorf("unsupported: %v", unsupported)
	}
	again, diags := read(t, string(data), steps.Options{})
	if diags.HasErrors() {
		t.Fatalf("written document has errors:\n%s\n%s", diags.Error(), data)
	}
	if diff := cmp.Diff(workflow.Print(w), workflow.Print(again)); diff != "" {
		t.Fatalf("-first +again:\n%s\n%s", diff, data)
	}
	if digest(t, w) != digest(t, again) {
		t.Errorf("the digests differ, though both print alike:\n%s", data)
	}
}

func digest(t *testing.T, w *workflow.Workflow) string {
	t.Helper()
	d, err := w.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

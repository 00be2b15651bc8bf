package steps_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/format/steps"
	"github.com/hocket-run/hocket/workflow"
)

// FuzzRead checks that no document makes Read or Write panic, that a document without errors of its
// own yields a valid graph, and that such a graph survives Write and Read.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(a.Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		root, diags := source.Options{MaxBytes: 1 << 16}.Parse("in.yaml", data)
		if root == nil {
			return
		}
		steps.Detect(root)
		w, more := steps.Read(root, steps.Options{})
		if diags.HasErrors() || more.HasErrors() {
			steps.Write(w)
			return
		}
		for _, d := range workflow.Validate(w) {
			switch d.Code {
			case "subagent-cycle", "subagent-self", "bad-json", "unknown-word":
				return // Validate reports that
			}
			t.Fatalf("%s\n%s", d, data)
		}
		out, unsupported := steps.Write(w)
		if len(unsupported) > 0 {
			t.Fatalf("unsupported: %v\n%s", unsupported, data)
		}
		again, diags := read(t, string(out), steps.Options{})
		if diags.HasErrors() {
			t.Fatalf("%s\nfirst:\n%s\nagain:\n%s", diags.Error(), data, out)
		}
		if digest(t, w) != digest(t, again) {
			t.Fatalf("first:\n%s\n%s\nagain:\n%s\n%s", data, workflow.Print(w), out, workflow.Print(again))
		}
	})
}

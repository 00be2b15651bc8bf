package steps_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/format/steps"
	"github.com/hocket-run/hocket/workflow"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the files under testdata")

func read(t *testing.T, doc string, opts steps.Options) (*workflow.Workflow, diag.List) {
	t.Helper()
	root, diags := source.Parse("in.yaml", []byte(doc))
	if root == nil || slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.Code == source.CodeTooManyValues }) {
		return &workflow.Workflow{}, diags
	}
	w, more := steps.Read(root, opts)
	diags = append(diags, more...)
	if !diags.HasErrors() {
		diags = append(diags, workflow.Validate(w)...)
	}
	diags.Sort()
	return w, diags
}

// TestRead compares documents with the workflow and the diagnostics that they give. Each file names the rules that it shows.
func TestRead(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no test files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), "testdata/"), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			w, diags := read(t, string(a.Files[0].Data), steps.Options{})
			if broken := strings.HasPrefix(file, filepath.Join("testdata", "broken")); broken != diags.HasErrors() {
				t.Errorf("has errors: %t, in a folder where it is %t", diags.HasErrors(), broken)
			}
			got := map[string]string{"out/diag": lines(diags)}
			if !diags.HasErrors() {
				got["out/ir"] = workflow.Print(w)
			}
			if *update {
				a.Files = a.Files[:1]
				for _, name := range []string{"out/ir", "out/diag"} {
					if got[name] != "" {
						a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(got[name])})
					}
				}
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want := map[string]string{}
			for _, f := range a.Files[1:] {
				want[f.Name] = string(f.Data)
			}
			for _, name := range []string{"out/ir", "out/diag"} {
				if diff := cmp.Diff(want[name], got[name]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func lines(l diag.List) string {
	var b strings.Builder
	for _, d := range l {
		b.WriteString(d.String() + "\n")
	}
	return b.String()
}

package canvas_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/canvas"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

var update = flag.Bool("update", false, "write the golden files anew")

// read does what package format does with a document: parse, read, and look at the graph where that gave no errors.
func read(name string, data []byte, opts canvas.Options) (*workflow.Workflow, diag.List) {
	root, diags := source.Parse(name, data)
	if root == nil {
		return nil, diags
	}
	w, more := canvas.Read(root, opts)
	diags = append(diags, more...)
	if !diags.HasErrors() {
		diags = append(diags, workflow.Validate(w)...)
	}
	if !diags.HasErrors() {
		diags = append(diags, workflow.Lint(w)...)
	}
	diags.Sort()
	return w, diags
}

// report gives the problems as lines, with the places that belong to them.
func report(l diag.List) string {
	var b strings.Builder
	for _, d := range l {
		b.WriteString(d.String())
		if d.Path != "" {
			b.WriteString(" @ " + d.Path)
		}
		b.WriteByte('\n')
		for _, r := range d.Related {
			fmt.Fprintf(&b, "\t%s: %s\n", r.Span, r.Message)
		}
	}
	return b.String()
}

// The archives of testdata hold documents, each with the workflow (`.ir`, left out where there are errors) and the problems (`.diag`, left out
// where there are none) that reading it gives.
func TestCorpus(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no corpus", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := &txtar.Archive{Comment: a.Comment}
			add := func(name, text string) {
				if text != "" {
					got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(text)})
				}
			}
			for _, f := range a.Files {
				name := strings.TrimSuffix(f.Name, path.Ext(f.Name))
				if ext := path.Ext(f.Name); ext != ".json" && ext != ".yaml" {
					continue
				}
				got.Files = append(got.Files, f)
				w, diags := read(f.Name, f.Data, canvas.Options{Missing: []string{"search_docs"}})
				if !diags.HasErrors() {
					add(name+".ir", workflow.Print(w))
				}
				add(name+".diag", report(diags))
			}
			text := txtar.Format(got)
			if *update {
				if err := os.WriteFile(file, text, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), string(txtar.Format(a))); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}

// Every rule of S0 that speaks of reading has a document in the corpus whose name cites it.
func TestCorpusCoversTheRules(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	for _, rule := range []int{1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 20, 21, 22, 23, 25, 30, 32, 35, 40, 47, 50, 51, 53, 55} {
		if !bytes.Contains(all, fmt.Appendf(nil, "-- s0-%d-", rule)) {
			t.Errorf("no document for S0-%d", rule)
		}
	}
}

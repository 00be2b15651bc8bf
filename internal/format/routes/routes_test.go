package routes_test

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
	"github.com/hocket-run/hocket/internal/format/routes"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

var update = flag.Bool("update", false, "write the golden files anew")

// beside are agents from beside the document.
func beside() []workflow.Agent {
	out := []workflow.Agent{{ID: "beside", Name: "Beside"}, {ID: "a1", System: "not this one"}}
	for _, name := range []string{"Router", "RC2", "DM2", "2N"} {
		out = append(out, workflow.Agent{ID: "agent-uuid-" + strings.ToLower(name), Name: name})
	}
	return out
}

// read does what package format does with a document: parse, read, and look at the graph where that gave no errors.
func read(name string, data []byte, opts routes.Options) (*workflow.Workflow, diag.List) {
	root, diags := source.Parse(name, data)
	if root == nil {
		return nil, diags
	}
	w, more := routes.Read(root, opts)
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
// where there are none) that reading it gives. The documents of broken.txtar have no agents beside them.
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
			broken := filepath.Base(file) == "broken.txtar"
			opts := routes.Options{Agents: beside()}
			if broken {
				opts = routes.Options{}
			}
			got := &txtar.Archive{Comment: a.Comment}
			add := func(name, text string) {
				if text != "" {
					got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(text)})
				}
			}
			for _, f := range a.Files {
				name, isDocument := strings.CutSuffix(f.Name, ".json")
				if !isDocument {
					continue
				}
				got.Files = append(got.Files, f)
				w, diags := read(f.Name, f.Data, opts)
				if diags.HasErrors() != broken {
					t.Errorf("%s stands in the wrong archive: %v", f.Name, diags)
				}
				if !diags.HasErrors() {
					add(name+".ir", workflow.Print(w))
					checkRoundTrip(t, w)
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

// corpus gives the documents of testdata by name.
func corpus(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no corpus", err)
	}
	out := map[string][]byte{}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if path.Ext(f.Name) == ".json" {
				out[f.Name] = f.Data
			}
		}
	}
	return out
}

// Every rule of S3 that speaks of reading has a document in the corpus whose name cites it.
func TestCorpusCoversTheRules(t *testing.T) {
	t.Parallel()
	var names []byte
	for name := range corpus(t) {
		names = append(names, name+"\n"...)
	}
	for _, rule := range []int{1, 2, 3, 5, 6, 7, 8, 11, 13, 15, 18, 20, 21, 23} {
		if !bytes.Contains(names, fmt.Appendf(nil, "s3-%d-", rule)) {
			t.Errorf("no document for S3-%d", rule)
		}
	}
}

func digest(t interface{ Fatal(...any) }, w *workflow.Workflow) string {
	d, err := w.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// checkRoundTrip demands that Write says all of w, that it reads back as the same definition (P29), and that writing it again changes no byte.
func checkRoundTrip(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, w *workflow.Workflow,
) {
	text, unsaid := routes.Write(w)
	if len(unsaid) > 0 {
		t.Fatalf("unsaid: %v\n%s\n%s", unsaid, workflow.Print(w), text)
	}
	back, diags := read("second.json", text, routes.Options{})
	if diags.HasErrors() {
		t.Fatalf("%s\n%s", text, diags.Error())
	}
	if digest(t, w) != digest(t, back) {
		t.Fatalf("another definition (-before +after):\n%s\n%s", cmp.Diff(workflow.Print(w), workflow.Print(back)), text)
	}
	if again, _ := routes.Write(back); string(again) != string(text) {
		t.Fatalf("written differently the second time:\n%s", cmp.Diff(string(text), string(again)))
	}
}

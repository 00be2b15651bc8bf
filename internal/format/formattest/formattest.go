package formattest

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// ReadFunc is a format's Read with its options.
type ReadFunc func(root *source.Node) (*workflow.Workflow, diag.List)

// Read treats a document like package format: it parses and reads it, and checks the graph if that
// produced no errors.
func Read(name string, data []byte, read ReadFunc) (*workflow.Workflow, diag.List) {
	root, diags := source.Parse(name, data)
	if root == nil {
		return nil, diags
	}
	w, more := read(root)
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

// Report formats the problems as lines, with their related positions.
func Report(l diag.List) string {
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

func isDocument(name string) bool { return path.Ext(name) == ".json" || path.Ext(name) == ".yaml" }

func archives(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no corpus", err)
	}
	return files
}

// Document is a document in an archive or in a file of its own.
type Document struct {
	// Path is the path of the file, Name the name of the document in an archive, or Path if the
	// file is not an archive.
	Path, Name string
	Data       []byte
}

// Documents returns the documents of all files that match the patterns, in the order of the
// patterns and of the file names. Only files ending in .txtar, .json and .yaml contain documents.
func Documents(t testing.TB, patterns ...string) []Document {
	t.Helper()
	var all []Document
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no file matches %s: %v", pattern, err)
		}
		for _, file := range files {
			if path.Ext(file) != ".txtar" && !isDocument(file) {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if isDocument(file) {
				all = append(all, Document{Path: file, Name: file, Data: data})
				continue
			}
			for _, f := range txtar.Parse(data).Files {
				if isDocument(f.Name) {
					all = append(all, Document{Path: file, Name: f.Name, Data: f.Data})
				}
			}
		}
	}
	return all
}

// Corpus returns the documents of testdata by name.
func Corpus(t testing.TB) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, d := range Documents(t, "testdata/*.txtar") {
		all[d.Name] = d.Data
	}
	return all
}

// CoversRules checks that for each rule N there is a document whose name begins with `prefix-N-`.
func CoversRules(t *testing.T, prefix string, rules ...int) {
	t.Helper()
	all := Corpus(t)
	for _, rule := range rules {
		found := false
		for name := range all {
			found = found || strings.HasPrefix(name, fmt.Sprintf("%s-%d-", prefix, rule))
		}
		if !found {
			t.Errorf("no document for %s-%d", strings.ToUpper(prefix), rule)
		}
	}
}

// Golden reads each document of testdata and compares the result with what follows it in the
// archive. If update, it rewrites the archives.
func Golden(t *testing.T, update bool, read func(t *testing.T, archive, name string, data []byte) (
	*workflow.Workflow, diag.List)) {
	t.Helper()
	for _, file := range archives(t) {
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
				if !isDocument(f.Name) {
					continue
				}
				got.Files = append(got.Files, f)
				w, diags := read(t, filepath.Base(file), f.Name, f.Data)
				name := strings.TrimSuffix(f.Name, path.Ext(f.Name))
				if !diags.HasErrors() {
					add(name+".ir", workflow.Print(w))
				}
				add(name+".diag", Report(diags))
			}
			text := txtar.Format(got)
			if update {
				if err := os.WriteFile(file, text, 0o600); err != nil {
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

package steps_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/format/steps"
	"github.com/hocket-run/hocket/workflow"
)

var update = flag.Bool("update", false, "rewrite the files under testdata")

func read(t *testing.T, doc string, opts steps.Options) (*workflow.Workflow, diag.List) {
	t.Helper()
	root, diags := source.Parse("in.yaml", []byte(doc))
	if root == nil || slices.ContainsFunc(diags, func(d diag.Diagnostic) bool {
		return d.Code == source.CodeTooManyValues
	}) {
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

// TestRead compares the workflow and the diagnostics of documents with the expected ones. Each file
// names the rules that it covers.
func TestRead(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no test files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), "testdata/"), ".txtar"),
			func(t *testing.T) {
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

// TestCorpus_CoversRules checks that a document of the corpus cites every rule of the format that
// a reader can follow or break.
func TestCorpus_CoversRules(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var comments strings.Builder
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		comments.Write(a.Comment)
	}
	cited := map[string]bool{}
	for _, m := range regexp.MustCompile(`(S4|D|P)-?([0-9]+)(?: to S4-([0-9]+))?`).FindAllStringSubmatch(
		comments.String(), -1) {
		from, _ := strconv.Atoi(m[2])
		to := from
		if m[3] != "" {
			to, _ = strconv.Atoi(m[3])
		}
		for n := from; n <= to; n++ {
			cited[m[1]+"-"+strconv.Itoa(n)] = true
		}
	}
	// The other rules concern runs: prompts (3, 4, 5, 13, 37), limits (9, 35), values (16, 34, 36)
	// and the command line (31).
	for _, n := range []int{1, 2, 6, 7, 8, 10, 11, 12, 14, 15, 17, 18, 19, 20, 21, 22, 23, 24, 30, 32, 33, 34, 38} {
		if rule := "S4-" + strconv.Itoa(n); !cited[rule] {
			t.Errorf("no document cites %s", rule)
		}
	}
}

package examples_test

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/examples"
	"github.com/hocket-run/hocket/internal/format"
)

// testFiles lists the files of an example that only tests read.
var testFiles = []string{"input.txt", "output.txt", "answers.txt", "flags.txt", "branch.txt"}

// TestTemplates checks that each template is a complete folder of the examples, with a document of
// the format that it names and commands that only refer to its own files.
func TestTemplates(t *testing.T) {
	t.Parallel()
	all := examples.Templates()
	if len(all) != 8 {
		t.Errorf("%d templates, want 8", len(all))
	}
	seen := map[string]bool{}
	for _, tmpl := range all {
		if seen[tmpl.Name] || seen[tmpl.Folder+"/"] || strings.HasSuffix(tmpl.Summary, ".") {
			t.Errorf("%+v: name and folder must be unique, and the summary has no full stop", tmpl)
		}
		seen[tmpl.Name], seen[tmpl.Folder+"/"] = true, true

		var want []string
		err := filepath.WalkDir(tmpl.Folder, func(name string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() && !slices.Contains(testFiles, e.Name()) {
				rel, _ := filepath.Rel(tmpl.Folder, name)
				want = append(want, filepath.ToSlash(rel))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		files, err := tmpl.Files()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range files {
			got = append(got, f.Path)
			if path.Base(strings.TrimSuffix(f.Path, path.Ext(f.Path))) == tmpl.Folder {
				if w, list := format.Read(f.Path, f.Data, format.Options{}); list.HasErrors() ||
					w.Format != tmpl.Format {
					t.Errorf("%s: %s is %v, want %s: %v", tmpl.Name, f.Path, w.Format, tmpl.Format, list)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has %v, want all of its folder that is not for tests: %v", tmpl.Name, got, want)
		}

		offline, withModel, err := tmpl.Commands()
		if err != nil || len(offline) < 3 || len(withModel) != 1 {
			t.Errorf("%s: %d commands offline, %d with a model, %v", tmpl.Name, len(offline), len(withModel), err)
		}
		for _, c := range offline {
			if !strings.HasPrefix(c, "hocket ") || strings.HasPrefix(c, "hocket run ") &&
				!strings.Contains(c, "--replies replies.yaml") {
				t.Errorf("%s: %s is not offline", tmpl.Name, c)
			}
		}
	}
	if _, err := (examples.Template{Name: "none", Folder: "none"}).Files(); err == nil {
		t.Error("a template that does not exist has files")
	}
	if _, _, err := (examples.Template{Name: "none", Folder: "none"}).Commands(); err == nil {
		t.Error("a template that does not exist has commands")
	}
}

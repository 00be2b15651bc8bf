package format_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/hocket-run/hocket/internal/format"
)

// TestRead_Foreign checks that files of other systems are named on one line, whether or not a
// format is given. The files are in the shape of those systems.
func TestRead_Foreign(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"n8n": "a workflow of n8n", "dify": "an app of Dify", "flowise": "a flow of Flowise",
		"langflow": "a flow of Langflow", "conductor": "a workflow of Conductor", "dagu": "a workflow of Dagu",
		"promptflow": "a flow of Prompt Flow", "langgraph": "a configuration of LangGraph",
		"agentbuilder": "a workflow of OpenAI's Agent Builder", "github-actions": "a workflow of GitHub Actions",
		"argo": "a workflow of Argo", "step-functions": "a state machine of AWS Step Functions",
		"serverless-workflow": "a Serverless Workflow", "crewai": "a file of agents or tasks of CrewAI",
	} {
		a, err := txtar.ParseFile("testdata/foreign/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Files) < 20 {
			t.Errorf("%s: %d files", name, len(a.Files))
		}
		var all []txtar.File
		for _, f := range a.Files {
			all = append(all, f)
			if filepath.Ext(f.Name) == ".json" { // n8n, Conductor and others export several as a list
				all = append(all, txtar.File{Name: "all-" + f.Name,
					Data: slices.Concat([]byte("["), f.Data, []byte("]"))})
			}
		}
		for _, f := range all {
			for _, as := range []string{"", format.Canvas} {
				w, problems := format.Read(f.Name, f.Data, format.Options{Format: as})
				if w != nil || len(problems) != 1 || problems[0].Code != format.CodeUnknownFormat ||
					problems[0].Message != "this is "+want+", which Hocket does not read" ||
					!strings.Contains(problems[0].Hint, "docs/") {
					t.Errorf("%s/%s as %q: %v", name, f.Name, as, problems)
				}
				for word := range strings.FieldsSeq(problems[0].Hint) {
					if page, ok := strings.CutPrefix(word, "docs/"); ok {
						if _, err := os.Stat(filepath.Join("../../docs", page)); err != nil {
							t.Error(err)
						}
					}
				}
			}
		}
	}
}

// TestRead_NotForeign checks that no document of Hocket's own examples and tests is taken for a
// file of another system.
func TestRead_NotForeign(t *testing.T) {
	t.Parallel()
	read := 0
	check := func(name string, data []byte) {
		switch filepath.Ext(name) {
		case ".yaml", ".yml", ".json":
		default:
			return
		}
		read++
		_, problems := format.Read(name, data, format.Options{})
		for _, d := range problems {
			if strings.Contains(d.Message, "which Hocket does not read") {
				t.Error(d)
			}
		}
	}
	skip := []string{"node_modules", "foreign", "web", ".git", "schema"}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(skip, d.Name()):
			return fs.SkipDir
		case d.IsDir() || d.Type()&fs.ModeSymlink != 0 || d.Name() == "foreign.txtar":
			return nil
		}
		inTests := strings.Contains(filepath.ToSlash(path), "/testdata/") || strings.Contains(path, "examples")
		if !inTests {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil || len(data) > 1<<20 {
			return err
		}
		check(path, data)
		if filepath.Ext(path) == ".txtar" {
			for _, f := range txtar.Parse(data).Files {
				check(path+":"+f.Name, f.Data)
			}
		}
		return nil
	})
	if err != nil || read < 500 {
		t.Errorf("%d documents read, %v", read, err)
	}
}

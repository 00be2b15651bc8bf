package service_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/service"
)

// TestWords: advice for the command line becomes advice for the API, and the same again.
func TestWords(t *testing.T) {
	t.Parallel()
	for command, api := range map[string]string{
		"workflow only is a draft only; publish it with `hocket workflows publish only`, or use --draft":            "workflow only is a draft only; publish it with `POST /api/v1/workflows/only/publish`, or ask for its draft in the field draft",
		"the rows of workflow x were deleted; `hocket workflows publish x --version 12` writes them again":          "the rows of workflow x were deleted; `POST /api/v1/workflows/x/publish` with the version 12 writes them again",
		"the document has branches: say with --branch which one, of \"a\"":                                          "the document has branches: say in the field branch which one, of \"a\"",
		"the document has the id \"a\", and --id says \"b\"":                                                        "the document has the id \"a\", and the request says \"b\"",
		"agents are defined under the key agents, in the file of --agents, or in the catalog (hocket agents apply)": "agents are defined under the key agents, in the catalog (`PUT /api/v1/agents/{id}`), or among the agents that are applied with it",
		"what has no flags stays as it is: $1 ID N":                                                                 "what has no flags stays as it is: $1 ID N",
	} {
		if got := service.APIWords(command); got != api {
			t.Errorf("got  %s\nwant %s", got, api)
		}
		if got := service.CommandWords(api); got != command {
			t.Errorf("got  %s\nwant %s", got, command)
		}
		list := diag.List{{Message: command, Hint: command}}
		there := service.APIDiagnostics(list)
		if there[0].Message != api || there[0].Hint != api || list[0].Hint != command || service.CommandDiagnostics(there)[0].Hint != command {
			t.Errorf("diagnostics: %+v", there)
		}
	}
}

// ofCommandLine are files whose texts nobody sees but who sits at the command line.
var ofCommandLine = map[string]string{
	"doctor.go": "hocket doctor has no route", "record.go": "runs are recorded by `hocket run --record` alone", "service.go": "the store was chosen before a server answers",
	"../hooks/approve.go": "the page is for a person, who may have a shell", "../httpapi/document.go": "the document says where tokens come from",
	"kit.go": "ways out of a server whose model is missing are the operator's: --model and --replies are those of hocket serve",
}

// TestWordsAreComplete: no text of the rooms behind the doors names a flag or a verb of the command line which APIWords does not turn (SEC20).
func TestWordsAreComplete(t *testing.T) {
	t.Parallel()
	flag := regexp.MustCompile("(^|[ (`])--[a-z]|hocket (workflows|agents|runs|resume|webhooks|tokens) [a-z]")
	verbs := regexp.MustCompile(`%[a-z]`)
	seen := 0
	for _, dir := range []string{".", "../format", "../catalog", "../engine", "../driver", "../schema", "../expr", "../access", "../hooks", "../httpapi"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || ofCommandLine[path] != "" || path == "words.go" {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if f, ok := n.(*ast.Field); ok && f.Tag != nil {
					return false
				}
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(lit.Value)
				if err != nil || !flag.MatchString(text) {
					return true
				}
				seen++
				text = verbs.ReplaceAllString(text, "x")
				got := service.APIWords(text)
				if back := service.CommandWords(got); back != text {
					t.Errorf("%s: %q comes back as %q", path, text, back)
				}
				if flag.MatchString(strings.ReplaceAll(strings.ReplaceAll(got, "command line with --trust", ""), "server started with --model", "")) {
					t.Errorf("%s: %q is advice for the command line; add it to words.go", path, text)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 8 {
		t.Errorf("%d texts with flags: the test looks in the wrong place", seen)
	}
}

package explain_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/explain"
)

var (
	constants = regexp.MustCompile(`^[cC]ode[A-Z]|^Kind[A-Z]|^kind[A-Z]`)
	words     = regexp.MustCompile(`^[a-z0-9]+([-_][a-z0-9]+)*$`)
)

var update = flag.Bool("update", false, "write docs/diagnostics.md and docs/reasons.md")

// TestPages checks that docs/diagnostics.md and docs/reasons.md are generated from the table;
// -update writes them.
func TestPages(t *testing.T) {
	for name, want := range explain.Pages() {
		file := "../../docs/" + name
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil || string(got) != want {
			t.Errorf("%s differs from the table (%v): run go test ./internal/explain -update", file, err)
		}
		if n := strings.Count(want, "\n"); n > 400 {
			t.Errorf("%s has %d lines, at most 400 are allowed", file, n)
		}
	}
	seen := map[string]bool{}
	for _, code := range explain.Codes() {
		if seen[code] {
			t.Errorf("the code %q has two entries", code)
		}
		seen[code] = true
	}
}

// sources are the folders whose code can report a problem of a document, a failure of a run or a
// problem of a server.
var sources = []string{
	"diag", "graph", "workflow", "internal/catalog", "internal/config", "internal/api/hooks", "internal/api/transport",
	"internal/driver", "internal/engine", "internal/expr", "internal/form", "internal/format", "internal/api/mcpserver",
	"internal/model", "internal/api/openaiapi", "internal/price", "internal/schedule", "internal/service",
	"internal/store", "internal/tool", "internal/api/httpapi", "internal/cli", "internal/op", "temporal",
	"internal/client", "internal/server",
}

// reasons returns the codes of package errcode by the names of their constants.
func reasons(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range []string{"table.go", "family.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), "../errcode/"+name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
				if lit, ok := v.Values[0].(*ast.BasicLit); ok {
					out[v.Names[0].Name] = strings.Trim(lit.Value, `"`)
				}
			}
			return true
		})
	}
	return out
}

// found returns the codes in the source code, each with one position.
func found(t *testing.T) map[string]string {
	t.Helper()
	out, reason := map[string]string{}, reasons(t)
	for _, root := range sources {
		err := filepath.WalkDir("../../"+root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.HasSuffix(filepath.Dir(path), "test") {
				return err
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			add := func(e ast.Expr) {
				lit, ok := e.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return
				}
				if text, err := strconv.Unquote(lit.Value); err == nil && words.MatchString(text) && out[text] == "" {
					out[text] = set.Position(lit.Pos()).String()
				}
			}
			// there, constants named kind… are failure codes; elsewhere they are other things
			kinds := strings.HasSuffix(path, "errors.go")
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr: // a use of package errcode
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "errcode" && reason[n.Sel.Name] != "" {
						out[reason[n.Sel.Name]] = set.Position(n.Pos()).String()
					}
				case *ast.ValueSpec:
					for i, name := range n.Names {
						if i < len(n.Values) && constants.MatchString(name.Name) &&
							(kinds || !strings.HasPrefix(strings.ToLower(name.Name), "kind")) {
							add(n.Values[i])
						}
					}
				case *ast.CallExpr:
					if root == "workflow" { // its helpers take the code at different positions
						for _, arg := range n.Args {
							if lit, ok := arg.(*ast.BasicLit); ok && strings.Contains(lit.Value, "-") {
								add(lit)
							}
						}
					}
					s, ok := n.Fun.(*ast.SelectorExpr)
					if ok && slices.Contains([]string{"Errorf", "Warnf", "Infof"}, s.Sel.Name) && len(n.Args) >= 4 {
						add(n.Args[2])
					}
				case *ast.KeyValueExpr:
					if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Code" {
						add(n.Value)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestEveryCode checks that each code that the program reports has an entry, and that each entry is
// a code that it reports.
func TestEveryCode(t *testing.T) {
	t.Parallel()
	codes := found(t)
	for code, at := range codes {
		if _, ok := explain.Find(code); !ok {
			t.Errorf("%s: the code %q has no entry", at, code)
		}
	}
	for _, e := range explain.All() {
		if e.Kind != explain.Exit && codes[e.Code] == "" {
			t.Errorf("no code reports the entry %q", e.Code)
		}
		if (e.Wrong == "") != (e.Right == "") || e.Wrong != "" && e.Wrong == e.Right ||
			strings.ContainsAny(e.Wrong+e.Right, "`|\n") {
			t.Errorf("%s: the example %q => %q is invalid", e.Code, e.Wrong, e.Right)
		}
		for name, text := range map[string]string{"meaning": e.Meaning, "cause": e.Cause, "repair": e.Repair} {
			if text == "" || !strings.HasSuffix(text, ".") || strings.ContainsAny(text, "\n|") {
				t.Errorf("%s: the %s %q is not a sentence", e.Code, name, text)
			}
		}
	}
}

package faultmatrix_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/faultmatrix"
)

// TestRows checks that each row has all columns and names existing tests that name it; each key is
// used once, and each call of Proves names a row.
func TestRows(t *testing.T) {
	t.Parallel()
	proved := map[string]map[string]bool{} // keys, by package and test
	for _, part := range faultmatrix.Parts() {
		for _, r := range part.Rows {
			for _, test := range r.Tests {
				folder, _, _ := strings.Cut(test, " ")
				if proved[folder] == nil {
					proved[folder] = map[string]bool{}
					calls(t, folder, proved[folder])
				}
			}
		}
	}
	seen := map[string]bool{}
	for _, part := range faultmatrix.Parts() {
		if part.Heading == "" || len(part.Rows) == 0 {
			t.Errorf("the part %q is empty", part.Heading)
		}
		for _, r := range part.Rows {
			if seen[r.Key] || r.Key == "" {
				t.Errorf("the key %q is not one row's own", r.Key)
			}
			seen[r.Key] = true
			for _, text := range []string{r.Failure, r.Survives, r.Repeated, r.Asked, r.Takes} {
				if text == "" || strings.ContainsAny(text, "|\n") {
					t.Errorf("row %s: the column %q is empty or no cell of a table", r.Key, text)
				}
			}
			if len(r.Tests) == 0 {
				t.Errorf("row %s has no test", r.Key)
			}
			for _, test := range r.Tests {
				folder, name, _ := strings.Cut(test, " ")
				if !proved[folder][name+" "+r.Key] {
					t.Errorf("row %s: %s in %s does not say that it proves it", r.Key, name, folder)
				}
			}
		}
	}
	for folder, calls := range proved {
		for call := range calls {
			if _, key, _ := strings.Cut(call, " "); !seen[key] {
				t.Errorf("%s: there is no row %s", folder, key)
			}
		}
	}
}

// calls collects the calls of faultmatrix.Proves in the tests of a package, as "TestName key".
func calls(t *testing.T, folder string, into map[string]bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", folder, files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(fn.Name.Name, "Test") || fn.Recv != nil {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) != 2 {
					return true
				}
				sel, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || sel.Sel.Name != "Proves" {
					return true
				}
				lit, ok := call.Args[1].(*ast.BasicLit)
				if !ok {
					t.Errorf("%s: %s names its row by something else than a literal", file, fn.Name.Name)
					return true
				}
				key, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				into[fn.Name.Name+" "+key] = true
				return true
			})
		}
	}
}

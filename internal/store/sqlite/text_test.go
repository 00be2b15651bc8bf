package sqlite_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestSQLText checks that no statement is built from input (SEC7). The type sqlText ensures that as
// long as only constants and the embedded migrations are converted to it: its conversions are
// counted here, and nothing may bypass it on the way to the driver.
func TestSQLText(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			gen, isGen := decl.(*ast.GenDecl)
			isConst := isGen && gen.Tok == token.CONST
			where := ""
			if f, ok := decl.(*ast.FuncDecl); ok {
				where = f.Name.Name
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				switch f := call.Fun.(type) {
				case *ast.Ident:
					if f.Name == "sqlText" && !isConst && where != "migrations" {
						t.Errorf("%s: a conversion to sqlText", fset.Position(call.Pos()))
					}
					if f.Name == "sqlText" {
						seen[where] = true
					}
				case *ast.SelectorExpr:
					switch f.Sel.Name {
					case "Prepare", "PrepareContext", "Exec", "Query", "QueryRow", "QueryRowContext":
						if where != "prepare" && where != "script" {
							t.Errorf("%s: %s outside of conn", fset.Position(call.Pos()), f.Sel.Name)
						}
						seen[f.Sel.Name] = true
					}
				}
				return true
			})
		}
	}
	for _, must := range []string{"", "migrations", "Prepare"} {
		if !seen[must] {
			t.Errorf("the test looks in the wrong place: no %q", must)
		}
	}
}

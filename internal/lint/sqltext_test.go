package lint_test

import (
	"go/ast"
	"go/token"
	"testing"
)

// sqlPackage is the package whose type Text is the only type that its transactions accept for SQL.
// A test next to it checks its own conversions.
const sqlPackage = "internal/store/tables"

// TestSQLText checks that packages with tables beside the journal convert only constants to Text, so
// that none of their statements has input in its text (SEC7). The statements of the journal are
// strings inside the two stores, which this test does not see.
func TestSQLText(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, file := range sources(t) {
		if file.isTest() || file.importName(module+sqlPackage) == "" {
			continue
		}
		all, bad := conversions(file)
		seen[file.folder()] += all
		for _, problem := range bad {
			t.Errorf("%s: a conversion to Text", at(problem))
		}
	}
	for _, room := range []string{"internal/store/tables/catalogdb", "internal/store/tables/accessdb",
		"internal/store/tables/checkpointdb", "internal/store/tables/hookdb", "internal/store/tables/memorydb"} {
		if seen[room] == 0 {
			t.Errorf("the test looks in the wrong place: no statement in %s", room)
		}
	}
}

// TestSQLText_FindsConversions validates TestSQLText: it checks that conversions of non-constants
// are found.
func TestSQLText_FindsConversions(t *testing.T) {
	t.Parallel()
	all, bad := conversions(parse(t, `package x
import db "github.com/hocket-run/hocket/internal/store/tables"
const fine = db.Text("SELECT 1")
var bad = db.Text(build())
func f(s string) db.Text { return db.Text(s) }
`))
	var lines []int
	for _, n := range bad {
		lines = append(lines, fset.Position(n.Pos()).Line)
	}
	if all != 3 || len(lines) != 2 || lines[0] != 4 || lines[1] != 5 {
		t.Errorf("%d conversions, refused in the lines %v; want 3, refused in 4 and 5", all, lines)
	}
}

// conversions returns how many conversions to Text a file has, and those of something other than a
// constant.
func conversions(file source) (all int, bad []ast.Node) {
	name := file.importName(module + sqlPackage)
	for _, decl := range file.Decls {
		gen, isGen := decl.(*ast.GenDecl)
		ast.Inspect(decl, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || f.Sel.Name != "Text" {
				return true
			}
			if x, ok := f.X.(*ast.Ident); ok && x.Name == name {
				all++
				if !isGen || gen.Tok != token.CONST {
					bad = append(bad, call)
				}
			}
			return true
		})
	}
	return all, bad
}

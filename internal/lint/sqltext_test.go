package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// sqlPackage is the package whose type Text is the only type that its transactions accept for SQL.
// A test next to it checks its own conversions.
const sqlPackage = "internal/store/tables"

// TestSQLText checks that no statement is built from input (SEC7): packages that keep tables in the
// store's file convert only constants to Text.
func TestSQLText(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for path, file := range parsed(t) {
		name := importOf(file, "github.com/hocket-run/hocket/"+sqlPackage)
		if name == "" {
			continue
		}
		for _, problem := range conversions(file.File, name, func() { seen[filepath.ToSlash(filepath.Dir(path))]++ }) {
			t.Errorf("%s: a conversion to Text", file.fset.Position(problem))
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
	const text = `package x
import db "github.com/hocket-run/hocket/internal/store/tables"
const fine = db.Text("SELECT 1")
var bad = db.Text(build())
func f(s string) db.Text { return db.Text(s) }
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "x.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	var lines []int
	for _, at := range conversions(file, "db", func() { all++ }) {
		lines = append(lines, fset.Position(at).Line)
	}
	if all != 3 || len(lines) != 2 || lines[0] != 4 || lines[1] != 5 {
		t.Errorf("%d conversions, refused in the lines %v; want 3, refused in 4 and 5", all, lines)
	}
}

// source is a parsed non-test file.
type source struct {
	*ast.File
	fset *token.FileSet
}

// parsed returns the module's non-test Go files by path.
func parsed(t *testing.T) map[string]source {
	t.Helper()
	all := map[string]source{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" ||
			d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, 0)
		all[path] = source{file, fset}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// importOf returns the name under which a file imports a package, or "" if it does not import it.
func importOf(file source, pkg string) string {
	for _, imp := range file.Imports {
		if imp.Path.Value == `"`+pkg+`"` {
			if imp.Name != nil {
				return imp.Name.Name
			}
			return pkg[strings.LastIndex(pkg, "/")+1:]
		}
	}
	return ""
}

// conversions returns the positions at which a file converts a non-constant to the Text of a
// package, and calls each for every conversion.
func conversions(file *ast.File, name string, each func()) (bad []token.Pos) {
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
				each()
				if !isGen || gen.Tok != token.CONST {
					bad = append(bad, call.Pos())
				}
			}
			return true
		})
	}
	return bad
}

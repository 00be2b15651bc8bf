package expr

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPurity checks that the package is replayable: no I/O, clock, randomness, goroutine or lock,
// and few imports from Hocket. CEL is used only in package celexpr.
func TestPurity(t *testing.T) {
	t.Parallel()
	banned := []string{"time", "os", "net", "math/rand", "crypto/rand", "sync", "context", "log", "io/fs", "unsafe",
		"reflect"}
	files, err := filepath.Glob("*.go")
	compiler, err2 := filepath.Glob("celexpr/*.go")
	if err != nil || err2 != nil || len(files) == 0 || len(compiler) == 0 {
		t.Fatal(files, compiler, err, err2)
	}
	files = append(files, compiler...)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			for _, b := range banned {
				if path == b || strings.HasPrefix(path, b+"/") {
					t.Errorf("%s imports %s", name, path)
				}
			}
			own, isOwn := strings.CutPrefix(path, "github.com/hocket-run/hocket/")
			if isOwn && slices.Contains([]string{"diag", "internal/chat", "internal/jsontext"}, own) ||
				filepath.Dir(name) == "celexpr" &&
					(own == "internal/expr" || strings.HasPrefix(path, "cel.dev/cel-go/")) {
				continue
			}
			if strings.Contains(path, ".") {
				t.Errorf("%s imports %s", name, path)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.ChanType:
				t.Errorf("%s: %T", fset.Position(n.Pos()), n)
			}
			return true
		})
	}
}

package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestEngine_FormatIndependent checks that the engine knows no format: formats specify how a graph
// runs as rules, each with its own name (workflow.Rules).
func TestEngine_FormatIndependent(t *testing.T) {
	t.Parallel()
	formats := []string{"canvas", "rounds", "routes", "steps", "graph"}
	files, checked := token.NewFileSet(), 0
	err := filepath.WalkDir(".", func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.HasPrefix(path, "enginetest") {
			return err
		}
		f, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		checked++
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				text, err := strconv.Unquote(n.Value)
				if n.Kind == token.STRING && err == nil && (slices.Contains(formats, text) ||
					strings.Contains(strings.ToLower(text), "canvas") || strings.Contains(text, "Graph ")) {
					t.Errorf("%s: the text %s belongs to a format", files.Position(n.Pos()), n.Value)
				}
			case *ast.Ident:
				if strings.Contains(strings.ToLower(n.Name), "canvas") {
					t.Errorf("%s: %s is named after a format", files.Position(n.Pos()), n.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || checked < 30 {
		t.Errorf("%d files were looked at: %v", checked, err)
	}
}

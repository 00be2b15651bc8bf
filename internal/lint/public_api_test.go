package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestAPISize limits the number of exported names in the public packages for graphs. Adding a name
// is a decision (ADR 131).
func TestAPISize(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]int{
		".":            173,
		"graph":        220,
		"graph/compat": 64,
	} {
		got := countExported(t, dir)
		t.Logf("package %s has %d exported names", dir, got)
		if got > want {
			t.Errorf("package %s has %d exported names, at most %d are allowed", dir, got, want)
		}
	}
}

// countExported counts functions, types, methods of exported types, constants and variables.
func countExported(t *testing.T, dir string) (n int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.FileExports(f)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || ast.IsExported(receiver(d)) {
					n++
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.ValueSpec:
						n += len(s.Names)
					case *ast.TypeSpec:
						n++
						if i, ok := s.Type.(*ast.InterfaceType); ok {
							n += i.Methods.NumFields()
						}
					}
				}
			}
		}
	}
	return n
}

// notInGraphs lists what a program that only builds graphs does not link.
var notInGraphs = []string{"cel.dev/", "github.com/modelcontextprotocol/", "github.com/openai/",
	"github.com/anthropics/", "google.golang.org/", "modernc.org/sqlite", module + "internal/engine",
	module + "internal/service"}

// TestEmbeddingGraph checks that a program that only builds graphs, to describe or check them,
// links no expressions, no MCP, no model and no store.
func TestEmbeddingGraph(t *testing.T) {
	t.Parallel()
	for _, pkg := range listed(t, ".", "linux", "{{.ImportPath}}", "./graph") {
		for _, n := range notInGraphs {
			if below(pkg, n) {
				t.Errorf("package graph links %s", pkg)
			}
		}
	}
}

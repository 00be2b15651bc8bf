package outbound_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// exempt are folders that may build clients, each with its reason.
var exempt = map[string]string{
	"internal/outbound":        "the one place",
	"internal/model/modeltest": "test support: speaks to its own server only",
	"internal/cmd/models":      "a command for maintainers, which reads public tables; the program does not have it",
	"internal/client/api": "generated: it has a client of its own for callers that give none; internal/client " +
		"gives it the one of this package",
}

// clientNames are the names through which net/http provides or builds a client.
var clientNames = map[string]bool{
	"DefaultClient": true, "DefaultTransport": true, "Get": true, "Head": true, "Post": true, "PostForm": true,
}

// TestImports_NoOtherHTTPClient checks SEC8: there is one outbound client. No other package of the
// repository builds or uses one.
func TestImports_NoOtherHTTPClient(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "node_modules" ||
				name == "testdata") {
				return filepath.SkipDir
			}
			if exempt[filepath.ToSlash(rel)] != "" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for _, found := range clientsIn(t, rel, src) {
			t.Errorf("%s: build HTTP clients with internal/outbound (SEC8)", found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 3 {
		t.Errorf("walked over %d files only", files)
	}
}

// TestImports_DetectsHTTPClient checks that the check itself detects violations.
func TestImports_DetectsHTTPClient(t *testing.T) {
	t.Parallel()
	const src = `package x
import web "net/http"
var a = web.DefaultClient
var b = &web.Client{}
var c = new(web.Client)
var d web.Client
func f() { web.Get("u"); web.HandleFunc("/", nil); _ = &web.Transport{} }
func g(c *web.Client, m map[string]web.Transport) {}
`
	if got := clientsIn(t, "x.go", []byte(src)); len(got) != 6 {
		t.Errorf("got %d uses %q; want 6", len(got), got)
	}
}

// clientsIn returns "file:line: name" for each place that uses a client of net/http or creates one:
// with a literal, new or a variable of the type.
func clientsIn(t *testing.T, name string, src []byte) []string {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil // the compiler reports it better
	}
	local := ""
	for _, imp := range file.Imports {
		if p, _ := strconv.Unquote(imp.Path.Value); p == "net/http" {
			local = "http"
			if imp.Name != nil {
				local = imp.Name.Name
			}
		}
	}
	if local == "" {
		return nil
	}
	selected := func(e ast.Expr) string {
		sel, ok := e.(*ast.SelectorExpr)
		if !ok {
			return ""
		}
		if pkg, ok := sel.X.(*ast.Ident); !ok || pkg.Name != local {
			return ""
		}
		return sel.Sel.Name
	}
	isType := func(e ast.Expr) bool { n := selected(e); return n == "Client" || n == "Transport" }
	var found []string
	add := func(n ast.Node, what string) {
		found = append(found, fset.Position(n.Pos()).String()+": "+local+"."+what)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if s := selected(n); clientNames[s] {
				add(n, s)
			}
		case *ast.CompositeLit:
			if isType(n.Type) {
				add(n, selected(n.Type)+"{}")
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "new" && len(n.Args) == 1 && isType(n.Args[0]) {
				add(n, selected(n.Args[0]))
			}
		case *ast.ValueSpec:
			if n.Type != nil && isType(n.Type) {
				add(n, selected(n.Type))
			}
		}
		return true
	})
	return found
}

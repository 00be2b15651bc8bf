package hocket_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// contextValues lists the files that put values into contexts, or define contexts of their own,
// each with the reason why the value is not a parameter. What limits or records a call's work is a
// parameter (ADR 71).
var contextValues = map[string]string{
	"internal/program/caller.go": "functions of users have a context alone, and package graph and package " +
		"hocket find their call by it; the one carrier of a call",
	"models.go": "tools of users have a context alone; ToolCall tells them who calls",
	"internal/driver/embedded/context.go": "a context without values of its own, which costs less than one of the " +
		"standard library",
	"internal/model/timeouts.go": "a context without values of its own, which ends by silence",
	"internal/model/adapter/exchange.go": "SDKs of providers take a context alone between the adapter and its " +
		"HTTP client",
	"internal/tool/exchange/client.go": "the functions of net/http for redirects and dials take a context alone",
	"internal/api/transport/caller.go": "net/http, huma and the SDK of MCP give handlers a context alone; " +
		"handlers pass the caller on as a parameter",
	"internal/api/transport/request.go":     "as the caller",
	"internal/api/httpapi/operation.go":     "huma gives handlers a context alone",
	"internal/inflight/inflight.go":         "readers of bodies below net/http and huma take a context alone",
	"internal/tracecontext/tracecontext.go": "the API of OpenTelemetry carries spans in contexts",
}

// TestContextValues checks that every file that puts values into contexts is listed with its reason
// (ADR 71).
func TestContextValues(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || name == "node_modules" || name == "peers" ||
			strings.HasPrefix(name, ".") && name != "."):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if !putsValue(n) {
				return true
			}
			found[filepath.ToSlash(path)] = true
			if contextValues[filepath.ToSlash(path)] == "" {
				t.Errorf("%s: a value is put into a context: make it a parameter, or give the reason in contextValues",
					fset.Position(n.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range contextValues {
		if !found[path] {
			t.Errorf("%s puts no value into a context: delete its row", path)
		}
	}
}

// putsValue reports whether n is a call of a function WithValue, or a method Value of a context.
func putsValue(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "WithValue"
	case *ast.FuncDecl:
		if n.Recv == nil || n.Name.Name != "Value" || len(n.Type.Params.List) != 1 {
			return false
		}
		param, ok := n.Type.Params.List[0].Type.(*ast.Ident)
		return ok && param.Name == "any"
	}
	return false
}

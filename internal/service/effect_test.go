package service_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/config"
)

// TestConfig_EveryKeyUsed checks that every key of hocket.yaml has an effect: every field that the
// reader fills in is used by the service, the server or the command line.
func TestConfig_EveryKeyUsed(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, dir := range []string{".", "definition", "resources", "run", "schedule", "../cli", "../server"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(err, files)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(file, "doctor.go") && !imports(f, "internal/config") && !mentions(f, "Operator") &&
				!mentions(f, "operator") {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					used[s.Sel.Name] = true
				}
				return true
			})
		}
	}
	fields := 0
	var walk func(path string, typ reflect.Type)
	walk = func(path string, typ reflect.Type) {
		for typ.Kind() == reflect.Map || typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || !strings.HasSuffix(typ.PkgPath(), "internal/config") {
			return
		}
		for f := range typ.Fields() {
			fields++
			if !used[f.Name] {
				t.Errorf("%s.%s is not used", path, f.Name)
			}
			walk(path+"."+f.Name, f.Type)
		}
	}
	walk("Config", reflect.TypeFor[config.Config]())
	if keys := len(config.Keys()); fields < keys-4 { // the four lists of permissions are a type of package permit
		t.Errorf("%d fields for %d keys", fields, keys)
	}
}

func imports(f *ast.File, room string) bool {
	for _, i := range f.Imports {
		if strings.HasSuffix(strings.Trim(i.Path.Value, `"`), room) {
			return true
		}
	}
	return false
}

func mentions(f *ast.File, name string) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == name {
			found = true
		}
		return !found
	})
	return found
}

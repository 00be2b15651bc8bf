package lint_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// maxMethods is the maximum number of methods that a port may declare itself; ports composed of
// others for wiring are not counted.
const maxMethods = 7

// TestPortSize checks that ports are small, so that another store or driver, or a fake of one, can
// be written port by port. A port is an exported interface that types of other packages can
// implement: one without unexported methods.
func TestPortSize(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, file := range sources(t) {
		if file.isTest() || strings.HasSuffix(file.path, ".gen.go") {
			continue
		}
		ast.Inspect(file.File, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			port, ok := spec.Type.(*ast.InterfaceType)
			if !ok || !spec.Name.IsExported() {
				return false
			}
			var methods []*ast.Ident
			for _, m := range port.Methods.List {
				methods = append(methods, m.Names...)
			}
			if slices.ContainsFunc(methods, func(m *ast.Ident) bool { return !m.IsExported() }) {
				return false
			}
			seen++
			if len(methods) > maxMethods {
				t.Errorf("%s: the port %s has %d methods; at most %d are allowed", at(spec), spec.Name, len(methods),
					maxMethods)
			}
			return false
		})
	}
	if seen < 50 {
		t.Errorf("the test sees %d ports", seen)
	}
}

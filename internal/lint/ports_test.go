package lint_test

import (
	"go/ast"
	"path/filepath"
	"testing"
)

// maxMethods is the maximum number of methods that a port may declare itself; ports composed of
// others for wiring are not counted.
const maxMethods = 7

// portPackages are the packages whose exported interfaces are ports.
var portPackages = map[string]bool{
	"internal/journal": true, "internal/driver": true, "internal/store": true, "internal/api/hooks/hookdata": true,
	"internal/access": true, "internal/checkpoint": true, "internal/tool/memory": true,
}

// TestPortSize checks that ports are small, so that another store or driver, or a fake of one, can
// be written port by port.
func TestPortSize(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for path, file := range parsed(t) {
		room := filepath.ToSlash(filepath.Dir(path))
		if !portPackages[room] {
			continue
		}
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range decl.Specs {
				spec, ok := s.(*ast.TypeSpec)
				if !ok {
					continue
				}
				port, ok := spec.Type.(*ast.InterfaceType)
				if !ok || !spec.Name.IsExported() {
					continue
				}
				seen[room]++
				methods := 0
				for _, m := range port.Methods.List {
					methods += len(m.Names)
				}
				if methods > maxMethods {
					t.Errorf("%s: the port %s has %d methods, at most %d may be", path, spec.Name, methods, maxMethods)
				}
			}
		}
	}
	for room := range portPackages {
		if seen[room] == 0 {
			t.Errorf("no port found in %s", room)
		}
	}
}

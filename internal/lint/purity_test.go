package lint_test

import (
	"go/ast"
	"maps"
	"slices"
	"testing"
)

// purePackages are packages without clock, randomness, goroutines, channels, locks, I/O and
// loggers: the same input produces the same output, on every driver (D1, D4).
var purePackages = []string{"internal/engine", "internal/engine/event", "internal/engine/graph",
	"internal/engine/ledger", "internal/engine/loop", "internal/engine/plan", "internal/engine/prompt",
	"internal/engine/timer", "internal/engine/typed", "internal/engine/waits", "internal/expr", "workflow",
	"internal/chat",
	"internal/compact", "internal/project", "internal/schedule"}

// impure lists packages that a pure package may not import, including standard library packages
// some of whose contents are pure.
var impure = []string{
	"context", "crypto/rand", "io/fs", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/http", "os",
	"os/exec", "runtime", "sync", "sync/atomic", "syscall",
}

// impureCalls lists impure functions of otherwise pure packages.
var impureCalls = map[string][]string{
	"time": {"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "NewTimer", "NewTicker", "Tick", "Local"},
	"fmt":  {"Print", "Println", "Printf", "Scan", "Scanln", "Scanf"},
}

// shared lists what pure packages import nevertheless, each for the given reason.
var shared = map[string]string{
	"internal/engine/typed sync/atomic": "readers of one state keep its native form, which changes nothing they see",
}

// TestPurePackages checks the packages that must be pure.
func TestPurePackages(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{} // packages and exceptions
	for _, f := range sources(t) {
		if f.isTest() || !slices.Contains(purePackages, f.folder()) {
			continue
		}
		seen[f.folder()] = true
		for _, imp := range f.Imports {
			if !slices.Contains(impure, importPath(imp)) {
				continue
			}
			use := f.folder() + " " + importPath(imp)
			if seen[use] = true; shared[use] == "" {
				t.Errorf("%s imports %s", at(imp), importPath(imp))
			}
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			bad := ""
			switch n := n.(type) {
			case *ast.GoStmt:
				bad = "starts a goroutine"
			case *ast.SelectStmt:
				bad = "selects"
			case *ast.SendStmt, *ast.ChanType:
				bad = "uses a channel"
			case *ast.SelectorExpr:
				if pkg, ok := n.X.(*ast.Ident); ok && pkg.Obj == nil &&
					slices.Contains(impureCalls[pkg.Name], n.Sel.Name) {
					bad = "uses " + pkg.Name + "." + n.Sel.Name
				}
			}
			if bad != "" {
				t.Errorf("%s %s", at(n), bad)
			}
			return true
		})
	}
	for _, want := range slices.Concat(purePackages, slices.Collect(maps.Keys(shared))) {
		if !seen[want] {
			t.Errorf("%s does not exist", want)
		}
	}
}

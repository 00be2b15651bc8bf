package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// purePackages are packages without clock, randomness, goroutines, channels, locks, I/O and
// loggers: the same input produces the same output, on every driver (D1, D4).
var purePackages = []string{"internal/engine", "internal/engine/event", "internal/engine/graph",
	"internal/engine/ledger",
	"internal/engine/plan", "internal/engine/loop", "internal/engine/waits", "internal/expr", "workflow",
	"internal/chat", "internal/project", "internal/schedule"}

// impure lists packages that a pure package may not import, including standard library packages
// some of whose contents are pure.
var impure = []string{
	"context", "crypto/rand", "io/fs", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/http", "os",
	"os/exec", "runtime", "sync/atomic", "syscall",
}

// impureCalls lists impure functions of otherwise pure packages.
var impureCalls = map[string][]string{
	"time": {"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "NewTimer", "NewTicker", "Tick", "Local"},
	"fmt":  {"Print", "Println", "Printf", "Scan", "Scanln", "Scanf"},
}

// lockPackages are packages that may use sync, each for the given reason.
var lockPackages = map[string]string{
	"internal/expr": "one CEL environment is made once, on first use",
}

func TestPurePackages(t *testing.T) {
	t.Parallel()
	for _, room := range purePackages {
		files, err := filepath.Glob(filepath.Join(room, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %d files", room, err, len(files))
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, imp := range f.Imports {
				name, _ := strconv.Unquote(imp.Path.Value)
				if name == "context" && room == "internal/expr" {
					continue // CEL's evaluation takes one; its cost limit, not time, bounds it
				}
				if slices.Contains(impure, name) || (name == "sync" && lockPackages[room] == "") {
					t.Errorf("%s imports %s", fset.Position(imp.Pos()), name)
				}
			}
			ast.Inspect(f, func(n ast.Node) bool {
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
					t.Errorf("%s %s", fset.Position(n.Pos()), bad)
				}
				return true
			})
		}
	}
}

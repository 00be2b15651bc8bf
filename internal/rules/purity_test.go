package rules_test

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

// pureRooms hold no clock, randomness, goroutine, channel, lock, I/O or logger: the same input gives the same output, on every driver (D1, D4).
var pureRooms = []string{"internal/engine", "internal/engine/event", "internal/engine/graph", "internal/engine/ledger", "internal/engine/plan", "internal/engine/loop", "internal/engine/waits", "internal/expr", "workflow", "internal/chat", "internal/project", "internal/schedule"}

// impure are packages that a pure room may not import, with what the standard library offers there that is pure after all.
var impure = []string{
	"context", "crypto/rand", "io/fs", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/http", "os", "os/exec", "runtime", "sync/atomic", "syscall",
}

// impureCalls are functions of packages that are pure otherwise.
var impureCalls = map[string][]string{
	"time": {"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "NewTimer", "NewTicker", "Tick", "Local"},
	"fmt":  {"Print", "Println", "Printf", "Scan", "Scanln", "Scanf"},
}

// lockRooms may use sync, each for the reason given.
var lockRooms = map[string]string{
	"internal/expr": "one CEL environment is made once, on first use",
}

func TestPurity(t *testing.T) {
	t.Parallel()
	for _, room := range pureRooms {
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
				if slices.Contains(impure, name) || (name == "sync" && lockRooms[room] == "") {
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
					if pkg, ok := n.X.(*ast.Ident); ok && pkg.Obj == nil && slices.Contains(impureCalls[pkg.Name], n.Sel.Name) {
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

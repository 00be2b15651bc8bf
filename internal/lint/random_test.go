package lint_test

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unseeded lists files that may draw without a seed, each for the given reason.
var unseeded = map[string]string{
	"internal/ratelimit/ratelimit.go":    "clients that wait for the same limit do not come back together",
	"internal/store/sqlite/lock_wait.go": "processes that wait for the same file do not come back together",
	"internal/store/postgres/tx.go":      "transactions that were in each other's way do not come back together",
	"internal/server/serve_test.go":      "a certificate needs a key, whichever",
	"internal/engine/apply_fuzz_test.go": "its corpus begins with the same bytes each time; fuzzing goes on " +
		"from there",
	"bench/cluster/stored_test.go": "a benchmark does the same work each time",
}

const (
	rapidPackage = "pgregory.net/rapid"
	seedPackage  = module + "internal/randtest"
)

// TestRandomImports checks that all randomness in tests follows from the seed of internal/randtest,
// so that `make test` has the same verdict for the same code.
func TestRandomImports(t *testing.T) {
	t.Parallel()
	type use struct{ rapid, seed string }
	exempt := map[string]bool{}
	uses := map[string]*use{} // by folder, separately for its tests and for importing packages
	for _, f := range sources(t) {
		for _, links := range []string{f.folder() + " tests", f.folder()} {
			if uses[links] == nil {
				uses[links] = &use{}
			}
			if strings.HasSuffix(links, " tests") != f.isTest() {
				continue
			}
			if f.importName(rapidPackage) != "" {
				uses[links].rapid = f.path
			}
			if f.importName(seedPackage) != "" {
				uses[links].seed = f.path
			}
		}
		for _, wrong := range draws(f) {
			if exempt[f.path] = true; unseeded[f.path] == "" {
				t.Errorf("%s: it draws random values that no seed determines; use a source of internal/randtest",
					at(wrong))
			}
		}
	}
	found := 0
	for links, u := range uses {
		folder, tests := strings.CutSuffix(links, " tests")
		if u.rapid == "" || folder == "internal/randtest" {
			continue
		}
		found++
		if u.seed == "" && (!tests || uses[folder].seed == "") {
			t.Errorf("%s uses rapid, but no file of its package imports internal/randtest: its cases would differ "+
				"each time", u.rapid)
		}
	}
	if found < 30 {
		t.Errorf("found only %d packages that use rapid: the test looks in the wrong place", found)
	}
	for path := range unseeded {
		if !exempt[path] {
			t.Errorf("%s draws nothing; it is no exception", path)
		}
	}
}

// draws returns the places at which a file draws from an unseeded source, or seeds one from the
// clock or, in a test, with constants.
func draws(f source) []ast.Node {
	var out []ast.Node
	name := f.importName("math/rand")
	for _, imp := range f.Imports {
		switch {
		case imp.Path.Value == `"math/rand/v2"`:
			name = "rand"
		case imp.Path.Value == `"crypto/rand"` && f.isTest():
			out = append(out, imp)
		}
	}
	if name == "" {
		return out
	}
	ast.Inspect(f.File, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		s, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := s.X.(*ast.Ident); !ok || pkg.Name != name || pkg.Obj != nil {
			return true
		}
		switch {
		case !slices.Contains([]string{"New", "NewPCG", "NewSource", "NewChaCha8", "NewZipf"}, s.Sel.Name):
			out = append(out, call)
		case slices.ContainsFunc(call.Args, readsClock),
			(f.isTest() || strings.HasSuffix(f.folder(), "test")) && !slices.ContainsFunc(call.Args, isVariable):
			out = append(out, call)
		}
		return true
	})
	return out
}

// isVariable reports whether an expression is not a number.
func isVariable(e ast.Expr) bool {
	_, number := e.(*ast.BasicLit)
	return !number
}

// readsClock reports whether an expression reads the time.
func readsClock(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			pkg, ok := s.X.(*ast.Ident)
			found = found || ok && pkg.Name == "time"
		}
		return !found
	})
	return found
}

// TestSeeds checks that `make test` always uses the same seed, that `make test-all` draws one and
// prints it, and that neither uses cached results of another seed.
func TestSeeds(t *testing.T) {
	t.Parallel()
	makefile := read(t, "Makefile")
	recipe := func(target string) []string {
		_, rest, ok := strings.Cut(makefile, "\n"+target+": $(")
		if !ok {
			_, rest, ok = strings.Cut(makefile, "\n"+target+": lint")
		}
		if !ok {
			t.Fatalf("Makefile has no target %s", target)
		}
		rest, _, _ = strings.Cut(rest, "\n\n")
		return strings.Split(rest, "\n")[1:]
	}
	for target, seed := range map[string]string{"test": `\d+`, "test-all": `\$\(shell .*/dev/urandom.*\)`} {
		if !regexp.MustCompile(`(?m)^` + target + `: SEED := ` + seed + `$`).MatchString(makefile) {
			t.Errorf("Makefile does not set SEED for the target %s", target)
		}
		tests, printed := 0, false
		for _, line := range recipe(target) {
			printed = printed || strings.Contains(line, "echo") && strings.Contains(line, "SEED=$(SEED)")
			if !strings.Contains(line, "go test") && !strings.Contains(line, "scripts/gotest") {
				continue
			}
			if tests++; !strings.Contains(line, "HOCKET_SEED=$(SEED)") {
				t.Errorf("make %s runs tests without the seed: %s", target, line)
			}
			if target == "test-all" && !strings.Contains(line, "-count=1") {
				// what a process reads before its tests is not part of the cache key
				t.Errorf("make test-all may take results from the cache: %s", line)
			}
		}
		if tests == 0 || target == "test-all" && !printed {
			t.Errorf("make %s: %d calls of go test, seed printed: %v", target, tests, printed)
		}
	}
}

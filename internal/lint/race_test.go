package lint_test

import (
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// raceList is the list of the packages whose tests `make test` runs with the race detector.
const raceList = "testdata/race.txt"

// TestRaced derives the list of packages that start goroutines: scripts/gotest runs their tests
// with the race detector, and the tests of all other packages without it.
func TestRaced(t *testing.T) {
	t.Parallel()
	var list []string
	all := packages(t)
	for _, pkg := range slices.Sorted(maps.Keys(all)) {
		if p := all[pkg]; !within(pkg, "temporal/...") && pkg != "temporal" && len(p.tests) > 0 &&
			slices.ContainsFunc(p.files, starts) {
			list = append(list, "./"+pkg)
		}
	}
	golden(t, "packages that start goroutines", list, raceList)
}

// TestRacedNames checks that the packages that scripts/gotest removes from the list are in it.
func TestRacedNames(t *testing.T) {
	t.Parallel()
	m := regexp.MustCompile(`(?m)^except='([^']+)'`).FindStringSubmatch(read(t, "scripts/gotest"))
	if m == nil {
		t.Fatal("scripts/gotest does not name exceptions")
	}
	list := read(t, raceList)
	for pkg := range strings.FieldsSeq(m[1]) {
		if !slices.Contains(strings.Fields(list), pkg) {
			t.Errorf("scripts/gotest excepts %s, which is not in %s", pkg, raceList)
		}
	}
}

// startCalls are functions that start goroutines or return a function that does; startMethods are
// methods that do, by name only.
var (
	startCalls = regexp.MustCompile(
		`^(time\.AfterFunc|context\.AfterFunc|signal\.Notify\w*|http\.(Serve|ListenAndServe)\w*|httptest\.New(TLS|` +
			`Unstarted)?Server|errgroup\.\w+)$`)
	startMethods = regexp.MustCompile(`^(Serve|ServeTLS|ListenAndServe|ListenAndServeTLS)$`)
)

// starts reports whether a file starts goroutines: with a go statement, with [sync.WaitGroup.Go]
// and calls of the same form, or with a known call.
func starts(f source) (does bool) {
	ast.Inspect(f.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			does = true
		case *ast.CallExpr:
			if fun, ok := n.Fun.(*ast.SelectorExpr); ok {
				pkg, _ := fun.X.(*ast.Ident)
				does = does || fun.Sel.Name == "Go" && len(n.Args) == 1 || startMethods.MatchString(fun.Sel.Name) ||
					pkg != nil && startCalls.MatchString(pkg.Name+"."+fun.Sel.Name)
			}
		}
		return !does
	})
	return does
}

// TestRaced_FindsGoroutines checks that each way to start a goroutine is detected, and that there
// are no false positives.
func TestRaced_FindsGoroutines(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		"func f() { go f() }":                       true,
		"func f() { g.Go(func() {}) }":              true,
		"func f() { g.Go(work) }":                   true,
		"func f() { time.AfterFunc(1, f) }":         true,
		"func f() { http.ListenAndServe(``, nil) }": true,
		"func f(s *http.Server) { s.Serve(nil) }":   true,
		"func f() { signal.NotifyContext(nil) }":    true,
		"func f(m *sync.Mutex) { m.Lock() }":        false,
		"func f(s tool.Spec) { s.Set() }":           false,
	} {
		if got := starts(parse(t, "package p\n"+body)); got != want {
			t.Errorf("%s: %t, want %t", body, got, want)
		}
	}
}

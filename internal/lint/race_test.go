package lint_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// packageFiles holds the paths of the files of a package and of its tests.
type packageFiles struct{ files, tests []string }

// raceList is the list of the packages whose tests `make test` runs with the race detector.
const raceList = "testdata/race.txt"

// TestRaced derives the list of packages that start goroutines: scripts/gotest runs their tests
// with the race detector, and the tests of all other packages without it.
func TestRaced(t *testing.T) {
	t.Parallel()
	var list []string
	for pkg, p := range modulePackages(t) {
		if len(p.tests) > 0 && slices.ContainsFunc(parsedFiles(t, p.files), starts) {
			list = append(list, "./"+pkg)
		}
	}
	slices.Sort(list)
	got := strings.Join(list, "\n") + "\n"
	if *update {
		if err := os.WriteFile(raceList, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(raceList)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("packages that start goroutines (-golden +now; go test ./internal/lint -run TestRaced -update "+
			"rewrites %s):\n%s", raceList, diff)
	}
}

// TestRacedNames checks that the packages that scripts/gotest removes from the list are in it.
func TestRacedNames(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("scripts/gotest")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^except='([^']+)'`).FindSubmatch(script)
	if m == nil {
		t.Fatal("scripts/gotest does not name exceptions")
	}
	list, err := os.ReadFile(raceList)
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.FieldsSeq(string(m[1])) {
		if !slices.Contains(strings.Fields(string(list)), pkg) {
			t.Errorf("scripts/gotest excepts %s, which is not in %s", pkg, raceList)
		}
	}
}

// listPackages lists the packages of the module once.
var listPackages = sync.OnceValues(func() (map[string]packageFiles, error) {
	const format = `{{.ImportPath}}|{{join .GoFiles " "}}|{{join .TestGoFiles " "}} {{join .XTestGoFiles " "}}`
	list := exec.CommandContext(context.Background(), "go", "list", "-f", format, "./...")
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")
	out, err := list.Output()
	if err != nil {
		return nil, err
	}
	all := map[string]packageFiles{}
	for line := range strings.Lines(string(out)) {
		part := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		pkg := pathOf(part[0])
		paths := func(names string) (list []string) {
			for name := range strings.FieldsSeq(names) {
				list = append(list, filepath.Join(filepath.FromSlash(pkg), name))
			}
			return list
		}
		all[pkg] = packageFiles{files: paths(part[1]), tests: paths(part[2])}
	}
	return all, nil
})

// modulePackages returns the packages of the module by path.
func modulePackages(t *testing.T) map[string]packageFiles {
	t.Helper()
	all, err := listPackages()
	if err != nil || len(all) < 30 {
		t.Fatalf("go list found %d packages: %v", len(all), err)
	}
	return all
}

// parsedFiles parses Go files.
func parsedFiles(t *testing.T, paths []string) []*ast.File {
	t.Helper()
	list := make([]*ast.File, len(paths))
	for i, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		list[i] = f
	}
	return list
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
func starts(f *ast.File) (does bool) {
	ast.Inspect(f, func(n ast.Node) bool {
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
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+body, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := starts(f); got != want {
			t.Errorf("%s: %t, want %t", body, got, want)
		}
	}
}

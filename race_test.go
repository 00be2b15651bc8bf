package hocket_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
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

// startedBy are packages in which methods of one type alone start goroutines. Packages that name neither the type nor the function that makes it can link them.
var startedBy = map[string]string{
	"internal/tool": "Set", // the calls of tools, the opening of toolsets and their end
}

// packageFiles is what a package and its tests are made of.
type packageFiles struct {
	files, tests []string // paths
	needs        []string // packages of the module that the files and the tests import
	needed       []string // those that the files import
}

// TestWithoutRace holds the list of packages whose tests scripts/gotest runs without the race detector, since nothing can race there. Of these packages neither the files nor the tests start a
// goroutine, hold a lock or change a variable of a package; and no package of the module that they link starts a goroutine. ADR 132 says what it does not see.
func TestWithoutRace(t *testing.T) {
	t.Parallel()
	all := modulePackages(t)
	starts := map[string]bool{} // files of the package start goroutines
	files, tests := map[string][]*ast.File{}, map[string][]*ast.File{}
	for pkg, p := range all {
		files[pkg], tests[pkg] = parsedFiles(t, p.files), parsedFiles(t, p.tests)
		starts[pkg] = slices.ContainsFunc(files[pkg], startsAny)
	}
	for pkg, typ := range startedBy {
		if !starts[pkg] {
			t.Errorf("package %s starts no goroutine; remove it from the list", pkg)
		}
		starts[pkg] = slices.ContainsFunc(files[pkg], func(f *ast.File) bool { return startsBeside(f, typ) })
	}
	var list []string
	for pkg, p := range all {
		own := slices.Concat(files[pkg], tests[pkg])
		if len(p.tests) > 0 && !slices.ContainsFunc(own, func(f *ast.File) bool { return startsAny(f) || locks(f) }) && !changesVariables(own) &&
			!slices.ContainsFunc(withImports(all, p.needs), func(dep string) bool { return starts[dep] }) {
			list = append(list, "./"+pkg)
		}
	}
	slices.Sort(list)
	const golden = "testdata/norace.txt"
	got := strings.Join(list, "\n") + "\n"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("packages in which nothing can race (-golden +now; go test . -run WithoutRace -update rewrites %s):\n%s", golden, diff)
	}
}

// TestOnceEach: each test that scripts/gotest leaves out with the race detector is in a package where it runs such tests without it, and the packages without it exist.
func TestOnceEach(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("scripts/gotest")
	if err != nil {
		t.Fatal(err)
	}
	find := func(line string) string {
		m := regexp.MustCompile(line).FindSubmatch(script)
		if m == nil {
			t.Fatalf("scripts/gotest has no line %s", line)
		}
		return string(m[1])
	}
	again := regexp.MustCompile(find(`(?m)^again='([^']+)' among=`))
	among := strings.Fields(find(`among='([^']+)'`))
	plain := strings.Fields(find(`(?m)^plain="\$\(.*<testdata/norace\.txt\) ([^"]+)"`))
	all := modulePackages(t)
	for _, pkg := range slices.Concat(among, plain) {
		if _, ok := all[strings.TrimPrefix(pkg, "./")]; !ok || !strings.HasPrefix(pkg, "./") {
			t.Errorf("scripts/gotest names the package %s, which does not exist", pkg)
		}
	}
	has := map[string]bool{}
	for pkg, p := range all {
		pkg = "./" + pkg
		for _, f := range parsedFiles(t, p.tests) {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && again.MatchString(fn.Name.Name) {
					has[pkg] = true
					if !slices.Contains(among, pkg) && !slices.Contains(plain, pkg) {
						t.Errorf("scripts/gotest runs %s of %s nowhere", fn.Name.Name, pkg)
					}
				}
			}
		}
	}
	for _, pkg := range among {
		if !has[pkg] {
			t.Errorf("no test of %s matches %s", pkg, again)
		}
	}
}

// listPackages lists the packages of the module once.
var listPackages = sync.OnceValues(func() (map[string]packageFiles, error) {
	const format = `{{.ImportPath}}|{{join .GoFiles " "}}|{{join .TestGoFiles " "}} {{join .XTestGoFiles " "}}|{{join .Imports " "}}|{{join .TestImports " "}} {{join .XTestImports " "}}`
	out, err := exec.CommandContext(context.Background(), "go", "list", "-f", format, "./...").Output()
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
		own := func(imports string) (list []string) {
			for imp := range strings.FieldsSeq(imports) {
				if p := pathOf(imp); p != imp && p != pkg {
					list = append(list, p)
				}
			}
			return list
		}
		all[pkg] = packageFiles{files: paths(part[1]), tests: paths(part[2]), needed: own(part[3]), needs: append(own(part[3]), own(part[4])...)}
	}
	return all, nil
})

// modulePackages gives the packages of the module by their paths.
func modulePackages(t *testing.T) map[string]packageFiles {
	t.Helper()
	all, err := listPackages()
	if err != nil || len(all) < 30 {
		t.Fatalf("go list found %d packages: %v", len(all), err)
	}
	return all
}

// withImports gives packages and all that they import, within the module.
func withImports(all map[string]packageFiles, pkgs []string) []string {
	found := map[string]bool{}
	for todo := slices.Clone(pkgs); len(todo) > 0; {
		pkg := todo[0]
		todo = todo[1:]
		if !found[pkg] {
			found[pkg] = true
			todo = append(todo, all[pkg].needed...)
		}
	}
	return slices.Collect(maps.Keys(found))
}

// parsedFiles reads files of Go.
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

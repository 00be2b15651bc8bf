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
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// startsNone are packages that start goroutines which tests of others cannot meet, each for the reason given.
var startsNone = map[string]string{
	"internal/tool": "calls of tools, the opening of toolsets and their end start goroutines; tests that need its types alone do none of that",
}

// room is what a package and its tests are made of.
type room struct {
	files, tests []string // paths
	needs        []string // packages of the module that the files and the tests import
	needed       []string // those that the files import
}

// TestWithoutRace holds the list of packages whose tests scripts/gotest runs without the race detector, since nothing can race there. Of these packages neither the files nor the tests start a
// goroutine, hold a lock or change a variable of the package; and no package of the module that they link starts a goroutine.
func TestWithoutRace(t *testing.T) {
	t.Parallel()
	all := rooms(t)
	starts := map[string]bool{} // files of the package start goroutines
	for pkg, r := range all {
		starts[pkg] = startsNone[pkg] == "" && slices.ContainsFunc(r.files, func(path string) bool { return concurrency(t, path).starts })
	}
	for pkg := range startsNone {
		if r, ok := all[pkg]; !ok || !slices.ContainsFunc(r.files, func(path string) bool { return concurrency(t, path).starts }) {
			t.Errorf("package %s starts no goroutine; remove it from the list", pkg)
		}
	}
	var list []string
	for pkg, r := range all {
		alone := len(r.tests) > 0
		for _, path := range slices.Concat(r.files, r.tests) {
			c := concurrency(t, path)
			alone = alone && !c.starts && !c.locks
		}
		if alone && !changesVariables(t, r.files) && !slices.ContainsFunc(withImports(all, r.needs), func(dep string) bool { return starts[dep] }) {
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
	all := rooms(t)
	for _, pkg := range slices.Concat(among, plain) {
		if _, ok := all[strings.TrimPrefix(pkg, "./")]; !ok || !strings.HasPrefix(pkg, "./") {
			t.Errorf("scripts/gotest names the package %s, which does not exist", pkg)
		}
	}
	has := map[string]bool{}
	for pkg, r := range all {
		pkg = "./" + pkg
		for _, path := range r.tests {
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
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

// listRooms lists the packages of the module once.
var listRooms = sync.OnceValues(func() (map[string]room, error) {
	const format = `{{.ImportPath}}|{{join .GoFiles " "}}|{{join .TestGoFiles " "}} {{join .XTestGoFiles " "}}|{{join .Imports " "}}|{{join .TestImports " "}} {{join .XTestImports " "}}`
	out, err := exec.CommandContext(context.Background(), "go", "list", "-f", format, "./...").Output()
	if err != nil {
		return nil, err
	}
	all := map[string]room{}
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
		all[pkg] = room{files: paths(part[1]), tests: paths(part[2]), needed: own(part[3]), needs: append(own(part[3]), own(part[4])...)}
	}
	return all, nil
})

// rooms gives the packages of the module by their paths.
func rooms(t *testing.T) map[string]room {
	t.Helper()
	all, err := listRooms()
	if err != nil || len(all) < 30 {
		t.Fatalf("go list found %d packages: %v", len(all), err)
	}
	return all
}

// withImports gives packages and all that they import, within the module.
func withImports(all map[string]room, pkgs []string) []string {
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

// concurrent is what a file has of concurrency.
type concurrent struct{ starts, locks bool }

// startCalls are functions of other packages that start goroutines, or give what does.
var startCalls = regexp.MustCompile(`^(time\.AfterFunc|context\.AfterFunc|http\.Serve\w*|httptest\.New(TLS|Unstarted)?Server|errgroup\.\w+|synctest\.Test)$`)

func concurrency(t *testing.T, path string) (c concurrent) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, imp := range f.Imports {
		if name, _ := strconv.Unquote(imp.Path.Value); name == "sync" || name == "sync/atomic" {
			c.locks = true
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			c.starts = true
		case *ast.CallExpr:
			if fun, ok := n.Fun.(*ast.SelectorExpr); ok {
				pkg, _ := fun.X.(*ast.Ident)
				c.starts = c.starts || startsIt(fun, n.Args, c.locks) || pkg != nil && startCalls.MatchString(pkg.Name+"."+fun.Sel.Name)
			}
		}
		return true
	})
	return c
}

// startsIt tells calls of sync.WaitGroup.Go and of others that have its form: its argument is a function without parameters, or one by name in a file that imports sync.
func startsIt(fun *ast.SelectorExpr, args []ast.Expr, imports bool) bool {
	if fun.Sel.Name != "Go" || len(args) != 1 {
		return false
	}
	what, isLiteral := args[0].(*ast.FuncLit)
	return isLiteral && len(what.Type.Params.List) == 0 || !isLiteral && imports
}

// changesVariables tells whether functions of a package, but for init, assign to its variables.
func changesVariables(t *testing.T, files []string) bool {
	t.Helper()
	var parsed []*ast.File
	variables := map[string]bool{}
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
		for _, d := range f.Decls {
			if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.VAR {
				for _, s := range d.Specs {
					for _, name := range s.(*ast.ValueSpec).Names {
						variables[name.Name] = true
					}
				}
			}
		}
	}
	found := false
	for _, f := range parsed {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || fn.Name.Name == "init" && fn.Recv == nil {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					found = found || n.Tok != token.DEFINE && slices.ContainsFunc(n.Lhs, func(e ast.Expr) bool { return ofPackage(e, variables) })
				case *ast.IncDecStmt:
					found = found || ofPackage(n.X, variables)
				}
				return true
			})
		}
	}
	return found
}

// ofPackage tells whether an expression is, by its name, a variable of the package, or a part of one.
func ofPackage(e ast.Expr, variables map[string]bool) bool {
	for {
		switch x := e.(type) {
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.Ident:
			return variables[x.Name]
		default:
			return false
		}
	}
}

package hocket_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// startCalls are functions of other packages that start goroutines, or give what does; startMethods are methods that do, by their name alone.
var (
	startCalls   = regexp.MustCompile(`^(time\.AfterFunc|context\.AfterFunc|signal\.Notify\w*|http\.(Serve|ListenAndServe)\w*|httptest\.New(TLS|Unstarted)?Server|errgroup\.\w+|synctest\.Test)$`)
	startMethods = regexp.MustCompile(`^(Serve|ServeTLS|ListenAndServe|ListenAndServeTLS|RunParallel)$`)
)

// startsAny tells whether a file starts goroutines, or makes what does of one of startedBy.
func startsAny(f *ast.File) bool {
	imports := importsOf(f)
	return startsIn(f, imports) || slices.ContainsFunc(selectors(f), func(s *ast.SelectorExpr) bool {
		pkg, ok := s.X.(*ast.Ident)
		if !ok {
			return false
		}
		typ := startedBy[strings.TrimPrefix(imports[pkg.Name], module)]
		return typ != "" && (s.Sel.Name == typ || s.Sel.Name == "New"+typ)
	})
}

// startsBeside tells whether a file starts goroutines outside of methods of a type.
func startsBeside(f *ast.File, typ string) bool {
	imports := importsOf(f)
	return slices.ContainsFunc(f.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		isMethod := ok && fn.Recv != nil && receiver(fn) == typ
		return !isMethod && startsIn(d, imports)
	})
}

// startsIn tells whether a part of a file starts goroutines by statements, or by calls that startCalls, startMethods and startsIt know. A process whose streams are
// readers and writers of the program has one for each.
func startsIn(part ast.Node, imports map[string]string) (starts bool) {
	ast.Inspect(part, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.CallExpr:
			if fun, ok := n.Fun.(*ast.SelectorExpr); ok {
				pkg, _ := fun.X.(*ast.Ident)
				starts = starts || startsIt(fun, n.Args, imports["sync"] != "") || startMethods.MatchString(fun.Sel.Name) ||
					pkg != nil && startCalls.MatchString(pkg.Name+"."+fun.Sel.Name)
			}
		case *ast.AssignStmt:
			starts = starts || imports["exec"] == "os/exec" && slices.ContainsFunc(n.Lhs, isStream)
		case *ast.KeyValueExpr:
			key, ok := n.Key.(*ast.Ident)
			starts = starts || ok && imports["exec"] == "os/exec" && streams.MatchString(key.Name)
		}
		return true
	})
	return starts
}

// streams are the fields of exec.Cmd for which it may start a goroutine.
var streams = regexp.MustCompile(`^(Stdin|Stdout|Stderr)$`)

func isStream(e ast.Expr) bool {
	field, ok := e.(*ast.SelectorExpr)
	return ok && streams.MatchString(field.Sel.Name)
}

// startsIt tells calls of sync.WaitGroup.Go and of others that have its form: its argument is a function without parameters, or one by name in a file that imports sync.
func startsIt(fun *ast.SelectorExpr, args []ast.Expr, imports bool) bool {
	if fun.Sel.Name != "Go" || len(args) != 1 {
		return false
	}
	what, isLiteral := args[0].(*ast.FuncLit)
	return isLiteral && len(what.Type.Params.List) == 0 || !isLiteral && imports
}

// locks tells whether a file can hold a lock.
func locks(f *ast.File) bool {
	return slices.ContainsFunc(f.Imports, func(imp *ast.ImportSpec) bool { return imp.Path.Value == `"sync"` || imp.Path.Value == `"sync/atomic"` })
}

// majorVersion ends the path of a module of a later version, and is no part of its name.
var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// importsOf gives the paths of the packages that a file imports, by their names in it.
func importsOf(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, imp := range f.Imports {
		of, _ := strconv.Unquote(imp.Path.Value)
		name := path.Base(of)
		if majorVersion.MatchString(name) {
			name = path.Base(path.Dir(of))
		}
		if imp.Name != nil {
			name = imp.Name.Name
		}
		names[name] = of
	}
	return names
}

// selectors gives all that a file selects.
func selectors(f *ast.File) (list []*ast.SelectorExpr) {
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			list = append(list, s)
		}
		return true
	})
	return list
}

// changesVariables tells whether files of a package, but for init, change its variables or those of a package that they import: by an assignment, a
// loop, or delete, clear and copy. It goes by names: a variable of a function that has the name of one of the package counts as that one.
func changesVariables(files []*ast.File) bool {
	variables := map[string]bool{}
	for _, f := range files {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.VAR {
				for _, s := range d.Specs {
					for _, name := range s.(*ast.ValueSpec).Names {
						variables[name.Name] = name.Name != "_"
					}
				}
			}
		}
	}
	for _, f := range files {
		imports := importsOf(f)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "init" && fn.Recv == nil {
				continue
			}
			found := false
			ast.Inspect(d, func(n ast.Node) bool {
				found = found || slices.ContainsFunc(changed(n), func(e ast.Expr) bool { return ofPackage(e, variables, imports) })
				return !found
			})
			if found {
				return true
			}
		}
	}
	return false
}

// changed gives what a statement or a call changes.
func changed(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			return []ast.Expr{n.Key, n.Value}
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.CallExpr:
		if fun, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 && (fun.Name == "delete" || fun.Name == "clear" || fun.Name == "copy") {
			return n.Args[:1]
		}
	}
	return nil
}

// ofPackage tells whether an expression is, by its name, a variable of the package or of one that is imported, or a part of such a variable.
func ofPackage(e ast.Expr, variables map[string]bool, imports map[string]string) bool {
	for {
		switch x := e.(type) {
		case *ast.SelectorExpr:
			if pkg, ok := x.X.(*ast.Ident); ok && imports[pkg.Name] != "" {
				return true
			}
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
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

// TestChangesVariables: each way to change a variable of a package is seen, and what changes none is not.
func TestChangesVariables(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		"func f() { v = nil }":                     true,
		"func f() { v[0], w = 1, 2 }":              true,
		"func f() { (*p).a.b++ }":                  true,
		"func f() { delete(m, 1) }":                true,
		"func f() { clear(m) }":                    true,
		"func f() { copy(v[1:], v) }":              true,
		"func f() { for w = range 3 { _ = w } }":   true,
		"func f() { for _, w = range v { } }":      true,
		"func f() { other.V = 1 }":                 true,
		"func f() { other.V.Field[2]++ }":          true,
		"var f = func() { w++ }":                   true,
		"func f() { n := w; n++; _ = v }":          false,
		"func f() { for i := range v { _ = i } }":  false,
		"func f(x []int) { clear(x); copy(x, v) }": false,
		"func f(x struct{ V int }) { x.V = 1 }":    false,
		"func init() { w = 1 }":                    false,
	} {
		if got := changesVariables([]*ast.File{declared(t, "var v []int; var w int; var m map[int]int; var p *struct{ a struct{ b int } }\n"+body)}); got != want {
			t.Errorf("%s: %t, want %t", body, got, want)
		}
	}
	if beside := []*ast.File{declared(t, "var v int"), declared(t, "func f() { v++ }")}; !changesVariables(beside) {
		t.Error("a variable of another file of the package was not seen")
	}
}

// TestStarts: each way to start a goroutine is seen, and what starts none is not.
func TestStarts(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		"func f() { go f() }":                                     true,
		"func f() { g.Go(func() {}) }":                            true,
		"func f() { time.AfterFunc(1, f) }":                       true,
		"func f() { http.ListenAndServe(``, nil) }":               true,
		"func f(s *http.Server) { s.Serve(nil) }":                 true,
		"func f(b *testing.B) { b.RunParallel(nil) }":             true,
		"func f() { signal.NotifyContext(nil) }":                  true,
		"func f(c *exec.Cmd) { c.Stdout = w }":                    true,
		"var c = exec.Cmd{Stderr: w}":                             true,
		"func f() { tool.NewSet(1) }":                             true,
		"func f(s *tool.Set) {}":                                  true,
		"func f(c *exec.Cmd) { c.Dir = w; exec.Command(`true`) }": false,
		"func f(s tool.Spec) { s.Set() }":                         false,
	} {
		if got := startsAny(declared(t, body)); got != want {
			t.Errorf("%s: %t, want %t", body, got, want)
		}
	}
	for body, want := range map[string]bool{
		"func (s *Set) f() { go f() }":   false,
		"func (s Set) f() { go f() }":    false,
		"func (s *Other) f() { go f() }": true,
		"func f(s *Set) { go f() }":      true,
	} {
		if got := startsBeside(declared(t, body), "Set"); got != want {
			t.Errorf("beside Set: %s: %t, want %t", body, got, want)
		}
	}
}

// declared parses declarations of a file that imports what they name.
func declared(t *testing.T, declarations string) *ast.File {
	t.Helper()
	const imports = `import ("net/http"; "os/exec"; "os/signal"; "testing"; "time"; "example.com/other/v2"; "` + module + `internal/tool")`
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+imports+"\n"+declarations, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// mutant is a change to the code.
type mutant struct {
	ID   int    `json:"id"` // from 1
	Area string `json:"area"`
	Kind string `json:"kind"` // "negate", "drop", "swap", "off"
	File string `json:"file"` // relative to the module's root
	Func string `json:"func"`
	Line int    `json:"line"` // when the mutant was drawn
	Text string `json:"text"` // the changed code with white space collapsed
	Nth  int    `json:"nth"`  // index among mutants with the same kind, function and text, from 0
}

// areas are the parts of the code in which changes are made, as directories including their
// subdirectories.
var areas = []struct {
	name    string
	folders []string
}{
	{"engine", []string{"internal/engine"}},
	{"formats", []string{"internal/format"}},
	{"stores", []string{"internal/store", "internal/journal", "internal/catalog", "internal/access",
		"internal/checkpoint"}},
	{"drivers", []string{"internal/driver/embedded", "internal/driver/held", "internal/driver/stored",
		"internal/driver/program"}},
	{"service", []string{"internal/service"}},
	{"server", []string{"internal/server", "internal/api"}},
}

var kinds = []string{"negate", "drop", "swap", "off"}

// site is a place where a change can be made.
type site struct {
	mutant
	begin, end int // byte offsets of the code
	lastLine   int
	edits      func(id int) []edit
}

// draw draws n changes and writes them. Changes that do not compile are replaced with the next ones
// of the same area and kind.
func draw(seed uint64, n int) error {
	sites, err := findSites()
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(seed, 0))
	pools := map[string][]site{}
	for _, a := range areas {
		for _, kind := range kinds {
			pool := slices.DeleteFunc(slices.Clone(sites), func(s site) bool {
				return s.Area != a.name || s.Kind != kind
			})
			random.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
			pools[a.name+kind] = pool
		}
	}
	next := func(i int) (site, error) {
		a, kind := areas[i%len(areas)].name, kinds[i/len(areas)%len(kinds)]
		pool := pools[a+kind]
		if len(pool) == 0 {
			return site{}, fmt.Errorf("%s has no more places for the change %q", a, kind)
		}
		pools[a+kind] = pool[1:]
		s := pool[0]
		s.ID = i + 1
		return s, nil
	}
	chosen := make([]site, n)
	for i := range chosen {
		if chosen[i], err = next(i); err != nil {
			return err
		}
	}
	for {
		bad, err := notCompiling(chosen)
		if err != nil {
			return err
		}
		if len(bad) == 0 {
			break
		}
		for _, i := range bad {
			fmt.Printf("%s:%d: %s does not compile, drawn anew\n", chosen[i].File, chosen[i].Line, chosen[i].Kind)
			if chosen[i], err = next(i); err != nil {
				return err
			}
		}
	}
	var b bytes.Buffer
	for _, s := range chosen {
		line, err := json.Marshal(s.mutant)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	if err := os.MkdirAll(filepath.Dir(listFile), 0o755); err != nil {
		return err
	}
	fmt.Printf("%d changes of %d places: %s\n", n, len(sites), listFile)
	return os.WriteFile(listFile, b.Bytes(), 0o644)
}

// listedSites finds the listed changes in the current code.
func listedSites() (found []site, lost []mutant, err error) {
	list, err := readLines[mutant](listFile)
	if err != nil {
		return nil, nil, err
	}
	sites, err := findSites()
	if err != nil {
		return nil, nil, err
	}
	for _, m := range list {
		same := func(s site) bool { return s.Kind == m.Kind && s.Func == m.Func && s.Text == m.Text && s.Nth == m.Nth }
		i := slices.IndexFunc(sites, func(s site) bool { return s.File == m.File && same(s) })
		if i < 0 { // the file was renamed
			i = slices.IndexFunc(sites, func(s site) bool { return s.Area == m.Area && same(s) })
		}
		if i < 0 {
			lost = append(lost, m)
			continue
		}
		s := sites[i]
		s.ID = m.ID
		found = append(found, s)
	}
	return found, lost, nil
}

// findSites returns all places where changes can be made, in order of file and position.
func findSites() ([]site, error) {
	var patterns []string
	for _, a := range areas {
		for _, f := range a.folders {
			patterns = append(patterns, "./"+f+"/...")
		}
	}
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
		packages.NeedTypesInfo | packages.NeedImports
	pkgs, err := packages.Load(&packages.Config{Mode: mode}, patterns...)
	if err != nil {
		return nil, err
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	var sites []site
	for _, p := range pkgs {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		if strings.HasSuffix(p.PkgPath, "test") {
			continue
		}
		for i, file := range p.Syntax {
			rel, err := filepath.Rel(root, p.GoFiles[i])
			if err != nil {
				return nil, err
			}
			source, err := os.ReadFile(p.GoFiles[i])
			if err != nil {
				return nil, err
			}
			if ast.IsGenerated(file) {
				continue
			}
			f := finder{file: filepath.ToSlash(rel), source: source, base: p.Fset.File(file.FileStart).Base(),
				fset: p.Fset, info: p.TypesInfo}
			for _, a := range areas {
				if slices.ContainsFunc(a.folders, func(dir string) bool { return strings.HasPrefix(f.file, dir+"/") }) {
					f.area = a.name
				}
			}
			f.find(file)
			sites = append(sites, f.sites...)
		}
	}
	slices.SortFunc(sites, func(a, b site) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.begin, b.begin), cmp.Compare(b.end, a.end),
			cmp.Compare(a.Kind, b.Kind))
	})
	seen := map[mutant]int{}
	for i := range sites {
		key := mutant{Kind: sites[i].Kind, File: sites[i].File, Func: sites[i].Func, Text: sites[i].Text}
		sites[i].Nth = seen[key]
		seen[key]++
	}
	return sites, nil
}

// finder finds the places in one file.
type finder struct {
	area, file string
	source     []byte
	base       int
	fset       *token.FileSet
	info       *types.Info
	function   string
	sites      []site
}

// find walks through the functions of a file.
func (f *finder) find(file *ast.File) {
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		f.function = fn.Name.Name
		if fn.Recv != nil && len(fn.Recv.List) > 0 {
			f.function = strings.TrimPrefix(f.text(fn.Recv.List[0].Type), "*") + "." + fn.Name.Name
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				f.condition(n.Cond)
			case *ast.BlockStmt:
				f.statements(n.List)
			case *ast.CaseClause:
				f.statements(n.Body)
			case *ast.CommClause:
				f.statements(n.Body)
			case *ast.CallExpr:
				f.arguments(n)
			case *ast.BinaryExpr:
				f.binary(n)
			case *ast.SliceExpr:
				f.number(n.Low)
				f.number(n.High)
			}
			return true
		})
	}
}

func (f *finder) offset(p token.Pos) int { return int(p) - f.base }

// text returns the code of a node with white space collapsed.
func (f *finder) text(n ast.Node) string {
	return strings.Join(strings.Fields(string(f.source[f.offset(n.Pos()):f.offset(n.End())])), " ")
}

// add adds a place.
func (f *finder) add(kind string, n ast.Node, edits func(id int) []edit) {
	f.sites = append(f.sites, site{
		mutant: mutant{Area: f.area, Kind: kind, File: f.file, Func: f.function, Line: f.fset.Position(n.Pos()).Line,
			Text: f.text(n)},
		begin: f.offset(n.Pos()), end: f.offset(n.End()), lastLine: f.fset.Position(n.End()).Line, edits: edits,
	})
}

// around returns the edits that insert text before and after a node.
func (f *finder) around(n ast.Node, before, after string) func(id int) []edit {
	begin, end := f.offset(n.Pos()), f.offset(n.End())
	return func(id int) []edit {
		return []edit{{at: begin, size: end - begin, isOpen: true, text: fmt.Sprintf(before, id)},
			{at: end, size: end - begin, text: after}}
	}
}

// condition negates the condition of an if. A single comparison of an error with nil is left out:
// there are many, and any test notices them.
func (f *finder) condition(e ast.Expr) {
	if b, ok := e.(*ast.BinaryExpr); ok && f.text(b.Y) == "nil" && strings.HasPrefix(f.text(b.X), "err") {
		return
	}
	if t := f.info.TypeOf(e); t == nil || !types.Identical(t.Underlying(), types.Typ[types.Bool]) &&
		t != types.Typ[types.UntypedBool] {
		return
	}
	f.add("negate", e, f.around(e, alias+".Not(%d, ", ")"))
}

// statements drops calls and assignments.
func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			call, ok := s.X.(*ast.CallExpr)
			if !ok || f.text(call.Fun) == "panic" {
				continue
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || slices.ContainsFunc(s.Lhs, func(e ast.Expr) bool { return f.text(e) == "_" }) {
				continue
			}
		case *ast.IncDecStmt:
		default:
			continue
		}
		f.add("drop", s, f.around(s, "if !"+alias+".On(%d) { ", " }"))
	}
}

// isPlain reports whether an expression has no side effects and is cheap, so that it may be
// evaluated twice.
func isPlain(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name != "nil"
	case *ast.BasicLit:
		return true
	case *ast.SelectorExpr:
		return isPlain(e.X)
	}
	return false
}

// arguments swaps two adjacent arguments of the same type.
func (f *finder) arguments(call *ast.CallExpr) {
	if tv, ok := f.info.Types[call.Fun]; !ok || !tv.IsValue() {
		return // a conversion or a builtin
	}
	for i := 0; i+1 < len(call.Args); i++ {
		a, b := call.Args[i], call.Args[i+1]
		ta, tb := f.info.Types[a], f.info.Types[b]
		if !isPlain(a) || !isPlain(b) || ta.Value != nil && tb.Value != nil || ta.Type == nil || !ta.IsValue() ||
			!tb.IsValue() ||
			!types.Identical(ta.Type, tb.Type) || f.text(a) == f.text(b) || call.Ellipsis.IsValid() &&
			i+2 == len(call.Args) {
			continue
		}
		textA, textB := f.text(a), f.text(b)
		first, second := f.offset(a.Pos()), f.offset(b.Pos())
		f.add("swap", call, func(id int) []edit {
			return []edit{
				{at: first, replace: len(textA), isOpen: true, text: fmt.Sprintf("%s.Pick(%d, %s, %s)", alias, id,
					textA, textB)},
				{at: second, replace: len(textB), isOpen: true, text: fmt.Sprintf("%s.Pick(%d, %s, %s)", alias, id,
					textB, textA)},
			}
		})
	}
}

// binary makes a strict comparison non-strict or vice versa, and changes a number that is added or
// subtracted.
func (f *finder) binary(e *ast.BinaryExpr) {
	if f.info.Types[e].Value != nil {
		return
	}
	switch e.Op {
	case token.ADD, token.SUB:
		f.number(e.Y)
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		name := map[token.Token]string{token.LSS: "Less", token.LEQ: "AtMost", token.GTR: "More",
			token.GEQ: "AtLeast"}[e.Op]
		surround, op := f.around(e, alias+"."+name+"(%d, ", ")"), f.offset(e.OpPos)
		f.add("off", e, func(id int) []edit {
			return append(surround(id), edit{at: op, replace: len(e.Op.String()), isOpen: true, text: ","})
		})
	}
}

// number changes a literal by one.
func (f *finder) number(e ast.Expr) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.INT {
		return
	}
	t, ok := f.info.TypeOf(e).(*types.Basic)
	if !ok || t.Info()&types.IsInteger == 0 || t.Info()&types.IsUntyped != 0 {
		return
	}
	f.add("off", e, f.around(e, alias+".Off(%d, "+t.Name()+"(", "))"))
}

package errcode_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/errcode"
	_ "github.com/hocket-run/hocket/internal/randtest"
)

// TestTable checks that entries are complete, codes unique and families known, that placeholders
// are well-formed, and that no text contains advice for another transport.
func TestTable(t *testing.T) {
	t.Parallel()
	seen := map[errcode.Code]bool{}
	for _, e := range errcode.Entries() {
		if seen[e.Code] || e.Message == "" || e.Cause == "" || errcode.GroupOf(e.Family).Family != e.Family {
			t.Errorf("entry %+v is a duplicate or incomplete", e)
		}
		seen[e.Code] = true
		for _, text := range append(e.Hints[:], e.Message) {
			if strings.Count(text, "{") != strings.Count(text, "}") ||
				strings.Count(text, "{") != len(errcode.Places(text)) {
				t.Errorf("%s: %q has an open place", e.Code, text)
			}
		}
		for at, hint := range e.Hints {
			if flag := strings.Contains(hint, "--") || strings.Contains(hint, "hocket "); flag &&
				at != int(errcode.Command) {
				t.Errorf("%s: %q is advice for the command line", e.Code, hint)
			}
		}
		if strings.Contains(e.Message, "--") || strings.Contains(e.Message, "/api/") {
			t.Errorf("%s: the message %q belongs to one transport; move that part into its hint", e.Code, e.Message)
		}
	}
	for i, g := range errcode.Groups() {
		if i > 0 && g.Family < errcode.Groups()[i-1].Family {
			t.Errorf("%s is not in order", g.Family)
		}
	}
}

// TestRemedyHints checks that each remedy of a diagnostic has a hint for every transport.
func TestRemedyHints(t *testing.T) {
	t.Parallel()
	if got, want := slices.Sorted(maps.Keys(errcode.Remedies)),
		slices.Sorted(maps.Keys(diag.Remedies())); !slices.Equal(got, want) {
		t.Errorf("hints for %v, remedies %v", got, want)
	}
	for name, hints := range errcode.Remedies {
		for _, hint := range hints {
			if hint == "" {
				t.Errorf("%s has no hint for one of the transports: %q", name, hints)
			}
		}
	}
	d := diag.Diagnostic{}
	d.Advise(diag.GiveTools)
	list := diag.List{d, {Hint: "did you mean x?"}}
	if got := errcode.Hinted(list, errcode.HTTP); got[0].Hint != errcode.Remedies[diag.GiveTools][errcode.HTTP] ||
		got[1].Hint != list[1].Hint || list[0].Hint != d.Hint {
		t.Errorf("got %+v of %+v", got, list)
	}
}

// TestErrors_FieldsComplete reads the source and checks that each error with a code is created with
// a value for each placeholder of its message and its hints.
func TestErrors_FieldsComplete(t *testing.T) {
	t.Parallel()
	names := constants(t)
	checked := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.HasPrefix(path, "../errcode") {
			return err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 3 {
				return true
			}
			code, ok := call.Args[0].(*ast.SelectorExpr)
			if x, isIdent := code0(code); !ok || !isIdent || x != "errcode" {
				return true
			}
			e, ok := errcode.Find(names[code.Sel.Name])
			if !ok {
				t.Errorf("%s: %s has no entry", set.Position(call.Pos()), code.Sel.Name)
				return true
			}
			checked++
			given := []string{"cause"}
			if lit, ok := call.Args[1].(*ast.CompositeLit); ok {
				for _, el := range lit.Elts {
					key, err := strconv.Unquote(el.(*ast.KeyValueExpr).Key.(*ast.BasicLit).Value)
					if err != nil {
						t.Fatal(err)
					}
					given = append(given, key)
				}
			}
			for _, text := range append(e.Hints[:], e.Message) {
				for _, place := range errcode.Places(text) {
					if !slices.Contains(given, place) {
						t.Errorf("%s: %s is made without the field %s", set.Position(call.Pos()), e.Code, place)
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 15 {
		t.Errorf("%d errors were found: the test looks in the wrong place", checked)
	}
}

func code0(s *ast.SelectorExpr) (string, bool) {
	if s == nil {
		return "", false
	}
	x, ok := s.X.(*ast.Ident)
	if !ok {
		return "", false
	}
	return x.Name, true
}

// constants returns the codes by the names of their constants.
func constants(t *testing.T) map[string]errcode.Code {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "table.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]errcode.Code{}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			if lit, ok := v.Values[0].(*ast.BasicLit); ok {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					out[v.Names[0].Name] = errcode.Code(text)
				}
			}
		}
		return true
	})
	return out
}

// TestErrors_FieldsVerbatim checks that the content of a field is rendered unchanged, even if it
// looks like a placeholder, and the same after a round trip through JSON.
func TestErrors_FieldsVerbatim(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.String(),
			rapid.SampledFrom([]string{"{id}", "{version}", "{cause}", "}", "{", "--id says", "`x`"})).Draw(t, "id")
		err := fmt.Errorf("run it: %w", errcode.New(errcode.WorkflowRowsDeleted, errcode.Fields{"id": id, "version": 3},
			errors.New("never shown")))
		if got, want := err.Error(), "run it: the rows of workflow "+id+" were deleted"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if got, want := errcode.Text(err, errcode.Command), "run it: the rows of workflow "+id+
			" were deleted; `hocket workflows publish "+id+" --version 3` writes them again"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if got, want := errcode.Hint(errcode.BranchNeeded, errcode.Fields{"branches": []any{id}}, errcode.HTTP),
			"name one in the field branch"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if got, want := errcode.Message(errcode.BranchNeeded, errcode.Fields{"branches": []any{id}}),
			errcode.Message(errcode.BranchNeeded, errcode.Fields{"branches": []string{id}}); got != want ||
			!strings.HasSuffix(got, strconv.Quote(id)) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

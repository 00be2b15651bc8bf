package lint_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Patterns of things that comments and pages name.
var (
	goFile   = regexp.MustCompile(`(?:^|[\s(,/"` + "`" + `])((?:[\w.-]+/)*[\w-]+\.go)\b`)
	pageFile = regexp.MustCompile(`\bdocs/[\w/.-]+\.(?:md|json)\b`)
	folder   = regexp.MustCompile(`\b(?:internal|web/src|web/specs|cmd|bench)/[\w/-]*\w`)
	testName = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*\b`)
	docLink  = regexp.MustCompile(`(?:^|[^\w\]])\[\*?((?:\w+\.)?(?:\w+\.)?[A-Z]\w*)\](?:[^(:]|$)`)
)

// placeholder matches names that stand for others: internal/model/PROVIDER, [BODY].
var placeholder = regexp.MustCompile(`(^|/)[A-Z]+$`)

// declared is what the files of the repository declare.
type declared struct {
	names map[string]map[string]bool // declared names by folder, including Type.Member
	tests map[string]bool            // test functions of all packages
	bases map[string]bool            // base names of all Go files
	files []*ast.File
	fset  *token.FileSet
}

// TestSignposts checks that what Go comments and Markdown pages name exists: files, folders, pages,
// tests, and the targets of doc links. Decisions (docs/adr) are not edited once they are accepted:
// only their links are checked, by TestLinks of package docs.
func TestSignposts(t *testing.T) {
	t.Parallel()
	src := declaredNames(t)
	checked := 0
	for _, f := range src.files {
		dir := path.Dir(filepath.ToSlash(src.fset.Position(f.Pos()).Filename))
		for _, group := range f.Comments {
			for _, c := range group.List {
				checked++
				at := src.fset.Position(c.Pos()).String()
				for _, missing := range append(src.missing(dir, c.Text, false), src.brokenLinks(dir, f, c.Text)...) {
					t.Errorf("%s: %s does not exist", at, missing)
				}
			}
		}
	}
	for _, page := range markdown(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			checked++
			for _, missing := range src.missing(path.Dir(page), line, true) {
				t.Errorf("%s:%d: %s does not exist", page, i+1, missing)
			}
		}
	}
	if checked < 30_000 {
		t.Errorf("%d comments and lines were checked: the test looks in the wrong place", checked)
	}
}

// TestSignposts_Finds checks that each kind of stale name is found, and that names that exist are
// not.
func TestSignposts_Finds(t *testing.T) {
	t.Parallel()
	src := declaredNames(t)
	for text, want := range map[string][]string{
		"// see words.go":                            {"words.go"},
		"// see phrases_test.go":                     nil,
		"// internal/lint/phrases_test.go":           nil,
		"// internal/rules":                          {"internal/rules"},
		"// docs/STATUS.md and docs/roadmap.md":      {"docs/STATUS.md"},
		"// TestNothingIsLeft and TestSignposts":     {"TestNothingIsLeft"},
		"// `internal/lint`, internal/engine/event.": nil,
		"// https://go.dev/src/cmd/go/main.go":       nil,
		"// the file journals.go describes nothing.": {"journals.go"},
	} {
		if got := src.missing("internal/lint", text, false); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	for link, want := range map[string]bool{
		"[TestSignposts]": true, "[ast.File]": true, "[nothing.File]": true, "[Absent]": false, "[declared]": true,
	} {
		f := src.files[slices.IndexFunc(src.files, func(f *ast.File) bool {
			return strings.HasSuffix(src.fset.Position(f.Pos()).Filename, "signposts_test.go")
		})]
		if got := src.brokenLinks("internal/lint", f, "// "+link); (len(got) == 0) != want {
			t.Errorf("%s: got %q", link, got)
		}
	}
}

// missing returns the names of things in text, which belongs to a file in dir, that do not exist. A
// page may name a Go file without its folder.
func (s *declared) missing(dir, text string, page bool) []string {
	if strings.Contains(text, "://") || strings.HasPrefix(text, "//go:") {
		return nil
	}
	var out []string
	for _, m := range goFile.FindAllStringSubmatch(text, -1) {
		name := m[1]
		if page && !strings.Contains(name, "/") && s.bases[name] {
			continue
		}
		if !exists(path.Join(dir, name)) && !exists(name) && !exists(path.Join("internal", name)) {
			out = append(out, name)
		}
	}
	for _, name := range append(pageFile.FindAllString(text, -1), folder.FindAllString(text, -1)...) {
		if !exists(name) && !exists(path.Join("temporal", name)) && !placeholder.MatchString(name) {
			out = append(out, name)
		}
	}
	for _, name := range testName.FindAllString(text, -1) {
		if !s.tests[name] && name != "TestName" {
			out = append(out, name)
		}
	}
	return out
}

// brokenLinks returns the doc links of a comment whose target is not declared. Links into packages
// that the file does not import, and into packages of other modules, are not checked.
func (s *declared) brokenLinks(dir string, f *ast.File, text string) []string {
	var out []string
	for _, m := range docLink.FindAllStringSubmatch(text, -1) {
		parts := strings.Split(m[1], ".")
		in := dir
		if first := parts[0]; !s.names[dir][first] && first[0] >= 'a' && first[0] <= 'z' {
			if in = imported(f, first); in == "" {
				continue
			}
			parts = parts[1:]
		}
		if placeholder.MatchString(m[1]) {
			continue
		}
		if name := strings.Join(parts, "."); s.names[in] != nil && !s.names[in][name] && !s.names[in][parts[0]] {
			out = append(out, m[1])
		}
	}
	return out
}

// imported returns the folder of this module's package that a file imports under a name, or "".
func imported(f *ast.File, name string) string {
	for _, im := range f.Imports {
		p := strings.Trim(im.Path.Value, `"`)
		in, ok := strings.CutPrefix(p, "github.com/hocket-run/hocket/")
		if ok && (im.Name != nil && im.Name.Name == name || im.Name == nil && path.Base(p) == name) {
			return in
		}
	}
	return ""
}

// readDeclared parses all Go files of the repository.
var readDeclared = sync.OnceValues(func() (*declared, error) {
	s := &declared{names: map[string]map[string]bool{}, tests: map[string]bool{}, bases: map[string]bool{},
		fset: token.NewFileSet()}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == "dist" ||
			name != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".gen.go"):
			return nil
		}
		f, err := parser.ParseFile(s.fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		s.files = append(s.files, f)
		s.bases[d.Name()] = true
		s.add(path.Dir(filepath.ToSlash(name)), f)
		return nil
	})
	return s, err
})

// declaredNames returns what the repository declares.
func declaredNames(t *testing.T) *declared {
	t.Helper()
	s, err := readDeclared()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// add adds the names that a file declares to those of its folder.
func (s *declared) add(dir string, f *ast.File) {
	if s.names[dir] == nil {
		s.names[dir] = map[string]bool{}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			s.names[dir][d.Name.Name] = true
			if testName.MatchString(d.Name.Name) {
				s.tests[d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					s.names[dir][spec.Name.Name] = true
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						s.names[dir][n.Name] = true
					}
				}
			}
		}
	}
}

// markdown returns the pages of the repository, without decisions.
func markdown(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == "adr" ||
			name != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case strings.HasSuffix(name, ".md"):
			out = append(out, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil || len(out) < 80 {
		t.Fatal(fmt.Errorf("%d pages: %w", len(out), err))
	}
	return out
}

// exists reports whether a file or folder exists, or a file with this name and an extension.
func exists(name string) bool {
	if _, err := os.Stat(name); err == nil {
		return true
	}
	found, err := filepath.Glob(name + ".*")
	return err == nil && len(found) > 0
}

package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	statementLine = regexp.MustCompile(`^(\d+)(?:–(\d+))?$`)
	testReference = regexp.MustCompile("`([^`]*)`")
)

// TestStatements checks the tables of the statements of the reference documents. The rows are in
// the order of the lines. Each row names rules that exist, and tests and scripts that exist and
// cite one of the rules, or a reason.
func TestStatements(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("spec/statements-*.md")
	if err != nil || len(pages) != 6 {
		t.Fatalf("found the pages %q, want one for each reference document, and two for Go graphs: %v", pages, err)
	}
	s := &statements{rules: definedRules(t), tests: map[string]*testFiles{}}
	rows := 0
	for _, page := range pages {
		last := 0
		for i, line := range strings.Split(read(t, page), "\n") {
			if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| line |") || strings.HasPrefix(line,
				"| ---") {
				continue
			}
			rows++
			first, problems := s.check(line)
			if first < last {
				problems = append(problems, fmt.Sprintf("line %d follows line %d", first, last))
			}
			last = max(last, first)
			for _, p := range problems {
				t.Errorf("%s:%d: %s", page, i+1, p)
			}
		}
	}
	if rows < 400 {
		t.Errorf("the tables have %d rows: the test looks for them in the wrong way", rows)
	}
}

// TestStatements_Problems checks that each kind of mistake in a row is found.
func TestStatements_Problems(t *testing.T) {
	t.Parallel()
	s := &statements{rules: definedRules(t), tests: map[string]*testFiles{}}
	for row, want := range map[string]string{
		"| 7 | a | S0-1 | `TestCanvasDocument/S0-1` |":                     "",
		"| 7–9 | a | S0-1, S0-2 | `TestCanvasDocument/S0-2`; differs |":    "",
		"| 7 | a | – | a reason |":                                         "",
		"| 7 | a | S0-20 | `internal/expr TestText` |":                     "",
		"| 7 | a | S2-30 | `. TestStream_MatchesRun/wait` |":               "",
		"| 7 | a | S0-31 | `script approval` |":                            "",
		"| 7 | a | S0-50 | `web/src/canvas/canvas.test.ts S0-50.1 to a` |": "",
		"| 7 | a | S0-1 |":                                "3 cells, want 4",
		"| 7–7 | a | S0-1 | a reason |":                   `the line is "7–7"`,
		"| x | a | S0-1 | a reason |":                     `the line is "x"`,
		"| 7 |  | S0-1 | a reason |":                      "no statement",
		"| 7 | a | S0-x | a reason |":                     "docs/spec does not define S0-x",
		"| 7 | a | S0-1 |  |":                             "neither a test nor a reason",
		"| 7 | a | S0-1 | `TestCanvasDocument/nothing` |": "TestCanvasDocument has no case nothing",
		"| 7 | a | S0-1 | `TestNothing` |":                "no test TestNothing in internal/conformance",
		"| 7 | a | S0-1 | `nowhere TestNothing` |":        "no test TestNothing in nowhere",
		"| 7 | a | S0-1 | `script nothing` |":             "no script nothing",
		"| 7 | a | S0-1 | `web/src/no.test.ts x` |":       "no file web/src/no.test.ts",
		"| 7 | a | S0-50 | `web/src/canvas/canvas.test.ts nothing` |": "web/src/canvas/canvas.test.ts has no case " +
			"nothing",
		"| 7 | a | S1-3 | `TestCanvasDocument/S0-1` |": "TestCanvasDocument/S0-1 cites none of the " +
			"rules S1-3",
		"| 7 | a | – | `TestCanvasDocument/S0-1` |": "a test without a rule",
	} {
		if _, problems := s.check(row); strings.Join(problems, "; ") != want {
			t.Errorf("%s: got %q, want %q", row, problems, want)
		}
	}
}

// statements resolves the rows of the tables.
type statements struct {
	rules map[string]string
	tests map[string]*testFiles // by folder
}

// check returns the first line of a row, and its problems.
func (s *statements) check(row string) (first int, problems []string) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	cells := strings.Split(strings.Trim(row, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	if len(cells) != 4 {
		problem("%d cells, want 4", len(cells))
		return 0, problems
	}
	line := statementLine.FindStringSubmatch(cells[0])
	if line == nil {
		problem("the line is %q", cells[0])
		return 0, problems
	}
	first, _ = strconv.Atoi(line[1])
	if end, _ := strconv.Atoi(line[2]); line[2] != "" && end <= first {
		problem("the line is %q", cells[0])
	}
	if cells[1] == "" {
		problem("no statement")
	}
	var rules []string
	if cells[2] != "–" {
		rules = strings.Split(cells[2], ", ")
	}
	for _, rule := range rules {
		if s.rules[rule] == "" {
			problem("docs/spec does not define %s", rule)
		}
	}
	references := testReference.FindAllStringSubmatch(cells[3], -1)
	switch {
	case cells[3] == "":
		problem("neither a test nor a reason")
	case len(references) > 0 && len(rules) == 0:
		problem("a test without a rule")
	}
	for _, m := range references {
		text, err := s.resolve(m[1])
		switch {
		case err != nil:
			problem("%v", err)
		case len(rules) > 0 && s.rules[rules[0]] != "" && !strings.Contains(m[1], "/seed") &&
			!slices.ContainsFunc(ruleCited.FindAllString(text, -1),
				func(r string) bool { return slices.Contains(rules, r) }):
			problem("%s cites none of the rules %s", m[1], cells[2])
		}
	}
	return first, problems
}

// resolve returns the text of the file with a test. A reference is a folder and the name of a test,
// with its case after a slash; without a folder the test is in internal/conformance. Other
// references are a script, by name, and a case in a file of the page's tests.
func (s *statements) resolve(reference string) (string, error) {
	folder, name, ok := strings.Cut(reference, " ")
	switch {
	case strings.HasPrefix(reference, "Test"):
		folder, name = "internal/conformance", reference
	case folder == "script" && ok:
		text, err := os.ReadFile(filepath.Join("../internal/cli/scripts/testdata/script", name+".txtar"))
		if err != nil {
			return "", fmt.Errorf("no script %s", name)
		}
		return string(text), nil
	case strings.HasSuffix(folder, ".test.ts"):
		text, err := os.ReadFile(filepath.Join("..", folder))
		if err != nil {
			return "", fmt.Errorf("no file %s", folder)
		}
		if !strings.Contains(string(text), "'"+name) {
			return "", fmt.Errorf("%s has no case %s", folder, name)
		}
		return string(text), nil
	}
	name, cases, _ := strings.Cut(name, "/")
	files, err := s.testsIn(folder)
	if err != nil {
		return "", err
	}
	file := files.of[name]
	if file == nil {
		return "", fmt.Errorf("no test %s in %s", name, folder)
	}
	for part := range strings.SplitSeq(cases, "/") {
		if cases != "" && !slices.ContainsFunc(file.names, func(n string) bool {
			rest, ok := strings.CutPrefix(n, part)
			return ok && (rest == "" || strings.ContainsAny(rest[:1], " :,;"))
		}) {
			return "", fmt.Errorf("%s has no case %s", name, part)
		}
	}
	return file.text, nil
}

// testFiles holds the test files of a folder.
type testFiles struct {
	of map[string]*testFile // by test function
}

// testFile is a file with tests; names holds the strings that may be names of cases: all but those
// that are arguments of functions other than Run.
type testFile struct {
	text  string
	names []string
}

func (s *statements) testsIn(folder string) (*testFiles, error) {
	if files := s.tests[folder]; files != nil {
		return files, nil
	}
	files := &testFiles{of: map[string]*testFile{}}
	s.tests[folder] = files
	paths, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		file := &testFile{text: string(text), names: caseNames(parsed)}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				files.of[f.Name.Name] = file
			}
		}
	}
	return files, nil
}

func caseNames(f *ast.File) []string {
	var names []string
	arguments := map[ast.Expr]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if called, ok := n.Fun.(*ast.SelectorExpr); !ok || called.Sel.Name != "Run" {
				for _, a := range n.Args {
					arguments[a] = true
				}
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && !arguments[n] {
				names = append(names, text)
			}
		}
		return true
	})
	return names
}

package docs_test

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	ruleDefined = regexp.MustCompile(`(?m)^- \*\*((?:S[0-4]-|X-|SEC|P|D)\d+)\*\* `)
	ruleCited   = regexp.MustCompile(`\b(?:S\d-\d{1,3}|X-\d{1,3}\b|SEC\d{1,2}|[PD]\d{1,2})\b`)
	uncited     = regexp.MustCompile(`(?s)<!-- uncited -->\n.*<!-- /uncited -->`)
)

// TestCitations checks that every rule number cited in the repository is defined in docs/spec
// exactly once, and that docs/spec/README.md lists the rules that no test cites.
func TestCitations(t *testing.T) {
	t.Parallel()
	defined := definedRules(t)
	cited := map[string]bool{}
	for file, text := range citing(t) {
		for i, line := range strings.Split(text, "\n") {
			for _, rule := range ruleCited.FindAllString(strings.ReplaceAll(line, ".X-", "."), -1) {
				if defined[rule] == "" {
					t.Errorf("%s:%d cites %s, which docs/spec does not define", file, i+1, rule)
				}
				cited[rule] = cited[rule] || strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, ".txtar")
			}
		}
	}
	var missing []string
	for rule := range defined {
		if !cited[rule] {
			missing = append(missing, rule)
		}
	}
	slices.SortFunc(missing, func(a, b string) int {
		return cmp.Or(cmp.Compare(series(a), series(b)), cmp.Compare(number(a), number(b)))
	})
	list := "<!-- uncited -->\n" + strings.Join(missing, ", ") + "\n<!-- /uncited -->"
	page := read(t, "spec/README.md")
	if fresh := uncited.ReplaceAllLiteralString(page, list); fresh != page {
		if *update {
			if err := os.WriteFile("spec/README.md", []byte(fresh), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Errorf("the list of rules that are not cited is not up to date: run go test ./docs -run Citations -update; "+
			"now:\n%s", list)
	}
}

// definedRules returns the pages of docs/spec that define the rules, by rule, and checks that no
// rule is defined twice.
func definedRules(t *testing.T) map[string]string {
	t.Helper()
	defined := map[string]string{}
	files, err := filepath.Glob("spec/*.md")
	if err != nil || len(files) < 9 {
		t.Fatalf("found %d pages of the specification: %v", len(files), err)
	}
	for _, file := range files {
		for _, m := range ruleDefined.FindAllStringSubmatch(read(t, file), -1) {
			if before, twice := defined[m[1]]; twice {
				t.Errorf("%s is defined in %s and in %s", m[1], before, file)
			}
			defined[m[1]] = file
		}
	}
	if len(defined) < 250 {
		t.Errorf("the specification has %d rules: the test looks for them in the wrong way", len(defined))
	}
	return defined
}

// citing returns the contents of the files that cite rules, by path from the repository's root.
// Decision records and the changelog are history and are omitted.
func citing(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || name == "docs/spec" || name == "docs/adr" || name != "." &&
			strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || name == "CHANGELOG.md" || !slices.Contains([]string{".go", ".md", ".txtar"},
			filepath.Ext(name)):
			return nil
		}
		text, err := os.ReadFile(filepath.Join("..", name))
		texts[name] = string(text)
		return err
	})
	if err != nil || len(texts) < 1000 {
		t.Fatalf("%d files were read: %v", len(texts), err)
	}
	return texts
}

// series returns the part of a rule's number before the last number: `S0-`, `SEC`.
func series(rule string) string { return strings.TrimRight(rule, "0123456789") }

func number(rule string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(rule, series(rule)))
	return n
}

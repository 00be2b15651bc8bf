package lint_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"testing"
)

// bannedWords are phrases that user-visible strings must not contain, each with a replacement. The
// list is short: it has the phrases that come back, and review judges the rest.
var bannedWords = []struct{ pattern, instead string }{
	{`\bwhoever\b`, "anyone who, the owner of, clients that"},
	{`\b(is|are|was|were|be) told( of|\.|,|$)`, "is notified of, is sent"},
	{`\bhears? of\b`, "receives, is notified of"},
	{`\bsigns? of life\b`, "heartbeat, response"},
	{`\bthe run above\b`, "the parent run"},
	{`\b(goes|go) on (with|at once|until|when|along|by)\b`, "continues"},
	{`\bis no (duration|number|written|valid|schema)\b`, "invalid duration"},
	{`\bwhat is not there\b`, "invalid reference"},
}

// bannedInComments are phrases that comments must not contain, including those in tests, each with
// a replacement.
var bannedInComments = []struct{ pattern, instead string }{
	{`\b(gives (the|a|an|its|all|what|no|how|nothing|each|one|them|it|first)|gave)\b`, "returns; the result of"},
	{`\b(tells?|says?) whether\b`, "reports whether"},
	{`\brefuses? to (be|know)\b`, "is not, does not"},
	{`\bwhoever\b`, "anyone who, the owner of"},
	{`\bsigns? of life\b`, "heartbeat"},
	{`\b(the run above|runs? below)\b`, "parent run, child run"},
	{`\b(goes|going) on\b`, "continues"},
	{`\banew\b`, "again"},
}

// phrase is a pattern. Most texts lack its longest literal, and searching for the literal is far
// cheaper than matching the pattern.
type phrase struct {
	re      *regexp.Regexp
	literal string
}

func phraseOf(pattern string) phrase {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic(err)
	}
	return phrase{regexp.MustCompile(pattern), longestLiteral(tree)}
}

// longestLiteral returns a string that every match contains, or "" if there is none.
func longestLiteral(re *syntax.Regexp) string {
	longest := ""
	switch re.Op {
	case syntax.OpLiteral:
		longest = string(re.Rune)
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		for _, sub := range re.Sub {
			if text := longestLiteral(sub); len(text) > len(longest) {
				longest = text
			}
		}
	}
	return longest
}

// all returns all matches in a text, with their groups.
func (p phrase) all(text string) [][]string {
	if !strings.Contains(text, p.literal) {
		return nil
	}
	return p.re.FindAllStringSubmatch(text, -1)
}

// find returns the first match in a lower-case string, or "".
func (p phrase) find(lower string) string {
	if !strings.Contains(lower, p.literal) {
		return ""
	}
	return p.re.FindString(lower)
}

// wordsOf calls each with the user-visible strings of a Go file, by line.
func wordsOf(file source, each func(line int, text string)) {
	ast.Inspect(file.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING &&
				strings.Contains(text, " ") {
				each(fset.Position(n.Pos()).Line, text)
			}
		}
		return true
	})
}

// TestPhrases checks that phrases are found in any case, also if the literal that is searched for
// first is not a prefix of the pattern.
func TestPhrases(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]struct{ literal, text, word string }{
		`\b(is|are) told( of|\.)`: {" told", "the run is told of it", "is told of"},
		`\bstands? (in|there)\b`:  {"stand", "it stands in", "stands in"},
		`\b(nobody|somebody)\b`:   {"", "so nobody can", "nobody"},
		`\bwhoever\b`:             {"whoever", "no one", ""},
	} {
		p := phraseOf(pattern)
		if word := p.find(want.text); p.literal != want.literal || word != want.word {
			t.Errorf("%s: literal %q, found %q, want %q and %q", pattern, p.literal, word, want.literal, want.word)
		}
	}
}

// TestPlainComments checks that comments are plain technical English.
func TestPlainComments(t *testing.T) {
	t.Parallel()
	var all []phrase
	for _, p := range bannedInComments {
		all = append(all, phraseOf(p.pattern))
	}
	check := func(place, text string) {
		lower := strings.ToLower(text)
		for i, p := range all {
			if word := p.find(lower); word != "" {
				t.Errorf("%s: %q in %q: write %s", place, word, text, bannedInComments[i].instead)
			}
		}
	}
	scriptFiles := 0
	for _, name := range files(t) {
		if scripts.MatchString(name) && !strings.HasSuffix(name, ".gen.ts") {
			scriptFiles++
			commentsOf(read(t, name), func(line int, text string) { check(fmt.Sprintf("%s:%d", name, line), text) })
		}
	}
	for _, file := range sources(t) {
		if strings.HasSuffix(file.path, ".gen.go") {
			continue
		}
		for _, group := range file.Comments {
			for _, c := range group.List {
				check(at(c), c.Text)
			}
		}
	}
	if scriptFiles < 100 {
		t.Errorf("the comments of %d files of the page were read: the test looks in the wrong place", scriptFiles)
	}
}

// scripts matches the hand-written files of the page, its benchmarks and its tools.
var scripts = regexp.MustCompile(`^web[/\\]((src|specs|bench|screenshots|scripts)[/\\].*|[^/\\]*)\.(ts|tsx|mjs|mts)$`)

// TypeScript comments: line comments, but not the rest of a URL after its colon, and block
// comments.
var (
	lineComment  = regexp.MustCompile(`(?:^|[^:])//(.*)$`)
	blockComment = regexp.MustCompile(`(?s)(?:^|[\s{(,;])/\*(.*?)\*/`)
)

// commentsOf calls each with the comments of a file of the page, by line.
func commentsOf(text string, each func(line int, text string)) {
	for i, line := range strings.Split(text, "\n") {
		if m := lineComment.FindStringSubmatch(line); m != nil {
			each(i+1, m[1])
		}
	}
	for _, m := range blockComment.FindAllStringSubmatchIndex(text, -1) {
		first := 1 + strings.Count(text[:m[2]], "\n")
		for i, line := range strings.Split(text[m[2]:m[3]], "\n") {
			each(first+i, line)
		}
	}
}

// TestCommentsOf checks that comments of the page's files are found with their lines, and that URLs
// and globs are not taken for comments.
func TestCommentsOf(t *testing.T) {
	t.Parallel()
	var got []string
	commentsOf("/* a */ x // b\n'http://host/'\n/**\n * c\n */\n<p>{/* d */}</p>\nf('src/**/*.ts', '*/*')\n",
		func(line int, text string) {
			got = append(got, fmt.Sprintf("%d %s", line, strings.TrimSpace(text)))
		})
	if want := "1 b|1 a|3 *|4 * c|5 |6 d"; strings.Join(got, "|") != want {
		t.Errorf("found %q", got)
	}
	for path, want := range map[string]bool{
		"web/src/lib/kept.ts": true, "web/specs/a.tsx": true, "web/bench/main.mjs": true,
		`web\screenshots\take.mjs`: true, "web/scripts/licences.d.mts": true, "web/vite.config.ts": true,
		"web/dist/assets/a.mjs": false, "web/public/a.txt": false,
	} {
		if scripts.MatchString(path) != want {
			t.Errorf("%s is read: %t", path, !want)
		}
	}
}

// TestPlainWords checks that errors, diagnostics, help and documents use standard terms.
func TestPlainWords(t *testing.T) {
	t.Parallel()
	var all []phrase
	for _, p := range bannedWords {
		all = append(all, phraseOf(p.pattern))
	}
	check := func(path string, line int, text string) {
		lower := strings.ToLower(text)
		for i, p := range all {
			if word := p.find(lower); word != "" {
				t.Errorf("%s:%d: %q: %s", path, line, strings.TrimSpace(word), bannedWords[i].instead)
			}
		}
	}
	texts := 0
	for _, file := range sources(t) {
		if !file.isTest() && !strings.HasSuffix(file.folder(), "test") {
			wordsOf(file, func(line int, text string) { texts++; check(file.path, line, text) })
		}
	}
	for _, name := range files(t) {
		if path.Ext(name) != ".md" || name == "CHANGELOG.md" || path.Dir(name) == "docs/adr" {
			continue
		}
		for i, line := range strings.Split(read(t, name), "\n") {
			texts++
			check(name, i+1, line)
		}
	}
	if texts < 5000 {
		t.Errorf("%d texts were read: the test looks in the wrong place", texts)
	}
}

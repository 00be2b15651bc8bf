package docs_test

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// block is a fenced code block of a page.
type block struct {
	page        string
	line        int    // of the opening fence, counting from 1
	lang        string // "" if the fence has none
	text        string // without the fences
	file        string // file that the block is written to, named in or before its first line
	skip        string // why it is not run: <!-- not run: reason -->
	invalid     bool   // a document with deliberate errors: <!-- not valid: reason -->
	linesBefore int    // number of nonblank lines since the previous block
}

var (
	fileComment = regexp.MustCompile(`^(?:#|//|--) ([\w./-]+\.\w+)$`)
	fileBefore  = regexp.MustCompile("`([\\w./-]+\\.\\w+)`:$")
	notValid    = regexp.MustCompile(`^<!-- not valid: \S.* -->$`)
	notRun      = regexp.MustCompile(`^<!-- not run: (\S.*) -->$`)
)

// blocks returns the fenced code blocks of a page, in order.
func blocks(t *testing.T, page string) []block {
	t.Helper()
	var (
		out    []block
		open   *block
		fence  string
		before string // the last nonblank line above
		gap    int
	)
	for i, line := range strings.Split(read(t, page), "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case open == nil && strings.HasPrefix(trimmed, "```"):
			fence, _, _ = strings.Cut(line, "```")
			open = &block{page: page, line: i + 1, lang: strings.TrimPrefix(trimmed, "```"), linesBefore: gap}
			open.invalid = notValid.MatchString(before)
			if m := notRun.FindStringSubmatch(before); m != nil {
				open.skip = m[1]
			} else if m := fileBefore.FindStringSubmatch(before); m != nil {
				open.file = m[1]
			}
		case open == nil:
			if trimmed != "" {
				before = trimmed
				gap++
			}
		case trimmed == "```":
			if first, _, _ := strings.Cut(open.text, "\n"); open.lang != "sh" {
				if m := fileComment.FindStringSubmatch(first); m != nil {
					open.file = m[1]
				}
			}
			out = append(out, *open)
			open, before, gap = nil, "", 0
		default:
			open.text += strings.TrimPrefix(line, fence) + "\n"
		}
	}
	if open != nil {
		t.Fatalf("%s:%d: the block does not end", page, open.line)
	}
	return out
}

// written writes a block to its file in the current folder.
func (b block) written(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll(path.Dir(b.file), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, b.file, b.text)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

var (
	runID    = regexp.MustCompile(`\b[0-9A-HJKMNP-TV-Z]{26}\b`)
	moment   = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?`)
	duration = regexp.MustCompile(`\b(\d+m)?\d+(\.\d+)?(ms|µs|s)\b`)
	blanks   = regexp.MustCompile(`[ ─]+`)
)

// plain makes outputs comparable: it replaces ids of runs, times and durations with words, and runs
// of blanks with one blank.
func plain(text string) string {
	text = runID.ReplaceAllString(text, "RUN")
	text = moment.ReplaceAllString(text, "TIME")
	text = duration.ReplaceAllString(text, "DURATION")
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(blanks.ReplaceAllString(line, " "), " \n") + "\n")
	}
	return strings.TrimSpace(b.String())
}

// printed reports whether output matches what a page shows: "…" stands for the rest of a line or
// word, and a line consisting of it for any number of lines.
func printed(shown, output string) bool {
	var pattern strings.Builder
	pattern.WriteString(`(?s)^`)
	for i, line := range strings.Split(plain(shown), "\n") {
		if strings.TrimSpace(line) == "…" {
			pattern.WriteString(`(\n[^\n]*)*?`)
			continue
		}
		if i > 0 {
			pattern.WriteString(`\n`)
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", `[^\n]*?`))
	}
	return regexp.MustCompile(pattern.String()+`$`).MatchString("\n"+plain(output)) ||
		regexp.MustCompile(pattern.String()+`$`).MatchString(plain(output))
}

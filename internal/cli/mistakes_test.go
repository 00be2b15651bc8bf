package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// place matches a location in a message: a document with line and column, a file, a flag, a run, or
// what was typed.
var place = regexp.MustCompile("(?m)\\.(ya?ml|json|txt)(:\\d+:\\d+)?|--[a-z]|hocket [a-z]|[a-z]+ [a-z]+ \\S+|[\"`']")

// hinted matches advice in a message: a hint, what was meant, what is possible, or a command to
// type.
var hinted = regexp.MustCompile("hint: |did you mean|; |see hocket|hocket [a-z]+|must be|--[a-z]+|needs ")

// changes matches what differs between test runs: ids, durations, and the directory of the test.
var changes = regexp.MustCompile(`01[0-9A-Z]{24}|\d+ms|/\S+/internal/cli`)

// TestMistakes makes the mistakes of testdata/mistakes.txtar, and compares all output with
// testdata/mistakes.golden: each message has a location, a cause and a hint. -update rewrites the
// golden file; read the difference.
func TestMistakes(t *testing.T) {
	t.Parallel()
	a, err := txtar.ParseFile(filepath.Join("testdata", "mistakes.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range a.Files {
		files[f.Name] = string(f.Data)
	}
	d := newDesk(t, "", files)
	d.InTerminal, d.OutTerminal, d.ErrTerminal = false, false, false
	d.env["HOME"] = d.dir
	var got strings.Builder
	count := 0
	for line := range strings.SplitSeq(strings.TrimSpace(files["commands"]), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			fmt.Fprintf(&got, "%s\n", line)
			continue
		}
		var args []string
		for w := range strings.SplitSeq(line, " ") {
			if name, ok := strings.CutPrefix(w, "@"); ok { // a file of the archive, or a missing one
				w = filepath.Join(d.dir, name)
			}
			args = append(args, w)
		}
		d.out.b.Reset()
		d.err.b.Reset()
		status := d.main(t.Context(), args...)
		said := strings.ReplaceAll(d.out.String()+d.err.String(), d.dir+string(filepath.Separator), "")
		said = strings.ReplaceAll(said, d.dir, "DIR")
		said = changes.ReplaceAllString(said, "…")
		// it depends on the day
		said = strings.ReplaceAll(said, "the provider retired the model", "the provider retires the model")
		fmt.Fprintf(&got, "$ hocket %s\n%s(exit status %d)\n\n", strings.ReplaceAll(line, "@", ""), said, status)
		count++
		if status == 0 || status == 70 {
			t.Errorf("%s: exit status %d", line, status)
		}
		if !place.MatchString(said) || !hinted.MatchString(said) {
			t.Errorf("%s: no place or no hint:\n%s", line, said)
		}
	}
	if count < 65 {
		t.Errorf("%d mistakes", count)
	}
	golden := filepath.Join("testdata", "mistakes.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("what is said of mistakes (-want +got):\n%s", diff)
	}
}

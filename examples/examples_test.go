// Package examples_test runs every example as described in the README, offline.
package examples_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/cli"
)

// hocket runs one command line with its own store and returns standard output, standard error and
// the exit status.
func hocket(t *testing.T, db string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	st := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Env: func(string) string { return "" }}
	status = cli.Main(context.Background(), append(args, "--db", db), st, cli.Wiring{Version: "test"})
	return out.String(), errs.String(), status
}

// TestExamples runs each example. Each folder holds a document with the folder's name,
// replies.yaml, output.txt, and where needed agents.yaml, tools.yaml, input.txt, flags.txt with
// more flags of run, and answers.txt, with a line of resume flags for each answer. The example
// whose paths need a folder of its own is run by init.txtar in internal/cli, as are all templates.
func TestExamples(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("*/replies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(folders) < 27 {
		t.Fatalf("found %d examples, want at least 27", len(folders))
	}
	for _, path := range folders {
		name := filepath.Dir(path)
		if name == "expenses" {
			continue // it reads receipts/ of the working directory
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs, err := filepath.Glob(filepath.Join(name, name+".*"))
			if err != nil || len(docs) != 1 {
				t.Fatalf("documents %v %v, want one", docs, err)
			}
			db := filepath.Join(t.TempDir(), "hocket.db")
			check := []string{"validate", docs[0]}
			args := []string{"run", docs[0], "--replies", path, "--run-id", name}
			if agents := filepath.Join(name, "agents.yaml"); exists(agents) {
				check, args = append(check, "--agents", agents), append(args, "--agents", agents)
			}
			if tools := filepath.Join(name, "tools.yaml"); exists(tools) {
				args = append(args, "--tools", tools)
			}
			if out, errs, status := hocket(t, db, check...); status != 0 || out != "" {
				t.Errorf("validate: status %d\n%s%s", status, out, errs)
			}
			if in, err := os.ReadFile(filepath.Join(name, "input.txt")); err == nil {
				args = append(args, strings.TrimSpace(string(in)))
			}
			if branch, err := os.ReadFile(filepath.Join(name, "branch.txt")); err == nil {
				args = append(args, "--branch", strings.TrimSpace(string(branch)))
			}
			if flags, err := os.ReadFile(filepath.Join(name, "flags.txt")); err == nil {
				args = append(args, split(strings.TrimSpace(string(flags)))...)
			}
			out, errs, status := hocket(t, db, args...)
			answers, _ := os.ReadFile(filepath.Join(name, "answers.txt"))
			for line := range strings.SplitSeq(strings.TrimSpace(string(answers)), "\n") {
				if line == "" {
					continue
				}
				if status != cli.ExitPaused {
					t.Fatalf("status %d before the answer %s, want 3\n%s", status, line, errs)
				}
				out, errs, status = hocket(t, db, append([]string{"resume", name}, split(line)...)...)
			}
			if status != 0 {
				t.Fatalf("status %d\n%s", status, errs)
			}
			want, err := os.ReadFile(filepath.Join(name, "output.txt"))
			if err != nil {
				t.Fatal(err)
			}
			if out != string(want) {
				t.Errorf("output\ngot  %q\nwant %q", out, want)
			}
		})
	}
}

// TestConvertHelp checks that the examples of `hocket help convert` are documents in these folders,
// can be converted, and yield documents without errors.
func TestConvertHelp(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "hocket.db")
	help, _, _ := hocket(t, db, "help", "convert")
	ran := 0
	for line := range strings.Lines(help) {
		args, _, _ := strings.Cut(strings.TrimSpace(line), " > ")
		args, _, _ = strings.Cut(args, " | ")
		words := strings.Fields(args)
		at := slices.IndexFunc(words, func(w string) bool {
			return strings.HasSuffix(w, ".yaml") || strings.HasSuffix(w, ".json")
		})
		if len(words) < 3 || words[0] != "hocket" || words[1] != "convert" || at < 0 {
			continue
		}
		ran++
		name := words[at]
		words[at] = filepath.Join(strings.TrimSuffix(name, filepath.Ext(name)), name)
		out, errs, status := hocket(t, db, words[1:]...)
		if status != 0 {
			t.Errorf("%s: status %d\n%s", line, status, errs)
			continue
		}
		if slices.Contains(words, "--json") {
			continue
		}
		file := filepath.Join(t.TempDir(), "doc")
		if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, errs, status := hocket(t, db, "validate", file); status != 0 {
			t.Errorf("%s: the document is refused:\n%s", line, errs)
		}
	}
	if ran < 2 {
		t.Errorf("the help has %d examples, want at least 2:\n%s", ran, help)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// split splits a line of flags at blanks outside of single or double quotes.
func split(line string) (out []string) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		end, quote := " ", line[:1]
		if quote == `"` || quote == "'" {
			end, line = quote, line[1:]
		}
		var word string
		word, line, _ = strings.Cut(line, end)
		out = append(out, word)
	}
	return out
}

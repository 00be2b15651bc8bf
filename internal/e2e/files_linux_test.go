//go:build unix

package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// filesDocument is an agent whose file tool calls have a timeout of one second.
const filesDocument = `agents:
  a:
    model: openai/m
    instruction: go
    toolsets:
      - {type: filesystem, path: work, timeout: 1s}
      - {type: script, shell: {tell: {cmd: echo >ready}}}
workflow:
  - {type: agent, name: a}
`

// slow holds calls that would take hours.
var slow = []string{
	`{name: search_files_content, arguments: {path: long, query: "` + strings.Repeat("(.{1,100}x){1,5}", 9) +
		`y", is_regex: true}}`,
	`{name: read_file, arguments: {path: sparse, offset: 1000000}}`,
	`{name: search_files, arguments: {path: names, pattern: none, excludePatterns: [` +
		strings.TrimSuffix(strings.Repeat(`"`+strings.Repeat("*x*?", 100)+`y",`, 100), ",") + `]}}`,
}

// TestAttackFileToolLimits attacks the real binary with eight nested .gitignore files of 256 KB, a
// regular expression over a line of 5 MB, a sparse file of 1 TB, and 100 patterns that are slow on
// long names. It checks that each call ends at its timeout, so that the run ends, and that SIGTERM
// ends the last one.
func TestAttackFileToolLimits(t *testing.T) {
	t.Parallel()
	w := newUnprivileged(t)
	work := func(name string) string { return filepath.Join("work", name) }
	for _, dir := range []string{"work", "work/long", "work/names", "work/ignore"} {
		if err := os.MkdirAll(w.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.write(work("long/line"), strings.Repeat("x", 5<<20))
	w.write(work("sparse"), strings.Repeat("text\n", 2000))
	if err := os.Truncate(w.path(work("sparse")), 1<<40); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		w.write(work(fmt.Sprintf("names/%s%d", strings.Repeat("x", 240), i)), "")
	}
	at := "ignore"
	for i := range 8 {
		w.write(work(at+"/.gitignore"), strings.Repeat("*a*b*c\n", (256<<10)/7))
		at += fmt.Sprintf("/d%d", i)
		if err := os.MkdirAll(w.path(work(at)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.write("doc.yaml", filesDocument)
	replies := func(calls ...string) string {
		text := "replies:\n"
		for _, c := range calls {
			text += "  - {agent: a, toolCalls: [" + c + "]}\n"
		}
		return text + "  - {agent: a, text: It ended.}\n"
	}
	run := func(id string, calls ...string) (kilobytes int64, seconds float64) {
		t.Helper()
		w.write("replies.yaml", replies(calls...))
		c := w.hocket("run", "doc.yaml", "--replies", "replies.yaml", "--trust", "--run-id", id, "hi")
		out, err := c.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("It ended.")) {
			t.Fatalf("%s: %v: %s", id, err, out)
		}
		use := c.ProcessState.SysUsage().(*syscall.Rusage)
		return use.Maxrss, (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
	}
	before, _ := run("before", `{name: list_directory, arguments: {path: long}}`)
	ignored, _ := run("ignored", `{name: directory_tree, arguments: {path: ignore}}`)
	t.Logf("eight .gitignore files of 256 KB: %d MB, %d MB without them", ignored>>10, before>>10)
	if more := (ignored - before) >> 10; more > 200 {
		t.Errorf("the .gitignore files took %d MB", more)
	}
	if shown := w.events("ignored"); !strings.Contains(shown, "more than the limit of 5000 patterns") {
		t.Errorf("the limit is not named: %s", shown)
	}
	after, seconds := run("slow", slow...)
	if n := strings.Count(w.events("slow"), "timed out after 1000ms"); n < len(slow) {
		t.Errorf("%d of %d calls ended with their time: %s", n, len(slow), w.events("slow"))
	}
	t.Logf("%d calls without an end: %.1f s of processor time, %d MB", len(slow), seconds, after>>10)

	// SIGTERM ends a call that would not end otherwise.
	w.write("doc.yaml", strings.Replace(filesDocument, "timeout: 1s", "timeout: 10m", 1))
	w.write("replies.yaml", replies(`{name: tell, arguments: {}}`, slow[0]))
	if err := syscall.Mkfifo(w.path("ready"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(w.path("ready"), 0o666); err != nil {
		t.Fatal(err)
	}
	c := w.hocket("run", "doc.yaml", "--replies", "replies.yaml", "--trust", "--run-id", "term", "hi")
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(w.path("ready")); err != nil {
		t.Fatal(err)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // its exit status says that it was interrupted
	if c.ProcessState.ExitCode() != 130 {
		t.Errorf("SIGTERM: %v: %s", c.ProcessState, said.String())
	}
	t.Logf("ended by SIGTERM after %.1f s of processor time",
		(c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds())
}

// events returns the events of a run.
func (w *unprivileged) events(run string) string {
	w.t.Helper()
	out, err := w.hocket("runs", "events", run, "--json").CombinedOutput()
	if err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

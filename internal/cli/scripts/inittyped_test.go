package scripts_test

import (
	"os"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// statusIn matches the exit status that the comment of a command promises.
var statusIn = regexp.MustCompile(` # .*\bstatus (\d+)`)

// cmdTyped types the commands that `hocket init` printed into FILE, in order, into a shell; each
// must exit with the status that its comment states, or with 0. The output of the last command
// becomes the stdout of the script. A command with "until Ctrl-C" in its comment is interrupted
// once a run has ended: typed FILE
func cmdTyped(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: typed FILE")
	}
	text, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	_, commands, ok := strings.Cut(string(text), "\nNext, without a model:\n\n")
	commands, _, end := strings.Cut(commands, "\n\n")
	lines := strings.Split(commands, "\n")
	if !ok || !end || len(lines) < 4 {
		ts.Fatalf("%s has no list of commands:\n%s", args[0], text)
	}
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if dir, ok := strings.CutPrefix(line, "cd "); ok {
			ts.Check(ts.Chdir(dir))
			continue
		}
		if strings.Contains(line, "until Ctrl-C") {
			cmdStart(ts, false, []string{"typed", "bash", "-c", "exec " + line})
			cmdAwait(ts, false, []string{"typed.err", " ended "})
			cmdSignal(ts, false, []string{"typed", "INT"})
			cmdFinish(ts, false, []string{"typed", "0"})
			continue
		}
		want := "0"
		if m := statusIn.FindStringSubmatch(line); m != nil {
			want = m[1]
		}
		cmdExits(ts, false, []string{want, "exec", "bash", "-c", line})
	}
}

//go:build unix

package permit_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/permit"
	"github.com/hocket-run/hocket/internal/randtest"
)

// tokens are the pieces of scripts for real shells. None of them names a file outside the folder in
// which a script runs, and rm is a stub on PATH.
var tokens = []string{
	"rm x", "rm x", "rm", " ", " ", "x", "r", "m", "'", "\"", "\\", ";", "\n", "&&", "||", "|", "& ", "(", ")", "{ ",
	"; }", "$(", "`", "if ", "; then ", "; fi", "! ", "A=1 ", ">/dev/null ", "2>&1 ",
	"$X", "${IFS}", "$'", "\\x72", "env ", "env -S ", "exec ", "eval ", "command ", "sh -c ", "xargs ", "nice ",
	"echo ", "<<E\n", "\nE\n", "<<'E'\n", "{r,s}m", "{rm,x}", "${X:-", "}", "$((", "))", "[[ ", " ]]", "case x in x) ",
	";; esac",
	"for X in rm; do ", "; done", "set -- rm x; ", "\"$@\"", "X=rm; ", "r?", "[r]m", ":", "&>/dev/null ", "trap ",
	" EXIT", "time ", "\\\n", "#", "$\"", "timeout 5 ", "nohup ", "<<<", "find . -exec ", " {} \\;", "~",
	"alias l=rm\n", "l x", "\r", "\t", "\x01", "é", "$", "*", "((", "coproc ", "IFS=m; ", "unset 'a[$(rm x)]'",
	"-v 'a[$(rm x)]'", "test ", "a='b[$(rm x)]'; ", "$((a))", "set -x; ", "PS4='$(rm x)'; ", "printf rm", "read a; ",
	"$a x", "cat", "-ec ", "-c ", "bash ", "-s ", "{}", "-I{} ", "env -i ", "PATH=$PATH ", "hash ", "; esac",
	"select X in rm; do ", "function f { rm x; }; ", "exec 3<", "|&", "!", "%1", "builtin ", "jobs -x ", "let ", "<(",
	">(",
}

// bench is a folder with a PATH that contains stubs and programs that start other programs.
type bench struct{ bin, work, log string }

func newBench(t testing.TB) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{filepath.Join(dir, "bin"), filepath.Join(dir, "work"), filepath.Join(dir, "log")}
	for _, d := range []string{b.bin, b.work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	stub := "#!/bin/sh\necho rm \"$@\" >>'" + b.log + "'\n"
	if err := os.WriteFile(filepath.Join(b.bin, "rm"), []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"env", "xargs", "nice", "timeout", "nohup", "sh", "bash", "find", "dash"} {
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, filepath.Join(b.bin, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b
}

// ran returns the arguments with which the stub was called while a shell ran a script.
func (b *bench) ran(t testing.TB, shell, script string) string {
	t.Helper()
	_ = os.Remove(b.log)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, shell, "-c", script)
	c.Dir, c.Env, c.WaitDelay = b.work, []string{"PATH=" + b.bin, "HOME=" + b.work}, 10*time.Second
	var out bytes.Buffer // a pipe, so that Run also waits for background processes
	c.Stdout, c.Stderr = &out, &out
	_ = c.Run() // most scripts fail
	said, _ := os.ReadFile(b.log)
	return string(said)
}

var anyRM = permit.Rules{Deny: []string{"shell:cmd=rm", "shell:cmd=rm *"}}

// compare fails if a shell ran the stub for a script that the rules let pass. It reports whether
// the stub ran.
func (b *bench) compare(t testing.TB, script string) bool {
	t.Helper()
	p, err := permit.Compile(anyRM)
	if err != nil {
		t.Fatal(err)
	}
	if d, _ := p.Decide(shell(script)); d != permit.Allow {
		return true // the rules catch a stub that runs
	}
	for _, sh := range []string{"sh", "bash"} {
		path, err := exec.LookPath(sh)
		if err != nil {
			continue
		}
		if ran := b.ran(t, path, script); ran != "" {
			t.Errorf("%q is allowed, and %s ran %q", script, sh, ran)
		}
	}
	return false
}

func compose(choice []byte) string {
	var s strings.Builder
	for _, c := range choice[:min(len(choice), 40)] {
		s.WriteString(tokens[int(c)%len(tokens)])
	}
	return s.String()
}

// TestRulesAgainstShells checks SEC13: whatever real shells run as rm is denied or asked about,
// whatever the script. Only scripts that pass are run.
func TestRulesAgainstShells(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if ran := b.ran(t, "/bin/sh", "(env rm x)"); ran != "rm x\n" {
		t.Fatalf("the stub does not run: %q", ran)
	}
	random := randtest.New(t)
	passed := 0
	for passed < 50 {
		choice := make([]byte, 1+random.IntN(14))
		for i := range choice {
			choice[i] = byte(random.UintN(256))
		}
		if !b.compare(t, compose(choice)) {
			passed++
		}
	}
}

// FuzzRulesAgainstShells searches for scripts that pass but run the stub.
func FuzzRulesAgainstShells(f *testing.F) {
	b := newBench(f)
	for i := 0; i < len(tokens); i += 8 {
		f.Add([]byte{byte(i), 0, byte(i + 1)})
	}
	f.Fuzz(func(t *testing.T, choice []byte) { b.compare(t, compose(choice)) })
}

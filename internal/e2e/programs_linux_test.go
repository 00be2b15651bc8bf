//go:build unix

package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The programs of the attack. Each writes the ids of all processes that it starts to the file pids.
const (
	// leave starts descendants in ways that process groups and marks in the environment do not
	// detect.
	leave = `#!/bin/sh
for i in 1 2; do env -i /usr/bin/setsid /bin/sh -c 'echo $$ >>pids; exec /bin/sleep 1000' & done
nohup setsid sh -c 'trap "" TERM HUP INT; echo $$ >>pids; (env -i /bin/sh -c "echo \$\$ >>pids; exec /bin/sleep ` +
		`1000" &); while :; do sleep 1; done' >/dev/null 2>&1 &
echo $$ >>pids
`
	// spy looks for the secret in Hocket's environment, and for leftovers of an earlier call.
	spy = `#!/bin/sh
h=$(cut -d" " -f4 /proc/$PPID/stat)
for p in $PPID $h $(ls /proc | grep '^[0-9]'); do
	tr '\0' '\n' </proc/$p/environ | grep -h E2E_SECRET && echo "environment of $p"
	head -c 1 /proc/$p/mem && echo "memory of $p"
done 2>/dev/null
for p in $(cat shell.pids); do test -d /proc/$p && echo "left: $p"; done
echo spied
`
	// again is a tool that may be repeated. Its first attempt does not end on its own; the second
	// one checks whether anything of the first still exists.
	again = `#!/bin/sh
for p in $(cat again.pids 2>/dev/null); do test -d /proc/$p && echo $p >>overlap; done
if [ -e second ]; then echo repeated; exit 0; fi
touch second
env -i /usr/bin/setsid /bin/sh -c 'echo $$ >>pids; echo $$ >>again.pids; trap "" TERM; while :; do /bin/sleep 1; done' &
echo $$ >>again.pids
echo $$ >>pids
until [ "$(wc -l <again.pids)" = 2 ]; do :; done
echo >ready
wait
`
	// stdioServer is an MCP server that leaves descendants behind.
	stdioServer = `#!/bin/sh
./leave.sh >/dev/null 2>&1 </dev/null
while read -r line; do
	id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	case $line in
	*'"initialize"'*) printf ` +
		`'{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},` +
		`"serverInfo":{"name":"s","version":"1"}}}\n' $id ;;
	*'"tools/list"'*) printf ` +
		`'{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}\n' $id ;;
	esac
done
wait
`
	programsDocument = `agents:
  a:
    model: openai/m
    instruction: go
    toolsets:
      - {type: shell}
      - {type: script, shell: {again: {cmd: ./again.sh, policy: retry}}}
      - {type: mcp, command: ./server.sh}
workflow:
  - {type: agent, name: a}
`
	programsReplies = `replies:
  - {agent: a, toolCalls: [{name: run_background_job, arguments: {cmd: "./leave.sh; exec sleep 1000"}}]}
  - {agent: a, toolCalls: [{name: shell, arguments: {cmd: "./leave.sh; until [ $(wc -l <pids) -ge 10 ]; do :; done; ` +
		`cp pids shell.pids.all; echo $$ >shell.pids"}}]}
  - {agent: a, toolCalls: [{name: shell, arguments: {cmd: ./spy.sh}}]}
  - {agent: a, toolCalls: [{name: again, arguments: {}}]}
  - {agent: a, contains: repeated, text: It was repeated.}
`
)

// TestDescendantsKilled runs the real binary as an unprivileged user: commands, background jobs,
// scripts and MCP servers leave descendants behind in every way that they can, Hocket is killed
// with SIGKILL, and another process repeats the call immediately.
func TestDescendantsKilled(t *testing.T) {
	t.Parallel()
	w := newUnprivileged(t)
	for name, text := range map[string]string{"leave.sh": leave, "spy.sh": spy, "again.sh": again,
		"server.sh": stdioServer, "doc.yaml": programsDocument, "replies.yaml": programsReplies} {
		w.write(name, text)
	}
	if err := syscall.Mkfifo(w.path("ready"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(w.path("ready"), 0o666); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	c := w.hocket("run", "doc.yaml", "--replies", "replies.yaml", "--trust", "--run-id", "r1", "hi")
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Wait() // it gets killed
		// Unblocks the reader of the pipe if the run ended early.
		if f, err := os.OpenFile(w.path("ready"), os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			_ = f.Close()
		}
	}()
	if _, err := os.ReadFile(w.path("ready")); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
		t.Fatalf("the run ended: %s", said.String())
	default:
	}
	before := w.liveProcesses()
	_ = c.Process.Kill()
	<-ended

	out, err := w.hocket("resume", "r1", "--replies", "replies.yaml").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "It was repeated.") {
		t.Errorf("resume: %v: %s", err, out)
	}
	if b, err := os.ReadFile(w.path("overlap")); err == nil {
		t.Errorf("when the call was repeated, processes %q of the first try were there", b)
	}
	after := w.liveProcesses()
	if len(after) > 0 {
		t.Errorf("processes %v outlived Hocket", after)
	}
	logs := []byte(w.events("r1"))
	if !bytes.Contains(logs, []byte("spied")) {
		t.Errorf("the spy did not run: %s", logs)
	}
	for _, bad := range []string{"of the attack", "environment of", "memory of", "left: "} {
		if bytes.Contains(logs, []byte(bad)) {
			t.Errorf("the spy found %q: %s", bad, logs)
		}
	}
	started, err := os.ReadFile(w.path("pids"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d processes left behind by 5 programs; when Hocket was killed %d were there, after the resumed run %d",
		bytes.Count(started, []byte("\n")), len(before), len(after))
}

// unprivileged is a folder of an unprivileged user, in which hocket runs as that user: root may
// read the memory of all processes. If the test itself is unprivileged, that user is the test's
// own.
type unprivileged struct {
	t    *testing.T
	dir  string
	bin  string
	attr *syscall.SysProcAttr
}

func newUnprivileged(t *testing.T) *unprivileged {
	t.Helper()
	bin := programOf(t, nil)
	w := &unprivileged{t: t, dir: t.TempDir(), bin: bin}
	for dir, mode := range map[string]os.FileMode{filepath.Dir(bin): 0o755, filepath.Dir(w.dir): 0o755, w.dir: 0o777} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() == 0 {
		const unprivilegedID = 65534
		w.attr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivilegedID, Gid: unprivilegedID}}
	}
	return w
}

func (w *unprivileged) path(name string) string { return filepath.Join(w.dir, name) }

// write writes a file, and makes scripts executable.
func (w *unprivileged) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(w.path(name), []byte(text), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// hocket returns the command, to be run in the folder.
func (w *unprivileged) hocket(args ...string) *exec.Cmd {
	c := exec.CommandContext(w.t.Context(), w.bin, args...)
	c.Dir, c.SysProcAttr = w.dir, w.attr
	c.Env = []string{"HOME=" + w.dir, "HOCKET_HOME=" + w.path("home"), "PATH=" + os.Getenv("PATH"),
		"E2E_SECRET=of the attack"}
	return c
}

// liveProcesses returns the processes in the file pids that have not ended.
func (w *unprivileged) liveProcesses() (list []string) {
	w.t.Helper()
	b, err := os.ReadFile(w.path("pids"))
	if err != nil {
		w.t.Fatal(err)
	}
	for pid := range strings.FieldsSeq(string(b)) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%s/stat", pid))
		if err == nil && !bytes.Contains(stat, []byte(") Z ")) {
			list = append(list, pid)
		}
	}
	return list
}

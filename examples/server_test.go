package examples_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hocket-run/hocket/internal/cli"
)

// asProgram is the environment variable that makes the test binary act as the program.
const asProgram = "HOCKET_EXAMPLES_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Process(cli.Wiring{Version: "test"}))
	}
	os.Exit(m.Run())
}

// TestServer runs the commands of docs/server.md under "Try it", and the client of the example,
// against `hocket serve` started as on the page.
func TestServer(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a shell of Unix")
	}
	text, err := os.ReadFile("../docs/server.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Try it\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1)
	if len(blocks) != 2 {
		t.Fatalf("the page has %d blocks of commands about the server, want the start and the use", len(blocks))
	}
	home := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "hocket"), fmt.Appendf(nil, "#!/bin/sh\n%s=1 exec '%s' \"$@\"\n",
		asProgram, self), 0o700); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + home, "PATH=" + home + ":" + os.Getenv("PATH"), "NO_PROXY=*"}

	shell := func(script string, more ...string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), "bash", "-e", "-c", script)
		c.Dir, c.Env = "..", slices.Concat(env, more)
		return c
	}
	serve := shell("exec " + strings.TrimSpace(blocks[0][1]) + " --addr 127.0.0.1:0")
	errs, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	addr, ended := make(chan string, 1), make(chan string, 1)
	go func() {
		var all strings.Builder
		for lines := bufio.NewScanner(errs); lines.Scan(); {
			all.WriteString(lines.Text() + "\n")
			if _, url, ok := strings.Cut(lines.Text(), "listening   "); ok {
				addr <- strings.TrimSpace(url)
			}
		}
		ended <- all.String()
	}()
	var url string
	select {
	case url = <-addr:
	case log := <-ended:
		t.Fatalf("the server ended: %v\n%s", serve.Wait(), log)
	}

	out, err := shell(strings.ReplaceAll(blocks[1][1], "http://127.0.0.1:7788", url)).CombinedOutput()
	if err != nil {
		t.Errorf("the page: %v\n%s", err, out)
	}
	for _, want := range []string{`"status":"paused"`, "(1 waiting)", "BEES SLEEP TOO", "event: run.completed",
		"event: end", "Publish it?", `"finish_reason":"stop"`, "hocket_run_waiting"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the page: the output has no %s:\n%s", want, out)
		}
	}

	token, err := os.ReadFile(filepath.Join(home, ".local", "share", "hocket", "token"))
	if err != nil {
		t.Fatal(err)
	}
	out, err = shell("examples/server/client.sh", "HOCKET="+url, "HOCKET_TOKEN="+strings.TrimSpace(string(token))).
		CombinedOutput()
	want := "asked: Publish it?\nstep: bees\nstep: Bees sleep at night.\nstep: Bees sleep at night.\nstep: Bees hold " +
		"each other's legs while they sleep.\nstep: Bees hold each other's legs while they sleep.\nstep: BEES " +
		"SLEEP TOO\n"
	if _, got, _ := strings.Cut(string(out), " waits\n"); err != nil || got != want {
		t.Errorf("client.sh: %v\ngot\n%s\nwant\n%s", err, out, want)
	}

	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	log := <-ended
	if err := serve.Wait(); err != nil {
		t.Errorf("the server ended: %v\n%s", err, log)
	}
}

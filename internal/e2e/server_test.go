//go:build unix

package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/testinput"
)

// binary is the program, built once for all tests, and temporalBinary is the program with Temporal.
var (
	binary         = building("../..", "hocket")
	temporalBinary = building("../../temporal", "hocket-temporal")
)

// building returns a function that builds a program of a module once, and returns its path.
func building(module, name string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		path := filepath.Join(programs, name)
		out, err := exec.Command("go", "build", "-C", module, "-ldflags=-s -w", "-o", path, "./cmd/"+name).
			CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("build: %w\n%s", err, out)
		}
		return path, nil
	})
}

// programs is the folder for the programs that tests build.
var programs string

// inputs declares the inputs of all tests once: what the program is built from, and the specs of
// the page.
var inputs sync.Once

// programOf returns the program named by HOCKET_TEST_PROGRAM in env (see variant), or else the
// program of this repository.
func programOf(t *testing.T, env []string) string {
	t.Helper()
	for _, e := range env {
		if path, ok := strings.CutPrefix(e, "HOCKET_TEST_PROGRAM="); ok {
			return path
		}
	}
	return built(t, binary)
}

// built returns the path of a program of this repository.
func built(t *testing.T, binary func() (string, error)) string {
	t.Helper()
	inputs.Do(func() { testinput.Files(t, ":!docs") })
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "hocket-e2e"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	_ = os.RemoveAll(programs)
	os.Exit(status)
}

// testToken is the token of an admin who may approve.
const testToken = "hk_e2e-token-of-the-tests-0123456789abcdefghijk"

// process is a hocket serve process.
type process struct {
	cmd  *exec.Cmd
	url  string
	done chan struct{}
	// more is signalled with each line that the server writes.
	more chan struct{}

	mu  sync.Mutex
	log strings.Builder
}

var listening = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// serve starts the server in the folder home, and waits until it is ready. It is stopped at the end
// of the test.
func serve(t *testing.T, home string, env []string, args ...string) *process {
	t.Helper()
	p := begin(t, home, env, args...)
	p.ready(t)
	return p
}

// begin is like serve, but does not wait until the server is ready.
func begin(t *testing.T, home string, env []string, args ...string) *process {
	t.Helper()
	return listen(t, home, env, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
}

// listen starts a command that listens.
func listen(t *testing.T, home string, env []string, args ...string) *process {
	t.Helper()
	p := newProcess(t, home, env, args...)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.launch(t, stderr)
	return p
}

// newProcess returns a command that is not started yet.
func newProcess(t *testing.T, home string, env []string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(programOf(t, env), args...), done: make(chan struct{}),
		more: make(chan struct{}, 1)}
	p.cmd.Dir = home
	p.cmd.Env = append([]string{"HOME=" + home, "HOCKET_HOME=" + home, "HOCKET_TOKEN=" + testToken,
		"PATH=" + os.Getenv("PATH")}, env...)
	return p
}

// launch starts a command that listens, and reads its output. theirs are files that only the
// program needs.
func (p *process) launch(t *testing.T, stderr io.Reader, theirs ...io.Closer) {
	t.Helper()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range theirs {
		_ = f.Close()
	}
	t.Cleanup(p.kill)
	found := make(chan string, 1)
	go func() {
		defer close(p.done)
		for sc := bufio.NewScanner(stderr); sc.Scan(); {
			p.mu.Lock()
			p.log.WriteString(sc.Text() + "\n")
			p.mu.Unlock()
			select {
			case p.more <- struct{}{}:
			default:
			}
			if u := listening.FindString(sc.Text()); u != "" {
				select {
				case found <- u:
				default:
				}
			}
		}
	}()
	select {
	case p.url = <-found:
	case <-p.done:
		t.Fatalf("the server ended: %s", p.said())
	case <-time.After(5 * time.Minute):
		t.Fatalf("the server does not say where it listens: %s", p.said())
	}
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// ready waits until the server accepts requests.
func (p *process) ready(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/readyz", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if ctx.Err() != nil {
			t.Fatalf("the server is not ready: %s", p.said())
		}
	}
}

// kill ends the process immediately, as a crash does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
	_ = p.cmd.Wait()
}

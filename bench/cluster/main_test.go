package cluster

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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain runs the tests or, in a child process, drives runs.
func TestMain(m *testing.M) {
	if at := os.Getenv(childURL); at != "" {
		if err := child(context.Background(), at, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// margin is the factor by which a figure may miss its goal before the benchmark fails.
const margin = 1.5

// atLeast reports a ratio, which should be at least goal.
func atLeast(b *testing.B, name string, got, goal float64) {
	b.Helper()
	b.ReportMetric(got, name)
	b.ReportMetric(goal, name+"-goal")
	if got < goal/margin {
		b.Errorf("%s is %.2f; the goal is %.2f", name, got, goal)
	}
}

// atMost reports a figure, which should be at most goal.
func atMost(b *testing.B, name string, got, goal float64) {
	b.Helper()
	b.ReportMetric(got, name)
	b.ReportMetric(goal, name+"-goal")
	if got > goal*margin {
		b.Errorf("%s is %.2f; the goal is %.2f", name, got, goal)
	}
}

// median sorts v and returns its median.
func median[T float64 | time.Duration](v []T) T {
	slices.Sort(v)
	return v[len(v)/2]
}

// percentile sorts v and returns its p-th percentile.
func percentile(v []time.Duration, p int) time.Duration {
	slices.Sort(v)
	return v[min(len(v)-1, len(v)*p/100)]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// built is the program, built as for a release.
var built struct {
	sync.Once
	dir, bin string
	err      error
}

func binary(b *testing.B) string {
	b.Helper()
	built.Do(func() {
		//nolint:usetesting // for all benchmarks
		if built.dir, built.err = os.MkdirTemp("",
			"hocket-bench-"); built.err != nil {
			return
		}
		built.bin = filepath.Join(built.dir, "hocket")
		c := exec.Command("go", "build", "-trimpath", "-tags=grpcnotrace", "-ldflags=-s -w", "-o", built.bin,
			"github.com/hocket-run/hocket/cmd/hocket")
		c.Env, c.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
		built.err = c.Run()
	})
	if built.err != nil {
		b.Fatal(built.err)
	}
	return built.bin
}

// process is a server process.
type process struct {
	cmd  *exec.Cmd
	url  string
	done chan struct{}
}

const token = "a-token-of-the-benchmarks-0123456789"

var listening = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// serve starts a server on a store, and waits until it listens. It is stopped at the end of the
// benchmark.
func serve(b *testing.B, db, models string) *process {
	b.Helper()
	home := b.TempDir()
	config := filepath.Join(home, "hocket.yaml")
	if err := os.WriteFile(config, []byte("limits: {maxCalls: 4096}\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	p := &process{cmd: exec.Command(binary(b), "serve", "--addr", "127.0.0.1:0", "--no-schedules"),
		done: make(chan struct{})}
	p.cmd.Env = []string{"HOME=" + home, "HOCKET_HOME=" + home, "HOCKET_TOKEN=" + token, "HOCKET_DB=" + db,
		"OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + models}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(p.kill)
	found := make(chan string, 1)
	go func() {
		defer close(p.done)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if u := listening.FindString(lines.Text()); u != "" {
				select {
				case found <- u:
				default:
				}
			}
		}
		_ = p.cmd.Wait()
	}()
	select {
	case p.url = <-found:
	case <-p.done:
		b.Fatal("the server ended")
	case <-time.After(time.Minute):
		b.Fatal("the server does not listen")
	}
	return p
}

// kill kills the process immediately, like a crash.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// do sends a request and returns the response body.
func (p *process) do(b *testing.B, method, path, body string) string {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= http.StatusBadRequest {
		b.Fatalf("%s %s: %d %s %v", method, path, answer.StatusCode, data, err)
	}
	return string(data)
}

// chain returns a workflow of n model calls in a row.
func chain(n int) string {
	return "agents:\n  a: {model: openai/m, instruction: step}\nworkflow:\n" +
		strings.Repeat("  - {type: agent, name: a}\n", n)
}

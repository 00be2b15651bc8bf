//go:build unix

package acp_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/session/acp"
)

// eventTimeout is the timeout for events that must happen before a limit passes, on a busy machine.
const eventTimeout = 5 * time.Minute

// config returns the configuration of an agent that ends by itself: however slow the machine is, it
// is not killed meanwhile.
func config(t *testing.T, mode string) acp.Config {
	t.Helper()
	return acp.Config{
		CloseGrace: eventTimeout,
		Command:    command(t), Env: map[string]string{modeVar: mode, "API_TOKEN": "sesame-7"},
		Environ: func() []string { return []string{"PATH=" + os.Getenv("PATH"), "PASSED=yes", "HIDDEN=yes"} },
		PassEnv: []string{"PASSED", "UNSET"},
	}
}

func create(ctx context.Context, t *testing.T, cfg acp.Config, c graph.SessionConfig) (graph.Session, error) {
	t.Helper()
	client, err := acp.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := client.CreateSession(ctx, c)
	if err == nil {
		t.Cleanup(func() {
			if err := errors.Join(s.Destroy(context.Background()), s.Destroy(context.Background())); err != nil {
				t.Errorf("destroy: %v", err)
			}
		})
	}
	return s, err
}

// open begins a session in a separate folder.
func open(t *testing.T, cfg acp.Config, c graph.SessionConfig) (graph.Session, string) {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	s, err := create(t.Context(), t, cfg, c)
	if err != nil {
		t.Fatal(err)
	}
	return s, c.Dir
}

// talk sends a message and returns the reply, one line per message, and the error.
func talk(ctx context.Context, s graph.Session, message string) (string, error) {
	var lines []string
	for m, err := range s.Stream(ctx, message) {
		if err != nil {
			return strings.Join(lines, "\n"), err
		}
		line := m.Type + " " + m.Role
		if m.ToolCallID != "" {
			line += " " + m.Tool + "#" + m.ToolCallID + string(m.Arguments)
		}
		if m.IsError {
			line += " failed"
		}
		lines = append(lines, line+": "+m.Content)
	}
	return strings.Join(lines, "\n"), nil
}

func wantSaid(t *testing.T, s graph.Session, message, want string) {
	t.Helper()
	got, err := talk(t.Context(), s, message)
	if diff := cmp.Diff(want, strings.TrimPrefix(got, "text assistant: ")); diff != "" || err != nil {
		t.Errorf("%s: %v, -want +got:\n%s", message, err, diff)
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(eventTimeout)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("it did not happen within %s", eventTimeout)
		}
	}
}

// gone reports whether a process has ended, or is a zombie that another process has to reap.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, after, _ := strings.Cut(string(stat), ") ")
	return err == nil && strings.HasPrefix(after, "Z")
}

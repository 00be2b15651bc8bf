//go:build unix

package acp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/session/acp"
)

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestStartFails checks that an agent that fails to start results in a clear error with its output,
// without its keys (P11, SEC11).
func TestStartFails(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string][]string{
		"die":      {"initialize the agent", "exit status 3", "cannot read the licence file [redacted]"},
		"silent":   {"no response", "timed out after 300ms"},
		"stuck":    {"no response", "timed out after 300ms"},
		"noise":    {"no response", "Welcome to the agent!", "[INFO] {it is} up"},
		"nonsense": {"initialize the agent", "cannot unmarshal array"},
		"future":   {"unsupported protocol version 99"},
		"login":    {"the agent requires a login (Log in on the web)"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			cfg := config(t, mode)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			switch mode {
			case "silent", "stuck":
				cfg.StartTimeout = 300 * time.Millisecond
			case "noise": // it is reported as late once it has sent everything
				cfg.Logger = slog.New(slog.NewTextHandler(writerFunc(func(line []byte) (int, error) {
					if bytes.Contains(line, []byte("[INFO]")) {
						cancel()
					}
					return len(line), nil
				}), &slog.HandlerOptions{Level: slog.LevelDebug}))
			}
			_, err := create(ctx, t, cfg, graph.SessionConfig{Dir: t.TempDir()})
			for _, w := range want {
				if err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("got %v, want %q in it", err, w)
				}
			}
			if err != nil && strings.Contains(err.Error(), "sesame") {
				t.Errorf("the key is told: %v", err)
			}
		})
	}
	t.Run("no such program", func(t *testing.T) {
		t.Parallel()
		_, err := create(t.Context(), t, acp.Config{Command: []string{"hocket-no-such-agent"}}, graph.SessionConfig{})
		if err == nil || !strings.Contains(err.Error(), "start the agent") ||
			!strings.Contains(err.Error(), "hocket-no-such-agent") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no such folder", func(t *testing.T) {
		t.Parallel()
		if _, err := create(t.Context(), t, config(t, "normal"),
			graph.SessionConfig{Dir: filepath.Join(t.TempDir(), "x")}); err == nil {
			t.Error("no error")
		}
	})
}

// TestSlowStart checks that an agent may take its time to start.
func TestSlowStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(dir, "up")); err == nil {
				_ = os.WriteFile(filepath.Join(dir, "go"), nil, 0o600)
				return
			}
			if t.Context().Err() != nil {
				return
			}
		}
	}()
	s, _ := open(t, config(t, "slow"), graph.SessionConfig{Dir: dir})
	wantSaid(t, s, "model", "")
}

// TestTurnFails checks that a failed turn reports how it failed, and that everything before it is
// reported.
func TestTurnFails(t *testing.T) {
	t.Parallel()
	for message, c := range map[string]struct {
		said string
		want []string
		over bool // the session is no longer usable
	}{
		"crash": {"text assistant: I begin.", []string{"the agent ended (exit status 3)", "out of luck [redacted]"},
			true},
		"fail": {"", []string{"the agent answered with an error", "no luck with [redacted]"}, false},
		"hang": {"text assistant: I begin.", []string{"no activity for 10s"}, false},
	} {
		t.Run(message, func(t *testing.T) {
			t.Parallel()
			cfg := config(t, "normal")
			if message == "hang" {
				cfg.IdleTimeout = 10 * time.Second
			}
			s, _ := open(t, cfg, graph.SessionConfig{})
			got, err := talk(t.Context(), s, message)
			for _, w := range c.want {
				if err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("got %v, want %q in it", err, w)
				}
			}
			if got != c.said {
				t.Errorf("before that it said %q, want %q", got, c.said)
			}
			if _, err := talk(t.Context(), s, "model"); (err != nil) != c.over {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
	t.Run("noise between messages", func(t *testing.T) {
		t.Parallel()
		s, _ := open(t, config(t, "normal"), graph.SessionConfig{})
		wantSaid(t, s, "noise", "Sorry.")
	})
	t.Run("more output than the limit without a reader (SEC17)", func(t *testing.T) {
		t.Parallel()
		s, dir := open(t, config(t, "normal"), graph.SessionConfig{})
		var failed error
		for m, err := range s.Stream(t.Context(), "big") {
			if failed = err; err != nil || m.Content != "I begin." {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			waitFor(t, func() bool { // the agent's last output was received
				u, err := s.ContextUsage(t.Context())
				return err == nil && u.InputTokens == 20
			})
		}
		if failed == nil || !strings.Contains(failed.Error(), "not read yet") {
			t.Errorf("got %v", failed)
		}
	})
	t.Run("a turn that takes too long (P11)", func(t *testing.T) {
		t.Parallel()
		cfg := config(t, "normal")
		cfg.TurnTimeout = 300 * time.Millisecond
		s, _ := open(t, cfg, graph.SessionConfig{})
		if _, err := talk(t.Context(), s, "hang"); err == nil ||
			!strings.Contains(err.Error(), "the turn took longer than 300ms") {
			t.Errorf("got %v", err)
		}
	})
}

// TestCancel checks that an agent is told to stop when ctx ends or the loop is left, and that the
// session remains usable.
func TestCancel(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(s graph.Session) error{
		"the loop is left": func(s graph.Session) error {
			for _, err := range s.Stream(t.Context(), "hang") {
				return err
			}
			return errors.New("nothing came")
		},
		"ctx ends": func(s graph.Session) error {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for _, err := range s.Stream(ctx, "hang") {
				if errors.Is(err, context.Canceled) {
					return nil
				}
				if err != nil {
					return err
				}
				cancel()
			}
			return errors.New("no error came")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := open(t, config(t, "normal"), graph.SessionConfig{})
			if err := stop(s); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "cancelled")); err != nil {
				t.Errorf("the agent was not told: %v", err)
			}
			wantSaid(t, s, "env PASSED", "yes true")
		})
	}
}

// pids starts a turn of an agent that ignores cancellation, and returns its process id and its
// child's.
func pids(t *testing.T, ctx context.Context, s graph.Session, then func() bool) (agent, child int, err error) {
	t.Helper()
	for m, err := range s.Stream(ctx, "deaf") {
		if err != nil {
			return agent, child, err
		}
		if _, err := fmt.Sscan(m.Content, &agent, &child); err != nil {
			t.Fatalf("%q: %v", m.Content, err)
		}
		if then() {
			break
		}
	}
	return agent, child, nil
}

// killConfig returns the config of an agent that has to be killed.
func killConfig(t *testing.T, mode string) acp.Config {
	t.Helper()
	cfg := config(t, mode)
	cfg.CloseGrace = 0
	return cfg
}

// TestClose_NoProcessLeft checks that after cancel or Destroy the agent and its children are gone,
// whatever they do about it (P11).
func TestClose_NoProcessLeft(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"normal", "stubborn"} {
		t.Run(mode+", the turn is cancelled", func(t *testing.T) {
			t.Parallel()
			s, _ := open(t, killConfig(t, mode), graph.SessionConfig{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			agent, child, err := pids(t, ctx, s, func() bool { cancel(); return false })
			if !errors.Is(err, context.Canceled) || agent == 0 {
				t.Fatalf("%d, %v", agent, err)
			}
			waitFor(t, func() bool { return gone(agent) && gone(child) })
		})
		t.Run(mode+", the context of the session ends", func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s, err := create(ctx, t, killConfig(t, mode), graph.SessionConfig{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			agent, child, err := pids(t, t.Context(), s, func() bool { cancel(); return false })
			if err == nil {
				t.Error("the turn ended well")
			}
			waitFor(t, func() bool { return gone(agent) && gone(child) })
		})
		t.Run(mode+", destroyed", func(t *testing.T) {
			t.Parallel()
			s, _ := open(t, killConfig(t, mode), graph.SessionConfig{})
			agent, child, err := pids(t, t.Context(), s, func() bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Destroy(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !gone(agent) {
				t.Error("the agent is there")
			}
			waitFor(t, func() bool { return gone(child) }) // it was killed, and takes its time to die
			if _, err := talk(t.Context(), s, "model"); err == nil {
				t.Error("a session that was destroyed answers")
			}
		})
	}
}

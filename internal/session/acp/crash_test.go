//go:build unix

package acp_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/session/acp"
	"github.com/hocket-run/hocket/internal/session/sessiontest"
)

// runOnce is one process's part of a node function: it creates the session, sends messages until
// one fails, and dies.
func runOnce(t *testing.T, notes *sessiontest.Notes, cfg acp.Config, dir string, messages ...string) (
	said []string, id string, failed error) {
	t.Helper()
	notes.Run(t.Context(), t, func(ctx context.Context) error {
		client, err := acp.New(cfg)
		if err != nil {
			return err
		}
		s, err := client.CreateSession(ctx, graph.SessionConfig{Key: "k", Dir: dir, SystemPrompt: "Be good."})
		if err != nil {
			return err
		}
		defer func() {
			if err := s.Destroy(context.WithoutCancel(ctx)); err != nil {
				t.Errorf("destroy: %v", err)
			}
		}()
		id = s.ID()
		for _, m := range messages {
			if m == "hang" {
				sub, cancel := context.WithCancel(ctx)
				for _, err := range s.Stream(sub, m) {
					if failed = err; err == nil {
						cancel() // the program dies while the agent is working
					}
				}
				cancel()
				return nil
			}
			var got string
			if got, failed = talk(ctx, s, m); failed != nil {
				return nil
			}
			said = append(said, got)
		}
		return nil
	})
	return said, id, failed
}

func log(t *testing.T, dir, id string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, id))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// TestCrash checks that messages that the agent answered before a crash are not sent again, that
// the session is loaded if the agent supports it, and that a message whose outcome is unknown is
// not sent again automatically (D23).
func TestCrash(t *testing.T) {
	t.Parallel()
	t.Run("answered messages", func(t *testing.T) {
		t.Parallel()
		var notes sessiontest.Notes
		dir := t.TempDir()
		first, id, err := runOnce(t, &notes, config(t, "normal"), dir, "work", "env PASSED")
		if err != nil || len(first) != 2 {
			t.Fatal(first, err)
		}
		again, same, err := runOnce(t, &notes, config(t, "normal"), dir, "work", "env PASSED", "said")
		if err != nil || same != id || len(again) != 3 || again[0] != first[0] || again[1] != first[1] {
			t.Fatalf("%q, %q, %v", again, same, err)
		}
		if got := log(t, dir, id); len(got) != 3 || got[0] != "Be good. | work" || got[2] != "said" {
			t.Errorf("the agent was told %q", got)
		}
	})
	t.Run("unknown outcome", func(t *testing.T) {
		t.Parallel()
		var notes sessiontest.Notes
		dir := t.TempDir()
		_, id, err := runOnce(t, &notes, config(t, "normal"), dir, "env PASSED", "hang")
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if _, _, err := runOnce(t, &notes, config(t, "normal"), dir, "env PASSED", "hang"); !errors.Is(err,
			graph.ErrUnknownOutcome) {
			t.Errorf("got %v", err)
		}
		if got := log(t, dir, id); len(got) != 2 {
			t.Errorf("the agent was told %q", got)
		}
		cfg := config(t, "normal")
		cfg.RepeatUnknown = true
		if _, _, err := runOnce(t, &notes, cfg, dir, "env PASSED", "hang"); !errors.Is(err, context.Canceled) {
			t.Errorf("repeated: %v", err)
		}
		if got := log(t, dir, id); len(got) != 3 {
			t.Errorf("the agent was told %q", got)
		}
	})
	t.Run("an agent that cannot load", func(t *testing.T) {
		t.Parallel()
		var notes sessiontest.Notes
		dir := t.TempDir()
		first, id, err := runOnce(t, &notes, config(t, "forgetful"), dir, "env PASSED")
		if err != nil {
			t.Fatal(err)
		}
		again, other, err := runOnce(t, &notes, config(t, "forgetful"), dir, "env PASSED", "said")
		if !errors.Is(err, graph.ErrNoLoad) || len(again) != 1 || again[0] != first[0] || other == id {
			t.Errorf("%q, %v", again, err)
		}
		// If there was no conversation before, a new session is equivalent.
		var fresh sessiontest.Notes
		if _, _, err := runOnce(t, &fresh, config(t, "forgetful"), dir); err != nil {
			t.Fatal(err)
		}
		if got, _, err := runOnce(t, &fresh, config(t, "forgetful"), dir, "env PASSED"); err != nil || len(got) != 1 {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("a reader that left", func(t *testing.T) {
		t.Parallel()
		var notes sessiontest.Notes
		dir := t.TempDir()
		for range 2 {
			notes.Run(t.Context(), t, func(ctx context.Context) error {
				s, err := create(ctx, t, config(t, "normal"), graph.SessionConfig{Key: "k", Dir: dir})
				if err != nil {
					return err
				}
				for m, err := range s.Stream(ctx, "hang") {
					if err != nil || m.Content != "I begin." {
						t.Errorf("%+v, %v", m, err)
					}
					break
				}
				got, err := talk(ctx, s, "env PASSED")
				if got != "text assistant: yes true" {
					t.Errorf("afterwards: %q", got)
				}
				return errors.Join(err, s.Destroy(ctx))
			})
		}
	})
}

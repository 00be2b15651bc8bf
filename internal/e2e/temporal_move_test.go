//go:build unix

package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/temporalserver"
)

// kind returns what drives a run.
func (c *cluster) kind(run string) journal.Kind {
	c.t.Helper()
	s := c.open()
	defer s.Close()
	h, err := s.Head(c.t.Context(), run)
	if err != nil {
		c.t.Fatal(err)
	}
	return h.Kind
}

// TestTemporalMove checks that `resume --driver` moves a paused run to Temporal and back. A run
// that a living process drives is not moved; once that process is killed the run is moved, and
// continues.
func TestTemporalMove(t *testing.T) {
	t.Parallel()
	address, namespace := temporalserver.Namespace(t)
	config := filepath.Join(t.TempDir(), "hocket.yaml")
	if err := os.WriteFile(config, []byte("temporal: {namespace: "+namespace+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, pgtest.URL(t))
	with := []string{"--temporal", address, "--config", config}
	replies := []string{"--replies", "../../examples/server/offline.yaml"}
	resume := func(want int, says string, args ...string) {
		t.Helper()
		out, told, status := command(t, c.db, slices.Concat([]string{"resume"}, args)...)
		if status != want || !strings.Contains(out+told, says) {
			t.Fatalf("resume %s: status %d, want %d and %q\n%s%s", strings.Join(args, " "), status, want, says, out,
				told)
		}
	}
	moved := func(run string, want journal.Kind) {
		t.Helper()
		if kind := c.kind(run); kind != want {
			t.Fatalf("run %s is of kind %s, want %s", run, kind, want)
		}
	}
	start := slices.Concat([]string{"run", "../../examples/server/post.json", "--run-id", "r", "--quiet"}, replies)
	if _, told, status := command(t, c.db, start...); status != 3 {
		t.Fatalf("status %d\n%s", status, told)
	}
	resume(2, "needs a Temporal server", "r", "--driver", "temporal")
	moved("r", journal.KindRun)
	resume(3, "paused", slices.Concat(with, []string{"r", "--driver", "temporal"})...)
	moved("r", journal.KindTemporal)
	resume(3, "paused", slices.Concat(with, replies, []string{"r", "--reject"})...) // Temporal executes it
	moved("r", journal.KindTemporal)
	resume(0, "", slices.Concat(replies, []string{"r", "--driver", "embedded", "--approve"})...)
	moved("r", journal.KindServe)
	resume(2, "has ended", slices.Concat(with, []string{"r", "--driver", "temporal"})...)
	moved("r", journal.KindServe)

	release := c.hold()
	owner := c.join("")
	c.apply("pair", pairOfAgents)
	run := c.start(t.Context(), "pair", "k")
	for c.called() == 0 {
		pause(t.Context())
	}
	resume(2, "was not moved", slices.Concat(with, []string{run, "--driver", "temporal"})...)
	moved(run, journal.KindServe)
	c.kill(owner)
	release()
	key := filepath.Join(t.TempDir(), "key")
	text := fmt.Sprintf("temporal: {namespace: %s}\nproviders: {openai: {base_url: %q, key: 'file:%s'}}\n", namespace,
		owner.model.BaseURL(), key)
	if err := errors.Join(os.WriteFile(key, []byte("k"), 0o600),
		os.WriteFile(config, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	resume(0, "reply 3", slices.Concat(with, []string{run, "--driver", "temporal"})...)
	moved(run, journal.KindTemporal)
	if n := c.called(); n != 3 { // the killed process's call, its repetition, and the second
		t.Errorf("%d calls", n)
	}
}

// called returns the number of calls that were made.
func (c *cluster) called() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

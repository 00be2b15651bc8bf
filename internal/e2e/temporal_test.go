//go:build unix

package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/temporalserver"
)

// command runs the binary to its end, on a store in PostgreSQL, and returns its standard output,
// its standard error and its status.
func command(t *testing.T, db string, args ...string) (out, told string, status int) {
	t.Helper()
	bin := built(t, temporalBinary)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, bin, args...)
	var text, problems strings.Builder
	c.Stdout, c.Stderr = &text, &problems
	c.Env = append(os.Environ(), "HOCKET_DB="+db, "HOCKET_HOME="+t.TempDir(), "NO_COLOR=1")
	_ = c.Run() // the status is checked by the caller
	return text.String(), problems.String(), c.ProcessState.ExitCode()
}

// TestTemporalDoctor checks that doctor shows the server and its namespace.
func TestTemporalDoctor(t *testing.T) {
	t.Parallel()
	address, namespace := temporalserver.Namespace(t)
	config := filepath.Join(t.TempDir(), "hocket.yaml")
	if err := os.WriteFile(config, []byte("temporal: {namespace: "+namespace+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, status := command(t, pgtest.URL(t), "doctor", "--temporal", address, "--config", config)
	if status != 0 || !strings.Contains(out, "temporal ") ||
		!strings.Contains(out, strings.TrimPrefix(temporalserver.Version, "v")) || !strings.Contains(out, namespace) {
		t.Errorf("doctor ends with %d:\n%s", status, out)
	}
}

// TestTemporalRefused checks that an impossible configuration ends with status 2 and one sentence,
// and that nothing runs.
func TestTemporalRefused(t *testing.T) {
	t.Parallel()
	address, _ := temporalserver.Namespace(t)
	db := pgtest.URL(t)
	file := filepath.Join(t.TempDir(), "hocket.db")
	missing := filepath.Join(t.TempDir(), "hocket.yaml")
	if err := os.WriteFile(missing, []byte("temporal: {namespace: missing}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(t.TempDir(), "hocket.yaml")
	if err := os.WriteFile(settings, []byte("temporal: {address: '"+address+"'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := []string{"run", "../../examples/newsroom/newsroom.yaml", "--replies", "../../examples/newsroom/replies.yaml",
		"x"}
	for name, tt := range map[string]struct {
		db   string
		args []string
		want string
	}{
		"store in a file": {file, append(run[:5:5], "--temporal", address),
			"Temporal carries runs of stores in PostgreSQL"},
		"MCP on a file": {file, []string{"mcp", "--config", settings},
			"Temporal carries runs of stores in PostgreSQL"},
		"unreachable": {db, append(run[:5:5], "--temporal", "127.0.0.1:1"),
			"cannot be used: nothing accepts connections there"},
		"namespace missing": {db, append(run[:5:5], "--temporal", address, "--config", missing),
			`has no namespace "missing"`},
		"certificate alone": {db, []string{"worker", "--temporal", address, "--temporal-tls-cert", "x.pem"},
			"must be given together"},
		"key itself": {db, []string{"worker", "--temporal", address, "--temporal-api-key", "canary-1"},
			"must be a reference"},
		"settings alone": {db, []string{"serve", "--temporal-namespace", "agents"},
			"the address of the server is missing"},
		"queues without it": {db, []string{"worker", "--queues", "model"}, "name its server with --temporal"},
		"queue that is none": {db, []string{"worker", "--temporal", address, "--queues", "models"},
			"--queues must be"},
		"no queue": {db, []string{"worker", "--temporal", address, "--queues", ""}, "--queues must be"},
		"flag of servers": {db, append(run[:5:5], "--temporal", address, "--temporal-namespace", "x"),
			"hocket run has no flag --temporal-namespace; write it below temporal in hocket.yaml"},
		"driver alone": {db, []string{"resume", "r1", "--driver", "temporal"},
			"--driver temporal needs a Temporal server; name it with --temporal"},
		"server and Temporal": {db, append(run[:5:5], "--temporal", address, "--server", "http://127.0.0.1:1"),
			"cannot be given together"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, told, status := command(t, tt.db, tt.args...)
			if status != 2 || !strings.Contains(told, tt.want) || strings.Contains(told, "canary") ||
				strings.Count(told, "\n") != 1 {
				t.Errorf("status %d: %s", status, told)
			}
		})
	}
}

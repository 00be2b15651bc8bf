package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/temporalserver"
)

// TestTemporalExample runs the program below go/temporal on a server.
func TestTemporalExample(t *testing.T) {
	t.Parallel()
	address, namespace := temporalserver.Namespace(t)
	program := filepath.Join(t.TempDir(), "temporal")
	c := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, "./go/temporal")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), program, "-db", pgtest.URL(t), "-temporal", address, "-namespace", namespace, "the town library opens on Sundays").Output()
	if want := "completed GOOD NEWS: THE TOWN LIBRARY OPENS ON SUNDAYS.\n"; err != nil || string(out) != want {
		t.Errorf("got %q, %v; want %q", out, err, want)
	}
}

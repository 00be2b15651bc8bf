package httpapi_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestRedocly checks that an independent linter accepts the served OpenAPI document.
func TestRedocly(t *testing.T) {
	t.Parallel()
	program := filepath.Join("..", "..", "..", "scripts", "redocly", "node_modules", "@redocly", "cli", "bin", "cli.js")
	node, err := exec.LookPath("node")
	if _, statErr := os.Stat(program); err != nil || statErr != nil {
		const how = "redocly is not installed: run `npm ci` in scripts/redocly, or `make test`"
		if os.Getenv("HOCKET_REDOCLY") != "" {
			t.Fatal(how)
		}
		t.Skip(how)
	}
	file := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(file, specOf(t, newWorld(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), node, program, "lint", "--extends=spec", file)
	c.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

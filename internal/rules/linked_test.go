package rules_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/testinput"
)

// a program that serves no runs links none of the serving code.
func TestHandlerIsNotLinked(t *testing.T) {
	t.Parallel()
	out := t.TempDir() + "/hello"
	testinput.Files(t, ":!docs")
	c := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", out, "./examples/go/hello")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	list, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, list)
	}
	symbols, err := exec.CommandContext(t.Context(), "go", "tool", "nm", out).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range []string{"internal/api/runsapi.(*Handler)", "internal/api/live.(*Handler)",
		"net/http.(*ServeMux)"} {
		if strings.Contains(string(symbols), pkg) {
			t.Errorf("the program has %s", pkg)
		}
	}
	if !strings.Contains(string(symbols), "internal/service") {
		t.Error("the symbols of the program cannot be read")
	}
}

package testinput_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/testinput"
)

// TestFiles checks what is reported to the go command, using the log that it requests from each
// test binary.
func TestFiles(t *testing.T) {
	if os.Getenv("TESTINPUT_CHILD") != "" {
		testinput.Files(t, "go.mod", "internal/testinput/*.go")
		return
	}
	if _, err := os.Stat(filepath.Join("..", "..", ".git")); err != nil {
		t.Skip("not a clone of the repository")
	}
	log := filepath.Join(t.TempDir(), "log")
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFiles$", "-test.testlogfile="+log)
	c.Env = append(os.Environ(), "TESTINPUT_CHILD=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "internal/testinput/testinput.go", "internal/testinput/testinput_test.go",
		"internal/testinput", "internal"} {
		if !regexp.MustCompile(`(?m)^stat .*/` + regexp.QuoteMeta(name) + `$`).Match(got) {
			t.Errorf("%s is not in the log:\n%s", name, got)
		}
	}
	for line := range strings.Lines(string(got)) {
		if strings.Contains(line, "README.md") || strings.HasSuffix(line, "/cmd\n") {
			t.Errorf("the log has %s", line)
		}
	}
}

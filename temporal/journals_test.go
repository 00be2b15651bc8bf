package temporal_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/hocket-run/hocket/internal/temporalserver"
	"github.com/hocket-run/hocket/internal/testinput"
)

// overlays maps packages of the main module whose tests run documents to the file with an
// additional test that is overlaid on each, because they do not know Temporal.
var overlays = map[string]string{"internal/conformance": "conformance.go.txt", "examples": "examples.go.txt"}

// TestJournals checks that the conformance cases of the formats, and the examples, produce the same
// journals on Temporal.
func TestJournals(t *testing.T) {
	t.Parallel()
	temporalserver.Require(t)
	for folder, file := range overlays {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			out := overlaid(t, folder, file, "-race", "-count=1", "-timeout=1h", "-v", "-run=^TestTemporalJournals$")
			if !ran.Match(out) {
				t.Errorf("no journal was compared:\n%s", out)
			}
		})
	}
}

// TestJournalsCompile checks that the files that TestJournals overlays on other packages compile.
// It runs without a Temporal server.
func TestJournalsCompile(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it links the tests of other packages")
	}
	testinput.Files(t, "*.go", "go.mod", "temporal/go.mod", "temporal/testdata/journals")
	for folder, file := range overlays {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			overlaid(t, folder, file, "-c", "-vet=off", "-ldflags=-w", "-o", os.DevNull)
		})
	}
}

// overlaid runs go test on a package of the main module with a file of testdata/journals overlaid
// on it.
func overlaid(t *testing.T, folder, file string, flags ...string) []byte {
	t.Helper()
	to, err := filepath.Abs(filepath.Join("..", filepath.FromSlash(folder), "temporal_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	from, err := filepath.Abs(filepath.Join("testdata", "journals", file))
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{to: from}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "go", slices.Concat([]string{"test", "-overlay", list}, flags,
		[]string{"github.com/hocket-run/hocket/" + folder})...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// ran matches the line printed for a journal that was compared.
var ran = regexp.MustCompile(`(?m)^ +--- PASS: TestTemporalJournals/`)

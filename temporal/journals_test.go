package temporal_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hocket-run/hocket/internal/temporalserver"
)

// TestJournals: the rules of the formats and the examples have equal journals on Temporal. What plays them is in tests of the main module, which does not know
// Temporal: a file with one more test is laid over each of those packages.
func TestJournals(t *testing.T) {
	t.Parallel()
	temporalserver.Require(t)
	for folder, file := range map[string]string{"internal/conformance": "conformance.go.txt", "examples": "examples.go.txt"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
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
			c := exec.CommandContext(t.Context(), "go", "test", "-race", "-overlay", list, "-count=1", "-timeout=1h", "-v", "-run=^TestTemporalJournals$", "github.com/hocket-run/hocket/"+folder)
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if !ran.Match(out) {
				t.Errorf("no journal was compared:\n%s", out)
			}
		})
	}
}

// ran is what is printed of a journal that was compared.
var ran = regexp.MustCompile(`(?m)^ +--- PASS: TestTemporalJournals/`)

package hocket_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

// maxModules bounds the modules of other people that are linked into the program (SEC19). Raising it is a decision: see CONTRIBUTING.md.
const maxModules = 70

// TestModules: what the program is made of is a list that is read when it changes (SEC19): a module more is a line in a diff, with its reason in the commit.
func TestModules(t *testing.T) {
	t.Parallel()
	golden := filepath.Join("testdata", "modules.txt")
	modules := map[string]bool{}
	for _, system := range []string{"linux", "darwin", "windows"} { // what is linked differs between systems
		c := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./cmd/hocket")
		c.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
		out, err := c.Output()
		if err != nil {
			t.Fatalf("go list for %s: %v", system, err)
		}
		for name := range strings.FieldsSeq(string(out)) {
			modules[name] = true
		}
	}
	var list []string
	for name := range modules {
		list = append(list, name)
	}
	slices.Sort(list)
	if len(list) > maxModules {
		t.Errorf("%d modules are linked into cmd/hocket, at most %d may be", len(list), maxModules)
	}
	got := strings.Join(list, "\n") + "\n"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("modules linked into cmd/hocket (-golden +now; go test . -run Modules -update rewrites %s):\n%s", golden, diff)
	}
}

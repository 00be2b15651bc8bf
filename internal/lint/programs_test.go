package lint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hocket-run/hocket/internal/testinput"
)

// maxGraphProgram is the maximum size in bytes of a program that runs graphs of Go functions on a
// SQLite store. Before documents became optional, such a program had 35.1 MiB.
const maxGraphProgram = 25 << 20

// notInGraphPrograms lists what a program that runs graphs of Go functions does not link.
var notInGraphPrograms = []string{
	"cel.dev/", "github.com/antlr4-go/", "github.com/modelcontextprotocol/", "github.com/openai/",
	"github.com/anthropics/", "google.golang.org/genai", "google.golang.org/grpc", "github.com/jackc/",
	module + "internal/expr/celexpr", module + "internal/documents/linked", module + "internal/tool/mcp",
	module + "internal/format/canvas", module + "internal/format/steps",
}

// TestGraphPrograms checks that programs that run graphs of Go functions, in memory and on a SQLite
// store, link no document reader, no CEL, no MCP and no SDK of a model provider. The programs are
// built and run, and must not exceed the size limit.
func TestGraphPrograms(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"memory", "sqlite"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pkg := "./testdata/programs/" + name
			deps := listed(t, ".", "linux", "{{.ImportPath}}", pkg)
			for _, dep := range deps {
				for _, n := range notInGraphPrograms {
					if below(dep, n) {
						t.Errorf("the program links %s", dep)
					}
				}
			}
			goflags, _ := buildFlags(t)
			program := filepath.Join(t.TempDir(), name)
			testinput.Files(t, ":!docs")
			c := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, pkg)
			c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+goflags)
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			info, err := os.Stat(program)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d packages, %s", len(deps), mib(info.Size()))
			if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" && info.Size() > maxGraphProgram {
				t.Errorf("the program has %s, at most %s are allowed", mib(info.Size()), mib(maxGraphProgram))
			}
			out, err := exec.CommandContext(t.Context(), program, filepath.Join(t.TempDir(), "s.db")).CombinedOutput()
			if err != nil || string(out) != "completed 1\n" {
				t.Errorf("the program printed %q, %v", out, err)
			}
		})
	}
}

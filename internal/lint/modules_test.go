package lint_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/testinput"
)

var update = flag.Bool("update", false, "rewrite golden files")

// maxModules is the maximum number of third-party modules linked into the program (SEC19). Raising
// it is a decision: see CONTRIBUTING.md.
const maxModules = 92

// TestModules checks the list of modules in the program, which is reviewed when it changes (SEC19):
// a new module is a line in a diff, with its reason in the commit.
func TestModules(t *testing.T) {
	t.Parallel()
	list := linkedModules(t, ".", "./cmd/hocket")
	if len(list) > maxModules {
		t.Errorf("%d modules are linked into cmd/hocket, at most %d may be", len(list), maxModules)
	}
	golden(t, "modules linked into cmd/hocket", list, "testdata/modules.txt")
	golden(t, "modules linked into hocket-temporal", linkedModules(t, "temporal", "./cmd/hocket-temporal"),
		"temporal/testdata/modules.txt")
}

// linkedModules returns the sorted paths of the third-party modules that are linked into a package
// on any system. The package is in the module at folder.
func linkedModules(t *testing.T, folder, pkg string) []string {
	t.Helper()
	modules := map[string]bool{}
	for _, system := range []string{"linux", "darwin", "windows"} { // linked modules differ between systems
		for _, name := range listed(t, folder, system, "{{with .Module}}{{.Path}}{{end}}", pkg) {
			if !strings.HasPrefix(name+"/", module) {
				modules[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(modules))
}

// listed returns the output of go list for a package and all its dependencies.
func listed(t *testing.T, folder, system, format, pkg string) []string {
	t.Helper()
	testinput.Files(t, ":!docs")
	c := exec.CommandContext(t.Context(), "go", "list", "-C", folder, "-deps", "-f", format, pkg)
	c.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	out, err := c.Output()
	if err != nil {
		t.Fatalf("go list for %s: %v", system, err)
	}
	return strings.Fields(string(out))
}

// golden compares a list, one item a line, with the reviewed one.
func golden(t *testing.T, what string, list []string, file string) {
	t.Helper()
	got := strings.Join(list, "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, file), got); diff != "" {
		t.Errorf("%s (-golden +now; go test ./internal/lint -run 'Modules|Embedding|TestRaced' -update rewrites %s):"+
			"\n%s", what, file, diff)
	}
}

// notEmbedded lists the packages that a program which embeds Hocket must not link, with the reason
// for each.
var notEmbedded = []struct{ prefix, reason string }{
	{module + "internal/cli", "a library has no command line"},
	{module + "internal/server", "a library is no server"},
	{module + "internal/api/httpapi", "a library is no server"},
	{module + "internal/api/mcpserver", "a library is no server"},
	{module + "web", "a library is no server"},
	{module + "internal/model/openai", "SDKs of model providers are asked for with package provider"},
	{module + "internal/model/anthropic", "SDKs of model providers are asked for with package provider"},
	{module + "internal/model/google", "SDKs of model providers are asked for with package provider"},
	{module + "internal/format/canvas", "documents are asked for with package documents"},
	{module + "internal/format/rounds", "documents are asked for with package documents"},
	{module + "internal/format/routes", "documents are asked for with package documents"},
	{module + "internal/format/steps", "documents are asked for with package documents"},
	{"cel.dev/", "expressions of documents are asked for with package documents"},
	{module + "internal/tool/mcp", "MCP is asked for with package toolsets or documents"},
	{"github.com/modelcontextprotocol/", "MCP is asked for with package toolsets or documents"},
	{module + "internal/session/acp", "coding agents are asked for with package acp"},
	{module + "internal/show", "nothing is drawn"},
	{"github.com/spf13/", "a library has no command line"},
	{"github.com/openai/", "an SDK of a model provider"},
	{"github.com/anthropics/", "an SDK of a model provider"},
	{"google.golang.org/genai", "an SDK of a model provider"},
	{"google.golang.org/grpc", "only servers and clusters speak it"},
	{"github.com/jackc/", "the driver of PostgreSQL is asked for with package postgres"},
	{module + "internal/store/postgres", "stores in PostgreSQL are asked for with package postgres"},
	{module + "internal/store/pghome", "stores in PostgreSQL are asked for with package postgres"},
}

// below reports whether a package is one of a path, or in its tree.
func below(pkg, prefix string) bool {
	return strings.HasPrefix(pkg+"/", strings.TrimSuffix(prefix, "/")+"/")
}

// TestEmbedding checks that a program that embeds Hocket links no more than it needs, and that its
// list of modules is reviewed when it changes.
func TestEmbedding(t *testing.T) {
	t.Parallel()
	for _, pkg := range listed(t, ".", "linux", "{{.ImportPath}}", ".") {
		for _, n := range notEmbedded {
			if below(pkg, n.prefix) {
				t.Errorf("package hocket needs %s: %s", pkg, n.reason)
			}
		}
	}
	golden(t, "modules linked into package hocket", linkedModules(t, ".", "."), "testdata/embedding.txt")
}

// TestEmbeddingPostgres checks that a program that uses PostgreSQL links the modules of its driver
// in addition, and no others.
func TestEmbeddingPostgres(t *testing.T) {
	t.Parallel()
	without := linkedModules(t, ".", ".")
	more := slices.DeleteFunc(linkedModules(t, ".", "./postgres"), func(m string) bool {
		return slices.Contains(without, m)
	})
	want := []string{"github.com/jackc/pgpassfile", "github.com/jackc/pgservicefile", "github.com/jackc/pgx/v5",
		"github.com/jackc/puddle/v2", "golang.org/x/sync"}
	if diff := cmp.Diff(want, more); diff != "" {
		t.Errorf("modules that package postgres adds (-want +got):\n%s", diff)
	}
}

// TestMCPSDK checks that the MCP SDK is at least v1.4.0, the first version that checks hosts and
// origins, and that no code disables the check (SEC9).
func TestMCPSDK(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}",
		"github.com/modelcontextprotocol/go-sdk").Output()
	if err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(out), "v%d.%d.", &major, &minor); err != nil || major < 1 || major == 1 &&
		minor < 4 {
		t.Errorf("the SDK is %s, %v", out, err)
	}
	for _, name := range files(t) {
		if path.Ext(name) == ".go" && path.Base(name) != "modules_test.go" &&
			strings.Contains(read(t, name), "DisableLocalhostProtection") {
			t.Errorf("%s disables the SDK's protection of local servers", name)
		}
	}
}

// TestLinked_NoHandler checks X-153: a program that serves no runs links none of the serving code.
func TestLinked_NoHandler(t *testing.T) {
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

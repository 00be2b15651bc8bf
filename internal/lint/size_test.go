package lint_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/testinput"
)

// maxSize is the maximum size in bytes of the program that `make build` builds; 1.5 MiB of it is
// the page (ADR 114), 4 MiB the PostgreSQL driver (ADR 84).
const maxSize = 58 << 20

// buildFlags reads the build flags of the program from the Makefile.
func buildFlags(t *testing.T) (goflags, ldflags string) {
	t.Helper()
	text := read(t, "Makefile")
	flags := regexp.MustCompile(`(?m)^export GOFLAGS \+= (.+)$`).FindStringSubmatch(text)
	link := regexp.MustCompile(`(?m)^LDFLAGS +:= (.+)$`).FindStringSubmatch(text)
	if flags == nil || link == nil {
		t.Fatal("the Makefile does not set the flags of builds")
	}
	return flags[1], link[1]
}

// TestSize checks that the program built by `make build` is not larger than the limit, and that no
// reachable code calls methods by names that are not constant: otherwise the linker keeps every
// exported method of every type, which makes the program two thirds larger (ADR 52). The code that
// Temporal's SDK adds to hocket-temporal does so, and has no limit.
func TestSize(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the bound is that of linux/amd64")
	}
	program := filepath.Join(t.TempDir(), "hocket")
	build(t, program)
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(mib(info.Size()))
	if info.Size() > maxSize {
		t.Errorf("the program has %s, at most %s are allowed", mib(info.Size()), mib(maxSize))
	}
}

// build builds the program and fails the test if a reachable function calls methods by name.
func build(t *testing.T, program string) {
	t.Helper()
	goflags, ldflags := buildFlags(t)
	ldflags += " -dumpdep" // takes as long as linking
	testinput.Files(t, ":!docs")
	c := exec.CommandContext(t.Context(), "go", "build", "-ldflags="+ldflags, "-o", program, "./cmd/hocket")
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+goflags)
	out, err := c.StderrPipe()
	if err == nil {
		c.Stdout = c.Stderr
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	// Each line is a link-time dependency, "from -> to <mark>…".
	edges := 0
	callers := map[string]string{} // functions that call methods by name, with one caller of each
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		from, to, ok := strings.Cut(lines.Text(), " -> ")
		if !ok {
			t.Log(lines.Text())
			continue
		}
		edges++
		if name, marked := strings.CutSuffix(to, " <ReflectMethod>"); marked && callers[name] == "" {
			callers[name] = from
		}
	}
	if err := errors.Join(lines.Err(), c.Wait()); err != nil {
		t.Fatal(err)
	}
	if edges < 10_000 {
		t.Errorf("the linker lists %d edges", edges)
	}
	for name, from := range callers {
		t.Errorf("%s (called by %s) calls methods by name: the linker keeps every method of the program", name, from)
	}
}

func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

package hocket_test

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
)

// maxSize bounds the program that `make build` makes (ADR 52), in bytes.
const maxSize = 113 << 19 // 56.5 MiB; the driver of PostgreSQL is 4 MiB of it (ADR 84)

// buildFlags reads from the Makefile what the program is built with.
func buildFlags(t *testing.T) (goflags, ldflags string) {
	t.Helper()
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(`(?m)^export GOFLAGS \+= (.+)$`).FindSubmatch(text)
	link := regexp.MustCompile(`(?m)^LDFLAGS +:= (.+)$`).FindSubmatch(text)
	if flags == nil || link == nil {
		t.Fatal("the Makefile does not say the flags of builds")
	}
	return string(flags[1]), string(link[1])
}

// TestSize: the program as `make build` makes it is not larger than the bound, and nothing that can be reached in it calls methods by names that are not constant,
// because then the linker keeps every exported method of every type, which makes the program two thirds larger.
func TestSize(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the bound is that of linux/amd64")
	}
	goflags, ldflags := buildFlags(t)
	program := filepath.Join(t.TempDir(), "hocket")
	c := exec.CommandContext(t.Context(), "go", "build", "-ldflags="+ldflags+" -dumpdep", "-o", program, "./cmd/hocket")
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+goflags)
	out, err := c.StderrPipe()
	if err == nil {
		c.Stdout = c.Stderr
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	// Each line is an edge of what is linked, "from -> to <mark>…".
	edges, callers := 0, map[string]string{}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		from, to, ok := strings.Cut(lines.Text(), " -> ")
		if !ok {
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
	for name, from := range callers {
		t.Errorf("%s (called by %s) calls methods by name: the linker keeps every method of the program", name, from)
	}
	if edges < 10_000 {
		t.Errorf("the linker lists %d edges", edges)
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(mib(info.Size()))
	if info.Size() > maxSize {
		t.Errorf("the program has %s, at most %s are allowed", mib(info.Size()), mib(maxSize))
	}
}

func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/pgtest"
)

// TestReadme runs README.md in a fresh checkout, block by block in its order: files are written, shell blocks are run with the binary that its first block builds,
// and outputs are compared. Then it runs the same with a store in PostgreSQL, which HOCKET_DB names: nothing that is printed differs. Blocks that it does not run have a mark with a reason.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	if runtime.GOOS == "windows" {
		t.Skip("README uses make and a POSIX shell")
	}
	t.Parallel()
	dir := t.TempDir()
	checkout(t, dir)
	t.Run("file", func(t *testing.T) { playReadme(t, dir) })
	t.Run("postgres", func(t *testing.T) { playReadme(t, dir, "HOCKET_DB="+pgtest.URL(t)) })
}

// playReadme runs the blocks of README.md in a checkout, with env beside the environment of the blocks of all pages.
func playReadme(t *testing.T, dir string, env ...string) {
	found := blocks(t, "../README.md")
	sh := newShell(t, []string{"hocket", "make", "go"}, true, append([]string{
		"GOFLAGS=-trimpath", "GOPROXY=off", "GOCACHE=" + goEnv(t, "GOCACHE"), "GOMODCACHE=" + goEnv(t, "GOMODCACHE"),
	}, env...)...)
	sh.runner.Dir = dir
	ran, skipped := 0, 0
	for i, b := range found {
		if b.skip != "" {
			skipped++
			continue
		}
		if b.file != "" {
			write(t, filepath.Join(dir, b.file), b.text)
		}
		switch b.lang {
		case "sh":
			ran++
			out := sh.run(b)
			if i+1 < len(found) && found[i+1].lang == "text" && found[i+1].gap == 0 && !printed(found[i+1].text, lastRun(out)) {
				t.Errorf("README.md:%d: printed\n%s\nwant\n%s", b.line, out, found[i+1].text)
			}
		case "yaml", "json":
			if b.file == "" {
				t.Errorf("README.md:%d: the document names no file", b.line)
			}
		case "go": // compiled by TestBlocks
		case "text":
			if i == 0 || found[i-1].lang != "sh" {
				t.Errorf("README.md:%d: an output follows no command", b.line)
			}
		default:
			t.Errorf("README.md:%d: a block of %q is not checked", b.line, b.lang)
		}
	}
	if ran < 4 || skipped > 4 {
		t.Errorf("%d blocks were run, %d have a mark", ran, skipped)
	}
}

// lastRun leaves out what make printed before the first run.
func lastRun(out string) string {
	if i := strings.Index(out, "\nrun "); i >= 0 {
		return out[i+1:]
	}
	return out
}

// checkout copies the files that git tracks into a folder.
func checkout(t *testing.T, dir string) {
	t.Helper()
	list, err := exec.CommandContext(t.Context(), "git", "-C", "..", "ls-files", "-z").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join("..", name))
		if os.IsNotExist(err) {
			continue // deleted and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/temporalserver"
)

// TestReadme runs README.md in a fresh checkout, block by block in order: files are written, shell
// blocks are run with the binary that the first block builds, and outputs are compared. Then it
// runs again with --db and a store in PostgreSQL added to each command and nothing else changed:
// exit statuses and output are the same as before. Blocks that are not run are marked with a
// reason.
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
	plain := playReadme(t, dir, "", nil)
	db := pgtest.URL(t)
	sameReadme(t, plain, playReadme(t, dir, "", func(string) []string { return []string{"--db", db} }))
}

// TestReadmeTemporal runs README.md like TestReadme, with a Temporal server executing the runs. All
// that changes is --db and, for the verbs that start or continue a run, --temporal.
func TestReadmeTemporal(t *testing.T) {
	t.Parallel()
	server := temporalserver.Start(t, temporalserver.Config{})
	server.Register(t, "default")
	server.AddAttributes(t, "default")
	dir := t.TempDir()
	checkout(t, dir)
	program := filepath.Join(t.TempDir(), "hocket-temporal")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../temporal", "-ldflags=-s -w", "-o", program,
		"./cmd/hocket-temporal").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	plain := playReadme(t, dir, "", nil)
	db, carried := pgtest.URL(t), 0
	sameReadme(t, plain, playReadme(t, dir, program, func(verb string) []string {
		flags := []string{"--db", db}
		if verb == "run" || verb == "resume" {
			carried++
			flags = append(flags, "--temporal", server.Address)
		}
		return flags
	}))
	if carried < 5 {
		t.Errorf("%d commands had --temporal", carried)
	}
	s, err := postgres.Open(t.Context(), postgres.Config{URL: db, Kind: journal.KindRun})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	heads, _, err := s.List(t.Context(), journal.Query{Limit: 100})
	if err != nil || len(heads) < 3 {
		t.Fatalf("the store has %d runs: %v", len(heads), err)
	}
	for _, h := range heads {
		if h.Kind != journal.KindTemporal {
			t.Errorf("the run %s of %s is of kind %s: Temporal did not carry it", h.Run, h.Workflow, h.Kind)
		}
	}
}

// playReadme runs the blocks of README.md in a checkout and returns the executed statements. Each
// call of hocket, or of program in its place, gets the flags for its verb.
func playReadme(t *testing.T, dir, program string, flags func(verb string) []string) []statement {
	t.Helper()
	found := blocks(t, "../README.md")
	sh := newShell(t, []string{"hocket", "make", "go"}, true,
		"GOFLAGS=-trimpath", "GOPROXY=off", "GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"))
	sh.runner.Dir, sh.program, sh.flags = dir, program, flags
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
			if i+1 < len(found) && found[i+1].lang == "text" && found[i+1].linesBefore == 0 &&
				!printed(found[i+1].text, lastRun(out)) {
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
	return sh.executed
}

// completed matches lines of consecutive completed steps: parallel steps complete in no particular
// order.
var completed = regexp.MustCompile(`(?m)(^✓ .*\n)+`)

// varies lists the parts of an output that differ from run to run: ids, times, durations and the
// column widths that depend on them, and the flags that were added.
var varies = []struct {
	is *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`\b01[0-9A-HJKMNP-TV-Z]{24}\b`), "ID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?`), "TIME"},
	{regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\b`), "TIME"},
	{regexp.MustCompile(` --db '[^']+'( --temporal \S+)?`), ""}, // in suggested commands
	{regexp.MustCompile(`\b\d+(\.\d+)?(µs|ms|s)\b`), "DURATION"},
	{regexp.MustCompile(` +`), " "},
}

// sameReadme compares what the commands of README.md printed, and their status. The description of
// the store by hocket doctor differs on purpose; make builds the program.
func sameReadme(t *testing.T, want, got []statement) {
	t.Helper()
	plain := func(all []statement) []statement {
		var out []statement
		for _, s := range all {
			if !strings.HasPrefix(s.text, "hocket ") || strings.HasPrefix(s.text, "hocket doctor") {
				continue
			}
			for _, v := range varies {
				s.out = v.is.ReplaceAllString(s.out, v.as)
			}
			s.out = completed.ReplaceAllStringFunc(s.out, func(lines string) string {
				return strings.Join(slices.Sorted(strings.Lines(lines)), "")
			})
			out = append(out, s)
		}
		return out
	}
	if len(plain(want)) < 9 {
		t.Errorf("%d commands are compared", len(plain(want)))
	}
	if diff := cmp.Diff(plain(want), plain(got), cmp.AllowUnexported(statement{})); diff != "" {
		t.Errorf("the commands print other things (- before, + now):\n%s", diff)
	}
}

// lastRun removes what make printed before the first run.
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
			continue // deleted but not committed yet
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

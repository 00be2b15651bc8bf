package randtest_test

import (
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/longtest"
	"github.com/hocket-run/hocket/internal/randtest"
)

// TestSame prints the draws of a process, for the tests below.
func TestSame(t *testing.T) {
	t.Log("seed", randtest.Seed(), "flag", flag.Lookup("rapid.seed").Value)
	t.Log("draws", randtest.New(t).Uint64(), slices.Collect(randtest.Seeds(3)))
	rapid.Check(t, func(rt *rapid.T) { t.Log("rapid", rapid.Uint64().Draw(rt, "n")) })
}

// drawn runs TestSame in a separate process.
func drawn(t *testing.T, env string, args ...string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, append([]string{"-test.run=^TestSame$", "-test.v", "-rapid.checks=3"}, args...)...)
	c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "HOCKET_") || strings.HasPrefix(v, "RAPID_") || strings.HasPrefix(v, "GOCOVERDIR")
	})
	if env != "" {
		c.Env = append(c.Env, strings.Fields(env)...)
	}
	out, err := c.CombinedOutput()
	var lines []string
	for line := range strings.Lines(string(out)) {
		for _, what := range []string{"seed ", "draws ", "rapid ", "panic: "} {
			if at := strings.Index(line, what); at >= 0 {
				lines = append(lines, strings.TrimSpace(line[at:]))
				break
			}
		}
	}
	return strings.Join(lines, "\n"), err
}

// TestSeed checks that the same seed yields the same draws and different seeds different ones, that
// a flag and rapid's own variable take precedence, and that an invalid seed ends the process.
func TestSeed(t *testing.T) {
	t.Parallel()
	run := func(env string, args ...string) string {
		t.Helper()
		out, err := drawn(t, env, args...)
		if err != nil || !strings.Contains(out, "rapid ") {
			t.Fatalf("%s: %v\n%s", env, err, out)
		}
		return out
	}
	one := run("")
	if again := run("HOCKET_SEED=1"); again != one {
		t.Errorf("the default draws\n%s\nand the seed 1\n%s", one, again)
	}
	if !strings.Contains(one, "seed 1 flag 1\n") || !strings.Contains(one, "[1 2 3]") {
		t.Errorf("the default draws\n%s", one)
	}
	seven := run("HOCKET_SEED=7 HOCKET_LONG=1")
	if !strings.Contains(seven, "seed 7 flag 7\n") || !strings.Contains(seven, "[7 8 9 10 ") {
		t.Errorf("the seed 7 draws\n%s", seven)
	}
	_, ofOne, _ := strings.Cut(one, "\nrapid ")
	if _, ofSeven, _ := strings.Cut(seven, "\nrapid "); ofOne == ofSeven {
		t.Errorf("rapid draws the same under two seeds: %s", ofSeven)
	}
	for env, args := range map[string][]string{"HOCKET_SEED=7": {"-rapid.seed=5"}, "HOCKET_SEED=7 RAPID_SEED=5": nil} {
		if out := run(env, args...); !strings.Contains(out, "seed 7 flag 5\n") {
			t.Errorf("%s %s draws\n%s", env, args, out)
		}
	}
	for _, wrong := range []string{"0", "", "-1", "x", "18446744073709551616"} {
		if out, err := drawn(t, "HOCKET_SEED="+wrong); err == nil || !strings.Contains(out, "not a positive number") {
			t.Errorf("HOCKET_SEED=%s: %v\n%s", wrong, err, out)
		}
	}
}

// TestCheck checks that a failure after the first case is found, repeated and shrunk, and that no
// more than the given number of cases run if there is no failure.
func TestCheck(t *testing.T) {
	if os.Getenv("RANDTEST_FAILS") != "" {
		played := 0
		randtest.Check(t, 20, func(rt *rapid.T) {
			if played++; rapid.IntRange(0, 1_000_000).Draw(rt, "n") > 5 && played > 10 {
				rt.Fatal("too large")
			}
		})
		return
	}
	played := 0
	randtest.Check(t, 3, func(*rapid.T) { played++ })
	if played != 3 && !longtest.Enabled() {
		t.Errorf("%d cases were played, want 3", played)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "-test.run=^TestCheck$", "-rapid.nofailfile")
	c.Env = append(os.Environ(), "RANDTEST_FAILS=1")
	out, err := c.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "too large") || !strings.Contains(string(out), "n: 6\n") &&
		!strings.Contains(string(out), "draw n: 6") {
		t.Errorf("%v\n%s", err, out)
	}
}

package memlimit_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/memlimit"
)

// TestSet checks SEC17: without GOMEMLIMIT a process gets a part of the machine's memory as its
// limit; with it that value is kept. Each case is a separate process, because the runtime reads the
// variable when it starts.
func TestSet(t *testing.T) {
	t.Parallel()
	if os.Getenv("MEMLIMIT_TEST") != "" {
		l := memlimit.Set()
		os.Stdout.WriteString("limit: " + l.String() + "\n")
		if again := memlimit.Current(); again != l {
			t.Errorf("%v, then %v", l, again)
		}
		return
	}
	for _, c := range []struct{ env, want string }{
		{"", "(four fifths of "}, {"300MiB", "limit: 300 MiB (GOMEMLIMIT)"}, {"off", "(GOMEMLIMIT)"},
		{"1000000TiB", "(GOMEMLIMIT)"},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSet$")
		cmd.Env = append(os.Environ(), "MEMLIMIT_TEST=1", "GOMEMLIMIT="+c.env)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "limit: 0 ") ||
			strings.Contains(string(out), "limit: -") {
			t.Errorf("GOMEMLIMIT=%s: %v\n%s", c.env, err, out)
		}
	}
	if l := memlimit.Current(); l.Machine < 1<<26 || l.Bytes > l.Machine {
		t.Errorf("%+v", l)
	}
}

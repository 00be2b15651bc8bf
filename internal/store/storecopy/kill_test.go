package storecopy_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/longtest"
	"github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/storecopy"
)

var errKilled = errors.New("killed")

// interrupted repeats a copy until one completes. Each attempt fails at one of its first moments,
// drawn at random; a moment is just before or just after a commit. It returns the number of
// attempts that failed.
func interrupted(t *testing.T, draw *rand.Rand, moments int, from, to store.Locator) (kills int) {
	t.Helper()
	for {
		left := 1 + draw.IntN(moments)
		_, err := storecopy.Copy(t.Context(), from, to, storecopy.WithFault(storecopy.Config{}, func() error {
			if left--; left == 0 {
				return errKilled
			}
			return nil
		}))
		switch {
		case err == nil:
			return kills
		case !errors.Is(err, errKilled):
			t.Fatalf("after %d interruptions: %v", kills, err)
		}
		kills++
	}
}

// TestInterrupted checks that a copy that ends at any moment is completed by the next call. It
// tests both directions in parallel: into a server, from which the store is copied back
// undisturbed, and out of one. Until the copy is complete, others cannot open it.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	first := file(t)
	fill(t, first)
	want := exports(t, first)
	for name, seed := range map[string]uint64{"into a server": 85, "out of a server": 86} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			draw := rand.New(rand.NewPCG(16, seed))
			between, last := server(t, first), file(t)
			var kills int
			moments, minKills := 28, 8
			if longtest.Enabled() {
				moments, minKills = 10, 25
			}
			if seed == 85 {
				kills = interrupted(t, draw, moments, first, between)
				copied(t, between, last, storecopy.Config{})
			} else {
				copied(t, first, between, storecopy.Config{})
				kills = interrupted(t, draw, moments, between, last)
			}
			if diff := cmp.Diff(want, exports(t, last)); diff != "" {
				t.Errorf("after %d interruptions (-before +after):\n%s", kills, diff)
			}
			if kills < minKills {
				t.Errorf("%d interruptions, want %d", kills, minKills)
			}
			t.Logf("%d interruptions", kills)
		})
	}
}

// TestUnfinished checks that an unfinished copy of either kind cannot be opened as a store.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	from := file(t)
	fill(t, from)
	for name, to := range map[string]store.Locator{"sqlite": file(t), "postgres": server(t, from)} {
		left := 9
		_, err := storecopy.Copy(t.Context(), from, to, storecopy.WithFault(storecopy.Config{}, func() error {
			if left--; left == 0 {
				return errKilled
			}
			return nil
		}))
		if !errors.Is(err, errKilled) {
			t.Fatal(name, err)
		}
		if _, err := to.Open(t.Context(), store.Config{}); !errors.Is(err, journal.ErrUnfinished) {
			t.Errorf("%s: opened: %v", name, err)
		}
		if _, err := storecopy.Copy(t.Context(), to, file(t), storecopy.Config{}); !errors.Is(err,
			journal.ErrUnfinished) {
			t.Errorf("%s: copied: %v", name, err)
		}
		copied(t, from, to, storecopy.Config{})
		open(t, to, access.DefaultNamespace)
	}
}

// Environment variables of the process that copies for TestKilled.
const (
	fromVar = "HOCKET_COPY_FROM"
	toVar   = "HOCKET_COPY_TO"
	keyVar  = "HOCKET_COPY_KEY"
)

// TestCopyProcess is the process that TestKilled kills. It writes a line at each point at which it
// may be killed, and reads one before it continues.
func TestCopyProcess(t *testing.T) {
	if os.Getenv(fromVar) == "" {
		return // not that process
	}
	from, to := locator(t, os.Getenv(fromVar), os.Getenv(keyVar)), locator(t, os.Getenv(toVar), os.Getenv(keyVar))
	in := bufio.NewReader(os.Stdin)
	copied(t, from, to, storecopy.WithFault(storecopy.Config{}, func() error {
		fmt.Println("moment")
		_, err := in.ReadString('\n')
		return err
	}))
}

// TestKilled checks that if a copying process is killed, with -9, before and after commits, the
// next one completes the copy.
func TestKilled(t *testing.T) {
	t.Parallel()
	draw := randtest.New(t)
	from := file(t)
	fill(t, from)
	between, last := server(t, from), file(t)
	for _, step := range [][2]store.Locator{{from, between}, {between, last}} {
		for range 4 {
			killAt(t, step[0], step[1], from.KeyFile(), 1+draw.IntN(15))
		}
		copied(t, step[0], step[1], storecopy.Config{})
	}
	if diff := cmp.Diff(exports(t, from), exports(t, last)); diff != "" {
		t.Error("not the same (-before +after):\n", diff)
	}
}

// killAt starts a process that copies, and kills it at its nth point.
func killAt(t *testing.T, from, to store.Locator, key string, n int) {
	t.Helper()
	name := func(l store.Locator) string {
		if l.URL() != nil {
			return l.URL().String()
		}
		return l.String()
	}
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCopyProcess$")
	c.Env = append(os.Environ(), fromVar+"="+name(from), toVar+"="+name(to), keyVar+"="+key)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	do(t, err)
	out, err := c.StdoutPipe()
	do(t, err, c.Start())
	lines := bufio.NewScanner(out)
	for i := 0; lines.Scan(); {
		if lines.Text() != "moment" {
			continue
		}
		if i++; i == n {
			do(t, c.Process.Kill())
			break
		}
		_, err := fmt.Fprintln(in)
		do(t, err)
	}
	_ = c.Wait() // it was killed, or had nothing left to do
}

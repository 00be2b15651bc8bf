package killtest

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/randtest"
)

// ChildEnv is the environment variable that names the run that a child process must execute.
const ChildEnv = "HOCKET_TEST_CHILD"

const envKills = "HOCKET_KILLS"

// Undisturbed is the run that is not killed. It comes first.
const Undisturbed = "undisturbed"

// Child returns the run that this process must execute, or "" in the test itself. TestMain calls
// it.
func Child() string { return os.Getenv(ChildEnv) }

// Kills returns the number of kills that a test must survive: HOCKET_KILLS, or 20.
func Kills() int {
	if n, err := strconv.Atoi(os.Getenv(envKills)); err == nil {
		return n
	}
	return 20
}

// Harness is a test that kills its child processes.
type Harness struct {
	// Env returns the additional environment variables for the next child of a run.
	Env func(run string) []string
	// After inspects a run when its child is gone, killed or not, and reports whether the run has
	// ended. It fails the test if the run ended incorrectly. A run whose child was killed before
	// storing it has not ended.
	After func(run string) (ended bool)
}

// maxLives is the maximum number of children of one run.
const maxLives = 500

// Kill executes and kills runs until there were that many kills and the last run has ended; it
// returns the number of runs.
func (h *Harness) Kill(t *testing.T, kills int) (runs int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rnd := randtest.New(t)

	// The length of an undisturbed life determines when to strike.
	begin, lives := time.Now(), 0
	for ended := false; !ended; ended = h.After(Undisturbed) {
		if lives++; lives > maxLives {
			t.Fatalf("run %s does not end", Undisturbed)
		}
		_ = h.start(t, self, Undisturbed).Wait() // After reports what became of it
	}
	life := time.Since(begin) / time.Duration(lives)

	done := 0
	for done < kills {
		runs++
		run := fmt.Sprintf("run%d", runs)
		lives := 0
		for ended := false; !ended; ended = h.After(run) {
			if lives++; lives > maxLives {
				t.Fatalf("run %s does not end", run)
			}
			c := h.start(t, self, run)
			exited := make(chan error, 1)
			go func() { exited <- c.Wait() }()
			select {
			case <-time.After(time.Duration(rnd.Int64N(int64(life)*11/10 + 1))):
				_ = c.Process.Kill() // our own child, by its id
				<-exited
				done++
			case <-exited:
			}
		}
	}
	t.Logf("%d kills over %d runs; a life takes %s", done, runs, life.Round(time.Millisecond))
	return runs
}

func (h *Harness) start(t *testing.T, self, run string) *exec.Cmd {
	t.Helper()
	c := exec.Command(self)
	c.Env = append(append(os.Environ(), ChildEnv+"="+run), h.Env(run)...)
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

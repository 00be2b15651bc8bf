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

// ChildEnv is the variable that names the run to drive to a child process.
const ChildEnv = "HOCKET_TEST_CHILD"

const envKills = "HOCKET_KILLS"

// Undisturbed is the run that is not killed. It comes first.
const Undisturbed = "undisturbed"

// Child gives the run that this process is to drive; "" in the test itself. TestMain asks it.
func Child() string { return os.Getenv(ChildEnv) }

// Kills is how many kills a test is to survive: HOCKET_KILLS, or 20.
func Kills() int {
	if n, err := strconv.Atoi(os.Getenv(envKills)); err == nil {
		return n
	}
	return 20
}

// Harness is a test that kills.
type Harness struct {
	// Env gives what the next child of a run has in its environment beside the test's own.
	Env func(run string) []string
	// After looks at a run when its child is gone, killed or not, and tells whether the run has ended. It fails the test where it ended otherwise
	// than it should. A run that the child was killed before storing has not ended.
	After func(run string) (ended bool)
}

// maxLives bounds the children of one run.
const maxLives = 500

// Kill lets runs be driven and killed until there were that many kills and the last run has ended; it gives the number of runs.
func (h *Harness) Kill(t *testing.T, kills int) (runs int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rnd := randtest.New(t)

	// How long an undisturbed life takes tells where to strike.
	begin, lives := time.Now(), 0
	for ended := false; !ended; ended = h.After(Undisturbed) {
		if lives++; lives > maxLives {
			t.Fatalf("run %s does not end", Undisturbed)
		}
		_ = h.start(t, self, Undisturbed).Wait() // After tells what became of it
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

package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/journal/sqlite"
)

// Environment of a process that a test starts from its own binary: what to do, and on which file.
const (
	envDo   = "HOCKET_TEST_DO"
	envPath = "HOCKET_TEST_PATH"
)

func TestMain(m *testing.M) {
	do := map[string]func(path string) error{"write": childWrite, "append": childAppend}[os.Getenv(envDo)]
	if do == nil {
		goleak.VerifyTestMain(m)
		return
	}
	if err := do(os.Getenv(envPath)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(t *testing.T, do, path string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), envDo+"="+do, envPath+"="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

const (
	writers    = 25 // in each of two processes
	writeSteps = 40 / slower
)

// writeRuns is 25 writers that make a run each and write on, read and list between their writes.
func writeRuns(path string, from int) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Config{Kind: journal.KindRun})
	if err != nil {
		return err
	}
	errs := make([]error, writers+1)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() { errs[i] = writeRun(ctx, s, from+i) })
	}
	wg.Wait()
	errs[writers] = s.Close()
	return errors.Join(errs...)
}

func writeRun(ctx context.Context, s *sqlite.Store, i int) error {
	if err := s.Append(ctx, benchCreate(i)); err != nil {
		return err
	}
	for n := range writeSteps {
		a := benchNext(i, uint64(4+3*n), make([]byte, benchRecord))
		a.Snapshot = make([]byte, 1000)
		if err := s.Append(ctx, a); err != nil {
			return err
		}
		if _, err := s.Read(ctx, a.Run, a.Record.First); err != nil {
			return err
		}
		if _, _, err := s.List(ctx, journal.Query{Interrupted: n%2 == 0}); err != nil {
			return err
		}
	}
	return nil
}

func childWrite(path string) error { return writeRuns(path, writers) }

// TestTwoProcesses: P10, 50 concurrent writers in two processes, which open the new file at once, see no SQLITE_BUSY.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	cmd := child(t, "write", path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := writeRuns(path, 0); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	s := open(t, path)
	for i := range 2 * writers {
		records, err := s.Read(t.Context(), benchRun(i), 0)
		if err != nil || len(records) != writeSteps+1 {
			t.Errorf("run %d: %d records, %v", i, len(records), err)
		}
	}
}

// childAppend claims every run there is or makes ten, and writes to all of them until it is killed, telling each event that is stored.
func childAppend(path string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Config{Kind: journal.KindServe})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	var out sync.Mutex
	fail := make(chan error)
	for i := range 10 {
		wg.Go(func() {
			h, err := s.Claim(ctx, benchRun(i))
			if errors.Is(err, journal.ErrNotFound) {
				if err = s.Append(ctx, benchCreate(i)); err == nil {
					h, err = s.Head(ctx, benchRun(i))
				}
			}
			for err == nil {
				a := benchNext(i, h.LastSeq+1, fmt.Appendf(nil, "epoch %d", h.Epoch))
				a.Epoch = h.Epoch
				if err = s.Append(ctx, a); err == nil {
					h.LastSeq = a.Record.Last
					out.Lock()
					fmt.Println(a.Run, h.Epoch, h.LastSeq)
					out.Unlock()
				}
			}
			fail <- err
		})
	}
	return <-fail
}

// TestKilled: a process that is killed loses nothing that was acknowledged, and its runs are free at once, in a new epoch (P18, D15).
func TestKilled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	acknowledged := map[string]uint64{}
	for round := 1; round <= 4; round++ {
		cmd := child(t, "append", path)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(stdout)
		for n := 0; lines.Scan(); n++ {
			var (
				run   string
				epoch int
				last  uint64
			)
			if _, err := fmt.Sscan(lines.Text(), &run, &epoch, &last); err != nil {
				if n > 200 {
					break // killed in the middle of a line
				}
				t.Fatalf("%q: %v", lines.Text(), err)
			}
			if epoch != round {
				t.Fatalf("round %d has epoch %d", round, epoch)
			}
			acknowledged[run] = last
			if n == 200 {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // it was killed
	}
	s := open(t, path)
	interrupted, _, err := s.List(t.Context(), journal.Query{Interrupted: true, Kind: journal.KindServe})
	if err != nil || len(interrupted) != 10 {
		t.Errorf("%d runs are interrupted, %v", len(interrupted), err)
	}
	for run, last := range acknowledged {
		h, err := s.Claim(t.Context(), run)
		if err != nil || h.LastSeq < last || h.Epoch != 5 {
			t.Errorf("run %s: event %d was acknowledged, stored is %+v, %v", run, last, h, err)
		}
		records, err := s.Read(t.Context(), run, 0)
		if err != nil || records[len(records)-1].Last != h.LastSeq {
			t.Errorf("run %s: %d records, %v", run, len(records), err)
		}
	}
	// The files of the dead are swept by those who come later.
	locks, err := filepath.Glob(path + ".owners/*.lock")
	if err != nil || len(locks) != 1 || !strings.Contains(locks[0], s.Owner().ID) {
		t.Errorf("lock files: %v, %v", locks, err)
	}
}

// TestOwnerOfOtherProcess: an owner is alive as long as its process, whatever its handle does.
func TestOwnerOfOtherProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	cmd := child(t, "append", path)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !bufio.NewScanner(stdout).Scan() {
		t.Fatal("nothing written")
	}
	s := open(t, path)
	var owned *journal.OwnedError
	for i := range 10 {
		_, err := s.Claim(t.Context(), benchRun(i))
		if errors.As(err, &owned) {
			break
		}
		if !errors.Is(err, journal.ErrNotFound) {
			t.Fatalf("claim: %v", err)
		}
	}
	if owned == nil || owned.Owner.PID != cmd.Process.Pid || owned.Owner.Kind != journal.KindServe {
		t.Fatalf("owned by %+v, the process is %d", owned, cmd.Process.Pid)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	start := time.Now()
	if _, err := s.Claim(t.Context(), owned.Run); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("claimed after %v", took)
	}
}

// TestNobodyStarves: a handle with one writer and one with 200, which would never pause, share the file.
func TestNobodyStarves(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	crowd, one := open(t, path), open(t, path)
	const many, few = 200, 100
	var (
		wg    sync.WaitGroup
		stop  atomic.Bool
		count atomic.Int64
	)
	for i := range many {
		wg.Go(func() {
			a := benchCreate(i)
			for !stop.Load() {
				if err := crowd.Append(t.Context(), a); err != nil {
					t.Error(err)
					return
				}
				count.Add(1)
				a = benchNext(i, a.Record.Last+1, a.Record.Data)
			}
		})
	}
	var longest time.Duration
	a := benchCreate(many)
	for n := 0; n < few || count.Load() < 3*many; n++ {
		start := time.Now()
		if err := one.Append(t.Context(), a); err != nil {
			t.Error(err)
			break
		}
		longest = max(longest, time.Since(start))
		a = benchNext(many, a.Record.Last+1, a.Record.Data)
	}
	stop.Store(true)
	wg.Wait()
	t.Logf("the crowd wrote %d times, the one waited up to %v", count.Load(), longest)
	if longest > 5*time.Second {
		t.Errorf("an append waited %v", longest)
	}
}

// lock takes the write lock of the file as another process would, until free is called.
func lock(t *testing.T, path string) (free func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(tx.Rollback(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

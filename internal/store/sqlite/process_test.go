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

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/longtest"
	"github.com/hocket-run/hocket/internal/store/sqlite"
)

// Environment variables of a process that a test starts from its own binary: what to do, and on
// which file.
const (
	envDo   = "HOCKET_TEST_DO"
	envPath = "HOCKET_TEST_PATH"
)

func TestMain(m *testing.M) {
	do := map[string]func(path string) error{"write": childWrite, "append": childAppend,
		"signal": childSignal}[os.Getenv(envDo)]
	if do == nil {
		leaktest.Main(m)
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
	writeSteps = 40 / testScale
)

// writeRuns runs 25 writers that each create a run and append to it, and read and list between
// their writes.
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

// TestTwoProcesses checks that 50 concurrent writers in two processes, which open the new file
// simultaneously, see no SQLITE_BUSY (P10).
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

// childAppend tries to own ten runs, which it creates if they do not exist, and appends to those it
// owns, until it is killed. It prints each stored event: run, epoch, event.
func childAppend(path string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Config{Kind: journal.KindServe})
	if err != nil {
		return err
	}
	var out sync.Mutex
	fail := make(chan error)
	for i := range ownedRuns {
		go func() {
			for {
				h, err := s.Claim(ctx, benchRun(i))
				if errors.Is(err, journal.ErrNotFound) {
					err = s.Append(ctx, benchCreate(i))
					h = journal.Head{LastSeq: 3, Epoch: 1}
				}
				for err == nil {
					a := benchNext(i, h.LastSeq+1, fmt.Appendf(nil, "process %d in epoch %d", os.Getpid(), h.Epoch))
					a.Epoch = h.Epoch
					if err = s.Append(ctx, a); err == nil {
						h.LastSeq = a.Record.Last
						out.Lock()
						fmt.Println(a.Run, h.Epoch, h.LastSeq)
						out.Unlock()
					}
				}
				if !errors.Is(err, journal.ErrOwned) && !errors.Is(err, journal.ErrExists) {
					fail <- err
				}
				time.Sleep(time.Millisecond) // a separate process: it cannot signal the test
			}
		}()
	}
	return <-fail
}

const ownedRuns = 10

// ack is an event that a process reported as stored.
type ack struct {
	pid   int
	run   string
	epoch int
	last  uint64
}

// contender starts a childAppend process and sends its output to acks. A line that was cut off by
// the process's death is ignored.
func contender(t *testing.T, path string, acks chan<- ack) *exec.Cmd {
	t.Helper()
	cmd := child(t, "append", path)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		r := bufio.NewReader(stdout)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				acks <- ack{pid: cmd.Process.Pid}
				return
			}
			a := ack{pid: cmd.Process.Pid}
			if _, err := fmt.Sscan(line, &a.run, &a.epoch, &a.last); err != nil {
				t.Errorf("%q: %v", line, err)
			}
			acks <- a
		}
	}()
	return cmd
}

// TestKilled kills two processes that contend for the same runs, one after the other. It checks
// that nothing that was acknowledged is lost, that the other process can claim the runs
// immediately, and that no run has two owners in one epoch (P18, D15).
func TestKilled(t *testing.T) {
	t.Parallel()
	kills := 6
	if longtest.Enabled() {
		kills = 1000
	}
	path := filepath.Join(t.TempDir(), "hocket.db")
	acks := make(chan ack)
	type tenure struct {
		run   string
		epoch int
	}
	var (
		owner  = map[tenure]int{}
		stored = map[string]uint64{}
		alive  = map[int]*exec.Cmd{}
	)
	start := func() {
		cmd := contender(t, path, acks)
		alive[cmd.Process.Pid] = cmd
	}
	// hear receives acks until n have arrived or, if n is 0, all processes are dead.
	hear := func(n int) (last int) {
		for i := 0; n == 0 && len(alive) > 0 || i < n; i++ {
			a := <-acks
			if a.run == "" {
				_ = alive[a.pid].Wait() // it was killed
				delete(alive, a.pid)
				continue
			}
			who := tenure{a.run, a.epoch}
			if pid, ok := owner[who]; ok && pid != a.pid {
				t.Fatalf("run %s has owners %d and %d in epoch %d", a.run, pid, a.pid, a.epoch)
			}
			owner[who], last = a.pid, a.pid
			stored[a.run] = max(stored[a.run], a.last)
		}
		return last
	}
	start()
	for range kills {
		start()
		busy := hear(60)
		if err := alive[busy].Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for alive[busy] != nil {
			hear(1)
		}
	}
	for _, cmd := range alive {
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	hear(0)

	s := open(t, path)
	interrupted, _, err := s.List(t.Context(), journal.Query{Interrupted: true, Kind: journal.KindServe})
	if err != nil || len(interrupted) != ownedRuns {
		t.Errorf("%d runs are interrupted, %v", len(interrupted), err)
	}
	for run, last := range stored {
		h, err := s.Claim(t.Context(), run)
		if err != nil || h.LastSeq < last {
			t.Errorf("run %s: event %d was acknowledged, stored is %+v, %v", run, last, h, err)
		}
		records, err := s.Read(t.Context(), run, 0)
		if err != nil || records[len(records)-1].Last != h.LastSeq {
			t.Errorf("run %s: %d records, %v", run, len(records), err)
		}
	}
	t.Logf("%d tenures", len(owner))
	if len(owner) < ownedRuns+kills {
		t.Error("the runs did not change hands")
	}
	// The files of dead owners are swept by processes that start later.
	locks, err := filepath.Glob(path + ".owners/*.lock")
	if err != nil || len(locks) != 1 || !strings.Contains(locks[0], s.Owner().ID) {
		t.Errorf("lock files: %v, %v", locks, err)
	}
}

// TestOwnerOfOtherProcess checks that an owner is alive as long as its process, whatever its handle
// does.
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
	for i := range ownedRuns {
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
	if _, err := s.Claim(t.Context(), owned.Run); err != nil {
		t.Error(err)
	}
}

// TestWriter_Fairness checks that a handle with one writer gets its turn while another handle with
// 200 writers, which would never pause, writes the same file.
func TestWriter_Fairness(t *testing.T) {
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
	var longest int64 // what the 200 wrote while the one waited
	a := benchCreate(many)
	for n := 0; n < few || count.Load() < 3*many; n++ {
		before := count.Load()
		if err := one.Append(t.Context(), a); err != nil {
			t.Error(err)
			break
		}
		longest = max(longest, count.Load()-before)
		a = benchNext(many, a.Record.Last+1, a.Record.Data)
	}
	stop.Store(true)
	wg.Wait()
	t.Logf("the crowd wrote %d times, up to %d of them while the one waited", count.Load(), longest)
	if longest > 50*many {
		t.Errorf("an append waited for %d of the crowd", longest)
	}
}

// lock acquires the write lock of the file the way another process would, until free is called.
func lock(t *testing.T, path string) (free func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(60000)")
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

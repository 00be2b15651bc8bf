package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/randtest"
)

func size(t testing.TB, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}

// TestPruneShrinks checks that after 90 % of the runs are deleted the file is at most 1.5 times the
// size of the remaining data, without a restart, and the log is empty (P10). The size of the
// remaining data is that of a copy without gaps.
func TestPruneShrinks(t *testing.T) {
	t.Parallel()
	const runs, steps = 1000 / testScale, 12
	path := filepath.Join(t.TempDir(), "hocket.db")
	s := open(t, path)
	ended := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	kept := randtest.New(t).Perm(runs)[:runs/10]
	keep := map[int]bool{}
	for _, i := range kept {
		keep[i] = true
	}
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			a := benchCreate(i)
			for n := range steps {
				a.At, a.Release = ended, n == steps-1
				if a.Release && !keep[i] {
					a.Status = journal.StatusCompleted
				}
				if n == 3 {
					a.Blobs = []journal.Blob{journal.NewBlob(fmt.Appendf(nil, "%d %04000d", i, n))}
				}
				if err := s.Append(t.Context(), a); err != nil {
					t.Error(err)
					return
				}
				a = benchNext(i, a.Record.Last+1, a.Record.Data)
			}
		})
	}
	wg.Wait()
	full := size(t, path)
	start := time.Now()
	res, err := s.Prune(t.Context(), journal.PruneQuery{EndedBefore: ended.Add(time.Hour)})
	if err != nil || res.Runs != runs-len(kept) || res.Blobs != res.Runs || res.Freed <= 0 {
		t.Fatalf("prune: %+v, %v", res, err)
	}
	copied := path + ".copy"
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `VACUUM INTO ?`, copied); err != nil {
		t.Fatal(err)
	}
	got, live := size(t, path), size(t, copied)
	t.Logf("%d bytes of %d are left, %.2f times what they hold, after %v", got, full, float64(got)/float64(live),
		time.Since(start))
	if float64(got) > 1.5*float64(live) {
		t.Errorf("file has %d bytes, what is left %d", got, live)
	}
	if wal := size(t, path+"-wal"); wal != 0 {
		t.Errorf("the log has %d bytes", wal)
	}
	for _, i := range kept {
		records, err := s.Read(t.Context(), benchRun(i), 0)
		if err != nil || len(records) != steps {
			t.Fatalf("run %d: %d records, %v", i, len(records), err)
		}
	}
}

// TestPrune_ConcurrentAppends checks that pruning moves the records of runs that continue
// meanwhile, long ones in several steps.
func TestPrune_ConcurrentAppends(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	s, other := open(t, path), open(t, path)
	other.SetPruneRecords(7)
	const long = 60
	kept := make([]byte, 1400) // two fill two thirds of a page, so that packing pays off however the appends interleave
	if err := s.Append(t.Context(), benchCreate(0)); err != nil {
		t.Fatal(err)
	}
	seq := uint64(4)
	for i := range long {
		old := benchCreate(1 + i) // is between two records of the long run
		old.Record.Data = make([]byte, 5*benchRecord)
		old.Status, old.Release = journal.StatusFailed, true
		for _, a := range []journal.Append{old, benchNext(0, seq, kept)} {
			if err := s.Append(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		seq += 3
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for range long {
			if err := s.Append(t.Context(), benchNext(0, seq, kept)); err != nil {
				t.Error(err)
				return
			}
			seq += 3
		}
	})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if records, err := other.Read(t.Context(), benchRun(0), 0); err != nil || len(records) < long {
				t.Errorf("%d records, %v", len(records), err)
				return
			}
		}
	})
	res, err := other.Prune(t.Context(), journal.PruneQuery{EndedBefore: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)})
	close(stop)
	wg.Wait()
	if err != nil || res.Runs != long {
		t.Fatalf("prune: %+v, %v", res, err)
	}
	records, err := other.Read(t.Context(), benchRun(0), 0)
	if err != nil || records[len(records)-1].Last != seq-1 {
		t.Errorf("%d records, %v", len(records), err)
	}
	if first := number(t, path, `SELECT min(id) FROM records`); first <= long {
		t.Errorf("the first record is still number %d: nothing was moved", first)
	}
	if n := number(t, path, `SELECT count(*) FROM records`); n != int64(len(records)) {
		t.Errorf("there are %d records, %d of the run", n, len(records))
	}
}

// TestEach_ConcurrentPrune checks that a walk over a run's records continues when pruning renumbers
// them meanwhile, and ends with ErrNotFound if pruning deletes them.
func TestEach_ConcurrentPrune(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	s, other := open(t, path), open(t, path)
	const long = 60
	s.SetBatchBytes(2 * benchRecord)
	if err := s.Append(t.Context(), benchCreate(0)); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(long) {
		old := benchCreate(1 + int(i)) // is between two records of the long run
		old.Record.Data = make([]byte, 5*benchRecord)
		old.Status, old.Release = journal.StatusFailed, true
		for _, a := range []journal.Append{old, benchNext(0, 4+3*i, make([]byte, benchRecord))} {
			if err := s.Append(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := journal.PruneQuery{EndedBefore: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}
	for _, after := range []uint64{0, 5} {
		before := number(t, path, `SELECT min(id) FROM records`)
		last, n := uint64(0), 0
		err := s.Each(t.Context(), benchRun(0), after, func(r journal.Record) error {
			if n++; n == 2 && after == 0 {
				if _, err := other.Prune(t.Context(), all); err != nil {
					t.Fatal(err)
				}
			}
			if last != 0 && r.First != last+1 {
				t.Errorf("after %d comes %d", last, r.First)
			}
			last = r.Last
			return nil
		})
		if err != nil || last != 3+3*long {
			t.Errorf("after %d: %d records up to event %d, %v", after, n, last, err)
		}
		if moved := number(t, path, `SELECT min(id) FROM records`) > before; moved != (after == 0) {
			t.Errorf("after %d: moved is %v", after, moved)
		}
	}
	n := 0
	err := s.Each(t.Context(), benchRun(0), 0, func(journal.Record) error {
		if n++; n == 2 {
			if _, err := other.Prune(t.Context(), journal.PruneQuery{Runs: []string{benchRun(0)}}); err != nil {
				return err
			}
		}
		return nil
	})
	if !errors.Is(err, journal.ErrNotFound) && !errors.As(err, new(*journal.OwnedError)) {
		t.Errorf("%d records, %v", n, err)
	}
}

// number queries the file behind the store's back.
func number(t testing.TB, path, query string) (n int64) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestWAL_SizeLimit checks that the log stays under 64 MB even if readers overlap all the time, so
// that it is never unused (P10).
func TestWAL_SizeLimit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	s := open(t, path)
	if err := s.Append(t.Context(), benchCreate(0)); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := s.Read(t.Context(), benchRun(0), 0); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	largest := int64(0)
	for i := range 75 {
		a := benchNext(0, uint64(4+3*i), []byte("x"))
		a.Blobs = []journal.Blob{journal.NewBlob(bytes.Repeat([]byte{byte(i)}, 1<<20))}
		if err := s.Append(t.Context(), a); err != nil {
			t.Error(err)
		}
		largest = max(largest, size(t, path+"-wal"))
	}
	close(stop)
	wg.Wait()
	t.Logf("the log had up to %d MB", largest>>20)
	if largest >= 64<<20 {
		t.Errorf("the log had %d bytes", largest)
	}
}

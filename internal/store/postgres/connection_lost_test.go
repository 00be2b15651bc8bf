package postgres_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/faultmatrix"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store/postgres"
)

// cutter cuts one connection of a store at a chosen write, counted across all its connections.
type cutter struct {
	mu     sync.Mutex
	writes int           // since it was armed
	at     int           // the write to cut at; 0 means none
	cause  error         // error of the cut write; if nil, io.ErrUnexpectedEOF, or no error if the server has answered
	after  bool          // cut after the server has answered the write, not before it gets there
	gate   chan struct{} // writes wait until it is closed; nil: no waiting
	waits  chan struct{} // closed when the first write waits
	stall  *stall        // happens at the write to cut at; nil: cut immediately
}

// stall simulates a stopped process: a write signals that it has arrived, and proceeds only when
// the process continues.
type stall struct{ come, goOn chan struct{} }

func (c *cutter) wrap(n net.Conn) net.Conn { return &cutConn{n, c} }

// hold blocks writes until release is called.
func (c *cutter) hold() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	gate := make(chan struct{})
	c.gate, c.waits = gate, make(chan struct{})
	return func() { close(gate) }
}

// held waits until a write is blocked.
func (c *cutter) held() {
	c.mu.Lock()
	waits := c.waits
	c.mu.Unlock()
	if waits != nil {
		<-waits
	}
}

func (c *cutter) arm(at int, after bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes, c.at, c.after = 0, at, after
}

// next counts a write, and reports whether it is the one to cut at.
func (c *cutter) next() (cut, after bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if gate := c.gate; gate != nil {
		if c.waits != nil {
			close(c.waits)
			c.waits = nil
		}
		c.mu.Unlock()
		<-gate
		c.mu.Lock()
	}
	c.writes++
	return c.writes == c.at, c.after
}

func (c *cutter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes
}

// cutConn is a connection that a cutter may cut.
type cutConn struct {
	net.Conn
	cutter *cutter
}

func (c *cutConn) Write(b []byte) (int, error) {
	cut, after := c.cutter.next()
	if !cut {
		return c.Conn.Write(b)
	}
	if st := c.cutter.stall; st != nil {
		close(st.come)
		<-st.goOn
		return c.Conn.Write(b)
	}
	defer c.Close()
	if !after {
		return 0, cmp.Or(c.cutter.cause, io.ErrUnexpectedEOF)
	}
	if _, err := c.Conn.Write(b); err != nil {
		return 0, err
	}
	_, err := c.Read(make([]byte, 1<<16)) // the server has executed it
	if c.cutter.cause != nil {
		return 0, c.cutter.cause
	}
	return len(b), err
}

// TestLostInAppend checks that no caller notices a connection lost at any write of an append,
// before the server gets it or after it has answered, and that each append is stored exactly once.
func TestLostInAppend(t *testing.T) {
	t.Parallel()
	faultmatrix.Proves(t, "cut-in-append")
	for name, cause := range map[string]error{"end": nil, "unknown": errors.New("an error of a layer between")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lostInAppend(t, &cutter{cause: cause})
		})
	}
}

func lostInAppend(t *testing.T, c *cutter) {
	t.Helper()
	s, err := postgres.OpenOver(t.Context(), postgres.Config{URL: pgtest.URL(t), Kind: journal.KindRun}, c.wrap)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	story := func(run string) {
		t.Helper()
		for i, a := range story(run) {
			if err := s.Append(t.Context(), a); err != nil {
				t.Fatalf("%s: append %d: %v", run, i+1, err)
			}
		}
	}
	story("prepared") // prepare the statements
	c.arm(0, false)
	story("counted")
	writes := c.count()
	if writes < 5 {
		t.Fatalf("%d writes: the test looks in the wrong place", writes)
	}
	for at := 1; at <= writes; at++ {
		for _, after := range []bool{false, true} {
			run := fmt.Sprintf("cut at write %d, after %v", at, after)
			c.arm(at, after)
			story(run)
			c.arm(0, false)
			told(t, s, run)
		}
	}
}

// story returns the appends of a run's life: new, with a blob and in a session; continued;
// continued with a blob; ended and released.
func story(run string) []journal.Append {
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var all []journal.Append
	for seq := uint64(1); seq <= 5; seq++ {
		a := journal.Append{
			Run: run, Epoch: 1, Record: journal.Record{First: seq, Last: seq,
				Data: fmt.Appendf(nil, "%s, event %d", run, seq)}, At: at, Status: journal.StatusRunning,
			Notices: []journal.Notice{{Seq: seq, Type: "wait.opened"}},
		}
		switch seq {
		case 1:
			a.Create = &journal.NewRun{Workflow: "w", Session: run, Kind: journal.KindRun, Created: at}
			a.Blobs = []journal.Blob{journal.NewBlob([]byte("blob of " + run))}
		case 3:
			a.Blobs = []journal.Blob{journal.NewBlob([]byte("more of " + run)),
				{Hash: journal.HashOf([]byte("blob of " + run))}}
		case 4:
			a.Status, a.Waiting = journal.StatusPaused, 1
		case 5:
			a.Status, a.Release = journal.StatusCompleted, true
		}
		all = append(all, a)
	}
	return all
}

// told checks that the store contains the story of a run exactly once.
func told(t *testing.T, s *postgres.Store, run string) {
	t.Helper()
	records, err := s.Read(t.Context(), run, 0)
	if err != nil {
		t.Fatalf("%s: %v", run, err)
	}
	want := story(run)
	if len(records) != len(want) {
		t.Fatalf("%s: %d records, want %d", run, len(records), len(want))
	}
	for i, r := range records {
		if string(r.Data) != string(want[i].Record.Data) {
			t.Errorf("%s: record %d is %q", run, i+1, r.Data)
		}
	}
	if h, err := s.Head(t.Context(), run); err != nil || h.Status != journal.StatusCompleted || h.Owner != "" ||
		h.LastSeq != 5 {
		t.Errorf("%s: %+v, %v", run, h, err)
	}
	notices := 0
	for after := uint64(0); ; {
		page, err := s.Notices(t.Context(), after, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, n := range page {
			if after = n.ID; n.Run == run {
				notices++
			}
		}
	}
	if notices != len(want) {
		t.Errorf("%s: %d notices, want %d", run, notices, len(want))
	}
	for _, text := range []string{"blob of " + run, "more of " + run} {
		if _, err := s.Blob(t.Context(), journal.HashOf([]byte(text))); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestStoppedInAppend checks that a process that is stopped after it locked a run, and before it
// stores, blocks others from the run for a limited time, and that its append is fenced when it
// continues.
func TestStoppedInAppend(t *testing.T) {
	t.Parallel()
	c := &cutter{stall: &stall{make(chan struct{}), make(chan struct{})}}
	at := pgtest.URL(t)
	s, err := postgres.OpenOver(t.Context(), postgres.Config{URL: at, Kind: journal.KindRun, MaxConns: 1,
		Relay: noRelay{}}, c.wrap)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.SetStepTime(300 * time.Millisecond)
	other, err := postgres.Open(t.Context(), postgres.Config{URL: at, Kind: journal.KindRun, Relay: noRelay{}})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	appends := story("stopped")
	for _, a := range append(story("prepared"), appends[:2]...) { // prepare the statements
		if err := s.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	c.arm(2, false) // the third append has a blob: its first message locks, its second stores
	done := make(chan error, 1)
	go func() { done <- s.Append(t.Context(), appends[2]) }()
	<-c.stall.come
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	err = other.Evict(ctx, "stopped", s.Owner().ID)
	close(c.stall.goOn)
	if err != nil {
		t.Errorf("take the run of a process that is stopped: %v", err)
	}
	if err := <-done; !errors.Is(err, journal.ErrFenced) {
		t.Errorf("append after the run was taken: %v, want %v", err, journal.ErrFenced)
	}
	if h, err := other.Head(t.Context(), "stopped"); err != nil || h.LastSeq != 2 || h.Owner != "" {
		t.Errorf("%+v, %v", h, err)
	}
}

// TestServerRestarts checks that appends wait while the server is briefly down, however it was
// stopped, and that each is stored exactly once.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	faultmatrix.Proves(t, "restarted")
	server := pgtest.Start(t, pgtest.Config{})
	url := server.URL(t)
	s := open(t, url)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	const writers = 8
	told := make([]int, writers)
	for i := range writers {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				run := fmt.Sprintf("writer %d, run %d", i, n)
				for j, a := range story(run) {
					if err := stubborn(t.Context(), s, a); err != nil {
						t.Errorf("%s, append %d: %v", run, j+1, err)
						return
					}
				}
				told[i] = n + 1
			}
		})
	}
	for _, mode := range []pgtest.Mode{pgtest.Fast, pgtest.Immediate, pgtest.Kill} {
		server.Restart(t, mode)
	}
	close(stop)
	wg.Wait()
	for i, runs := range told {
		for n := range runs {
			run := fmt.Sprintf("writer %d, run %d", i, n)
			if records, err := s.Read(t.Context(), run, 0); err != nil || len(records) != 5 {
				t.Errorf("%s: %d records, %v", run, len(records), err)
			}
		}
	}
	if all, err := s.LastNotice(t.Context()); err != nil || all == 0 {
		t.Errorf("last notice %d, %v", all, err)
	}
}

// stubborn appends like a driver: while the store is unreachable, it checks whether the append was
// stored, and retries.
func stubborn(ctx context.Context, s *postgres.Store, a journal.Append) error {
	for {
		err := s.Append(ctx, a)
		if !errors.Is(err, journal.ErrUnavailable) {
			return err
		}
		h, err := s.Head(ctx, a.Run)
		if err == nil && h.LastSeq >= a.Record.Last {
			return nil
		}
	}
}

// TestSessionLost checks that an owner whose session ended soon reacquires its lock, and continues
// the runs that were not claimed meanwhile.
func TestSessionLost(t *testing.T) {
	t.Parallel()
	for _, listens := range []bool{true, false} {
		t.Run(fmt.Sprintf("listens %v", listens), func(t *testing.T) {
			t.Parallel()
			url := pgtest.URL(t)
			owner, other := open(t, url), open(t, url)
			c := make(chan struct{}, 1)
			if listens {
				defer owner.Subscribe(c, journal.OfRequests())()
			}
			for _, a := range story("r")[:2] {
				if err := owner.Append(t.Context(), a); err != nil {
					t.Fatal(err)
				}
			}
			endSession(t, url, owner.Number())
			var err error
			if !listens {
				if alive, err := other.Alive(t.Context(), owner.Owner().ID); err != nil || alive {
					t.Errorf("without its session the owner lives: %v, %v", alive, err)
				}
				if err := owner.Sign(t.Context(), time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			for alive := false; !alive; {
				if alive, err = other.Alive(t.Context(), owner.Owner().ID); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := other.Claim(t.Context(), "r"); !errors.Is(err, journal.ErrOwned) {
				t.Errorf("claim of a run whose owner lives again: %v", err)
			}
			for _, a := range story("r")[2:] {
				if err := owner.Append(t.Context(), a); err != nil {
					t.Fatal(err)
				}
			}
			told(t, owner, "r")
		})
	}
}

// endSession ends the session that holds the lock of an owner.
func endSession(t *testing.T, url string, owner int64) {
	t.Helper()
	var ended bool
	err := pgtest.Connect(t, url).QueryRow(t.Context(), `SELECT pg_terminate_backend($1, 10000)`,
		sessionOf(t, url, owner)).Scan(&ended)
	if err != nil || !ended {
		t.Fatalf("the session is not ended: %v, %v", ended, err)
	}
}

// sessionOf returns the server process that holds the lock of an owner.
func sessionOf(t *testing.T, url string, owner int64) (pid int) {
	t.Helper()
	err := pgtest.Connect(t, url).QueryRow(t.Context(),
		`SELECT pid FROM pg_locks l WHERE locktype = 'advisory' AND objsubid = 2 AND objid::bigint = $1
  AND classid::bigint = (SELECT oid::bigint FROM pg_namespace WHERE nspname = current_schema())`, owner).Scan(&pid)
	if err != nil {
		t.Fatalf("no session has the lock of owner %d: %v", owner, err)
	}
	return pid
}

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// TestLeadWithoutSession checks that a process whose session was lost reconnects and leads.
func TestLeadWithoutSession(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url)
	if _, leads, err := s.Lead(t.Context(), "", ""); err != nil || !leads {
		t.Fatal(leads, err)
	}
	endSession(t, url, s.Number())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, leads, err := s.Lead(ctx, "", ""); err != nil || !leads {
		t.Errorf("it leads: %v, %v", leads, err)
	}
	if alive, err := open(t, url).Alive(t.Context(), s.Owner().ID); err != nil || !alive {
		t.Errorf("it lives: %v, %v", alive, err)
	}
}

// TestOwnerForgotten checks that an owner without runs, whose row was deleted while its session was
// lost, is known again once it has a session.
func TestOwnerForgotten(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s, other := open(t, url), open(t, url)
	for _, a := range story("r") {
		if err := s.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	endSession(t, url, s.Number())
	if _, err := other.Prune(t.Context(), journal.PruneQuery{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Sign(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Claim(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	if h, err := other.Head(t.Context(), "r"); err != nil || h.Owner != s.Owner().ID {
		t.Errorf("the owner is %q, %v", h.Owner, err)
	}
}

// TestSessionOutlivesCallers checks that a caller that stops waiting while the session works for it
// ends neither the session nor the lock of another owner.
func TestSessionOutlivesCallers(t *testing.T) {
	t.Parallel()
	c := &cutter{}
	url := pgtest.URL(t)
	s, err := postgres.OpenOver(t.Context(), postgres.Config{URL: url, Kind: journal.KindRun}, c.wrap)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, leads, err := s.Lead(t.Context(), "", ""); err != nil || !leads {
		t.Fatal(leads, err)
	}
	session := sessionOf(t, url, s.Number())
	release := c.hold()
	ctx, cancel := context.WithCancel(t.Context())
	signed := make(chan error)
	go func() { signed <- s.Sign(ctx, time.Now()) }()
	c.held()
	cancel()
	if err := <-signed; !errors.Is(err, context.Canceled) {
		t.Errorf("the sign of a caller that gave up: %v", err)
	}
	release()
	if err := s.Sign(t.Context(), time.Now()); err != nil {
		t.Error(err)
	}
	if now := sessionOf(t, url, s.Number()); now != session {
		t.Errorf("the session %d was ended; it is %d now", session, now)
	}
}

// TestEnter_CallerCancelled checks that a caller that stops waiting while the session takes a
// position for it has none in the queue of the key.
func TestEnter_CallerCancelled(t *testing.T) {
	t.Parallel()
	c := &cutter{}
	url := pgtest.URL(t)
	s, err := postgres.OpenOver(t.Context(), postgres.Config{URL: url, Kind: journal.KindRun}, c.wrap)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	line := journal.Line{Kind: journal.LineKey, Name: t.Name()}
	place, err := s.Enter(t.Context(), line)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Leave(t.Context(), line, place); err != nil {
		t.Fatal(err)
	}
	other := open(t, url)
	for range 3 {
		release := c.hold()
		ctx, cancel := context.WithCancel(t.Context())
		entered := make(chan error)
		go func() {
			_, err := s.Enter(ctx, line)
			entered <- err
		}()
		c.held()
		cancel()
		if err := <-entered; !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that gave up entered: %v", err)
		}
		release()
		if err := s.Leave(t.Context(), line, 1); err != nil { // runs after the session's work for the caller
			t.Fatal(err)
		}
		if !holds(t, func() bool {
			st, err := other.Position(t.Context(), line, 0)
			if err != nil {
				t.Fatal(err)
			}
			return st.All == 0
		}) {
			t.Error("the place is not given up")
		}
	}
}

// TestEnter_LateCommit checks that a position is released if the server executes its statement
// after the caller was told that it failed.
func TestEnter_LateCommit(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url)
	line := journal.Line{Kind: journal.LineSession, Name: "s"}
	place, err := s.Enter(t.Context(), line)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Leave(t.Context(), line, place); err != nil {
		t.Fatal(err)
	}
	places := func() int {
		st, err := s.Position(t.Context(), line, 0)
		if err != nil {
			t.Fatal(err)
		}
		return st.All
	}
	conn := pgtest.Connect(t, url)
	late := func() {
		if _, err := conn.Exec(t.Context(), `INSERT INTO lines (kind, name, owner, token) VALUES ($1, $2, $3, 'lost')`,
			int(line.Kind), []byte(line.Name), s.Number()); err != nil {
			t.Fatal(err)
		}
	}
	late()
	go s.GiveUpPlace("lost")
	if !holds(t, func() bool { return places() == 0 }) {
		t.Fatal("the place is not given up")
	}
	go s.GiveUpPlace("lost")
	late() // before the immediate check, or after it
	if !holds(t, func() bool { return places() == 0 }) {
		t.Error("a place that was taken late is not given up")
	}
}

// holds reports whether a condition becomes true.
func holds(t *testing.T, is func() bool) bool {
	t.Helper()
	for range 1000 {
		if is() {
			return true
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-t.Context().Done():
			return false
		}
	}
	return false
}

// TestRegister_RetryAfterLostResponse checks that an attempt to become an owner whose answer was
// lost does not make the next one fail.
func TestRegister_RetryAfterLostResponse(t *testing.T) {
	t.Parallel()
	c := &cutter{}
	url := pgtest.URL(t)
	first, err := postgres.OpenOver(t.Context(), postgres.Config{URL: url, Kind: journal.KindRun}, c.wrap)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	c.arm(0, false)
	if err := first.Append(t.Context(), story("first")[0]); err != nil {
		t.Fatal(err)
	}
	writes := c.count()
	if writes < 5 {
		t.Fatalf("%d writes: the test looks in the wrong place", writes)
	}
	for at := 1; at <= writes; at++ {
		s, err := postgres.OpenOver(t.Context(), postgres.Config{URL: url, Kind: journal.KindRun}, c.wrap)
		if err != nil {
			t.Fatal(err)
		}
		run := fmt.Sprintf("write %d", at)
		c.arm(at, true)
		if err := stubborn(t.Context(), s, story(run)[0]); err != nil {
			t.Errorf("%s: %v", run, err)
		}
		c.arm(0, false)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestTurn_DeadConnection checks that a write to a vanished server ends with a temporary error, and
// that queued writes are not delayed until TCP times out.
func TestTurn_DeadConnection(t *testing.T) {
	t.Parallel()
	p := pgtest.NewProxy(t, pgtest.URL(t))
	s := open(t, p.URL())
	db := s.Tables(postgres.Catalog)
	write := func() error {
		return db.Write(t.Context(), 0, func(tx tables.Tx) error {
			_, err := tx.Exec(addAgent, "a", nil)
			return err
		})
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
	s.SetTurnTime(200 * time.Millisecond)
	p.Hold()
	if err := write(); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("a server that vanished: %v", err)
	}
	s.SetTurnTime(time.Minute)
	p.Release()
	if err := db.View(t.Context(), func(tx tables.Tx) error {
		return tx.Query(countAgents, func([]any) error { return nil })
	}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

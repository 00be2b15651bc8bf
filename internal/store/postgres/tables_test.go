package postgres_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/store/tables"
)

const (
	addAgent    = tables.Text(`INSERT INTO agents (id, name) VALUES (?, ?)`)
	nameAgent   = tables.Text(`UPDATE agents SET name = ? WHERE id = ?`)
	agentNamed  = tables.Text(`SELECT name FROM agents WHERE id = ?`)
	countAgents = tables.Text(`SELECT count(*) FROM agents`)
	addNode     = tables.Text(`INSERT INTO agent_workflow_nodes (id, "workflowId", "nodeType") VALUES ('n', ?, ` +
		`'AGENT')`)
	setting   = tables.Text(`SELECT current_setting(?)`)
	someTypes = tables.Text(
		`SELECT 1::smallint, 2, 3::bigint, 'ä'::text, '\x00ff'::bytea, true, false, NULL, 0.5::float8, 0.25::float4`)
	addMemory  = tables.Text(`INSERT INTO memories (space, key, category, text, at) VALUES (?, ?, ?, ?, '')`)
	memoryText = tables.Text(`SELECT text, category FROM memories WHERE key = ?`)
)

// row returns the columns of the last row of a query.
func row(t *testing.T, db tables.DB, q tables.Text, args ...any) (out []any) {
	t.Helper()
	if err := db.View(t.Context(), func(tx tables.Tx) error {
		return tx.Query(q, func(c []any) error { out = append([]any(nil), c...); return nil }, args...)
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWrite_GroupCommit checks that queued writes share a transaction, and that a write that fails
// is undone alone, even if the server detects the failure only in the commit.
func TestWrite_GroupCommit(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t)).Tables(postgres.Catalog)
	errMine := errors.New("mine")
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			err := db.Write(t.Context(), 0, func(tx tables.Tx) error {
				if _, err := tx.Exec(addAgent, fmt.Sprint("a", i), nil); err != nil {
					return err
				}
				switch i % 4 {
				case 1:
					return errMine
				case 2:
					return tx.Do(addAgent, fmt.Sprint("a", i), nil) // it exists
				case 3:
					return tx.Do(addNode, "no such workflow")
				}
				return nil
			})
			_, isRejected := errors.AsType[*journal.RejectedError](err)
			if (err == nil) != (i%4 == 0) || errors.Is(err, errMine) != (i%4 == 1) || isRejected != (i%4 >= 2) {
				t.Errorf("write %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if n := row(t, db, countAgents)[0]; n != int64(15) {
		t.Errorf("%d agents, want 15", n)
	}
}

// TestWrite_Panic checks that a panic inside a transaction reaches its own caller, that the
// other writes commit, and that the store can still be used and closed.
func TestWrite_Panic(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t)).Tables(postgres.Catalog)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			panics := i%5 == 0
			defer func() {
				if v := recover(); (v != nil) != panics || panics && v != i {
					t.Errorf("write %d panicked with %v", i, v)
				}
			}()
			err := db.Write(t.Context(), 0, func(tx tables.Tx) error {
				_, err := tx.Exec(addAgent, fmt.Sprint("a", i), nil)
				if panics {
					panic(i)
				}
				return err
			})
			if err != nil || panics {
				t.Errorf("write %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if n := row(t, db, countAgents)[0]; n != int64(40) {
		t.Errorf("%d agents, want 40", n)
	}
}

// TestWrite_Serialized checks that a write reads what the write before it stored, in all processes,
// while a program that takes no turns changes the same row.
func TestWrite_Serialized(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	one, two := open(t, url).Tables(postgres.Catalog), open(t, url).Tables(postgres.Catalog)
	if err := one.Write(t.Context(), 0, func(tx tables.Tx) error {
		_, err := tx.Exec(addAgent, "n", "")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	const each = 50
	add := func(tx tables.Tx) error {
		var text string
		if err := tx.Query(agentNamed, func(c []any) error { text = tables.String(c[0]); return nil },
			"n"); err != nil {
			return err
		}
		_, err := tx.Exec(nameAgent, text+"x", "n")
		return err
	}
	beside := pgtest.Connect(t, url)
	var wg sync.WaitGroup
	for range each {
		for _, db := range []tables.DB{one, two} {
			wg.Go(func() {
				if err := db.Write(t.Context(), 0, add); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Go(func() {
		for range each {
			if _, err := beside.Exec(t.Context(), `UPDATE agents SET name = name || 'y' WHERE id = 'n'`); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	text := tables.String(row(t, one, agentNamed, "n")[0])
	if strings.Count(text, "x") != 2*each || strings.Count(text, "y") != each {
		t.Errorf("%d and %d changes are left of %d and %d", strings.Count(text, "x"), strings.Count(text, "y"), 2*each,
			each)
	}
}

// TestWrite_Cancelled checks that a queued write is withdrawn when its context is done, and is not
// run later. Readers do not queue, and another part has its own queue.
func TestWrite_Cancelled(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url)
	db := s.Tables(postgres.Catalog)
	beside := pgtest.Connect(t, url)
	if _, err := beside.Exec(t.Context(), `BEGIN; LOCK TABLE catalog_turn`); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for i := range 2 {
		wg.Go(func() {
			if err := db.Write(ctx, 0, func(tx tables.Tx) error {
				_, err := tx.Exec(addAgent, fmt.Sprint(i), nil)
				return err
			}); !errors.Is(err, context.Canceled) {
				t.Errorf("a write that was taken back: %v", err)
			}
		})
	}
	if n := row(t, db, countAgents)[0]; n != int64(0) {
		t.Errorf("%d agents", n)
	}
	if err := s.Tables(postgres.Memories).Write(t.Context(), 0, func(tx tables.Tx) error { return nil }); err != nil {
		t.Error(err)
	}
	cancel()
	wg.Wait()
	if _, err := beside.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), 0, func(tx tables.Tx) error {
		_, err := tx.Exec(addAgent, "after", nil)
		return err
	}); err != nil {
		t.Error(err)
	}
	if n := row(t, db, countAgents)[0]; n != int64(1) {
		t.Errorf("%d agents, want the one that was not taken back", n)
	}
}

// TestWrite_TurnTimeout checks that a process that stops during its turn is disconnected, that a
// process that waits for a turn times out, and that readers cannot write.
func TestWrite_TurnTimeout(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t)).Tables(postgres.Catalog)
	for name, want := range map[string]string{"idle_in_transaction_session_timeout": "20s", "lock_timeout": "30s",
		"transaction_isolation": "repeatable read"} {
		if err := db.Write(t.Context(), 0, func(tx tables.Tx) error {
			return tx.Query(setting, func(c []any) error {
				if c[0] != want {
					t.Errorf("%s = %v, want %s", name, c[0], want)
				}
				return nil
			}, name)
		}); err != nil {
			t.Error(err)
		}
	}
	if err := db.View(t.Context(), func(tx tables.Tx) error {
		_, err := tx.Exec(addAgent, "a", nil)
		return err
	}); err == nil {
		t.Error("a reader wrote")
	}
}

// TestTypes checks that columns and arguments have the types that package tables specifies, and
// that texts that PostgreSQL cannot store are rejected before anything is sent.
func TestTypes(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.URL(t))
	db := s.Tables(postgres.Memories)
	got := fmt.Sprintf("%#v", row(t, db, someTypes))
	if want := fmt.Sprintf("%#v", []any{int64(1), int64(2), int64(3), "ä", []byte{0, 0xff}, int64(1), int64(0), nil,
		0.5, 0.25}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := db.Write(t.Context(), 0, func(tx tables.Tx) error {
		_, err := tx.Exec(addMemory, tables.Raw("s"), tables.Raw("\x00\xff"), []byte(nil), tables.Raw("\xffa\x00"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if c := row(t, db, memoryText, tables.Raw("\x00\xff")); tables.String(c[0]) != "\xffa\x00" || c[1] == nil ||
		tables.String(c[1]) != "" {
		t.Errorf("got %q", c)
	}
	for name, c := range map[string]struct {
		arg    string
		reason string
		number int
	}{
		"nul": {"a\x00b", "NUL", 1}, "utf-8": {"\xff", "UTF-8", 1}, "surrogate": {"\xed\xa0\x80", "UTF-8", 1},
		"half": {"\xc3", "UTF-8", 1},
	} {
		err := s.Tables(postgres.Catalog).Write(t.Context(), 0, func(tx tables.Tx) error {
			_, err := tx.Exec(addAgent, "a", c.arg)
			return err
		})
		if e, ok := errors.AsType[*tables.TextError](err); !ok || e.Arg != c.number ||
			!strings.Contains(e.Reason, c.reason) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var long strings.Builder // digests, which cannot be compressed below the limit
	for i := range 100 {
		fmt.Fprintf(&long, "%x", sha256.Sum256([]byte{byte(i)}))
	}
	err := s.Tables(postgres.Catalog).Write(t.Context(), 0, func(tx tables.Tx) error {
		_, err := tx.Exec(addAgent, long.String(), nil)
		return err
	})
	if e, ok := errors.AsType[*tables.TextError](err); !ok || e.What != "agents" ||
		!strings.Contains(e.Reason, "too long") {
		t.Errorf("a long id: %.200v", err)
	}
}

// TestTablesRestart checks that after each kind of server shutdown the next calls succeed, although
// the idle connections in the pool are dead.
func TestTablesRestart(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Config{})
	db := open(t, server.URL(t)).Tables(postgres.Catalog)
	for i, m := range []pgtest.Mode{pgtest.Fast, pgtest.Immediate, pgtest.Kill} {
		var wg sync.WaitGroup
		for range 5 { // several connections
			wg.Go(func() { row(t, db, countAgents) })
		}
		wg.Wait()
		server.Restart(t, m)
		if err := db.Write(t.Context(), 0, func(tx tables.Tx) error {
			_, err := tx.Exec(addAgent, fmt.Sprint(i), nil)
			return err
		}); err != nil {
			t.Errorf("mode %d: %v", m, err)
		}
		if n := row(t, db, countAgents)[0]; n != int64(i+1) {
			t.Errorf("mode %d: %d agents, want %d", m, n, i+1)
		}
	}
	server.Stop(t, pgtest.Fast)
	err := db.Write(t.Context(), 0, func(tables.Tx) error { return nil })
	if !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("without a server: %v", err)
	}
	server.Start(t)
}

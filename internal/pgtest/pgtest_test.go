package pgtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hocket-run/hocket/internal/leaktest"
)

// child makes the test binary start a server, print its folder, and end as the value specifies.
const child = "HOCKET_PGTEST_CHILD"

func TestMain(m *testing.M) {
	if how := os.Getenv(child); how != "" {
		s, err := newServer(Config{})
		if err != nil {
			panic(err)
		}
		if err := s.pool(pooler(), filepath.Join(s.Dir, "pool0")); err != nil {
			panic(err)
		}
		fmt.Println(s.Dir, s.children["pool0"])
		if how == "panic" {
			panic("on purpose")
		}
		if how == "kill" {
			select {}
		}
		os.Exit(0)
	}
	leaktest.Main(m)
}

func one[T any](t *testing.T, c *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	rows, err := c.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	v, err := pgx.CollectOneRow(rows, pgx.RowTo[T])
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func do(t *testing.T, c *pgx.Conn, sql string) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// TestSchemas checks that each test has its own schema on one server, which is dropped with those
// that belong to it, and that no other schema is dropped.
func TestSchemas(t *testing.T) {
	t.Parallel()
	var inner string
	t.Run("one", func(t *testing.T) {
		at := URL(t)
		c := Connect(t, at)
		inner = one[string](t, c, "SELECT replace(current_setting('search_path'), '\"', '')")
		if !strings.HasSuffix(at, "schema="+inner) {
			t.Errorf("%s has the search path %s", at, inner)
		}
		if other := URL(t); other == at {
			t.Error("two tests have the schema", at)
		}
		for _, name := range []string{inner, inner + "_n2", "kept_" + inner} {
			do(t, c, "CREATE SCHEMA "+name)
		}
		do(t, c, "CREATE TABLE x (y text); INSERT INTO x VALUES ('a')")
		if one[string](t, c, "SELECT y FROM "+inner+".x") != "a" {
			t.Error("the table is not in the schema")
		}
	})
	left := one[string](t, Connect(t, Shared(t).Superuser(Name)),
		"SELECT string_agg(nspname, ' ') FROM pg_namespace WHERE nspname LIKE '%' || $1::text || '%'", "_"+inner)
	Shared(t).Exec(t, "DROP SCHEMA kept_"+inner+" CASCADE")
	if left != "kept_"+inner {
		t.Errorf("schemas that are left: %s", left)
	}
}

// TestServer checks that commits are durable, the user is not a superuser, many connections are
// possible, and dependencies on the collation are detected.
func TestServer(t *testing.T) {
	t.Parallel()
	c := Connect(t, URL(t))
	for name, want := range map[string]string{"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
		"max_connections": maxConnections(), "listen_addresses": "", "is_superuser": "off", "server_encoding": "UTF8"} {
		if got := one[string](t, c, "SELECT current_setting($1)", name); got != want {
			t.Errorf("%s = %q, not %q", name, got, want)
		}
	}
	found, err := find()
	if err != nil {
		t.Fatal(err)
	}
	if one[bool](t, c, "SELECT 'B' < 'a'") == (found.major >= 15) {
		t.Error("the collation is that of C")
	}
	if found.major < Oldest ||
		one[int](t, c, "SELECT current_setting('server_version_num')::int / 10000") != found.major {
		t.Errorf("version %d", found.major)
	}
	d := Connect(t, Shared(t).Database(t))
	do(t, d, "CREATE SCHEMA hocket")
}

// TestRestart checks that committed data is there after each kind of stop, at the same address.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := Start(t, Config{})
	at := s.Superuser(Name)
	do(t, Connect(t, at), "CREATE TABLE x (y int)")
	for i, m := range []Mode{Fast, Immediate, Kill} {
		c := Connect(t, at)
		do(t, c, fmt.Sprintf("INSERT INTO x VALUES (%d)", i))
		s.Stop(t, m)
		if _, err := pgx.Connect(t.Context(), at); err == nil {
			t.Error("a server that was stopped accepts connections")
		}
		if _, err := c.Exec(t.Context(), "SELECT"); err == nil {
			t.Error("a session outlived its server")
		}
		s.Start(t)
		s.Start(t) // no effect on a running server
		if n := one[int](t, Connect(t, at), "SELECT count(*) FROM x"); n != i+1 {
			t.Errorf("mode %d: %d rows, not %d", m, n, i+1)
		}
	}
	if !strings.Contains(s.Said(t), "automatic recovery in progress") {
		t.Error("the log tells of no recovery")
	}
}

// TestServer_EndsWithProcess checks that a server ends with its process, however that ends, and
// leaves nothing behind.
func TestServer_EndsWithProcess(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"exit", "panic", "kill"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c := exec.CommandContext(t.Context(), os.Args[0])
			c.Env = append(os.Environ(), child+"="+how)
			out, err := c.StdoutPipe()
			if err == nil {
				err = c.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			dir, pid, _ := strings.Cut(strings.TrimSpace(line), " ")
			if how == "kill" {
				if _, err := os.Stat(filepath.Join(dir, "data", "postmaster.pid")); err != nil {
					t.Error(err)
				}
				_ = c.Process.Kill()
			}
			_ = c.Wait()
			for until := time.Now().Add(startTimeout); ; time.Sleep(10 * time.Millisecond) {
				_, left := os.Stat(dir)
				running, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline")) // empty for a zombie
				if errors.Is(left, fs.ErrNotExist) && !strings.Contains(string(running), dir) {
					return
				}
				if time.Now().After(until) {
					t.Fatalf("%s is left, or its pooler %s: %s", dir, pid, running)
				}
			}
		})
	}
}

// TestMissing checks that without programs the error names the command that installs them, and that
// programs that are too old count as missing.
func TestMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	none := func(string) (string, error) { return "", exec.ErrNotFound }
	if _, err := findIn(none, []string{dir}); !errors.Is(err, errMissing) ||
		!strings.Contains(err.Error(), "apt-get install") {
		t.Errorf("got %v", err)
	}
	for name, version := range map[string]string{"old": "13.9 (Debian 13.9-0)", "new": "17rc1", "odd": ""} {
		text := "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + "'\n"
		for _, program := range []string{"initdb", "postgres"} {
			path := filepath.Join(dir, name, program)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
				os.WriteFile(path, []byte(text), 0o755)); err != nil {
				t.Fatal(err)
			}
		}
	}
	found, err := findIn(none, []string{filepath.Join(dir, "*")})
	if err != nil || found != (programsFound{filepath.Join(dir, "new"), 17}) {
		t.Errorf("got %v, %v", found, err)
	}
}

// TestTCP checks that connections through TCP require the password, and that TLS also requires the
// certificate of the authority.
func TestTCP(t *testing.T) {
	t.Parallel()
	s := Start(t, Config{TCP: true, TLS: true, Settings: map[string]string{"work_mem": "5MB"}})
	try := func(change func(at *pgx.ConnConfig)) error {
		t.Helper()
		at := s.TCP(t)
		at.RawQuery = "sslmode=verify-full&sslrootcert=" + s.Authority
		cfg, err := pgx.ParseConfig(at.String())
		if err != nil {
			t.Fatal(err)
		}
		change(cfg)
		c, err := pgx.ConnectConfig(t.Context(), cfg)
		if err != nil {
			return err
		}
		if got := one[string](t, c, "SHOW work_mem"); got != "5MB" {
			t.Errorf("work_mem = %s", got)
		}
		return c.Close(t.Context())
	}
	if err := try(func(*pgx.ConnConfig) {}); err != nil {
		t.Error(err)
	}
	var refused *pgconn.PgError
	if err := try(func(c *pgx.ConnConfig) { c.Password = "wrong" }); !errors.As(err, &refused) ||
		refused.Code != "28P01" {
		t.Errorf("wrong password: %v", err)
	}
	if err := try(func(c *pgx.ConnConfig) { c.TLSConfig = nil }); !errors.As(err, &refused) || refused.Code != "28000" {
		t.Errorf("without TLS: %v", err)
	}
	if err := try(func(c *pgx.ConnConfig) {
		c.TLSConfig.RootCAs = nil
		c.TLSConfig.VerifyConnection = nil
	}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without authority: %v", err)
	}
}

// TestProxy checks that bytes are delayed or held, and connections reset.
func TestProxy(t *testing.T) {
	t.Parallel()
	p := NewProxy(t, URL(t))
	c := Connect(t, p.URL())
	if one[int](t, c, "SELECT 1") != 1 || p.Connections() != 1 {
		t.Errorf("%d connections", p.Connections())
	}
	const delay = 30 * time.Millisecond
	p.Delay(delay)
	begin := time.Now()
	do(t, c, "SELECT")
	if took := time.Since(begin); took < 2*delay {
		t.Errorf("a question and its answer took %s", took)
	}
	p.Delay(0)
	p.Hold()
	answered := make(chan error, 1)
	go func() {
		_, err := c.Exec(context.WithoutCancel(t.Context()), "SELECT")
		answered <- err
	}()
	short, cancel := context.WithTimeout(t.Context(), delay)
	defer cancel()
	if _, err := pgx.Connect(short, p.URL()); err == nil {
		t.Error("a connection while everything is held")
	}
	select {
	case err := <-answered:
		t.Errorf("an answer while everything is held: %v", err)
	default:
	}
	p.Release()
	if err := <-answered; err != nil {
		t.Error(err)
	}
	p.Reset()
	if _, err := c.Exec(t.Context(), "SELECT"); err == nil {
		t.Error("an answer after a reset")
	}
	if one[int](t, Connect(t, p.URL()), "SELECT 2") != 2 {
		t.Error("no new connection after a reset")
	}
}

// BenchmarkURL measures the cost of a test's schema with one table.
func BenchmarkURL(b *testing.B) {
	Shared(b)
	for b.Loop() {
		s := Shared(b)
		_, schema, _ := strings.Cut(s.URL(b), "schema=")
		s.Exec(b, "CREATE SCHEMA "+schema+" CREATE TABLE x (y int)")
		s.drop(b, schema)
	}
}

// TestPooler checks that through the pooler a client gets a different session of the server for
// each transaction.
func TestPooler(t *testing.T) {
	t.Parallel()
	s := Start(t, Config{})
	through := NewPooler(t, s)
	at := through(s.URL(t))
	cfg, err := pgx.ParseConfig(strings.Replace(at, "schema=", "application_name=", 1))
	if err != nil {
		t.Fatal(err)
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	c, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if pid := one[uint32](t, c, "SELECT pg_backend_pid()"); pid == c.PgConn().PID() {
		t.Error("the session is the client's own")
	}
	do(t, c, "CREATE TABLE x (y int)")
	if n := one[int](t, Connect(t, s.Superuser(Name)), "SELECT count(*) FROM x"); n != 0 {
		t.Errorf("%d rows", n)
	}
}

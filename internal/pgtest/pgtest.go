package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// shared is the server of this process. It runs until the process ends.
var shared = sync.OnceValues(func() (*Server, error) { return newServer(Config{}) })

// Shared returns the server of this process, which other tests use at the same time. The test fails
// if there is none.
func Shared(t testing.TB) *Server {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatal("PostgreSQL: ", err)
	}
	return s
}

// Start starts a server for this test alone and stops it when the test ends.
func Start(t testing.TB, cfg Config) *Server {
	t.Helper()
	s, err := newServer(cfg)
	if err != nil {
		t.Fatal("PostgreSQL: ", err)
	}
	t.Cleanup(s.close)
	return s
}

// Programs returns the folder of the programs that servers use. pg_dump and similar programs of the
// same version are there too.
func Programs(t testing.TB) string {
	t.Helper()
	found, err := find()
	if err != nil {
		t.Fatal(err)
	}
	return found.dir
}

// URL returns the URL of a schema on the server of this process: see [Server.URL].
func URL(t testing.TB) string {
	t.Helper()
	return Shared(t).URL(t)
}

// schemas counts the schemas and databases of this process, for their names.
var schemas atomic.Int64

func newSchema() string { return "t" + strconv.FormatInt(schemas.Add(1), 10) }

// URL returns the URL of the database [Name] through the socket, for [User], with a separate schema
// in the parameter schema: postgres://hocket@/hocket?host=DIR&port=5432&schema=t1. The schema does
// not exist yet. When the test ends, it is dropped along with all schemas whose names continue it
// after an underscore.
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	schema := newSchema()
	t.Cleanup(func() { s.drop(t, schema) })
	return s.url(User, Name, schema)
}

// Database creates an empty database that [User] owns, and returns its URL through the socket. It
// is dropped when the test ends. This takes some 50 ms.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	found, err := find()
	if err != nil {
		t.Fatal(err)
	}
	name := "d" + strconv.FormatInt(schemas.Add(1), 10)
	s.Exec(t, s.createDatabase(name, found.major))
	t.Cleanup(func() {
		if s.running() {
			s.Exec(t, "DROP DATABASE "+name+" WITH (FORCE)")
		}
	})
	return s.url(User, name, "")
}

// TCP returns a URL like that of [Server.URL], but through the server's TCP port and with the
// password. The caller adds sslmode and anything else it needs.
func (s *Server) TCP(t testing.TB) *url.URL {
	t.Helper()
	if s.Port == 0 {
		t.Fatal("the server has no port: start one with TCP")
	}
	u, err := url.Parse(s.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Del("host")
	q.Del("port")
	u.User, u.Host, u.RawQuery = url.UserPassword(User, Password), "127.0.0.1:"+strconv.Itoa(s.Port), q.Encode()
	return u
}

// Superuser returns the URL of a database through the socket for the superuser.
func (s *Server) Superuser(database string) string { return s.url(superuser, database, "") }

func (s *Server) url(user, database, schema string) string {
	q := url.Values{"host": {s.Dir}, "port": {"5432"}}
	if s.Port != 0 {
		q.Set("port", strconv.Itoa(s.Port)) // it also names the socket
	}
	if schema != "" {
		q.Set("schema", schema)
	}
	return (&url.URL{Scheme: "postgres", User: url.User(user), Host: "", Path: "/" + database,
		RawQuery: q.Encode()}).String()
}

// Exec runs a statement as the superuser in the database [Name].
func (s *Server) Exec(t testing.TB, sql string) {
	t.Helper()
	if err := s.query(superuser, Name, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// drop removes a schema and those whose names continue it, without locking all of them at once.
func (s *Server) drop(t testing.TB, schema string) {
	t.Helper()
	if !s.running() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	c, err := pgx.Connect(ctx, s.url(superuser, Name, ""))
	if err != nil {
		t.Errorf("drop a schema: %v", err)
		return
	}
	defer func() { _ = c.Close(ctx) }()
	rows, err := c.Query(ctx,
		"SELECT nspname::text FROM pg_namespace WHERE nspname = $1 OR starts_with(nspname::text, $1 || '_')", schema)
	if err == nil {
		var names []string
		if names, err = pgx.CollectRows(rows, pgx.RowTo[string]); err == nil {
			for _, name := range names {
				if _, err = c.Exec(ctx, "SET client_min_messages = error; SET synchronous_commit = off; DROP SCHEMA "+
					pgx.Identifier{name}.Sanitize()+" CASCADE"); err != nil {
					break
				}
			}
		}
	}
	if err != nil {
		t.Errorf("drop a schema: %v", err)
	}
}

// Connect opens a connection to a URL of this package, for a test's own reads and writes. It is
// closed when the test ends. The search path is the schema of the URL.
func Connect(t testing.TB, at string) *pgx.Conn {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if schema := q.Get("schema"); schema != "" {
		q.Del("schema")
		q.Set("search_path", pgx.Identifier{schema}.Sanitize())
	}
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	c, err := pgx.Connect(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	return c
}

// Mode is the way in which a server is stopped.
type Mode int

const (
	// Fast ends all sessions, rolls back their transactions and writes everything to disk.
	Fast Mode = iota
	// Immediate ends all processes without writing anything: the next start recovers from the log.
	Immediate
	// Kill simulates a machine failure for the server's processes: SIGKILL to all of them.
	Kill
)

// Stop stops the server and waits until it has ended. It has no effect on a stopped server.
func (s *Server) Stop(t testing.TB, m Mode) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pid == 0 {
		return
	}
	if err := send(s.pid, stopSignal(m)); err != nil {
		t.Fatal(fmt.Errorf("stop a server: %w", err))
	}
	wait(s.pid)
	s.pid = 0
}

// Start starts the stopped server, and waits until it accepts connections. Socket and port stay the
// same.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pid != 0 {
		return
	}
	if err := s.launch(); err != nil {
		t.Fatal(err)
	}
}

// Revive starts the server if it ended by itself, as it does when its disk is full.
func (s *Server) Revive(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	if s.pid != 0 && ended(s.pid) {
		s.pid = 0
	}
	s.mu.Unlock()
	s.Start(t)
}

// Restart stops and starts the server.
func (s *Server) Restart(t testing.TB, m Mode) {
	t.Helper()
	s.Stop(t, m)
	s.Start(t)
}

// Said returns the contents of the server's log.
func (s *Server) Said(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(s.Log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (s *Server) running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pid != 0
}

// New starts a server for a program that is not a test. The program must call [Server.Close].
func New(cfg Config) (*Server, error) { return newServer(cfg) }

// Close stops the server and removes its folder.
func (s *Server) Close() { s.close() }

// Address returns the URL of a schema of the database [Name] through the socket, for [User]. The
// schema is neither created nor dropped at the end.
func (s *Server) Address(schema string) string { return s.url(User, Name, schema) }

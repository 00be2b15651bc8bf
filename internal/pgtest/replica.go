package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Replica starts a server that is a copy of s and follows it, until the test ends. Connections to
// it are read-only. See [Server.Promote] and [Server.Await].
func (s *Server) Replica(t testing.TB) *Server {
	t.Helper()
	r, err := makeServer(s.cfg, func(r *Server, _ int) error {
		port := "5432"
		if s.Port != 0 {
			port = strconv.Itoa(s.Port)
		}
		c := exec.CommandContext(context.Background(), filepath.Join(r.bin, "pg_basebackup"), "-D", r.data(), "-h",
			s.Dir, "-p", port, "-U", superuser, "-R", "-X", "stream", "-c", "fast", "--no-sync")
		if err := r.prepare(c); err != nil {
			return err
		}
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("pg_basebackup: %w\n%s", err, out)
		}
		return r.launch()
	})
	if err != nil {
		t.Fatal("PostgreSQL: ", err)
	}
	t.Cleanup(r.close)
	return r
}

// Await makes commits wait for a replica from now on (synchronous replication), or no longer wait
// if replica is false.
func (s *Server) Await(t testing.TB, replica bool) {
	t.Helper()
	names := "''"
	if replica {
		names = "'*'"
	}
	s.Exec(t, "ALTER SYSTEM SET synchronous_standby_names = "+names)
	s.Exec(t, "SELECT pg_reload_conf()")
}

// Promote makes a replica an independent, writable server.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	s.Exec(t, "SELECT pg_promote()")
}

// HasAll reports whether replica s has everything that its server, of, has written so far.
func (s *Server) HasAll(t testing.TB, of *Server) bool {
	t.Helper()
	var end, has string
	of.scan(t, "SELECT pg_current_wal_lsn()::text", &end)
	s.scan(t, "SELECT (pg_last_wal_replay_lsn() >= '"+end+"'::pg_lsn)::text", &has)
	return has == "true"
}

// scan reads the single value that a superuser's statement returns.
func (s *Server) scan(t testing.TB, sql string, into *string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	c, err := pgx.Connect(ctx, s.url(superuser, Name, ""))
	if err == nil {
		err = errors.Join(c.QueryRow(ctx, sql).Scan(into), c.Close(ctx))
	}
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// Hosts returns at, a URL that [Server.URL] of s returned, with two hosts, s and other: clients use
// the one that is writable.
func (s *Server) Hosts(t testing.TB, at string, other *Server) string {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	ports := [2]string{}
	for i, o := range []*Server{s, other} {
		ports[i] = "5432"
		if o.Port != 0 {
			ports[i] = strconv.Itoa(o.Port)
		}
	}
	q.Set("host", s.Dir+","+other.Dir)
	q.Set("port", ports[0]+","+ports[1])
	q.Set("target_session_attrs", "read-write")
	u.RawQuery = q.Encode()
	return u.String()
}

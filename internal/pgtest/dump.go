package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Dump returns the contents of a database created by [Server.Database], as pg_dump writes them:
// bytes are written as hexadecimal digits.
func (s *Server) Dump(t testing.TB, at string) string {
	t.Helper()
	text, err := s.client("pg_dump", "", "--dbname="+at)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Restore resets a database created by [Server.Database] to exactly its contents at the time of the
// dump. Connections to it are ended.
func (s *Server) Restore(t testing.TB, at, dump string) {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	name := pgx.Identifier{strings.TrimPrefix(u.Path, "/")}.Sanitize()
	s.Exec(t, "DROP DATABASE "+name+" WITH (FORCE)")
	s.Exec(t, "CREATE DATABASE "+name+" OWNER "+User)
	if _, err := s.client("psql", dump, "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--dbname="+at); err != nil {
		t.Fatal(err)
	}
}

// client runs a PostgreSQL client program, and returns its output.
func (s *Server) client(name, in string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	if err := s.prepare(c); err != nil {
		return "", err
	}
	var out, problems bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(in), &out, &problems
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s: %w", name, errors.Join(err, errors.New(problems.String())))
	}
	return out.String(), nil
}

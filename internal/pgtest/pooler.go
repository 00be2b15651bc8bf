package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const poolerPort = 6432

// pooling is the configuration of a pooler that lends a server's session for one transaction at a
// time.
const pooling = `[databases]
* = host=%[1]s port=%[2]d
[pgbouncer]
pool_mode = transaction
listen_addr =
listen_port = %[3]d
unix_socket_dir = %[4]s
auth_type = trust
auth_file = %[4]s/users
max_client_conn = 500
default_pool_size = 4
logfile = %[4]s/log
`

// NewPooler starts pgbouncer in transaction mode in front of a server, until the test ends. The
// returned function rewrites URLs, such as those of [Server.URL], to go through the pooler. Its few
// sessions change hands with each transaction.
func NewPooler(t testing.TB, s *Server) func(at string) string {
	t.Helper()
	program := pooler()
	if program == "" {
		t.Fatal("pgbouncer is not on this machine: run `apt-get install -y --no-install-recommends pgbouncer`, or " +
			"`make test`")
	}
	dir := filepath.Join(s.Dir, "pool"+strconv.FormatInt(schemas.Add(1), 10))
	if err := s.pool(program, dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.endChild(filepath.Base(dir)) })
	through := func(at string) string {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		q.Set("host", dir)
		q.Set("port", strconv.Itoa(poolerPort))
		u.RawQuery = q.Encode()
		return u.String()
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		c, err := pgx.Connect(ctx, through(s.url(User, Name, "")))
		if err == nil {
			_ = c.Close(ctx)
			return through
		}
		if ctx.Err() != nil {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Fatalf("the pooler accepts no connection: %v\n%s", err, log)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// pooler returns the path of pgbouncer, or "" if there is none. Debian's is not in users' PATH.
func pooler() string {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// pool starts a pooler in a folder that does not exist yet.
func (s *Server) pool(program, dir string) error {
	port := 5432
	if s.Port != 0 {
		port = s.Port
	}
	name := filepath.Base(dir)
	err := errors.Join(os.Mkdir(dir, 0o711), chownToServer(dir),
		s.write(name+"/users", fmt.Appendf(nil, "\"%s\" \"\"\n\"%s\" \"\"\n", User, superuser)),
		s.write(name+"/ini", fmt.Appendf(nil, pooling, s.Dir, port, poolerPort, dir)))
	if err != nil {
		return err
	}
	c := exec.CommandContext(context.Background(), program, "-q", filepath.Join(dir, "ini"))
	if err := s.prepare(c); err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return fmt.Errorf("start a pooler: %w", err)
	}
	s.mu.Lock()
	s.children[name] = c.Process.Pid
	s.mu.Unlock()
	return errors.Join(s.write(name+"/pid", []byte(strconv.Itoa(c.Process.Pid))), c.Process.Release())
}

// endChild ends a pooler.
func (s *Server) endChild(name string) {
	s.mu.Lock()
	pid := s.children[name]
	delete(s.children, name)
	s.mu.Unlock()
	if pid != 0 && send(pid, os.Kill) == nil {
		wait(pid)
	}
}

package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hocket-run/hocket/internal/certtest"
)

// Config describes a server. Its zero value listens only on a Unix socket and trusts everyone who
// can reach it.
type Config struct {
	// TCP makes the server also listen on a free port of 127.0.0.1, where the user needs [Password]
	// (scram-sha-256).
	TCP bool
	// TLS makes it reject TCP connections without TLS. Its certificate is signed by the authority
	// in [Server.Authority], for the names localhost and 127.0.0.1.
	TLS bool
	// Below is the folder in which the server's own folder is created; "" means the folder of
	// temporary files.
	Below string
	// Settings are server parameters that supplement or replace those of this package:
	// {"synchronous_commit": "off"}.
	Settings map[string]string
}

// User owns the database [Name]. It is not a superuser. Password is for TCP connections.
const (
	User     = "hocket"
	Name     = "hocket"
	Password = "pg p@ss:word/1"
)

const superuser = "postgres"

// startTimeout is the maximum time that a server may need to start or to stop, on a busy machine.
const startTimeout = 2 * time.Minute

// Server is a running server. Its methods are safe for concurrent use.
type Server struct {
	// Dir is the folder of the socket. Log is the server's log file.
	Dir, Log string
	// Port is its port on 127.0.0.1, 0 without TCP. Authority is a file with the certificate with
	// which clients verify the server, "" without TLS.
	Port      int
	Authority string

	cfg     Config
	bin     string
	mu      sync.Mutex
	pid     int // 0 means stopped
	watcher int
	// children are the poolers, by folder.
	children map[string]int
	lifePipe *os.File // the pipe whose end stops the server
	// spare are the schemas of tests that ended, with the tables of a store: see Reused.
	spare []string
}

// settings are tuned for tests: many connections, little memory, no file outside the folder, and
// nothing that is safe only by luck. Each read of pg_locks, by which stores see who is alive, takes
// longer with more connections, whether they are used or not.
var settings = map[string]string{
	"fsync": "on", "max_connections": maxConnections(), "shared_buffers": "16MB",
	"dynamic_shared_memory_type": "mmap",
	"listen_addresses":           "", "unix_socket_permissions": "0777",
	"max_wal_size": "256MB", "min_wal_size": "32MB", "timezone": "Asia/Kathmandu", "log_timezone": "UTC",
	"lc_messages": "C", "logging_collector": "off", "max_prepared_transactions": "0",
}

// maxConnections returns the maximum number of connections of a server: for as many tests at once
// as there are processors, each with several stores.
func maxConnections() string { return strconv.Itoa(100 * (1 + max(2, runtime.GOMAXPROCS(0)))) }

// newServer creates a folder, a watcher and a data folder, and starts the server. After an error
// everything it has created is removed.
func newServer(cfg Config) (*Server, error) {
	return makeServer(cfg, func(s *Server, major int) error {
		if err := s.initialize(major); err != nil {
			return err
		}
		if err := s.launch(); err != nil {
			return err
		}
		return s.populate(major)
	})
}

// makeServer creates a server; fill creates its data folder and starts it.
func makeServer(cfg Config, fill func(s *Server, major int) error) (_ *Server, err error) {
	found, err := find()
	if err != nil {
		return nil, err
	}
	dir, err := folder(cfg.Below)
	if err != nil {
		return nil, err
	}
	s := &Server{Dir: dir, Log: filepath.Join(dir, "log"), cfg: cfg, bin: found.dir, children: map[string]int{}}
	if err := s.watch(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if cfg.TCP {
		if s.Port, err = freePort(); err != nil {
			return nil, err
		}
	}
	return s, fill(s, found.major)
}

// folder creates a folder that the server account owns. The path of a socket has at most 107 bytes,
// and that account must be able to pass through all parent folders.
func folder(below string) (string, error) {
	const longest = 70
	var errs []error
	bases := []string{os.TempDir(), "/tmp", "/var/tmp"}
	if inMemory, ok := memoryFolder(); ok {
		bases = slices.Insert(bases, 0, inMemory)
	}
	if below != "" {
		bases = []string{below}
	}
	for _, base := range bases {
		if err := passable(base); err != nil || len(base) > longest {
			errs = append(errs, fmt.Errorf("%s cannot hold a server: it is too long or closed to other users: %w", base,
				err))
			continue
		}
		dir, err := os.MkdirTemp(base, "hocket-pg-")
		if err == nil {
			err = chownToServer(dir)
		}
		if err == nil {
			err = os.Chmod(dir, 0o711) // other users can reach the socket but not list the folder
		}
		if err == nil {
			return dir, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// passable returns an error that explains why other users cannot pass through a folder.
func passable(dir string) error {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	for ; ; dir = filepath.Dir(dir) {
		st, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if st.Mode().Perm()&1 == 0 {
			return fmt.Errorf("%s has the mode %04o", dir, st.Mode().Perm())
		}
		if filepath.Dir(dir) == dir {
			return nil
		}
	}
}

// watching waits for the end of its input, immediately stops the server with its poolers and
// removes the folder. A process id counts only if its command names the folder.
const watching = `cat >/dev/null
for f in "$1"/pool*/pid; do
  child=$(cat "$f" 2>/dev/null) || child=
  if [ -n "$child" ] && { [ ! -d /proc/self ] || grep -q "$1" "/proc/$child/cmdline" 2>/dev/null; }; then kill -KILL ` +
	`"$child"; fi
done
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) || pid=
if [ -n "$pid" ] && { [ ! -d /proc/self ] || grep -q "$1" "/proc/$pid/cmdline" 2>/dev/null; }; then
  kill -QUIT "$pid"
  n=0
  while [ -e "$1/data/postmaster.pid" ] && kill -0 "$pid" 2>/dev/null && [ "$n" -lt 300 ]; do sleep 0.1; ` +
	`n=$((n+1)); done
  if [ "$n" -ge 300 ]; then kill -KILL "$pid"; fi
fi
rm -rf "$1" || { sleep 1; rm -rf "$1"; }`

// watch starts the process that stops the server when this process has ended.
func (s *Server) watch() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	c := exec.CommandContext(context.Background(), "/bin/sh", "-c", watching, "hocket-pgtest", s.Dir)
	c.Stdin, c.Dir = r, "/"
	asWatcher(c)
	if err := errors.Join(c.Start(), r.Close()); err != nil {
		return errors.Join(fmt.Errorf("start the watcher of a server: %w", err), w.Close())
	}
	s.watcher, s.lifePipe = c.Process.Pid, w
	return c.Process.Release()
}

// close stops the server and removes its folder.
func (s *Server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.lifePipe.Close()
	wait(s.watcher)
	if s.pid != 0 {
		wait(s.pid)
		s.pid = 0
	}
}

// initialize creates the data folder.
func (s *Server) initialize(major int) error {
	args := []string{"-D", s.data(), "-U", superuser, "--no-sync", "--no-instructions", "--encoding=UTF8", "--locale=C",
		"--auth=trust"}
	if major >= 15 { // the first version whose databases can sort by ICU
		args = append(args, "--locale-provider=icu", "--icu-locale=en")
	}
	c := exec.CommandContext(context.Background(), filepath.Join(s.bin, "initdb"), args...)
	if err := s.prepare(c); err != nil {
		return err
	}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	access := "local all all trust\nlocal replication all trust\n"
	switch {
	case s.cfg.TLS:
		authority, err := s.certify()
		if err != nil {
			return err
		}
		s.Authority = authority
		access += "hostssl all all 127.0.0.1/32 scram-sha-256\n"
	case s.cfg.TCP:
		access += "host all all 127.0.0.1/32 scram-sha-256\n"
	}
	return s.write("data/pg_hba.conf", []byte(access))
}

func (s *Server) data() string { return filepath.Join(s.Dir, "data") }

// prepare makes a command run as the server account, without environment variables about other
// servers.
func (s *Server) prepare(c *exec.Cmd) error {
	c.Dir, c.Env = s.Dir, []string{"PATH=" + s.bin + ":/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "HOME=" + s.Dir}
	return asServer(c)
}

// write writes a file of the server, accessible only to its account.
func (s *Server) write(name string, text []byte) error {
	path := filepath.Join(s.Dir, name)
	return errors.Join(os.WriteFile(path, text, 0o600), chownToServer(path))
}

// launch starts the server, and waits until it accepts connections.
func (s *Server) launch() error {
	all := maps.Clone(settings)
	all["unix_socket_directories"] = s.Dir
	if s.cfg.TCP {
		all["listen_addresses"], all["port"] = "127.0.0.1", strconv.Itoa(s.Port)
	}
	if s.cfg.TLS {
		all["ssl"], all["ssl_cert_file"], all["ssl_key_file"] = "on", filepath.Join(s.Dir, "server.crt"),
			filepath.Join(s.Dir, "server.key")
	}
	maps.Copy(all, s.cfg.Settings)
	args := []string{"-D", s.data()}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		args = append(args, "-c", name+"="+all[name])
	}
	until := time.Now().Add(startTimeout)
	for {
		err := s.launchOnce(args, until)
		// After a kill the shared memory is in use until the last session has ended.
		if err == nil || !strings.Contains(err.Error(), "pre-existing shared memory block") || time.Now().After(until) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (s *Server) launchOnce(args []string, until time.Time) error {
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	from, err := log.Seek(0, 2)
	if err != nil {
		return err
	}
	c := exec.CommandContext(context.Background(), filepath.Join(s.bin, "postgres"), args...)
	c.Stdout, c.Stderr = log, log
	if err := s.prepare(c); err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return fmt.Errorf("start a server: %w", err)
	}
	s.pid = c.Process.Pid
	if err := c.Process.Release(); err != nil {
		return err
	}
	for {
		err := s.query(superuser, "postgres", "SELECT")
		if err == nil {
			return nil
		}
		if ended(s.pid) {
			s.pid = 0
			text, e := os.ReadFile(s.Log)
			return errors.Join(fmt.Errorf("the server ended when it was started:\n%s",
				bytes.TrimSpace(text[min(int(from), len(text)):])), e)
		}
		if time.Now().After(until) {
			return fmt.Errorf("the server accepts no connection after %s: %w", startTimeout, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// populate creates the user and the database for tests.
func (s *Server) populate(major int) error {
	password := strings.ReplaceAll(Password, "'", "''")
	for _, sql := range []string{
		fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", User, password),
		s.createDatabase(Name, major),
	} {
		if err := s.query(superuser, "postgres", sql); err != nil {
			return fmt.Errorf("%s: %w", strings.Fields(sql)[1], err)
		}
	}
	return nil
}

// createDatabase returns the statement that creates a database owned by the test user.
func (s *Server) createDatabase(name string, major int) string {
	strategy := ""
	// the older strategy forces a checkpoint but logs less; the newer one is faster for a small
	// template
	if major >= 15 {
		strategy = " STRATEGY wal_log"
	}
	return fmt.Sprintf("CREATE DATABASE %s OWNER %s%s", pgx.Identifier{name}.Sanitize(), User, strategy)
}

// query runs a statement on its own connection, through the socket.
func (s *Server) query(user, database, sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	c, err := pgx.Connect(ctx, s.url(user, database, ""))
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, sql)
	return errors.Join(err, c.Close(ctx))
}

// freePort returns a port of 127.0.0.1 that was free at the time of the call.
func freePort() (int, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// certify writes a key and a certificate for the server, and returns the file with the certificate
// of the authority that signed it.
func (s *Server) certify() (string, error) {
	a, err := certtest.New()
	if err != nil {
		return "", err
	}
	cert, key, err := a.Issue("localhost")
	if err != nil {
		return "", err
	}
	authority := filepath.Join(s.Dir, "authority.crt")
	return authority, errors.Join(os.WriteFile(authority, a.PEM, 0o600), s.write("server.crt", cert),
		s.write("server.key", key))
}

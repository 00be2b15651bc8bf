package temporalserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hocket-run/hocket/internal/certtest"
)

// Version is the version of the server. It is part of the program's name, so that another version
// is built separately.
const Version = "v1.32.1"

// enabled is the environment variable that makes tests require a server.
const enabled = "HOCKET_TEMPORAL"

// Config configures a server. Its zero value keeps everything in memory and accepts every client.
type Config struct {
	// Postgres and Visibility are URLs of two PostgreSQL databases, both or none, as created by
	// pgtest.Server.Database. The server creates their schemas.
	Postgres, Visibility string
	// TLS makes the server reject clients without TLS, and, if there is no APIKey, clients without
	// the certificate of [Server.Cert].
	TLS bool
	// APIKey is the only accepted key; "" means that none is needed.
	APIKey string
}

// Server is a server for one test. Its methods are safe for concurrent use.
type Server struct {
	// Address is the host:port of the frontend. It stays the same when the server is restarted.
	Address string
	// CA, Cert and Key are files for clients with TLS, "" without TLS: the authority of the
	// server's certificate, and a certificate and key that the server accepts.
	CA, Cert, Key string

	program string
	flags   []string
	log     *os.File // an unlinked file

	mu      sync.Mutex
	process *exec.Cmd // nil if it is stopped
	in      io.WriteCloser
	out     *bufio.Reader
}

// find returns the path of the server program. Without HOCKET_TEMPORAL the test is skipped.
func find(t testing.TB) string {
	t.Helper()
	if os.Getenv(enabled) == "" {
		t.Skipf("needs a Temporal server; `make test-all` builds one and sets %s=1", enabled)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for above := dir; ; above = filepath.Dir(above) {
		path := filepath.Join(above, ".cache", "bin", "temporal-server-"+Version)
		if _, err := os.Stat(path); err == nil {
			return path
		}
		if filepath.Dir(above) == above {
			t.Fatalf("there is no program temporal-server-%s in .cache/bin above %s: `make temporal` builds it",
				Version, dir)
		}
	}
}

// Require skips or fails a test that needs a server, as [Start] and [Namespace] do, before the test
// does expensive work.
func Require(t testing.TB) { t.Helper(); find(t) }

// shared is the server of this process. It runs until the process ends.
var shared struct {
	mu sync.Mutex
	s  *Server
}

// names counts the namespaces of this process.
var names atomic.Int64

// Namespace registers a namespace for this test on the server of this process, which keeps
// everything in memory, and returns the server's address and the namespace.
func Namespace(t testing.TB) (address, namespace string) {
	t.Helper()
	program := find(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.s == nil {
		log, err := unlinkedFile()
		if err != nil {
			t.Fatal(err)
		}
		s := &Server{program: program, log: log}
		if err := s.start(); err != nil {
			t.Fatal(err)
		}
		shared.s = s
	}
	return shared.s.Address, shared.s.Namespace(t)
}

// Start starts a server for this test only, which ends with the test.
func Start(t testing.TB, cfg Config) *Server {
	t.Helper()
	s := &Server{program: find(t)}
	if cfg.Postgres != "" {
		s.flags = append(s.flags, "-postgres", cfg.Postgres, "-visibility", cfg.Visibility)
	}
	if cfg.TLS {
		if err := s.certify(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
	if cfg.APIKey != "" {
		s.flags = append(s.flags, "-api-key", cfg.APIKey)
	}
	var err error
	if s.log, err = unlinkedFile(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.end(os.Kill)
		_ = s.log.Close()
	})
	s.Start(t)
	return s
}

// Namespace registers a namespace with a unique name and returns the name.
func (s *Server) Namespace(t testing.TB) string {
	t.Helper()
	name := "t" + strconv.FormatInt(names.Add(1), 10)
	s.Register(t, name)
	return name
}

// Register registers a namespace without Hocket's search attributes.
func (s *Server) Register(t testing.TB, name string) { t.Helper(); s.command(t, "namespace "+name) }

// AddAttributes adds the search attributes HocketWorkflow and HocketStatus to a namespace.
func (s *Server) AddAttributes(t testing.TB, name string) {
	t.Helper()
	s.command(t, "attributes "+name)
}

func (s *Server) command(t testing.TB, line string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		t.Fatal("the Temporal server is stopped")
	}
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := s.out.ReadString('\n')
	if err != nil || answer != "done\n" {
		t.Fatalf("%s: %s%v\n%s", line, answer, err, s.said())
	}
}

// Kill ends the server immediately, like a failure of its machine. Stop lets it finish its work.
// Both wait until it has ended; they do nothing if the server is stopped.
func (s *Server) Kill(t testing.TB) { t.Helper(); s.end(os.Kill) }

// Stop shuts the server down gracefully; see [Server.Kill].
func (s *Server) Stop(t testing.TB) { t.Helper(); s.end(syscall.SIGTERM) }

func (s *Server) end(with os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(with) // it may have ended already
	_ = s.process.Wait()
	_ = s.in.Close()
	s.process = nil
}

// Start starts a stopped server at the same address, and waits until it answers. What it kept in
// memory is lost.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		return
	}
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// attempts is how often the start is tried if another process takes the free ports first.
const attempts = 3

func (s *Server) start() error {
	var errs error
	for range attempts {
		err := s.launch()
		if err == nil {
			return nil
		}
		errs = errors.Join(errs, err)
	}
	return errs
}

func (s *Server) launch() error {
	flags := s.flags
	if s.Address != "" {
		_, port, err := net.SplitHostPort(s.Address)
		if err != nil {
			return err
		}
		flags = append([]string{"-port", port}, flags...)
	}
	c := exec.CommandContext(context.Background(), s.program, flags...)
	c.Stderr = s.log
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return fmt.Errorf("start a Temporal server: %w", err)
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "ready ")
	if err != nil || !ok {
		_ = c.Process.Kill()
		_ = c.Wait()
		return fmt.Errorf("the Temporal server ended before it was ready (%q, %w):\n%s", line, err, s.said())
	}
	s.process, s.in, s.out, s.Address = c, in, lines, address
	return nil
}

// Said returns what the server has logged since it was first started, warnings and errors only.
func (s *Server) Said() string { return s.said() }

func (s *Server) said() string {
	text, err := io.ReadAll(io.NewSectionReader(s.log, 0, 1<<30))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// unlinkedFile returns a file that disappears when the process ends.
func unlinkedFile() (*os.File, error) {
	f, err := os.CreateTemp("", "temporal-log-")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// certify writes the certificates of server and client to a folder.
func (s *Server) certify(dir string) error {
	a, err := certtest.New()
	if err != nil {
		return err
	}
	s.CA, s.Cert, s.Key = filepath.Join(dir, "ca.pem"), filepath.Join(dir, "client.pem"),
		filepath.Join(dir, "client.key")
	serverCert, serverKey := filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key")
	s.flags = append(s.flags, "-tls-cert", serverCert, "-tls-key", serverKey, "-tls-ca", s.CA)
	cert, key, err := a.Issue("server")
	if err != nil {
		return err
	}
	clientCert, clientKey, err := a.Issue("client")
	return errors.Join(err, os.WriteFile(s.CA, a.PEM, 0o600), os.WriteFile(serverCert, cert, 0o600),
		os.WriteFile(serverKey, key, 0o600),
		os.WriteFile(s.Cert, clientCert, 0o600), os.WriteFile(s.Key, clientKey, 0o600))
}

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

// Version is that of the server. It is in the name of its program, so that another version is built anew.
const Version = "v1.32.1"

// enabled is the variable with which tests need a server.
const enabled = "HOCKET_TEMPORAL"

// Config describes a server. Its zero value keeps everything in memory and lets every client in.
type Config struct {
	// Postgres and Visibility are URLs of two databases of PostgreSQL, both or none, as pgtest.Server.Database makes them. Their schemas are made by the server.
	Postgres, Visibility string
	// TLS makes the server refuse clients without TLS, and without the certificate of [Server.Cert] where there is no APIKey.
	TLS bool
	// APIKey is the only one that is accepted; "": none is needed.
	APIKey string
}

// Server is a server of one test. Its methods are safe for concurrent use.
type Server struct {
	// Address is host:port of the frontend. It stays the same when the server is started again.
	Address string
	// CA, Cert and Key are files for clients with TLS, "" without it: the authority of the server's certificate, and a certificate with its key that the server accepts.
	CA, Cert, Key string

	program string
	flags   []string
	log     *os.File // it has no name any more

	mu      sync.Mutex
	process *exec.Cmd // nil: it is stopped
	in      io.WriteCloser
	out     *bufio.Reader
}

// find gives the program of the server. Without HOCKET_TEMPORAL the test is skipped.
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
			t.Fatalf("there is no program temporal-server-%s in .cache/bin above %s: `make temporal` builds it", Version, dir)
		}
	}
}

// Require skips a test that needs a server, and fails it, as [Start] and [Namespace] do: before it makes what is costly.
func Require(t testing.TB) { t.Helper(); find(t) }

// shared is the server of this process. It runs until the process ends.
var shared struct {
	mu sync.Mutex
	s  *Server
}

// names counts the namespaces of this process.
var names atomic.Int64

// Namespace registers a namespace for this test on the server of this process, which keeps everything in memory, and gives both.
func Namespace(t testing.TB) (address, namespace string) {
	t.Helper()
	program := find(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.s == nil {
		log, err := unnamed()
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

// Start starts a server for this test alone, which ends with it.
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
	if s.log, err = unnamed(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.end(os.Kill)
		_ = s.log.Close()
	})
	s.Start(t)
	return s
}

// Namespace registers a namespace with a name of its own and gives the name.
func (s *Server) Namespace(t testing.TB) string {
	t.Helper()
	name := "t" + strconv.FormatInt(names.Add(1), 10)
	s.Register(t, name)
	return name
}

// Register registers a namespace without search attributes of Hocket.
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

// Kill ends the server at once, as a failure of its machine does. Stop lets it end what it does. Both wait until it has ended; a server that is stopped stays so.
func (s *Server) Kill(t testing.TB) { t.Helper(); s.end(os.Kill) }

// Stop: see [Server.Kill].
func (s *Server) Stop(t testing.TB) { t.Helper(); s.end(syscall.SIGTERM) }

func (s *Server) end(with os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(with) // it may have ended
	_ = s.process.Wait()
	_ = s.in.Close()
	s.process = nil
}

// Start starts a server that was stopped, at the same address, and waits until it answers. What it kept in memory is gone.
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

// attempts is how often a server is started whose free ports another process took first.
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

// Said gives what the server has logged since it was started first, warnings and errors alone.
func (s *Server) Said() string { return s.said() }

func (s *Server) said() string {
	text, err := io.ReadAll(io.NewSectionReader(s.log, 0, 1<<30))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// unnamed gives a file that is gone when the process has ended.
func unnamed() (*os.File, error) {
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
	s.CA, s.Cert, s.Key = filepath.Join(dir, "ca.pem"), filepath.Join(dir, "client.pem"), filepath.Join(dir, "client.key")
	serverCert, serverKey := filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key")
	s.flags = append(s.flags, "-tls-cert", serverCert, "-tls-key", serverKey, "-tls-ca", s.CA)
	cert, key, err := a.Issue("server")
	if err != nil {
		return err
	}
	clientCert, clientKey, err := a.Issue("client")
	return errors.Join(err, os.WriteFile(s.CA, a.PEM, 0o600), os.WriteFile(serverCert, cert, 0o600), os.WriteFile(serverKey, key, 0o600),
		os.WriteFile(s.Cert, clientCert, 0o600), os.WriteFile(s.Key, clientKey, 0o600))
}

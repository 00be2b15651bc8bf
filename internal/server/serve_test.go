package server_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
)

// served is a running server. Its end carries the result of Serve.
type served struct {
	*world
	url  string
	stop context.CancelFunc
	end  chan error
	// entered receives a string for each request that is in its transport; release lets requests to
	// /wait/plain continue.
	entered chan string
	release chan struct{}
}

func serve(t *testing.T, cfg server.Config) *served {
	t.Helper()
	cfg.Addr = "127.0.0.1:0"
	s := &served{world: open(t, cfg), end: make(chan error, 1), entered: make(chan string, 10),
		release: make(chan struct{})}
	err := s.AddMount(server.Mount{Name: "wait", Patterns: []string{"/wait/"},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			s.entered <- r.URL.Path
			switch r.URL.Path {
			case "/wait/plain":
				<-s.release
			case "/wait/closing":
				<-transport.Closing(r.Context())
			default:
				<-r.Context().Done()
			}
			_, _ = io.WriteString(w, "whole")
		})})
	if err != nil {
		t.Fatal(err)
	}
	ln, start, err := s.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	s.url, s.stop = start.URL, stop
	go func() { s.end <- s.Serve(ctx, ln) }()
	t.Cleanup(stop)
	return s
}

// streamedResponse is a response whose head has arrived. read returns the rest.
type streamedResponse struct {
	path string
	read func() (string, error)
}

// get sends a request, and returns the response once its head has arrived.
func (s *served) get(t *testing.T, path, accept string) streamedResponse {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", accept)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return streamedResponse{path, func() (string, error) {
		text, err := io.ReadAll(answer.Body)
		return string(text), err
	}}
}

// TestServe_GracefulShutdown checks that event streams end immediately, requests in flight are
// answered completely, and Serve returns without an error.
func TestServe_GracefulShutdown(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{Grace: time.Minute})
	stream := s.get(t, "/wait/stream", "text/event-stream")
	long := s.get(t, "/wait/closing", "application/json")
	plain := s.get(t, "/wait/plain", "application/json")
	for range 3 {
		<-s.entered
	}
	s.stop()
	for _, answer := range []streamedResponse{stream, long} {
		if text, err := answer.read(); err != nil || text != "whole" {
			t.Errorf("%s ended with %q, %v", answer.path, text, err)
		}
	}
	select {
	case err := <-s.end:
		t.Fatalf("the server ended before a request was answered: %v", err)
	default:
	}
	if rec := s.ask(t, "GET", "/readyz", "", nil); rec.Code != 503 || problem(t, rec).Code != "unavailable" ||
		rec.Header().Get("Retry-After") == "" {
		t.Errorf("a server that ends is ready: %d %s", rec.Code, rec.Body)
	}
	if rec := s.ask(t, "GET", "/healthz", "", nil); rec.Code != 200 {
		t.Errorf("a server that ends is dead: %d", rec.Code)
	}
	close(s.release)
	if text, err := plain.read(); err != nil || text != "whole" {
		t.Errorf("a request under way got %q, %v", text, err)
	}
	if err := <-s.end; err != nil {
		t.Error(err)
	}
}

// TestServe_ShutdownTimeout checks that requests that take longer than the grace period are cut
// off, and that the server ends.
func TestServe_ShutdownTimeout(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{Grace: time.Millisecond})
	answer := s.get(t, "/wait/client", "application/json")
	<-s.entered
	s.stop()
	if err := <-s.end; err != nil {
		t.Error(err)
	}
	if text, err := answer.read(); err == nil {
		t.Errorf("what was broken off looks whole: %q", text)
	}
	if log := s.log.String(); !strings.Contains(log, "aborted") {
		t.Errorf("the log lacks what was broken off:\n%s", log)
	}
}

// TestServe_RequiresToken checks that an address that others can reach is not served without a
// token, whichever process opened it (SEC1).
func TestServe_RequiresToken(t *testing.T) {
	t.Parallel()
	s, err := server.Open(t.Context(), server.Config{Addr: "0.0.0.0:0", Service: service.Config{Documents: linked.Kit(),
		DB: service.Memory, Env: func(string) string { return "" }}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var unprotected *server.UnprotectedError
	if _, _, err := s.Listen(t.Context()); !errors.As(err, &unprotected) || service.CodeOf(err) != service.CodeInvalid {
		t.Errorf("listened: %v", err)
	}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(t.Context(), ln); !errors.As(err, &unprotected) {
		t.Errorf("served: %v", err)
	}
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is open: %v", err)
	}
}

// TestFirstToken checks that a fresh install on a loopback address creates one token, which works,
// is in a file readable only by its owner, and is not created again (SEC1).
func TestFirstToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, server.TokenFile), []byte("of another store"), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg := server.Config{Addr: "127.0.0.1:0", Service: service.Config{Documents: linked.Kit(),
		DB: filepath.Join(dir, "hocket.db"), Env: func(string) string { return "" }}}
	for i := range 2 {
		s, err := server.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		ln, start, err := s.Listen(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = ln.Close()
		if made := start.TokenFile == filepath.Join(dir, server.TokenFile) && start.Token != ""; made != (i == 0) {
			t.Errorf("start %d: %+v", i, start)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, server.TokenFile))
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(filepath.Join(dir, server.TokenFile)); err != nil || runtime.GOOS != "windows" &&
		st.Mode().Perm() != 0o600 {
		t.Errorf("the file of the token: %v, %v", st.Mode(), err)
	}
	w := open(t, cfg)
	rec := w.ask(t, "GET", "/test/who", "", func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(text)))
	})
	if rec.Code != 200 || !strings.HasPrefix(rec.Body.String(), "default ") {
		t.Errorf("the first token: %d %s", rec.Code, rec.Body)
	}
}

// TestHugeHeader checks that a connection with an endless head is rejected (SEC17).
func TestHugeHeader(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{})
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() {
		// it is not read to the end
		_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: "+strings.Repeat("x", 1<<20)+
			"\r\n\r\n")
	}()
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d", answer.StatusCode)
	}
}

// TestCertificate checks that the server speaks TLS, uses a renewed certificate without a restart,
// and keeps the previous one if the new one is broken.
func TestCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write := func(serial int64, at time.Time) *x509.CertPool {
		pool := x509.NewCertPool()
		c, k := certificate(t, serial)
		pool.AppendCertsFromPEM(c)
		for path, data := range map[string][]byte{cert: c, key: k} {
			if err := errors.Join(os.WriteFile(path, data, 0o600), os.Chtimes(path, at, at)); err != nil {
				t.Fatal(err)
			}
		}
		return pool
	}
	serial := func(s *served, pool *x509.CertPool) (int64, error) {
		d := tls.Dialer{Config: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}}
		c, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "https://"))
		if err != nil {
			return 0, err
		}
		defer c.Close()
		return c.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64(), nil
	}
	if _, err := server.Open(t.Context(), server.Config{Cert: cert, Key: key, Service: service.Config{
		Documents: linked.Kit(), DB: service.Memory,
	}}); service.CodeOf(err) != service.CodeInvalid {
		t.Errorf("without files: %v", err)
	}
	first := write(1, time.Unix(1_000_000, 0))
	s := serve(t, server.Config{Cert: cert, Key: key})
	if n, err := serial(s, first); n != 1 || err != nil {
		t.Errorf("the first: %d, %v", n, err)
	}
	second := write(2, time.Unix(2_000_000, 0))
	if n, err := serial(s, second); n != 2 || err != nil {
		t.Errorf("the renewed one: %d, %v", n, err)
	}
	if err := errors.Join(os.WriteFile(cert, []byte("broken"), 0o600),
		os.Chtimes(cert, time.Unix(3_000_000, 0), time.Unix(3_000_000, 0))); err != nil {
		t.Fatal(err)
	}
	if n, err := serial(s, second); n != 2 || err != nil {
		t.Errorf("after a broken one: %d, %v", n, err)
	}
}

// certificate creates a certificate for 127.0.0.1, with its key, in PEM.
func certificate(t *testing.T, serial int64) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(serial), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bytes})
}

// TestReadyz_Reasons checks that only a store that answers is reported as not writable: a refused
// connection says nothing about the rights.
func TestReadyz_Reasons(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for _, tc := range []struct {
		cause error
		want  string
	}{
		{fmt.Errorf("write heartbeat: %w", refused), "the store is temporarily unavailable"},
		{errors.New("attempt to write a readonly database"), "the store is not writable"},
	} {
		if got := server.WhyNotWritable(tc.cause); got != tc.want {
			t.Errorf("%v: %q", tc.cause, got)
		}
	}
}

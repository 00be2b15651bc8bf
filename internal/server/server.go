package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/inflight"
	"github.com/hocket-run/hocket/internal/memlimit"
	"github.com/hocket-run/hocket/internal/namespace"
	"github.com/hocket-run/hocket/internal/scheduler"
	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
)

// Server is one serving process. It is safe for concurrent use.
type Server struct {
	cfg        Config
	log        *slog.Logger
	tokens     Tokens
	namespaces Namespaces
	access     store.Access
	hooks      *hooks.Hooks
	audit      transport.Audit // nil means no audit
	tickets    Tickets         // nil means no tickets
	sessions   *access.Sessions
	cookie     string // name of the session cookie
	base       string // path of the public address, "" for the root
	revoked    access.Revocations
	failures   failures
	proxies    proxies
	flight     *inflight.Pool
	requests   atomic.Int64 // requests in flight counted by Limits.Requests
	hosts      *hosts
	cert       *certificate // nil means plain HTTP
	ready      readiness
	metrics    *metrics

	table     []Mount
	byPattern map[string]*Mount
	// fallback answers browsers at addresses without a mount, nil for none; taken are the first
	// path parts of mounts.
	fallback *Mount
	taken    map[string]bool
	mux      *http.ServeMux

	// leaving means that no new work is accepted; closing is closed when streams have to end, too.
	leaving atomic.Bool
	closing chan struct{}
	closed  sync.Once
	// reporting serializes the reports of schedules.
	reporting sync.Mutex
	// requestsWG tracks the requests in flight, and work the server's own background work until
	// stop.
	requestsWG, work sync.WaitGroup
	stop             context.CancelFunc
}

// Open opens stores and transports. Runs left by a previous server continue here, and the scheduler
// starts scheduled runs. The caller must call Close.
//
// It returns a *service.InvalidError if the configuration cannot be served, or an error of
// service.Open.
func Open(ctx context.Context, cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	keeper := cfg.Service.Keeper
	if keeper == nil {
		keeper = &secret.Keeper{}
		cfg.Service.Keeper = keeper
	}
	s := &Server{cfg: cfg, base: basePath(cfg.URL), log: slog.New(keeper.Handler(cfg.Service.Logger.Handler())),
		closing: make(chan struct{}), failures: failures{most: cfg.Limits.Failures}}
	s.flight = inflight.New(inflight.Config{Total: cfg.Limits.InFlight, Share: cfg.Limits.TokenInFlight})
	var err error
	if s.hosts, err = newHosts(cfg); err != nil {
		return nil, invalidSetting("hosts", "%w", err)
	}
	if s.proxies, err = parseProxies(cfg.TrustedProxies); err != nil {
		return nil, invalidSetting("trustedProxies", "server: trustedProxies: %w", err)
	}
	if cfg.Cert != "" {
		s.cert = &certificate{cert: cfg.Cert, key: cfg.Key, log: s.log}
		if _, err := s.cert.get(nil); err != nil {
			return nil, service.Refuse(errcode.CertificateUnusable, nil, err)
		}
	}
	if s.hooks, err = s.openHooks(); err != nil {
		return nil, err
	}
	carrier := cfg.Service.Carrier
	if carrier != nil {
		_ = carrier.Prepare(ctx) // Watch logs it, and readyz reports it
	}
	set, err := namespace.Open(ctx, namespace.Config{Service: cfg.Service, Prepare: s.prepare,
		Maintain: s.runNamespace, Idle: s.idleUntil})
	if err != nil {
		return nil, err
	}
	s.namespaces, s.access, s.audit = set, set.Store(), AuditLog{set.Store()}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.namespaces.Close())
	}
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.work.Go(func() { s.sweep(ctx) })
	if carrier != nil {
		s.work.Go(func() { carrier.Watch(ctx) })
	}
	return s, nil
}

func (s *Server) open(ctx context.Context) error {
	token := ""
	if s.cfg.Service.Env != nil {
		token = s.cfg.Service.Env(EnvToken)
	}
	if token != "" {
		if err := s.cfg.Service.Keeper.Add(EnvToken, token); err != nil {
			s.log.Debug("the token is not redacted from texts", "err", err)
		}
	}
	s.tokens = withEnv(access.NewTokens(access.Config{Store: s.access}), token)
	s.sessions, s.cookie = &access.Sessions{Store: s.access, Tokens: s.tokens}, s.cookieName()
	s.metrics = newMetrics(s.cfg.Service.Version, s.flight)
	mounts := s.probes()
	if !s.cfg.OnlyWork {
		shown, err := s.pageMounts()
		if err != nil {
			return err
		}
		mounts = slices.Concat(mounts, s.mounts(), shown)
	}
	names, err := s.namespaces.Names(ctx)
	if err != nil {
		return err
	}
	started, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, n := range names { // opening a namespace continues its interrupted runs
		if _, err := s.namespaces.Service(started, n); err != nil {
			s.log.Error("cannot open namespace", "namespace", n, "err", err)
		}
	}
	return s.mount(mounts)
}

// prepare stores the starting position of the notifications of a namespace, before a request can
// reach it. hooks.Maintain retries failures.
func (s *Server) prepare(ctx context.Context, namespace string, svc *service.Service) {
	if s.cfg.OnlyWork {
		return
	}
	if err := s.hooks.Begin(ctx, namespace, svc); err != nil {
		s.log.Warn("notifications of a namespace not started", "namespace", namespace, "err", err)
	}
}

// runNamespace performs the background work of a server for one namespace until ctx is done:
// schedules, interrupted runs, deadlines, notifications.
func (s *Server) runNamespace(ctx context.Context, namespace string, svc *service.Service) {
	if s.cfg.OnlyWork {
		svc.Maintain(ctx)
		return
	}
	var told sync.WaitGroup
	defer told.Wait()
	told.Go(func() { s.hooks.Maintain(ctx, namespace, svc) })
	if s.cfg.NoSchedules {
		svc.Maintain(ctx)
		return
	}
	q := s.cfg.Schedules
	if s.cfg.Report != nil {
		q.Report = func(e scheduler.Event) {
			s.reporting.Lock()
			defer s.reporting.Unlock()
			s.cfg.Report(namespace, e)
		}
	}
	if err := svc.Schedule(ctx, q); err != nil {
		s.log.Error("schedules do not run", "namespace", namespace, "err", err)
		svc.Maintain(ctx)
	}
}

// Place returns the location at which the process continues runs that need files or programs of a
// machine.
func (s *Server) Place() string {
	return s.cfg.Service.Place
}

// Start is the information that a server prints on startup.
type Start struct {
	// URL is the address it listens on, DB the name of its store.
	URL, DB string
	// TokenFile is the file that contains the token that was just created; Token is the token
	// itself, which is stored nowhere else if TokenFile is "". Both are "" if a token already
	// existed.
	TokenFile, Token string
	// FromEnv means that the environment's token is accepted.
	FromEnv bool
	// Exposed means that others can reach the address. TLS means that their traffic is encrypted.
	Exposed, TLS bool
}

// Listen opens the configured address, and creates the first token if there is none.
//
// It returns an *UnprotectedError if others could reach the address and there is no token (SEC1),
// or a *service.InvalidError if the address cannot be used.
//
// A worker requires no token if it exposes nothing; without an address its listener is nil.
func (s *Server) Listen(ctx context.Context) (net.Listener, Start, error) {
	if s.cfg.OnlyWork && s.cfg.Addr == "" {
		return nil, Start{DB: s.namespaces.DB()}, nil
	}
	ln, err := listen(ctx, s.cfg.Addr)
	if err != nil {
		return nil, Start{}, err
	}
	start, err := s.protect(ctx, ln)
	if err != nil {
		return nil, Start{}, errors.Join(err, ln.Close())
	}
	if err := s.announce(ctx, start); err != nil { // even with a full disk a server serves existing data
		s.log.Warn("hocket open and the command line will not find this server", "err", err)
	}
	return ln, start, nil
}

// protect ensures that no request reaches the server without a token.
func (s *Server) protect(ctx context.Context, ln net.Listener) (Start, error) {
	if s.cfg.OnlyWork { // probes are open, and metrics require an existing token
		return Start{URL: s.scheme() + ln.Addr().String(), DB: s.namespaces.DB(), TLS: s.cert != nil}, nil
	}
	svc, err := s.namespaces.Service(ctx, access.DefaultNamespace)
	if err != nil {
		return Start{}, err
	}
	token, env := s.tokens.(*envTokens)
	start := Start{URL: s.scheme() + ln.Addr().String(), DB: svc.DB(), FromEnv: env, Exposed: !isLoopback(ln.Addr()),
		TLS: s.cert != nil}
	if env && token.weak {
		if where := s.reachable(start); where != "" {
			return start, service.Refuse(errcode.ServerUnprotected, errcode.Fields{"address": where},
				&ShortTokenError{where})
		}
	}
	switch found, err := s.tokens.Any(ctx); {
	case err != nil:
		return start, err
	case found:
		return start, nil
	case start.Exposed:
		return start, service.Refuse(errcode.ServerUnprotected, errcode.Fields{"address": ln.Addr().String()},
			&UnprotectedError{ln.Addr().String()})
	}
	if start.Token, err = s.tokens.First(ctx); err != nil {
		return start, err
	}
	if start.TokenFile = svc.Home().Locator().Beside(TokenFile); start.TokenFile != "" {
		err = writeToken(start.TokenFile, start.Token)
	}
	return start, err
}

// scheme returns the scheme prefix of the server's URL.
func (s *Server) scheme() string {
	if s.cert != nil {
		return "https://"
	}
	return "http://"
}

// reachable returns an address at which others reach the server, directly or through a proxy; "" if
// there is none.
func (s *Server) reachable(start Start) string {
	if start.Exposed {
		return start.URL
	}
	if u, err := url.Parse(s.cfg.URL); err == nil && s.cfg.URL != "" && !isLocalName(u.Hostname()) {
		return s.cfg.URL
	}
	for _, name := range s.cfg.Hosts {
		if !isLocalName(strings.Trim(name, "[]")) {
			return "the server, as host " + name + ","
		}
	}
	if len(s.cfg.TrustedProxies) > 0 {
		return "the server, behind the proxy " + s.cfg.TrustedProxies[0] + ","
	}
	return ""
}

// isLocalName reports whether a name or an address refers to the machine itself.
func isLocalName(name string) bool {
	a, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && a.Unmap().IsLoopback()
}

func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// Limits of a connection before its request is known (SEC17).
const (
	headerTime = 10 * time.Second
	idleTime   = 2 * time.Minute
	maxHeader  = 64 << 10
)

// Serve serves requests on a listener until ctx is done, and then lets requests in flight finish.
// It closes the listener. With a nil listener it only waits.
//
// It returns an *UnprotectedError before any request is served, or the error of a failed listener.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	if ln == nil {
		<-ctx.Done()
		s.begin()
		return nil
	}
	// a signal that arrives now ends the server as usual, not with an error
	if _, err := s.protect(context.WithoutCancel(ctx), ln); err != nil {
		return errors.Join(err, ln.Close())
	}
	h := &http.Server{
		Handler: s, DisableGeneralOptionsHandler: true, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), // input from strangers that is not HTTP
	}
	s.log.Info("memory limits", "process", memlimit.Current().Bytes, "inFlight", s.cfg.Limits.InFlight, "tokenInFlight",
		s.cfg.Limits.TokenInFlight)
	ln = bound(ln, s.cfg.Limits.Connections)
	failed := make(chan error, 1)
	go func() {
		if s.cert == nil {
			failed <- h.Serve(ln)
			return
		}
		h.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.cert.get}
		failed <- h.ServeTLS(ln, "", "")
	}()
	select {
	case err := <-failed:
		s.begin()
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	err := s.drain(context.WithoutCancel(ctx), h)
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// begin ends readiness and event streams.
func (s *Server) begin() {
	s.leaving.Store(true)
	s.closed.Do(func() { close(s.closing) })
}

// drain shuts down a server, waiting for its requests up to the grace period.
func (s *Server) drain(ctx context.Context, h *http.Server) error {
	s.leaving.Store(true)
	if s.cfg.Delay > 0 {
		t := time.NewTimer(s.cfg.Delay)
		defer t.Stop()
		<-t.C
	}
	s.begin()
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Grace)
	defer cancel()
	if err := h.Shutdown(ctx); err != nil {
		s.log.Warn("requests in progress are aborted", "err", err)
		if err := h.Close(); err != nil {
			return fmt.Errorf("close connections: %w", err)
		}
	}
	return nil
}

// Close waits for requests, ends transports, lets calls in progress finish within Config.Drain,
// interrupts the runs being driven, so that the next server continues them, and closes all stores.
// Nothing may be served afterwards.
func (s *Server) Close() error {
	s.begin()
	s.requestsWG.Wait() // their contexts are done if they were cut off
	s.stop()
	s.work.Wait()
	var err error
	for _, d := range s.table {
		if d.Close != nil {
			err = errors.Join(err, d.Close())
		}
	}
	if s.cfg.Drain > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Drain)
		defer cancel()
		s.namespaces.Drain(ctx)
	}
	return errors.Join(err, s.namespaces.Close())
}

const (
	// minReturnBytes is the number of bytes that must have been freed before they are returned to
	// the system.
	minReturnBytes = 32 << 20
	// freeEvery is the minimum time between two returns, as each is a full garbage collection.
	freeEvery = 10 * time.Second
)

// returnMemory returns memory to the system if requests held much and no longer do; the Go runtime
// would keep it for minutes. It returns the time of the last return.
func (s *Server) returnMemory(now, last time.Time) time.Time {
	if now.Sub(last) < freeEvery || !s.flight.Freed(minReturnBytes) {
		return last
	}
	debug.FreeOSMemory()
	return now
}

package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/service"
)

// Config configures a Server. The zero Config is ready to use.
type Config struct {
	// Version is the server version reported to clients.
	Version string
	// Workflows are the ids of published workflows that have their own tools, in addition to the
	// fixed tools; All alone stands for every workflow. Nil means none.
	Workflows []string
	// MaxBody is the maximum size of a message in bytes; 0 means 9 MiB, enough for the largest
	// document and its envelope.
	MaxBody int64
	// LookEvery is the interval at which definitions and subscribed runs are polled, so that
	// clients are notified of changes made through other interfaces; 0 means 2 s.
	LookEvery time.Duration
	// Audit stores the actions of calls over standard input, and of calls that outlived their HTTP
	// request; the surrounding server audits the actions of its own requests. A call whose intent
	// cannot be stored is refused. Its context is done when the Server is closed. If nil, these
	// actions are not stored.
	Audit transport.Audit
	// MaxSessions is the maximum number of sessions of one principal over HTTP; 0 means 200.
	// MaxAllSessions is the maximum for all principals together; 0 means 2000. Beyond these limits
	// the session that has been idle longest is ended.
	MaxSessions, MaxAllSessions int
	// Service returns the service of a namespace, and opens it if necessary. It may be used until
	// ctx is done: a session lives longer than the service with which it was opened. If nil, the
	// service of the caller who opened the first session is used.
	Service func(ctx context.Context, namespace string) (*service.Service, error)
	// Logger is the logger; nil means no logging.
	Logger *slog.Logger
}

// All stands for every published workflow in Config.Workflows.
const All = "all"

// maxAccounts is the maximum number of accounts without sessions that are kept.
const maxAccounts = 64

// Server is the MCP server. It is safe for concurrent use. The caller must close it.
type Server struct {
	cfg   Config
	log   *slog.Logger
	tools []*tool

	// also adds tools for tests, such as the ones that the conformance suite calls; it is nil
	// otherwise.
	also func(*sdk.Server)

	ctx  context.Context // for all goroutines that maintain sessions
	stop context.CancelFunc
	work sync.WaitGroup

	mu       sync.Mutex
	accounts map[accountKey]*account

	sessions sessions

	// visits are the HTTP requests in progress (*callRequest), by their headerRequest value.
	visits sync.Map
	last   atomic.Uint64
}

// New returns a Server with the configuration cfg.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg, log: cfg.Logger, tools: table(), accounts: map[accountKey]*account{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.cfg.MaxBody = cmp.Or(cfg.MaxBody, service.MaxDocumentBytes+1<<20)
	s.cfg.MaxSessions, s.cfg.MaxAllSessions = cmp.Or(cfg.MaxSessions, maxSessions),
		cmp.Or(cfg.MaxAllSessions, maxAllSessions)
	s.cfg.LookEvery = cmp.Or(cfg.LookEvery, 2*time.Second)
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Close ends all sessions. Runs continue.
func (s *Server) Close() error {
	s.stop()
	s.mu.Lock()
	accounts := s.accounts
	s.accounts = map[accountKey]*account{}
	s.mu.Unlock()
	for _, d := range accounts {
		for session := range d.mcp.Sessions() {
			_ = session.Close() // the client may be gone
		}
	}
	s.work.Wait()
	return nil
}

// Revoke ends the sessions of a revoked token. Runs continue. Revoke does not wait for the sessions
// to end; Close does.
func (s *Server) Revoke(namespace, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, d := range s.accounts {
		if key.Namespace == namespace && key.Token == token {
			delete(s.accounts, key)
			d.revoked.Store(true)
			s.work.Go(func() {
				for session := range d.mcp.Sessions() {
					_ = session.Close() // the client may be gone
				}
				s.sessions.dropEnded(d)
			})
		}
	}
}

// headerRequest is the header by which the SDK's handler, which sees only headers, identifies the
// request that made a call. Clients cannot set it.
const headerRequest = "Hocket-Request"

// Handler returns a handler for streamable HTTP. The context of each request must carry a caller
// (transport.With), which a server's guard puts there; a request without one is answered with 401.
//
// A session belongs to the principal that opened it: for anybody else it does not exist, which the
// protocol reports as 404.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := transport.Require(r.Context(), access.RoleRun)
		if err != nil {
			transport.WriteProblem(w, r, transport.ProblemOf(err))
			return
		}
		d, done := s.account(r.Context(), c)
		defer done()
		if r.Method == http.MethodPost { // the SDK would report a body that is too large in plain text
			body, err := transport.ReadJSON(w, r, s.cfg.MaxBody)
			if err != nil {
				transport.WriteProblem(w, r, transport.ProblemOf(err))
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		left, ok := s.enter(w, r, d)
		if !ok {
			return
		}
		defer left()
		v := s.begin(r)
		defer s.end(r, v)
		d.http.ServeHTTP(w, r)
	})
}

// enter registers the session of a request, or makes room for the one that it may open, until left
// is called. If ok is false, the request was rejected and the response written.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, d *account) (left func(), ok bool) {
	if id := r.Header.Get(headerSession); id != "" {
		end, gone := s.sessions.begin(d, id)
		if gone {
			http.Error(w, "session not found", http.StatusNotFound) // the same response as the SDK's
			return nil, false
		}
		return end, true
	}
	if r.Method != http.MethodPost {
		return func() {}, true // the SDK rejects it
	}
	opened, err := s.sessions.open(d, s.cfg.MaxSessions, s.cfg.MaxAllSessions)
	if full, isFull := errors.AsType[*fullError](err); isFull {
		transport.WriteProblem(w, r, full.problem())
		return nil, false
	}
	return func() { opened(w.Header().Get(headerSession)) }, true
}

// RunStdio serves one client on two streams, with the permissions of c, until the client
// disconnects or ctx is done. Runs continue with the service.
func (s *Server) RunStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser, c *transport.Caller) error {
	d, done := s.account(ctx, c)
	defer done()
	err := d.mcp.Run(transport.With(ctx, c), drainingTransport{stdioTransport(in, out, int(s.cfg.MaxBody))})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("serve MCP: %w", err)
	}
	return nil
}

// accountKey identifies an account: a principal whose permissions have changed has a different one.
type accountKey struct{ access.Principal }

// account returns the account of a caller, which is kept at least until done is called. ctx is that
// of the request.
func (s *Server) account(ctx context.Context, c *transport.Caller) (d *account, done func()) {
	ctx = transport.With(ctx, c)
	d, mustCheck := s.use(ctx, c)
	if mustCheck {
		d.checkChanges(ctx)
	}
	return d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		d.busy--
	}
}

// use returns the account of a caller for one more request. mustCheck reports whether it was not
// watched until now.
func (s *Server) use(ctx context.Context, c *transport.Caller) (d *account, mustCheck bool) {
	key := accountKey{c.Principal}
	s.mu.Lock()
	defer s.mu.Unlock()
	d = s.accounts[key]
	isNew := d == nil
	if isNew {
		s.removeIdle()
		d = newAccount(ctx, s, key)
		s.accounts[key] = d
	}
	d.busy++
	return d, d.startWatching() && !isNew
}

// removeIdle removes accounts without sessions and requests, once there are many. The caller holds
// s.mu.
func (s *Server) removeIdle() {
	if len(s.accounts) < maxAccounts {
		return
	}
	for key, d := range s.accounts {
		if d.busy == 0 && d.sessions() == 0 {
			delete(s.accounts, key)
			s.sessions.dropEnded(d)
		}
	}
}

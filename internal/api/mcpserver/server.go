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

// Config says what a Server is made of. Its zero value is good.
type Config struct {
	// Version is what clients see of this server.
	Version string
	// Workflows are the ids of published workflows that are tools of their own, beside the fixed ones; All alone stands for every one. Nil: none.
	Workflows []string
	// MaxBody bounds a message, in bytes; 0: 9 MiB, the largest document and what stands around it.
	MaxBody int64
	// LookEvery is how often definitions and subscribed runs are looked at, so that clients hear of changes that came another way; 0: 2 s.
	LookEvery time.Duration
	// Audit stores the actions of calls over standard input, and of calls that outlived their HTTP request: the server around this one audits those of its requests.
	// Its context is done when the Server is closed. Nil: they are not stored.
	Audit func(context.Context, transport.Deed) error
	// MaxSessions bounds the sessions of one principal over HTTP, 0: 200; MaxAllSessions those of all, 0: 2000. Beyond them the session that was idle for longest ends.
	MaxSessions, MaxAllSessions int
	// Logger; nil: none.
	Logger *slog.Logger
}

// All is in Config.Workflows for every published workflow.
const All = "all"

// maxAccounts bounds the principals without any session that are remembered.
const maxAccounts = 64

// Server is the MCP server. Safe for concurrent use. Close it.
type Server struct {
	cfg   Config
	log   *slog.Logger
	tools []*tool

	// also adds what tests offer beside the tools, such as those that the conformance suite calls for; nil outside of them.
	also func(*sdk.Server)

	ctx  context.Context // of everything that looks after sessions
	stop context.CancelFunc
	work sync.WaitGroup

	mu       sync.Mutex
	accounts map[accountKey]*account

	sessions sessions

	// visits are the HTTP requests in progress (*visit), by their header.
	visits sync.Map
	last   atomic.Uint64
}

// New makes a Server.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg, log: cfg.Logger, tools: table(), accounts: map[accountKey]*account{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.cfg.MaxBody = cmp.Or(cfg.MaxBody, service.MaxDocumentBytes+1<<20)
	s.cfg.MaxSessions, s.cfg.MaxAllSessions = cmp.Or(cfg.MaxSessions, maxSessions), cmp.Or(cfg.MaxAllSessions, maxAllSessions)
	s.cfg.LookEvery = cmp.Or(cfg.LookEvery, 2*time.Second)
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Close ends all sessions. Runs go on.
func (s *Server) Close() error {
	s.stop()
	s.mu.Lock()
	accounts := s.accounts
	s.accounts = map[accountKey]*account{}
	s.mu.Unlock()
	for _, d := range accounts {
		for session := range d.mcp.Sessions() {
			_ = session.Close() // the client may have left
		}
	}
	s.work.Wait()
	return nil
}

// Revoke ends the sessions of a token that was revoked. Runs go on. It does not wait for them to end: Close does.
func (s *Server) Revoke(namespace, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, d := range s.accounts {
		if key.Namespace == namespace && key.Token == token {
			delete(s.accounts, key)
			d.revoked.Store(true)
			s.work.Go(func() {
				for session := range d.mcp.Sessions() {
					_ = session.Close() // the client may have left
				}
				s.sessions.left(d)
			})
		}
	}
}

// headerRequest is how the SDK's handler, which knows only headers, finds the request that brought a call. Clients cannot set it.
const headerRequest = "Hocket-Request"

// Handler serves streamable HTTP. The context of each request must carry a caller (transport.With), as a server's guard puts it there; one without is answered 401.
//
// A session belongs to the principal that opened it: to anybody else it is one that does not exist, 404 by the protocol.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := transport.Require(r.Context(), access.RoleRun)
		if err != nil {
			transport.WriteProblem(w, r, transport.ProblemOf(err))
			return
		}
		d, done := s.account(c)
		defer done()
		if r.Method == http.MethodPost { // the SDK would tell in plain text what is too large
			body, err := transport.ReadBody(w, r, s.cfg.MaxBody)
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

// enter notes the session of a request, or makes room for the one that it may open, until left is called. False: the request was refused and answered.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, d *account) (left func(), ok bool) {
	if id := r.Header.Get(headerSession); id != "" {
		end, gone := s.sessions.begin(d, id)
		if gone {
			http.Error(w, "session not found", http.StatusNotFound) // as the SDK answers
			return nil, false
		}
		return end, true
	}
	if r.Method != http.MethodPost {
		return func() {}, true // the SDK refuses it
	}
	opened, err := s.sessions.open(d, s.cfg.MaxSessions, s.cfg.MaxAllSessions)
	if full, isFull := errors.AsType[*fullError](err); isFull {
		transport.WriteProblem(w, r, full.problem())
		return nil, false
	}
	return func() { opened(w.Header().Get(headerSession)) }, true
}

// RunStdio serves one client on two streams until it leaves or ctx is done, with the caller's rights. Runs go on with the service.
func (s *Server) RunStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser, c *transport.Caller) error {
	d, done := s.account(c)
	defer done()
	err := d.mcp.Run(transport.With(ctx, c), patient{&sdk.IOTransport{Reader: in, Writer: out, MaxLineLength: int(s.cfg.MaxBody)}})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("serve MCP: %w", err)
	}
	return nil
}

// accountKey tells accounts apart: a principal whose rights changed has another one.
type accountKey struct {
	access.Principal
	service *service.Service
}

// account gives the account of a caller, which stays until done is called at least.
func (s *Server) account(c *transport.Caller) (d *account, done func()) {
	key := accountKey{c.Principal, c.Service}
	s.mu.Lock()
	defer s.mu.Unlock()
	d = s.accounts[key]
	if d == nil {
		s.removeIdle()
		d = newAccount(s, key)
		s.accounts[key] = d
	}
	d.busy++
	d.startWatching()
	return d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		d.busy--
	}
}

// removeIdle forgets accounts without sessions and requests, once there are many. s.mu is held.
func (s *Server) removeIdle() {
	if len(s.accounts) < maxAccounts {
		return
	}
	for key, d := range s.accounts {
		if d.busy == 0 && d.sessions() == 0 {
			delete(s.accounts, key)
			s.sessions.left(d)
		}
	}
}

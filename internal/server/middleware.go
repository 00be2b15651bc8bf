package server

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/inflight"
	"github.com/hocket-run/hocket/internal/tracecontext"
)

// requestID matches request ids that are accepted from a proxy.
var requestID = regexp.MustCompile(`^[A-Za-z0-9._:/+=@-]{1,128}$`)

// guardedRequest is one request in the guard.
type guardedRequest struct {
	*transport.Request
	began     time.Time
	remote    netip.Addr // of the client
	stream    bool       // it requests an event stream
	mount     *Mount
	pattern   string // of the transport
	principal access.Principal
	session   string // secret of the session that identifies the caller, or ""
	known     bool
	intent    int64 // number of the audit record that precedes the outcome; 0 means none
}

// ServeHTTP is the only entry point; the package documentation describes the flow.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requestsWG.Add(1)
	defer s.requestsWG.Done()
	v := &guardedRequest{Request: &transport.Request{Closing: s.closing}, began: time.Now()}
	if v.ID = r.Header.Get("X-Request-ID"); !requestID.MatchString(v.ID) {
		v.ID = rand.Text()
	}
	a := newAnswer(w, (&url.URL{Path: s.base}).EscapedPath())
	r = r.WithContext(tracecontext.With(transport.WithRequest(r.Context(), v.Request), tracecontext.OfHeader(r.Header)))
	var in *body
	if r.Body != nil && r.Body != http.NoBody {
		in = &body{ReadCloser: r.Body, control: a.control, until: v.began.Add(bodyTime), idle: s.cfg.Limits.BodyIdle}
		r.Body = in
	}
	a.refuse = func(err error) { s.refuse(a, r, err) }
	r = s.stripBase(r)
	setSecurityHeaders(a.Header())
	a.Header().Set("X-Request-ID", v.ID)
	served := r
	v.stream, v.remote = wantsEventStream(r), s.proxies.client(r)
	v.Remote = v.from(r)
	defer s.metrics.begin(v.stream)()
	defer func() {
		broken := recover()
		aborted := broken != nil && s.recovered(broken, v, a, r)
		aborted = !a.end() || aborted
		in.end()
		s.recordOutcome(v, a, served)
		if aborted {
			// the server closes the connection, so that the client knows that the response is
			// incomplete
			panic(http.ErrAbortHandler)
		}
	}()
	_, v.pattern = s.mux.Handler(r)
	v.mount = s.byPattern[v.pattern]
	lost := v.mount == nil && s.isLost(r)
	if lost {
		v.mount = s.fallback
	}
	if err := s.hosts.check(r); err != nil {
		s.refuse(a, r, err)
		return
	}
	if s.hosts.handleCORS(a, r) {
		return
	}
	if s.cfg.OnlyWork && v.mount == nil { // without a token: there is nothing to protect
		s.writeProblem(a, r, transport.NewProblem(errcode.NotFound,
			"a worker serves /healthz, /readyz and /metrics alone; the API is at the servers on its store"))
		return
	}
	if !v.stream && (v.mount == nil || v.mount.Name != "health") {
		leave, err := s.enter()
		if err != nil {
			s.refuse(a, r, err)
			return
		}
		defer leave()
	}
	next, cancel, err := s.admit(v, a, r)
	if err != nil {
		s.refuse(a, r, err)
		return
	}
	defer cancel()
	claim := s.flight.Claim(v.holder())
	defer claim.Close()
	a.claim = claim
	if in != nil {
		in.claim = claim
	}
	next = next.WithContext(inflight.With(next.Context(), claim))
	served = next
	v.Intend = func(ctx context.Context, p access.Principal) error { return s.intend(ctx, v, next, p) }
	if v.known && !safe(next.Method) {
		if err := v.Intend(next.Context(), v.principal); err != nil {
			s.refuse(a, next, err)
			return
		}
	}
	if v.mount == nil || !isPlain(next.URL) {
		s.writeProblem(a, next, transport.NoPath(next.URL.Path))
		return
	}
	if lost {
		v.mount.Fallback.ServeHTTP(a, next)
		return
	}
	s.mux.ServeHTTP(a, next)
}

// holder returns whose share of the bytes in flight a request uses. All callers of transports
// without tokens share one, until the transport knows more.
func (v *guardedRequest) holder() string {
	if !v.known {
		return "open"
	}
	return "token " + v.principal.Namespace + "/" + v.principal.Token
}

// setSecurityHeaders sets headers that forbid browsers to render or embed responses (SEC15). A
// transport that serves a page relaxes them.
func setSecurityHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// admit identifies the caller, and returns the request as its transport receives it. The caller
// must call cancel after the response.
func (s *Server) admit(v *guardedRequest, a *responseWriter, r *http.Request) (
	next *http.Request, cancel func(), err error) {
	ctx, cancel := r.Context(), func() {}
	if v.mount == nil || !v.mount.Open {
		if v.principal, err = s.principal(v, r); err != nil {
			return nil, nil, err
		}
		v.known = true
		svc, err := s.namespaces.Service(ctx, v.principal.Namespace)
		if err != nil {
			return nil, nil, err
		}
		ctx = transport.With(ctx, &transport.Caller{Principal: v.principal, Service: svc, Session: v.session})
	}
	if r.ContentLength > s.cfg.Body {
		return nil, nil, s.tooLarge()
	}
	if v.known && v.principal.Token != envPrincipal {
		ctx, cancel = s.revoked.Join(ctx, v.principal)
	}
	if v.stream && v.session != "" {
		leave := cancel
		lasting, end := s.whileSession(ctx, v.session)
		ctx, cancel = lasting, func() { end(); leave() }
	}
	if v.stream {
		leave := cancel
		closing, end := s.untilClosing(ctx)
		ctx, cancel = closing, func() { end(); leave() }
	}
	next = r.WithContext(ctx)
	if next.Body != nil && next.Body != http.NoBody {
		next.Body = http.MaxBytesReader(a.ResponseWriter, next.Body, s.cfg.Body)
	}
	return next, cancel, nil
}

func (s *Server) tooLarge() error {
	return &transport.TooLargeError{Limit: "a body can have at most " + strconv.FormatInt(s.cfg.Body, 10) +
		" bytes (server: {limits: {body: …}})"}
}

// wantsEventStream reports whether a request asks for an event stream.
func wantsEventStream(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// untilClosing returns a context that is also done when the server begins to shut down.
func (s *Server) untilClosing(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		select {
		case <-s.closing:
			cancel(errClosing)
		case <-done:
		}
	}()
	return ctx, func() { close(done); cancel(nil) }
}

// errClosing is the cancellation cause of event streams that end because the server is shutting
// down.
var errClosing = errors.New("the server is shutting down")

// principal returns the principal of the token or the ticket of a request (SEC1).
func (s *Server) principal(v *guardedRequest, r *http.Request) (access.Principal, error) {
	if header := r.Header.Values("Authorization"); len(header) > 0 {
		scheme, token, _ := strings.Cut(header[0], " ")
		if len(header) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxToken {
			return access.Principal{}, transport.ErrUnauthorized
		}
		return s.lookUpToken(v, func() (access.Principal, error) {
			if isLogin(r) && access.IsCode(token) {
				return s.sessions.Redeem(r.Context(), token)
			}
			return s.tokens.Find(r.Context(), token)
		})
	}
	if session := s.sessionOf(r); session != "" {
		return s.lookUpToken(v, func() (access.Principal, error) {
			p, err := s.sessions.Find(r.Context(), session)
			if err == nil {
				v.session = session
			}
			return p, err
		})
	}
	if r.Method == http.MethodGet && s.tickets != nil && strings.Contains(r.URL.RawQuery, "ticket=") {
		ticket := r.URL.Query().Get("ticket")
		return s.lookUpToken(v, func() (access.Principal, error) {
			if p, ok := s.tickets.Redeem(ticket, r.URL.Path); ok {
				return p, nil
			}
			return access.Principal{}, transport.ErrUnauthorized
		})
	}
	return access.Principal{}, transport.ErrUnauthorized
}

// lookUpToken looks up a token or a ticket. A valid one is accepted. A wrong one is counted for the
// address, which has to wait if it has sent too many (SEC17).
func (s *Server) lookUpToken(v *guardedRequest, find func() (access.Principal, error)) (access.Principal, error) {
	p, err := find()
	if err == nil || transport.ProblemOf(err).Status != http.StatusUnauthorized {
		return p, err
	}
	now := time.Now()
	if overload := s.failures.check(v.remote, now); overload != nil {
		return access.Principal{}, overload
	}
	s.failures.failed(v.remote, now)
	return access.Principal{}, err
}

// maxToken is the maximum length of a string that is looked up as a token.
const maxToken = 512

// refuse responds with a problem. Details of internal errors go only to the log.
func (s *Server) refuse(a *responseWriter, r *http.Request, err error) {
	p := transport.ProblemOf(err)
	if p.Status >= http.StatusInternalServerError {
		transport.RecordError(r.Context(), err)
	}
	if p.Status == http.StatusRequestEntityTooLarge {
		a.Header().Set("Connection", "close") // the rest of the body is not read
	}
	if overload, ok := errors.AsType[*overloadError](err); ok {
		p.RetryAfter = overload.after
	}
	s.writeProblem(a, r, p)
}

// recovered responds after a panic, and reports whether a response had begun, which cannot be
// undone. A transport may panic because its response was refused; the problem was then written.
func (s *Server) recovered(value any, v *guardedRequest, a *responseWriter, r *http.Request) (aborted bool) {
	err, _ := value.(error)
	if a.failed != nil && (errors.Is(err, a.failed) || errors.Is(err, http.ErrAbortHandler)) {
		return a.cut
	}
	abort := errors.Is(err, http.ErrAbortHandler) // a transport's own way to abort
	if !abort {
		s.log.Error("panic in a request handler: this is a bug", "request", v.ID, "panic", value, "stack",
			string(debug.Stack()))
	}
	if abort || !a.reset() {
		return true
	}
	s.writeProblem(a, r, transport.ProblemOf(errDefect))
	return false
}

var errDefect = errors.New("request failed with an internal error")

package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/httpapi"
	"github.com/hocket-run/hocket/internal/service"
)

// PageHeader is the header that the page sends with each request made with its session. A foreign
// page cannot send it without a preflight request (CORS), which is denied, so that a cookie alone
// reads and changes nothing (SEC9).
const PageHeader = "Hocket-Page"

// sessionPath is the path at which sessions begin and end.
const sessionPath = httpapi.Prefix + "/session"

// isLogin reports whether a request begins a session, which is the only request for which a
// one-time code is valid.
func isLogin(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == sessionPath }

// cookieName returns the name of the session cookie. Ports of a host share their cookies, so the
// name differs by store and servers do not sign each other out. Each in-memory store has a unique
// name.
func (s *Server) cookieName() string {
	db := s.namespaces.DB()
	if db == service.Memory {
		db = rand.Text()
	}
	sum := sha256.Sum256([]byte(db))
	return "hocket_" + hex.EncodeToString(sum[:6])
}

// sessionOf returns the secret of the session sent by a page of this server, or "" if there is
// none.
func (s *Server) sessionOf(r *http.Request) string {
	if r.Header.Get(PageHeader) == "" || r.Header.Get("Sec-Fetch-Site") != "" &&
		r.Header.Get("Sec-Fetch-Site") != "same-origin" {
		return ""
	}
	c, err := r.Cookie(s.cookie)
	if err != nil || len(c.Value) > maxToken {
		return ""
	}
	return c.Value
}

// sessionConfig returns what the API needs to begin and end sessions.
func (s *Server) sessionConfig() httpapi.Sessions {
	at := cmp.Or(s.base, "/")
	u, err := url.Parse(s.cfg.URL)
	return httpapi.Sessions{
		Begin: func(ctx context.Context, p access.Principal) (string, time.Time, error) {
			return s.sessions.Begin(ctx, s.owner(p))
		},
		Code: func(ctx context.Context, p access.Principal) (string, time.Time, error) {
			return s.sessions.Code(ctx, s.owner(p))
		},
		End: s.sessions.End,
		Cookie: http.Cookie{ //nolint:gosec // Secure where the server is reached over HTTPS
			Name: s.cookie, Path: at, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.cert != nil ||
				err == nil && u.Scheme == "https",
		},
	}
}

// owner returns a principal whose token can own sessions.
func (s *Server) owner(p access.Principal) access.Principal {
	if env, ok := s.tokens.(*envTokens); ok && p.Token == envPrincipal {
		p.Token = env.id()
	}
	return p
}

// sessionEvery is the maximum delay until the streams of an ended session end. The page then
// reconnects and is rejected: two seconds in total.
const sessionEvery = time.Second

// whileSession returns a context that is also done when the session ends: here, in another process,
// or because its token was revoked or has expired.
func (s *Server) whileSession(ctx context.Context, session string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		t := time.NewTicker(sessionEvery)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
				// a store error does not end the session
				if _, err := s.sessions.Find(ctx, session); errors.Is(err, access.ErrNoSession) {
					cancel(access.ErrRevoked)
				}
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

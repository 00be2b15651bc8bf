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

// PageHeader is what the page sends with each request that is to be taken for its session. A foreign page cannot send it without asking first (CORS), and is
// told no, so that a cookie alone reads and changes nothing (SEC9).
const PageHeader = "Hocket-Page"

// sessionPath is where sessions begin and end.
const sessionPath = httpapi.Prefix + "/session"

// isLogin tells whether a request begins a session: the only one that a one-time code is good for.
func isLogin(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == sessionPath }

// cookieName is that of the session's cookie. Ports of a host share their cookies; the name differs by store, so that servers do not sign each other out. A store
// in memory is like no other.
func (s *Server) cookieName() string {
	db := s.namespaces.DB()
	if db == service.Memory {
		db = rand.Text()
	}
	sum := sha256.Sum256([]byte(db))
	return "hocket_" + hex.EncodeToString(sum[:6])
}

// sessionOf gives the secret of the session that a page of this server sent; "" where there is none.
func (s *Server) sessionOf(r *http.Request) string {
	if r.Header.Get(PageHeader) == "" || r.Header.Get("Sec-Fetch-Site") != "" && r.Header.Get("Sec-Fetch-Site") != "same-origin" {
		return ""
	}
	c, err := r.Cookie(s.cookie)
	if err != nil || len(c.Value) > maxToken {
		return ""
	}
	return c.Value
}

// sessionConfig is what the API needs to begin and end sessions.
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
			Name: s.cookie, Path: at, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.cert != nil || err == nil && u.Scheme == "https",
		},
	}
}

// owner gives a principal whose token is one that sessions can be of.
func (s *Server) owner(p access.Principal) access.Principal {
	if env, ok := s.tokens.(*envTokens); ok && p.Token == envPrincipal {
		p.Token = env.id()
	}
	return p
}

// sessionEvery is how long it takes at most until the streams of a session end that ended. The page then comes back and is refused: all of it in two seconds.
const sessionEvery = time.Second

// whileSession gives a context that is also done when the session ends: here, in another process, or because its token was revoked or time is over.
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
				if _, err := s.sessions.Find(ctx, session); errors.Is(err, access.ErrNoSession) { // a store that does not answer is none
					cancel(access.ErrRevoked)
				}
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

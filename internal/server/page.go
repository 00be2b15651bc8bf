package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/page"
	"github.com/hocket-run/hocket/web"
)

// pageMounts is the page for browsers. Its files are for everyone; what it shows it asks of the API.
func (s *Server) pageMounts() ([]Mount, error) {
	if s.cfg.NoPage {
		return nil, nil
	}
	p, err := page.New(page.Config{Files: web.Files(), Base: s.base})
	if err != nil {
		return nil, err
	}
	return []Mount{{Name: "page", Patterns: p.Patterns(), Handler: p, Routes: p.Routes(), Open: true, Elsewhere: http.HandlerFunc(p.NotFound)}}, nil
}

// isLost tells whether a request is that of a browser at an address where nothing is, so that the page says so: it asks for nothing that a token is needed for. What is
// beside the routes of another transport stays that transport's: nothing there looks like a page.
func (s *Server) isLost(r *http.Request) bool {
	if s.elsewhere == nil || r.Method != http.MethodGet && r.Method != http.MethodHead || !isPlain(r.URL) || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		return false
	}
	return !s.taken[firstPart(r.URL.Path)]
}

// firstPart gives the first part of a path.
func firstPart(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first
}

// basePath gives the path of the server's public address, without a slash at its end; "" is the root.
func basePath(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Path == "" {
		return ""
	}
	return strings.TrimSuffix(path.Clean("/"+u.Path), "/")
}

// belowBase gives a request as if its path began behind that of the public address: a proxy may leave it there. A path that is a route as it is stays: the proxy took
// it off.
func (s *Server) belowBase(r *http.Request) *http.Request {
	if s.base == "" || r.URL.Path != s.base && !strings.HasPrefix(r.URL.Path, s.base+"/") {
		return r
	}
	if _, pattern := s.mux.Handler(r); pattern != "" {
		return r
	}
	below := r.WithContext(r.Context())
	u := *r.URL
	u.Path = "/" + strings.TrimPrefix(strings.TrimPrefix(u.Path, s.base), "/")
	u.RawPath = ""
	if raw := r.URL.RawPath; raw != "" {
		at := (&url.URL{Path: s.base}).EscapedPath()
		if !strings.HasPrefix(raw, at) {
			return r // the base is written in another way: nothing is at such a path
		}
		u.RawPath = "/" + strings.TrimPrefix(strings.TrimPrefix(raw, at), "/")
	}
	below.URL = &u
	return below
}

// AddressFile is the name of the file beside the store that says where the server is that started last: its own address, and on the next line that of its page.
const AddressFile = "address"

// Page is the address of the page for people; "" where none is served.
func (s *Server) Page(start Start) string {
	if s.cfg.NoPage {
		return ""
	}
	if s.cfg.URL != "" {
		return strings.TrimSuffix(s.cfg.URL, "/") + "/"
	}
	u, err := url.Parse(start.URL)
	if err != nil {
		return ""
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsUnspecified() {
		u.Host = net.JoinHostPort("127.0.0.1", u.Port())
	}
	return u.String() + "/"
}

// Link is the address of the page with a code that signs a browser in, once and soon: with the rights of the token of the environment, else those of the strongest token of the
// namespace default. Errors: access.ErrUnknownToken where there is none, or no page; those of the store.
func (s *Server) Link(ctx context.Context, start Start) (string, error) {
	at := s.Page(start)
	if at == "" {
		return "", access.ErrUnknownToken
	}
	p, err := access.NewTokens(access.Config{Store: s.access}).Strongest(ctx, access.DefaultNamespace)
	if env, ok := s.tokens.(*envTokens); ok {
		p, err = env.principal(), nil
	}
	if err != nil {
		return "", err
	}
	code, _, err := s.sessions.Code(ctx, s.owner(p))
	if err != nil {
		return "", err
	}
	return PageLink(at, code), nil
}

// PageLink gives the link to the page at an address that signs a browser in with a code: in the fragment, which no browser sends.
func PageLink(at, code string) string { return strings.TrimSuffix(at, "/") + "/#code=" + code }

// announce writes where the server is, for `hocket open`.
func (s *Server) announce(ctx context.Context, start Start) error {
	page := s.Page(start)
	if page == "" || s.cfg.OnlyWork {
		return nil
	}
	svc, err := s.namespaces.Service(ctx, access.DefaultNamespace)
	if err != nil {
		return err
	}
	path := svc.Home().Locator().Beside(AddressFile)
	if path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil { // a store on a server has made no folder
		return fmt.Errorf("store the address: %w", err)
	}
	if err := os.WriteFile(path, []byte(start.URL+"\n"+page+"\n"), 0o600); err != nil {
		return fmt.Errorf("store the address: %w", err)
	}
	return nil
}

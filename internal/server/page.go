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

// pageMounts returns the mount of the page for browsers. Its files are public; it gets its data
// from the API.
func (s *Server) pageMounts() ([]Mount, error) {
	if s.cfg.NoPage {
		return nil, nil
	}
	p, err := page.New(page.Config{Files: web.Files(), Base: s.base})
	if err != nil {
		return nil, err
	}
	return []Mount{{Name: "page", Patterns: p.Patterns(), Handler: p, Routes: p.Routes(), Open: true,
		Fallback: http.HandlerFunc(p.NotFound)}}, nil
}

// isLost reports whether a request comes from a browser at an address that does not exist, so that
// the page can say so; such a request needs no token. Paths that share their first part with routes
// of another transport belong to that transport, and never get a page.
func (s *Server) isLost(r *http.Request) bool {
	if s.fallback == nil || r.Method != http.MethodGet && r.Method != http.MethodHead || !isPlain(r.URL) ||
		!strings.Contains(r.Header.Get("Accept"), "text/html") {
		return false
	}
	return !s.taken[firstPart(r.URL.Path)]
}

// firstPart returns the first part of a path.
func firstPart(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first
}

// basePath returns the path of the server's public address, without a trailing slash; "" is the
// root.
func basePath(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Path == "" {
		return ""
	}
	return strings.TrimSuffix(path.Clean("/"+u.Path), "/")
}

// stripBase returns a request whose path has the prefix of the public address removed, which a
// proxy may leave in place. A path that already is a route is kept: the proxy removed the prefix.
func (s *Server) stripBase(r *http.Request) *http.Request {
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
			return r // the base is spelled differently: no such path exists
		}
		u.RawPath = "/" + strings.TrimPrefix(strings.TrimPrefix(raw, at), "/")
	}
	below.URL = &u
	return below
}

// AddressFile is the name of the file next to the store that contains the address of the server
// that started last, and on the next line the address of its page, or nothing without a page.
const AddressFile = "address"

// Page returns the address of the page for people; "" if none is served.
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

// Link returns the address of the page with a code that signs a browser in, once and for a short
// time: with the permissions of the environment's token, else of the strongest token in the
// namespace default. It returns access.ErrUnknownToken if there is no token or no page, or an error
// of the store.
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

// PageLink returns the link to the page at an address that signs a browser in with a code. The code
// is in the fragment, which no browser sends.
func PageLink(at, code string) string { return strings.TrimSuffix(at, "/") + "/#code=" + code }

// announce writes the server's address to a file, for `hocket open` and for clients that send the
// token of the token file.
func (s *Server) announce(ctx context.Context, start Start) error {
	if s.cfg.OnlyWork {
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
	// no folder is created for a store on a database server
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("store the address: %w", err)
	}
	if err := os.WriteFile(path, []byte(start.URL+"\n"+s.Page(start)+"\n"), 0o600); err != nil {
		return fmt.Errorf("store the address: %w", err)
	}
	return nil
}

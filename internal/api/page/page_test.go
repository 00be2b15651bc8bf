package page_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hocket-run/hocket/internal/api/page"
	"github.com/hocket-run/hocket/web"
)

var script = strings.Repeat("export const answer = 42;\n", 100)

func files() fstest.MapFS {
	return fstest.MapFS{
		"index.html": {
			Data: []byte(`<!doctype html><html><head><title>Hocket</title><link rel="stylesheet" ` +
				`href="./assets/app.css"><script type="module" src="./assets/app.js"></script></head></html>`),
		},
		"assets/app.js":  {Data: []byte(script)},
		"assets/app.css": {Data: []byte("body { margin: 0 }")},
		"favicon.svg":    {Data: []byte("<svg/>")},
	}
}

// show creates a page and returns a function that sends requests to it.
func show(t *testing.T, base string) (p *page.Page, ask func(method, path string,
	header ...string) *httptest.ResponseRecorder) {
	t.Helper()
	p, err := page.New(page.Config{Files: files(), Base: base})
	if err != nil {
		t.Fatal(err)
	}
	return p, func(method, path string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		rec := httptest.NewRecorder()
		p.ServeHTTP(rec, r)
		return rec
	}
}

// TestIndex checks that each route of the application serves index.html, with the base of the
// server and a nonce that only the policy of the same response names.
func TestIndex(t *testing.T) {
	t.Parallel()
	_, ask := show(t, "/hocket/")
	nonces := map[string]bool{}
	for _, path := range []string{"/", "/runs", "/runs/", "/runs/abc", "/runs/a/compare/b", "/workflows/letter/edit",
		"/inbox/r/w", "/agents/a", "/schedules", "/tools", "/settings/tokens"} {
		rec := ask("GET", path)
		body, h := rec.Body.String(), rec.Header()
		if rec.Code != 200 || h.Get("Content-Type") != "text/html; charset=utf-8" ||
			h.Get("Cache-Control") != "no-cache" || h.Get("ETag") != "" {
			t.Errorf("%s: %d %v", path, rec.Code, h)
		}
		named := regexp.MustCompile(`href="/hocket/assets/([0-9a-f]{24})/app\.css"><script type="module" ` +
			`src="/hocket/assets/([0-9a-f]{24})/app\.js"`).FindStringSubmatch(body)
		if !strings.Contains(body, `<head><meta name="hocket-base" content="/hocket/">`) || named == nil ||
			named[1] != named[2] {
			t.Errorf("%s: %s", path, body)
		}
		nonce := regexp.MustCompile(`<meta property="csp-nonce" nonce="([^"]+)">`).FindStringSubmatch(body)
		want := "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-" + nonce[1] +
			"'; img-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
			"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
		if got := h.Get("Content-Security-Policy"); got != want || len(nonce[1]) < 22 {
			t.Errorf("%s: the policy is %s", path, got)
		}
		nonces[nonce[1]] = true
		for name, want := range map[string]string{"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
	if len(nonces) != 11 {
		t.Errorf("11 answers have %d nonces", len(nonces))
	}
	if rec := ask("HEAD", "/"); rec.Code != 200 || rec.Body.Len() != 0 || rec.Header().Get("Content-Length") == "" {
		t.Errorf("HEAD: %d, %d bytes, %v", rec.Code, rec.Body.Len(), rec.Header())
	}
}

// TestBase checks that the base is written as attribute text, whatever the server's URL contains.
func TestBase(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"": "/", "/": "/", "/hocket": "/hocket/", "/a/b/": "/a/b/", "/a/../b": "/b/",
		`/"><script>`: "/%22%3E%3Cscript%3E/", "/a&b": "/a&amp;b/",
	} {
		_, ask := show(t, base)
		if body := ask("GET", "/").Body.String(); !strings.Contains(body, `content="`+want+`"`) ||
			!strings.Contains(body, `src="`+want+`assets/`) {
			t.Errorf("base %q: %s", base, body)
		}
	}
}

// TestIndex_CacheControl checks that browsers cache the files that index.html refers to
// permanently, and request them again if any of them has changed. A page of another release gets
// the current files.
func TestIndex_CacheControl(t *testing.T) {
	t.Parallel()
	_, ask := show(t, "")
	tag := regexp.MustCompile(`src="/assets/([^/]+)/app\.js"`).FindStringSubmatch(ask("GET", "/").Body.String())[1]
	for path, want := range map[string]string{
		"/assets/" + tag + "/app.js":                     "public, max-age=31536000, immutable",
		"/assets/" + tag + "/app.css":                    "public, max-age=31536000, immutable",
		"/assets/" + strings.Repeat("0", 24) + "/app.js": "no-cache", "/assets/app.js": "no-cache",
		"/favicon.svg": "no-cache", "/": "no-cache",
	} {
		if rec := ask("GET", path); rec.Code != 200 || rec.Header().Get("Cache-Control") != want {
			t.Errorf("%s: %d %v", path, rec.Code, rec.Header())
		}
	}
	for _, path := range []string{"/assets/" + tag + "/gone.js", "/assets/" + tag + "/", "/assets/" + tag, "/assets/" +
		tag + "/" + tag + "/app.js", "/assets/" + tag[2:] + "/app.js", "/assets/x/app.js", "/" + tag + "/app.js"} {
		if rec := ask("GET", path); rec.Code != 404 {
			t.Errorf("%s: %d %v", path, rec.Code, rec.Header())
		}
	}
	changed := fstest.MapFS{
		"index.html":    {Data: []byte(`<head><script type="module" src="./assets/app.js"></script></head>`)},
		"assets/app.js": {Data: []byte(script + " ")}, "assets/app.css": {Data: []byte("body { margin: 0 }")},
	}
	p, err := page.New(page.Config{Files: changed})
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	p.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
	if body := rec.Body.String(); strings.Contains(body, tag) || !strings.Contains(body, `src="/assets/`) {
		t.Errorf("one file changed, and the page names %s", body)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	_, ask := show(t, "")
	plain := ask("GET", "/assets/app.js")
	if plain.Code != 200 || plain.Body.String() != script ||
		plain.Header().Get("Content-Type") != "text/javascript; charset=utf-8" ||
		plain.Header().Get("Cache-Control") != "no-cache" ||
		plain.Header().Get("Content-Encoding") != "" || plain.Header().Get("Vary") != "Accept-Encoding" {
		t.Errorf("%d %v", plain.Code, plain.Header())
	}
	packed := ask("GET", "/assets/app.js", "Accept-Encoding", "br, gzip")
	z, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil || string(text) != script || packed.Header().Get("Content-Encoding") != "gzip" ||
		packed.Header().Get("ETag") == plain.Header().Get("ETag") {
		t.Errorf("packed: %v %v", err, packed.Header())
	}
	for encoding, tag := range map[string]string{"": plain.Header().Get("ETag"), "gzip": packed.Header().Get("ETag")} {
		if same := ask("GET", "/assets/app.js", "Accept-Encoding", encoding, "If-None-Match", tag); same.Code != 304 ||
			same.Body.Len() != 0 {
			t.Errorf("with its tag %s: %d", tag, same.Code)
		}
	}
	if small := ask("GET", "/assets/app.css", "Accept-Encoding", "gzip"); small.Code != 200 ||
		small.Header().Get("Content-Encoding") != "" || small.Header().Get("Vary") != "" {
		t.Errorf("a small file: %d %v", small.Code, small.Header())
	}
	if icon := ask("GET", "/favicon.svg"); icon.Code != 200 || icon.Header().Get("Content-Type") != "image/svg+xml" {
		t.Errorf("the icon: %d %v", icon.Code, icon.Header())
	}
	for _, path := range []string{"/assets/gone.js", "/assets/", "/assets", "/index.html", "/assets/../index.html",
		"/other"} {
		if rec := ask("GET", path); rec.Code != 404 || rec.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %v", path, rec.Code, rec.Header())
		}
	}
	if rec := ask("POST", "/runs/x"); rec.Code != 405 || rec.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d %v", rec.Code, rec.Header())
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	p, _ := show(t, "")
	got := strings.Join(p.Patterns(), " ")
	if want := "/agents/ /assets/ /favicon.svg /inbox/ /runs/ /schedules/ /settings/ /tools/ " +
		"/workflows/ /{$}"; got != want {
		t.Errorf("patterns %s, want %s", got, want)
	}
	for _, want := range []string{"GET /", "GET /runs/", "GET /assets/app.js", "GET /favicon.svg"} {
		if !slices.Contains(p.Routes(), want) {
			t.Errorf("routes %q lack %s", p.Routes(), want)
		}
	}
}

// TestBuild_IndexReferences checks that the build output is a complete page: the files that
// index.html refers to exist, at URLs that the server can serve under any base.
func TestBuild_IndexReferences(t *testing.T) {
	t.Parallel()
	p, err := page.New(page.Config{Files: web.Files(), Base: "/below"})
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	p.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/", nil))
	named := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(rec.Body.String(), -1)
	if len(named) == 0 {
		t.Error("index.html names nothing")
	}
	for _, n := range named {
		at, ok := strings.CutPrefix(n[1], "/below/")
		if !ok {
			t.Errorf("index.html names %s, which does not begin with ./", n[1])
			continue
		}
		rec := httptest.NewRecorder()
		p.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/"+at, nil))
		if rec.Code != 200 || rec.Header().Get("Content-Type") == "application/octet-stream" {
			t.Errorf("%s: %d %s", n[1], rec.Code, rec.Header().Get("Content-Type"))
		}
	}
}

func TestNew_BrokenFiles(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]fstest.MapFS{
		"no index":          {"assets/app.js": {}},
		"index has no head": {"index.html": {Data: []byte("<html></html>")}},
	} {
		if _, err := page.New(page.Config{Files: files}); err == nil ||
			!strings.Contains(err.Error(), "read the page") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

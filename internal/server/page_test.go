package server_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
)

// plainClient does not request compressed responses automatically.
var plainClient = &http.Client{Transport: &http.Transport{DisableCompression: true}}

// fetched is the head of a response.
type fetched struct {
	StatusCode int
	Status     string
	Header     http.Header
}

// fetch sends a request without a token, with only the given headers.
func (s *served) fetch(t *testing.T, method, path string, header ...string) (fetched, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := plainClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fetched{answer.StatusCode, answer.Status, answer.Header}, string(body)
}

// TestPage checks that the page is public, that its data requires signing in, and that other paths
// still require a token.
func TestPage(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{})
	for path, status := range map[string]int{"/": 200, "/runs": 200, "/runs/x?tab=graph": 200, "/assets/none.js": 404,
		"/other": 401, "/api/v1/runs": 401, "/v1/models": 401, "/mcp": 401} {
		answer, body := s.fetch(t, "GET", path)
		if answer.StatusCode != status {
			t.Errorf("%s: %s %s", path, answer.Status, body)
		}
	}
	html := []string{"Accept", "text/html,application/xhtml+xml,*/*;q=0.8"}
	for path, status := range map[string]int{
		"/other": 404, "/other/x?y=1": 404, "/runz": 404, "/settings/none": 200, "/assets/none.js": 404,
		"/api": 401, "/api/v1/none": 401, "/api/other": 401, "/v1/none": 401, "/mcp/none": 401, "/healthz/x": 401,
		"/hooks/none": 405, "//other": 401, "/a/../b": 401,
	} {
		answer, body := s.fetch(t, "GET", path, html...)
		isPage := strings.Contains(body, `<meta name="hocket-base"`)
		if want := strings.HasPrefix(path, "/other") || path == "/runz" ||
			path == "/settings/none"; answer.StatusCode != status || isPage != want {
			t.Errorf("a browser at %s: %s, the page: %t", path, answer.Status, isPage)
		}
		if isPage && !strings.Contains(answer.Header.Get("Content-Security-Policy"), "require-trusted-types-for") {
			t.Errorf("%s has the policy %s", path, answer.Header.Get("Content-Security-Policy"))
		}
	}
	if answer, _ := s.fetch(t, "POST", "/other", html...); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("POST: %s", answer.Status)
	}
	if answer, body := s.fetch(t, "HEAD", "/other", html...); answer.StatusCode != http.StatusNotFound || body != "" {
		t.Errorf("HEAD: %s %q", answer.Status, body)
	}
	answer, body := s.fetch(t, "GET", "/")
	if !strings.Contains(answer.Header.Get("Content-Security-Policy"), "require-trusted-types-for 'script'") ||
		!strings.Contains(body, `<meta name="hocket-base" content="/">`) {
		t.Errorf("%v %s", answer.Header, body)
	}
	if answer, _ := s.fetch(t, "GET", "/", "Host", "evil.test", "Origin",
		"https://evil.test"); answer.StatusCode != http.StatusForbidden {
		t.Errorf("asked by a foreign page: %s", answer.Status)
	}
	if log := s.log.String(); strings.Contains(log, "tab=graph") {
		t.Errorf("the log has addresses of the page: %s", log)
	}
}

func TestNoPage(t *testing.T) {
	t.Parallel()
	off := false
	s := serve(t, server.Config{
		Service: service.Config{Documents: linked.Kit(), Operator: &config.Config{Server: config.Server{Page: &off}}},
	})
	if answer, _ := s.fetch(t, "GET", "/", "Accept", "text/html"); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("a page that is off: %s", answer.Status)
	}
	if at := s.Page(server.Start{URL: s.url}); at != "" {
		t.Errorf("a page that is off is at %s", at)
	}
}

// TestBelowPath checks that a proxy may keep or remove the path of the public address, and that
// everything is reachable either way.
func TestBelowPath(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{URL: "https://example.com/hocket/"})
	bearer := []string{"Authorization", "Bearer " + token}
	for _, at := range []string{"", "/hocket"} {
		answer, body := s.fetch(t, "GET", at+"/runs/x")
		if answer.StatusCode != http.StatusOK || !strings.Contains(body, `="/hocket/assets/`) {
			t.Errorf("%s: %s %s", at, answer.Status, body)
		}
		if answer, body := s.fetch(t, "GET", at+"/api/v1/runs", bearer...); answer.StatusCode != http.StatusOK ||
			!strings.Contains(body, `"items"`) {
			t.Errorf("%s: %s %s", at, answer.Status, body)
		}
		if answer, _ := s.fetch(t, "GET", at+"/healthz"); answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", at, answer.Status)
		}
		made := s.with(t, token, "POST", at+"/api/v1/tokens", `{"name": "ann", "role": "run"}`)
		if to := made.Header.Get("Location"); made.StatusCode != http.StatusCreated ||
			!strings.HasPrefix(to, "/hocket/api/v1/tokens/") {
			t.Errorf("%s: %s at %q, want it below the public address", at, made.Status, to)
		}
		if answer, _ := s.fetch(t, "GET", at+"/api/v1/runs/a%2Fb",
			bearer...); answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", at, answer.Status)
		}
	}
	for _, path := range []string{"/hocket", "/hocket/"} {
		if answer, _ := s.fetch(t, "GET", path); answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
	for _, path := range []string{"/hocket/other", "/other"} {
		if answer, body := s.fetch(t, "GET", path, "Accept", "text/html"); answer.StatusCode != http.StatusNotFound ||
			!strings.Contains(body, `="/hocket/assets/`) {
			t.Errorf("a browser at %s: %s %s", path, answer.Status, body)
		}
	}
	for _, path := range []string{"/hocketx/", "/hocket/hocket/", "/hocket//runs"} {
		if answer, _ := s.fetch(t, "GET", path); answer.StatusCode == http.StatusOK {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
	if at := s.Page(server.Start{URL: s.url}); at != "https://example.com/hocket/" {
		t.Errorf("the page is at %s", at)
	}
}

// TestCompression checks that long API responses are compressed for clients that accept it, and
// that responses that create a secret never are.
func TestCompression(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{})
	gz := []string{"Authorization", "Bearer " + token, "Accept-Encoding", "gzip"}
	long, body := s.fetch(t, "GET", "/openapi.json", gz...)
	z, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	plain, whole := s.fetch(t, "GET", "/openapi.json", gz[:2]...)
	if err != nil || string(text) != whole || long.Header.Get("Content-Encoding") != "gzip" ||
		long.Header.Get("Vary") != "Accept-Encoding" || len(body)*4 > len(whole) {
		t.Errorf("%v: %d of %d bytes, %v", err, len(body), len(whole), long.Header)
	}
	if plain.Header.Get("Content-Encoding") != "" || plain.Header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("not packed: %v", plain.Header)
	}
	if refused, _ := s.fetch(t, "GET", "/openapi.json", "Authorization", "Bearer "+token, "Accept-Encoding",
		"gzip;q=0, br"); refused.Header.Get("Content-Encoding") != "" {
		t.Errorf("packed for a client that refuses it: %v", refused.Header)
	}
	if short, body := s.fetch(t, "GET", "/api/v1/session", gz...); short.Header.Get("Content-Encoding") != "" ||
		!strings.Contains(body, `"version"`) {
		t.Errorf("a short answer: %v %s", short.Header, body)
	}
	if secret, body := s.fetch(t, "POST", "/api/v1/session/codes", gz...); secret.Header.Get(
		"Content-Encoding") != "" || secret.Header.Get("Vary") != "" || !strings.Contains(body, "hkc_") {
		t.Errorf("a code: %v %s", secret.Header, body)
	}
}

// TestSignInLink checks that the link signs in once, as the strongest token, and is in no log, and
// that the file next to the store contains the server's address.
func TestSignInLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, server.Config{Service: service.Config{Documents: linked.Kit(), DB: filepath.Join(dir, "hocket.db"),
		Env: func(string) string { return "" }}})
	link, err := s.Link(t.Context(), server.Start{URL: s.url})
	if err != nil {
		t.Fatal(err)
	}
	code, ok := strings.CutPrefix(link, s.url+"/#code=")
	if !ok {
		t.Fatalf("the link is %s", link)
	}
	if cookie := s.signIn(t, code); cookie == "" {
		t.Error("the link signs nobody in")
	}
	if answer := s.with(t, code, "POST", "/api/v1/session", ""); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("used twice: %s", answer.Status)
	}
	if strings.Contains(s.log.String(), code) {
		t.Error("the code is in the log")
	}
	text, err := os.ReadFile(filepath.Join(dir, server.AddressFile))
	if err != nil || string(text) != s.url+"\n"+s.url+"/\n" {
		t.Errorf("the address: %q, %v", text, err)
	}
	for address, want := range map[string]string{"http://0.0.0.0:7788": "http://127.0.0.1:7788/",
		"https://[::]:443": "https://127.0.0.1:443/", "http://[::1]:7788": "http://[::1]:7788/"} {
		if got := s.Page(server.Start{URL: address}); got != want {
			t.Errorf("the page of %s is at %s", address, got)
		}
	}
}

// TestSignInLink_EnvironmentToken checks that without a stored token a link has the permissions of
// the environment's token.
func TestSignInLink_EnvironmentToken(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{})
	link, err := s.Link(t.Context(), server.Start{URL: s.url})
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(link, "#code=")
	if cookie := s.signIn(t, code); cookie == "" || !access.IsCode(code) {
		t.Errorf("link %s", link)
	}
}

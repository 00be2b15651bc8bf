package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
)

const token = "hk_test-token-of-the-environment"

// world is a server with the token above, on an in-memory store.
type world struct {
	*server.Server
	log   *buffer
	audit *auditor
}

// buffer is a buffer that is safe for concurrent writes.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

type auditor struct {
	mu      sync.Mutex
	deeds   []transport.Deed
	intents []transport.Deed
	full    bool // rejects intents
}

func (a *auditor) Intend(_ context.Context, d transport.Deed) (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.full {
		return 0, &journal.LockedError{}
	}
	a.intents = append(a.intents, d)
	return int64(len(a.intents)), nil
}

func (a *auditor) Record(_ context.Context, d transport.Deed) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deeds = append(a.deeds, d)
	return nil
}

func open(t *testing.T, cfg server.Config) *world {
	t.Helper()
	w := &world{log: &buffer{}, audit: &auditor{}}
	if cfg.Service.DB == "" {
		cfg.Service.DB = service.Memory
	}
	if cfg.Service.Documents.Formats == nil {
		cfg.Service.Documents = linked.Kit()
	}
	if cfg.Service.Env == nil {
		cfg.Service.Env = func(name string) string { return map[string]string{server.EnvToken: token}[name] }
	}
	cfg.Service.Logger = slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, err := server.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w.Server = s
	s.Swap(nil, w.audit, nil)
	err = s.AddMount(server.Mount{Name: "test", Patterns: []string{"/test/"}, Handler: testMount(),
		Routes: []string{"GET /test/who", "POST /test/change/{id}"}})
	if err == nil {
		err = s.AddMount(server.Mount{Name: "secret", Patterns: []string{"/secret/"}, Open: true,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, err := transport.Require(r.Context(), access.RoleRun); !errors.Is(err,
					transport.ErrUnauthorized) {
					panic("an open transport has a caller")
				}
				if r.Method == http.MethodPost {
					transport.RecordAction(r.Context(), "secret.told", "s1")
				}
				w.WriteHeader(http.StatusAccepted)
			})})
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// testMount is a typical transport with its own mux.
func testMount() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /test/who", func(w http.ResponseWriter, r *http.Request) {
		c, err := transport.Require(r.Context(), access.RoleAdmin)
		if err != nil {
			transport.WriteProblem(w, r, transport.ProblemOf(err))
			return
		}
		_, _ = io.WriteString(w, c.Namespace+" "+c.Name)
	})
	mux.HandleFunc("POST /test/change/{id}", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			transport.WriteProblem(w, r, transport.ProblemOf(err))
			return
		}
		transport.RecordAction(r.Context(), "things.change", r.PathValue("id"))
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /test/plain", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
	})
	mux.HandleFunc("PUT /test/things/{id}", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /test/things", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/test/things/9")
		w.WriteHeader(http.StatusCreated)
	})
	mux.HandleFunc("GET /test/panic", func(http.ResponseWriter, *http.Request) { panic("canary of a defect") })
	mux.HandleFunc("GET /test/late", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic("canary of a defect")
	})
	return mux
}

// ask sends a request with the token; edit may change the request.
func (w *world) ask(t *testing.T, method, path, body string, edit func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost:7788"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	if edit != nil {
		edit(r)
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec
}

// problem decodes the problem in a response.
func problem(t *testing.T, rec *httptest.ResponseRecorder) (p transport.Problem) {
	t.Helper()
	if ct := rec.Header().Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("the answer is %s: %s", ct, rec.Body)
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil {
		t.Errorf("%v: %s", err, rec.Body)
	}
	if p.Status != rec.Code {
		t.Errorf("status %d in the body, %d outside", p.Status, rec.Code)
	}
	return p
}

// TestAuthentication checks that callers without a valid token are rejected (SEC1).
func TestAuthentication(t *testing.T) {
	t.Parallel()
	w := open(t, server.Config{})
	for _, c := range []struct {
		name   string
		header []string
		status int
	}{
		{"none", nil, 401}, {"empty", []string{""}, 401}, {"no scheme", []string{token}, 401},
		{"another scheme", []string{"Basic " + token}, 401},
		{"another token", []string{"Bearer " + token + "x"}, 401}, {"a part", []string{"Bearer " + token[:10]}, 401},
		{"no token", []string{"Bearer "}, 401},
		{"two", []string{"Bearer " + token, "Bearer " + token}, 401},
		{"long", []string{"Bearer " + strings.Repeat("x", 10_000)}, 401},
		{"the token", []string{"Bearer " + token}, 200}, {"scheme in lower case", []string{"bearer " + token}, 200},
	} {
		for _, path := range []string{"/test/who", "/nothing/here"} {
			rec := w.ask(t, "GET", path, "", func(r *http.Request) { r.Header["Authorization"] = c.header })
			want := c.status
			if want == 200 && path != "/test/who" {
				want = 404
			}
			if rec.Code != want {
				t.Errorf("%s: %s: status %d, want %d", c.name, path, rec.Code, want)
			}
			if want == 401 {
				if p := problem(t, rec); p.Code != "unauthorized" ||
					rec.Header().Get("WWW-Authenticate") != `Bearer realm="hocket"` {
					t.Errorf("%s: %+v, %v", c.name, p, rec.Header())
				}
			}
		}
	}
	if rec := w.ask(t, "GET", "/test/who", "", nil); rec.Body.String() != "default HOCKET_TOKEN" {
		t.Errorf("the caller is %q", rec.Body)
	}
	if log := w.log.String(); strings.Contains(log, token) || strings.Contains(log, "Bearer") {
		t.Errorf("the log has the token:\n%s", log)
	}
}

// TestRoutes checks all routes of all transports: without a token 401, from foreign pages 403; only
// health is open to everyone (SEC1, SEC9, SEC20).
func TestRoutes(t *testing.T) {
	t.Parallel()
	w := open(t, server.Config{})
	guarded, free := w.Routes()
	if len(guarded) == 0 || len(free) == 0 {
		t.Fatal("no routes")
	}
	foreign := map[string]func(*http.Request){
		"host":        func(r *http.Request) { r.Host = "evil.example" },
		"origin":      func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"null origin": func(r *http.Request) { r.Header.Set("Origin", "null") },
	}
	check := func(route string, want int, edit func(*http.Request)) {
		t.Helper()
		method, path, ok := strings.Cut(route, " ")
		if !ok {
			method, path = "GET", route
		}
		path = strings.NewReplacer("{", "", "}", "", "...", "", "$", "").Replace(path)
		rec := w.ask(t, method, path, "", edit)
		if rec.Code != want {
			t.Errorf("%s: status %d, want %d", route, rec.Code, want)
		}
		if rec.Header().Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(rec.Header().Get("Content-Security-Policy"), "default-src 'none'") ||
			rec.Header().Get("Referrer-Policy") != "no-referrer" || rec.Header().Get("Cache-Control") != "no-store" ||
			rec.Header().Get("X-Request-ID") == "" {
			t.Errorf("%s: the headers are %v", route, rec.Header())
		}
	}
	for _, route := range guarded {
		check(route, 401, func(r *http.Request) { r.Header.Del("Authorization") })
		if method, path, ok := strings.Cut(route, " "); ok {
			if rec := w.ask(t, method, path, "", nil); rec.Code == 405 ||
				strings.Contains(rec.Body.String(), "nothing is served at this path") {
				t.Errorf("%s is no route: status %d", route, rec.Code)
			}
		}
	}
	for _, route := range append(guarded, free...) {
		for _, edit := range foreign {
			check(route, 403, edit)
			check(route, 403, func(r *http.Request) { edit(r); r.Header.Set("Accept", "text/event-stream") })
		}
	}
	for _, route := range []string{"GET /healthz", "GET /readyz"} {
		check(route, 200, func(r *http.Request) { r.Header.Del("Authorization") })
	}
}

// TestBodyLimit checks that oversized bodies are rejected, with and without a declared length
// (SEC17).
func TestBodyLimit(t *testing.T) {
	t.Parallel()
	w := open(t, server.Config{Body: 100})
	for _, c := range []struct {
		name   string
		size   int
		untold bool
		status int
	}{{"at the limit", 100, false, 204}, {"at the limit, in chunks", 100, true, 204}, {"above", 101, false, 413},
		{"above, in chunks", 101, true, 413}} {
		rec := w.ask(t, "POST", "/test/change/7", strings.Repeat("x", c.size), func(r *http.Request) {
			if c.untold {
				r.ContentLength = -1
			}
		})
		if rec.Code != c.status {
			t.Errorf("%s: status %d, want %d", c.name, rec.Code, c.status)
		}
		if c.status == 413 {
			if p := problem(t, rec); p.Code != "too_large" {
				t.Errorf("%s: %+v", c.name, p)
			}
		}
	}
}

// TestPanic checks that only the log contains the cause of a panic.
func TestPanic(t *testing.T) {
	t.Parallel()
	w := open(t, server.Config{})
	rec := w.ask(t, "GET", "/test/panic", "", func(r *http.Request) { r.Header.Set("X-Request-ID", "req-7") })
	if p := problem(t, rec); rec.Code != 500 || p.Code != "internal" || !strings.Contains(p.Detail, "req-7") {
		t.Errorf("%d %+v", rec.Code, p)
	}
	if strings.Contains(rec.Body.String(), "canary") || strings.Contains(rec.Body.String(), ".go:") {
		t.Errorf("the answer tells what broke: %s", rec.Body)
	}
	if log := w.log.String(); !strings.Contains(log, "canary of a defect") || !strings.Contains(log, "request=req-7") ||
		!strings.Contains(log, "middleware_test.go") {
		t.Errorf("the log lacks what broke:\n%s", log)
	}
	func() {
		defer func() {
			if v := recover(); v != http.ErrAbortHandler { //nolint:errorlint // it is compared by net/http
				t.Errorf("half an answer ended with %v", v)
			}
		}()
		w.ask(t, "GET", "/test/late", "", nil)
		t.Error("half an answer was taken for a whole one")
	}()
}

// TestAudit checks that the audit log records who did what, with the route and never the path, and
// does not record read-only requests.
func TestAudit(t *testing.T) {
	t.Parallel()
	w := open(t, server.Config{})
	w.ask(t, "GET", "/test/who", "", nil)
	w.ask(t, "POST", "/test/change/7", "body canary", func(r *http.Request) { r.Header.Set("X-Request-ID", "a1") })
	w.ask(t, "POST", "/test/plain", "", nil)
	w.ask(t, "PUT", "/test/things/8", "", nil)
	w.ask(t, "POST", "/test/things", "", nil)
	w.ask(t, "POST", "/test/plain", "", func(r *http.Request) { r.Header.Del("Authorization") })
	w.ask(t, "POST", "/secret/path-canary", "", func(r *http.Request) { r.Header.Del("Authorization") })
	w.ask(t, "GET", "/secret/path-canary", "", func(r *http.Request) { r.Header.Del("Authorization") })
	type row struct {
		who, action, target, method, route string
		status                             int
	}
	var got []row
	for _, d := range w.audit.deeds {
		got = append(got, row{d.Principal.Name, d.Action, d.Target, d.Method, d.Route, d.Status})
		if d.At.IsZero() || d.RequestID == "" || d.Remote == "" {
			t.Errorf("a deed without time, request or address: %+v", d)
		}
	}
	want := []row{
		{"HOCKET_TOKEN", "things.change", "7", "POST", "POST /test/change/{id}", 204},
		{"HOCKET_TOKEN", "", "", "POST", "POST /test/plain", 409},
		{"HOCKET_TOKEN", "", "8", "PUT", "PUT /test/things/{id}", 204},
		{"HOCKET_TOKEN", "", "9", "POST", "POST /test/things", 201},
		{"", "secret.told", "s1", "POST", "/secret/", 202},
	}
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("deed %d: got %+v, want %+v", i, got[i], want[i])
		}
	}
	if log := w.log.String(); strings.Contains(log, "canary") ||
		!strings.Contains(log, `route="POST /test/change/{id}" status=204`) ||
		!strings.Contains(log, "path=/test/change/7 namespace=default token=HOCKET_TOKEN") {
		t.Errorf("the log:\n%s", log)
	}
}

package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/api/transport"
)

// TestForm checks that every malformed request yields a problem with a code, including errors from
// the mux and huma (SEC7).
func TestForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		name, method, path string
		status             int
		code, says         string
	}{
		{"unknown path", "GET", "/api/v1/nothing", 404, "not_found", "/api/v1/nothing"},
		{"method", "PATCH", "/api/v1/runs", 405, "method_not_allowed", "/api/v1/runs allows only GET"},
		{"unknown parameter", "GET", "/api/v1/runs?state=paused", 400, "invalid", "state"},
		{"parameter twice", "GET", "/api/v1/runs?status=paused&status=failed", 400, "invalid", "status"},
		{"bad query", "GET", "/api/v1/runs?%zz=1", 400, "invalid", "query"},
		{"unknown status", "GET", "/api/v1/runs?status=idle", 422, "invalid", "pending, running"},
		{"limit", "GET", "/api/v1/runs?limit=1000", 422, "invalid", "query.limit"},
		{"no run", "GET", "/api/v1/runs/missing", 404, "not_found", "run not found"},
		{"long path", "GET", "/api/v1/" + strings.Repeat("ä", 4000), 404, "not_found", "ä…"},
		{"bad cursor", "GET", "/api/v1/runs?cursor=x", 422, "invalid", "cursor"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.t = t
			if p := w.do(c.method, c.path, nil).problem(c.status, c.code); !strings.Contains(p.Detail, c.says) {
				t.Errorf("detail %q does not say %q", p.Detail, c.says)
			}
		})
	}
	if allow := w.do("PATCH", "/api/v1/runs", nil).header.Get("Allow"); !strings.Contains(allow, "GET") {
		t.Errorf("Allow %q", allow)
	}
}

// TestLargeBodies checks that a body above the limit yields 413, whether the API counts the bytes
// or a guard cuts the body off (SEC17).
func TestLargeBodies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := `{"document": "` + strings.Repeat("x", 12<<20) + `"}`
	w.do("POST", "/api/v1/runs", body).problem(413, "too_large")
	api := w.api
	guarded := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(rw, r.Body, 10)
		api.ServeHTTP(rw, r)
	})
	r := httptest.NewRequestWithContext(transport.With(t.Context(), &transport.Caller{Principal: w.caller,
		Service: w.service}), "POST", "/api/v1/runs", strings.NewReader(`{"document": "x"}`))
	rec := httptest.NewRecorder()
	guarded.ServeHTTP(rec, r)
	answer{t, rec.Code, rec.Header(), rec.Body.String()}.problem(413, "too_large")
}

// TestStrictForm checks that contradictory headers, compressed bodies and strings that are not
// UTF-8 are rejected, not read as something else (SEC7).
func TestStrictForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do("PUT", "/api/v1/workflows/poem", m{"document": poem}).is(200)
	ask := func(edit func(*http.Request), body string) answer {
		ctx := transport.With(t.Context(), &transport.Caller{Principal: w.caller, Service: w.service})
		r := httptest.NewRequestWithContext(ctx, "POST", "/api/v1/runs", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		edit(r)
		rec := httptest.NewRecorder()
		w.api.ServeHTTP(rec, r)
		return answer{t, rec.Code, rec.Header(), rec.Body.String()}
	}
	const body = `{"workflow": "poem"}`
	p := ask(func(r *http.Request) { r.Header["Idempotency-Key"] = []string{"a", "b"} }, body).problem(400, "invalid")
	if len(p.Errors) != 1 || p.Errors[0].Location != "header.Idempotency-Key" {
		t.Errorf("two keys: %+v", p)
	}
	ask(func(r *http.Request) { r.Header["If-Match"] = []string{`"a"`, `"b"`} }, body).problem(400, "invalid")
	p = ask(func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }, body).problem(415, "invalid")
	if len(p.Errors) != 1 || p.Errors[0].Location != "header.Content-Encoding" {
		t.Errorf("packed: %+v", p)
	}
	// as curl -d sends
	p = ask(func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }, body).problem(
		415, "invalid")
	if !strings.Contains(p.Detail, "send Content-Type: application/json") {
		t.Errorf("a form: %+v", p)
	}
	ask(func(r *http.Request) { r.Header.Set("Content-Encoding", "identity") }, body).is(201)
	p = ask(func(*http.Request) {}, "{\"workflow\": \"poem\", \"input\": \"\xff\"}").problem(400, "invalid")
	if !strings.Contains(p.Detail, "UTF-8") {
		t.Errorf("no UTF-8: %+v", p)
	}
	ask(func(*http.Request) {}, "{\"workflow\": \"poem\", \"input\": \"\u00fc\"}").is(201)
}

// TestErrors_APIHints checks that messages of the API mention its fields, not flags of the command
// line.
func TestErrors_APIHints(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do("PUT", "/api/v1/workflows/idea", m{"document": poem, "draft": true}).is(200)
	p := w.do("POST", "/api/v1/runs", m{"workflow": "idea"}).problem(422, "invalid")
	if want := "POST /api/v1/workflows/idea/publish"; !strings.Contains(p.Hint, want) ||
		strings.Contains(p.Detail+p.Hint, "--") || strings.Contains(p.Detail+p.Hint, "hocket ") {
		t.Errorf("the advice is %q, want %s", p.Hint, want)
	}
	if p.Reason != "workflow-draft-only" || p.Fields["id"] != "idea" {
		t.Errorf("the reason is %s with %v", p.Reason, p.Fields)
	}
	const unknown = `workflow:
  - {id: a, type: agent, name: missing}
`
	a := w.do("POST", "/api/v1/workflows/idea/validate", m{"document": unknown}).is(200)
	if !strings.Contains(a.body, "PUT /api/v1/agents/{id}") || strings.Contains(a.body, "--agents") {
		t.Errorf("the hint is in %s", a.body)
	}
	a = w.do("PUT", "/api/v1/workflows/missing",
		m{"document": "name: x\nworkflow:\n  - {id: a, type: agent, name: y}\n"})
	if strings.Contains(a.body, "--") || strings.Contains(a.body, "hocket agents") {
		t.Errorf("the hint is in %s", a.body)
	}
}

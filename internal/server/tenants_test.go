package server_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
)

// tokens returns the tokens of a server's store.
func (w *world) tokens() *access.Tokens { return access.NewTokens(access.Config{Store: w.Store()}) }

// create creates a token.
func (w *world) create(t *testing.T, g access.Grant) (string, access.Token) {
	t.Helper()
	text, made, err := w.tokens().Create(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	return text, made
}

// by sends a request with a token.
func (w *world) by(t *testing.T, token, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	return w.ask(t, method, path, body, func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+token)
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
	})
}

// TestNamespaces checks that a token is limited to its own namespace, in which nothing that belongs
// to others is visible (SEC10), that a revoked token is rejected, and that an unknown namespace is
// an error.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	w := open(t,
		server.Config{Service: service.Config{Documents: linked.Kit(), DB: filepath.Join(t.TempDir(), "hocket.db")}})
	a, _ := w.create(t, access.Grant{Name: "of a", Namespace: "a", Role: access.RoleAdmin})
	b, ofB := w.create(t, access.Grant{Name: "of b", Namespace: "b", Role: access.RoleAdmin})
	for text, want := range map[string]string{a: "a of a", b: "b of b", token: "default HOCKET_TOKEN"} {
		if rec := w.by(t, text, "GET", "/test/who", ""); rec.Body.String() != want {
			t.Errorf("the caller is %q, want %q", rec.Body, want)
		}
	}
	svc, err := w.Service(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	doc := service.Document{File: "hello.yaml",
		Data: []byte("agents:\n  w: {instruction: Write.}\nworkflow:\n  - {type: agent, name: w}\n")}
	wf, problems, err := service.Load(t.Context(), doc.File, doc.Data,
		service.LoadOptions{Formats: linked.Kit().Formats})
	if err != nil || problems.HasErrors() {
		t.Fatal(err, problems)
	}
	if _, err := svc.Start(t.Context(), service.StartRequest{Workflow: wf, RunID: "run-of-a",
		Files: service.Files{Replies: []byte("replies:\n  - {text: hello}\n")}}); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{a: true, b: false, token: false} {
		list, one := w.by(t, text, "GET", "/api/v1/runs", ""), w.by(t, text, "GET", "/api/v1/runs/run-of-a", "")
		if got := strings.Contains(list.Body.String(), "run-of-a"); list.Code != http.StatusOK || got != want {
			t.Errorf("list: %d %s", list.Code, list.Body)
		}
		if got := one.Code == http.StatusOK; got != want || !want && one.Code != http.StatusNotFound {
			t.Errorf("show: %d %s", one.Code, one.Body)
		}
	}
	// Metrics with the label of a namespace are only for its own tokens, and for admins of
	// `default`.
	reader, _ := w.create(t, access.Grant{Name: "reader", Role: access.RoleRun})
	ofA, ofDefault := `namespace="a"`, `namespace="default"`
	for text, want := range map[string][]string{a: {ofA}, b: {`namespace="b"`}, reader: {ofDefault},
		token: {ofA, `namespace="b"`, ofDefault}} {
		rec := w.by(t, text, "GET", "/metrics", "")
		got := regexp.MustCompile(`namespace="[^"]*"`).FindAllString(rec.Body.String(), -1)
		slices.Sort(got)
		if got = slices.Compact(got); rec.Code != http.StatusOK || !slices.Equal(got, want) {
			t.Errorf("metrics: %d, namespaces %v, want %v", rec.Code, got, want)
		}
		if !strings.Contains(rec.Body.String(), "hocket_http_requests_total") {
			t.Error("the metrics of the process are missing")
		}
		if shown := strings.Contains(rec.Body.String(), "hocket_run_started_total"); shown != slices.Contains(want,
			ofA) {
			t.Errorf("the runs of a are shown: %t, to a token that sees %v", shown, want)
		}
	}
	if _, err := w.Store().Revoke(t.Context(), "b", ofB.ID); err != nil {
		t.Fatal(err)
	}
	if rec := w.by(t, b, "GET", "/test/who", ""); rec.Code != http.StatusUnauthorized {
		t.Errorf("revoked: %d", rec.Code)
	}
	if _, err := w.Service(t.Context(), "c"); !errors.Is(err, access.ErrNoNamespace) {
		t.Errorf("an unknown namespace: %v", err)
	}
}

// TestAuditLog checks that each action is in the log of its namespace, with its actor and outcome.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	s, err := server.Open(t.Context(), server.Config{
		Service: service.Config{Documents: linked.Kit(), DB: service.Memory, Env: func(string) string { return "" }},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.AddMount(server.Mount{Name: "test", Patterns: []string{"/test/"}, Handler: testMount()}); err != nil {
		t.Fatal(err)
	}
	w := &world{Server: s}
	a, made := w.create(t, access.Grant{Name: "of a", Namespace: "a", Role: access.RoleRun})
	for _, path := range []string{"/test/change/x1", "/test/plain", "/nothing"} {
		w.by(t, a, "POST", path, "")
	}
	w.by(t, a, "GET", "/test/who", "")
	page, err := s.Store().Records(t.Context(), access.Query{Namespace: "a"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range page.Items {
		if r.Token != made.ID || r.Actor != "of a" || r.Request == "" || r.Remote == "" || r.At.IsZero() {
			t.Errorf("%+v", r)
		}
		got = append(got, strings.Join([]string{r.Action, r.Target, r.Outcome}, " "))
	}
	want := []string{"POST  not_found", "POST /test/plain  conflict", "things.change x1 ok"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
	if page, err := s.Store().Records(t.Context(), access.Query{Namespace: access.DefaultNamespace}); err != nil ||
		len(page.Items) != 0 {
		t.Errorf("another namespace has %+v, %v", page.Items, err)
	}
}

// TestAuditIntent checks that what may change something is recorded before it is done, and not done
// if it cannot be recorded; that its outcome replaces that record; and that an outcome that was
// lost is unknown.
func TestAuditIntent(t *testing.T) {
	t.Parallel()
	w := open(t, server.Config{})
	for _, path := range []string{"/test/change/x1", "/test/plain"} {
		w.ask(t, "POST", path, "", nil)
	}
	w.ask(t, "GET", "/test/who", "", nil)
	w.ask(t, "POST", "/test/plain", "", func(r *http.Request) { r.Header.Del("Authorization") })
	if n := len(w.audit.intents); n != 2 {
		t.Fatalf("%d intents, want 2: %+v", n, w.audit.intents)
	}
	for i, d := range w.audit.deeds {
		if in := w.audit.intents[i]; d.Intent != int64(i+1) || in.RequestID != d.RequestID || in.Status != 0 ||
			in.Target != []string{"/test/change/x1", "/test/plain"}[i] {
			t.Errorf("the intent %+v of %+v", in, d)
		}
	}
	w.audit.full = true
	if rec := w.ask(t, "POST", "/test/change/x2", "", nil); rec.Code != http.StatusServiceUnavailable {
		t.Errorf("without a record: %d %s", rec.Code, rec.Body)
	}
	if rec := w.ask(t, "GET", "/test/who", "", nil); rec.Code != http.StatusOK {
		t.Errorf("a read: %d", rec.Code)
	}
}

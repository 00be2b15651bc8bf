package hooks_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/service"
)

// signed returns the headers of a Standard Webhooks delivery, created with the reference library.
func signed(t *testing.T, secret, id string, at time.Time, body string) []string {
	t.Helper()
	wh, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := wh.Sign(id, at, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return []string{"webhook-id", id, "webhook-timestamp", strconv.FormatInt(at.Unix(), 10), "webhook-signature", sig,
		"Content-Type", "text/plain"}
}

func github(secret, id, body string) []string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(body))
	return []string{"X-Hub-Signature-256", "sha256=" + hex.EncodeToString(m.Sum(nil)), "X-GitHub-Delivery", id,
		"Content-Type", "application/json"}
}

// TestModes checks that each mode accepts what is signed in its way and rejects everything else, as
// if the path were unknown (SEC18).
func TestModes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	h := w.hooks.Receive()
	now := time.Now()
	std := w.create(hooks.CreateRequest{})
	gh := w.create(hooks.CreateRequest{Mode: hooks.ModeGitHub})
	tok := w.create(hooks.CreateRequest{Mode: hooks.ModeToken, Header: "x-gitlab-token"})
	bearer := w.create(hooks.CreateRequest{Mode: hooks.ModeToken, Header: "authorization"})
	other := w.create(hooks.CreateRequest{})
	at := func(c hooks.Created[hooks.Webhook]) string { return hooks.Path("default", c.Of) }
	fresh := func(list []string, key, value string) []string {
		out := append([]string(nil), list...)
		for i := 0; i < len(out); i += 2 {
			if out[i] == key {
				out[i+1] = value
			}
		}
		return out
	}
	good := signed(t, std.Secret, "m1", now, "hello")
	sum := func(list []string) string { return list[5] }
	unknown := send(h, "POST", "/hooks/aaaaaaaaaaaaaaaaaaaaaa", "hello", good...)
	if unknown.Code != http.StatusNotFound {
		t.Fatalf("unknown path: %d", unknown.Code)
	}
	for _, c := range []struct {
		name, path, body string
		headers          []string
		ok               bool
	}{
		{"standard", at(std), "hello", good, true},
		{"several signatures", at(std), "hello", fresh(good, "webhook-signature",
			"v1a,x v1,"+base64.StdEncoding.EncodeToString([]byte("no"))+" "+sum(good)), true},
		{"another body", at(std), "hello!", good, false},
		{"another id", at(std), "hello", fresh(good, "webhook-id", "m2"), false},
		{"another time", at(std), "hello", fresh(good, "webhook-timestamp", strconv.FormatInt(now.Unix()+1, 10)),
			false},
		{"another secret", at(std), "hello", signed(t, other.Secret, "m1", now, "hello"), false},
		{"another path", at(other), "hello", good, false},
		{"too old", at(std), "hello", signed(t, std.Secret, "m3", now.Add(-6*time.Minute), "hello"), false},
		{"too new", at(std), "hello", signed(t, std.Secret, "m3", now.Add(6*time.Minute), "hello"), false},
		{"a bit old", at(std), "hello", signed(t, std.Secret, "m4", now.Add(-4*time.Minute), "hello"), true},
		{"an id with a dot", at(std), "hello", signed(t, std.Secret, "m.5", now, "hello"), false},
		{"an id of blanks", at(std), "hello", signed(t, std.Secret, "m 5", now, "hello"), false},
		{"no headers", at(std), "hello", nil, false},
		{"no signature", at(std), "hello", fresh(good, "webhook-signature", ""), false},
		{"an unsigned version", at(std), "hello",
			fresh(good, "webhook-signature", strings.Replace(sum(good), "v1,", "v2,", 1)), false},
		{"a time that is none", at(std), "hello", fresh(good, "webhook-timestamp", "soon"), false},
		{"a time beyond all", at(std), "hello", fresh(good, "webhook-timestamp", "9223372036854775807"), false},
		{"github", at(gh), "{}", github(gh.Secret, "g1", "{}"), true},
		{"github, another body", at(gh), "[]", github(gh.Secret, "g2", "{}"), false},
		{"github, another secret", at(gh), "{}", github(std.Secret, "g2", "{}"), false},
		{"github, no prefix", at(gh), "{}", fresh(github(gh.Secret, "g2", "{}"), "X-Hub-Signature-256",
			strings.TrimPrefix(github(gh.Secret, "g2", "{}")[1], "sha256=")), false},
		{"github, no hex", at(gh), "{}", fresh(github(gh.Secret, "g2", "{}"), "X-Hub-Signature-256", "sha256=zz"),
			false},
		{"github, empty", at(gh), "{}", fresh(github(gh.Secret, "g2", "{}"), "X-Hub-Signature-256", "sha256="), false},
		{"standard where github is meant", at(gh), "{}", signed(t, gh.Secret, "m1", now, "{}"), false},
		{"token", at(tok), "{}", []string{"X-Gitlab-Token", tok.Secret, "Content-Type", "application/json"}, true},
		{"token in another header", at(tok), "{}", []string{"X-Webhook-Token", tok.Secret, "Content-Type",
			"application/json"}, false},
		{"another token", at(tok), "{}", []string{"X-Gitlab-Token", bearer.Secret, "Content-Type", "application/json"},
			false},
		{"no token", at(tok), "{}", []string{"X-Gitlab-Token", "", "Content-Type", "application/json"}, false},
		{"bearer token", at(bearer), "{}", []string{"Authorization", "Bearer " + bearer.Secret, "Content-Type",
			"application/json"}, true},
		{"another namespace", "/hooks/other/" + std.Of.Path, "hello", good, false},
		{"the namespace default, spelled", "/hooks/default/" + std.Of.Path, "hello", good, false},
		{"a path and more", at(std) + "/x", "hello", good, false},
		{"a short path", "/hooks/" + std.Of.Path[:21], "hello", good, false},
	} {
		rec := send(h, "POST", c.path, c.body, c.headers...)
		if c.ok {
			runOf(t, rec)
		} else if rec.Code != http.StatusNotFound || rec.Body.String() != unknown.Body.String() ||
			!sameHeader(rec, unknown) {
			t.Errorf("%s: can be told from an unknown path: %d %v %s", c.name, rec.Code, rec.Header(), rec.Body)
		}
	}
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS"} {
		known, un := send(h, method, at(std), "hello", good...),
			send(h, method, "/hooks/aaaaaaaaaaaaaaaaaaaaaa", "hello", good...)
		if known.Code != http.StatusMethodNotAllowed || known.Body.String() != un.Body.String() {
			t.Errorf("%s: %d %s, %d %s", method, known.Code, known.Body, un.Code, un.Body)
		}
	}
}

func sameHeader(a, b *httptest.ResponseRecorder) bool {
	if len(a.Header()) != len(b.Header()) {
		return false
	}
	for k := range a.Header() {
		if a.Header().Get(k) != b.Header().Get(k) {
			return false
		}
	}
	return true
}

// TestInput checks that a body is only ever the input (SEC2, SEC15).
func TestInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{config: hooks.Config{MaxBody: 2000}})
	h := w.hooks.Receive()
	c := w.create(hooks.CreateRequest{Mode: hooks.ModeToken})
	definition := `{"document": "nodes: []", "workflow": {"nodes": [{"id": "x", "type": "start"}]}, "branch": "b", ` +
		`"input": "i", "model": "m"}`
	for _, q := range []struct {
		name, kind, body, want string
		status                 int
	}{
		{"text", "text/plain; charset=UTF-8", "  as it is\r\n<b>", "  as it is\r\n<b>", 202},
		{"json", "application/json", ` {"b": 1.0, "a": "<é>"} `, ` {"b": 1.0, "a": "<é>"} `, 202},
		{"json with a byte order mark", "application/json", "\uFEFF{\"a\": 1}", `{"a": 1}`, 202},
		{"json of a kind", "application/cloudevents+json", `{"a": 1}`, `{"a": 1}`, 202},
		{"a definition", "application/json", definition, definition, 202},
		{"form", "application/x-www-form-urlencoded", "b=2&a=x+y&b=%3Cc%3E", `{"a":"x y","b":["2","<c>"]}`, 202},
		{"a template", "text/plain", "{{env.X}} ${env.HOME} {{PREVIOUS_OUTPUT}}",
			"{{env.X}} ${env.HOME} {{PREVIOUS_OUTPUT}}", 202},
		{"nothing", "", "", "", 202},
		{"no json", "application/json", `{"a"`, "", 422},
		{"no UTF-8", "text/plain", "\xff", "", 422},
		{"no form", "application/x-www-form-urlencoded", "%zz", "", 422},
		{"a form of bytes", "application/x-www-form-urlencoded", "a=%ff", "", 422},
		{"html", "text/html", "<b>", "", 415},
		{"parts", "multipart/form-data; boundary=x", "--x--", "", 415},
		{"another charset", "text/plain; charset=utf-16", "x", "", 415},
		{"no type", "", "x", "", 415},
		{"yaml", "application/yaml", "a: 1", "", 415},
		{"too large", "text/plain", strings.Repeat("x", 2001), "", 413},
		{"many fields", "application/x-www-form-urlencoded", strings.Repeat("&", 1000), "", 422},
	} {
		before := len(w.runs())
		rec := send(h, "POST", hooks.Path("default", c.Of), q.body, "X-Webhook-Token", c.Secret, "Content-Type", q.kind,
			"webhook-id", strings.ReplaceAll(q.name, " ", "-"))
		if q.status != http.StatusAccepted {
			if rec.Code != q.status || len(w.runs()) != before ||
				rec.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s: %d %s", q.name, rec.Code, rec.Body)
			}
			continue
		}
		run := runOf(t, rec)
		if _, err := w.service.Wait(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		o, err := w.service.Show(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		if got := expr.Text(o.Input); got != q.want || o.Workflow.ID == nil || *o.Workflow.ID != "gate" ||
			o.Status != event.StatusPaused {
			t.Errorf("%s: input %q, run %+v", q.name, got, o.Workflow)
		}
	}
	if big := send(h, "POST", "/hooks/aaaaaaaaaaaaaaaaaaaaaa",
		strings.Repeat("x", 2001)); big.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("too large for an unknown path: %d", big.Code)
	}
}

// TestPublishedOnly checks that triggers run what is published, never drafts or deleted workflows
// (P38), and that a webhook does not outlive its workflow.
func TestPublishedOnly(t *testing.T) {
	t.Parallel()
	for name, db := range map[string]string{"memory": "", "file": onDisk(t)} {
		w := newWorld(t, setup{db: db})
		h := w.hooks.Receive()
		c := w.create(hooks.CreateRequest{Mode: hooks.ModeToken})
		deliver := func(id string) *httptest.ResponseRecorder {
			return send(h, "POST", hooks.Path("default", c.Of), "x", "X-Webhook-Token", c.Secret, "Content-Type",
				"text/plain", "webhook-id", id)
		}
		first := runOf(t, deliver("a"))
		if _, problems, err := w.service.Apply(t.Context(),
			service.ApplyRequest{ID: "gate", Draft: true, Documents: []service.Document{
				{File: "gate.yaml", Data: []byte(echo)},
			}}); err != nil || problems.HasErrors() {
			t.Fatal(err, problems)
		}
		o, err := w.service.Show(t.Context(), runOf(t, deliver("b")))
		if err != nil || o.Workflow.Version == nil || *o.Workflow.Version != 1 {
			t.Errorf("%s: %+v, %v", name, o.Workflow, err)
		}
		if err := w.service.DeleteWorkflow(t.Context(), "gate"); err != nil {
			t.Fatal(err)
		}
		if name == "memory" { // a deletion sends no signal there
			if rec := deliver("c"); rec.Code != http.StatusGone {
				t.Errorf("%s: deleted: %d %s", name, rec.Code, rec.Body)
			}
		}
		w.apply("gate", gate, "json")
		if rec := deliver("d"); rec.Code != http.StatusGone || strings.Contains(rec.Body.String(), first) {
			t.Errorf("%s: stored again: %d %s", name, rec.Code, rec.Body)
		}
		list, err := w.hooks.Webhooks(t.Context(), "default", w.service)
		if err != nil || len(list) != 1 || list[0].Disabled.IsZero() || list[0].Reason == "" {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
		if n := len(w.runs()); n != 2 {
			t.Errorf("%s: %d runs", name, n)
		}
		_, err = w.hooks.Create(t.Context(), "default", w.service, hooks.CreateRequest{Workflow: "nothing"})
		if service.CodeOf(err) != service.CodeNotFound {
			t.Errorf("%s: unknown workflow: %v", name, err)
		}
		_, err = w.hooks.Create(t.Context(), "default", w.service, hooks.CreateRequest{Workflow: "gate", Branch: "b"})
		if service.CodeOf(err) != service.CodeInvalid {
			t.Errorf("%s: unknown branch: %v", name, err)
		}
	}
}

// TestSecrets checks that secrets are shown once, are in no file in readable form, and that two of
// them are valid after a rotation (SEC11, SEC18).
func TestSecrets(t *testing.T) {
	t.Parallel()
	db := onDisk(t)
	w := newWorld(t, setup{db: db})
	h := w.hooks.Receive()
	now := time.Now()
	c := w.create(hooks.CreateRequest{})
	path := hooks.Path("default", c.Of)
	if !strings.HasPrefix(c.Secret, "whsec_") || len(c.Of.Path) != 22 {
		t.Errorf("%+v", c)
	}
	for _, file := range []string{db, db + "-wal"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(c.Secret, "whsec_"))
		if bytes.Contains(text, []byte(c.Secret)) || bytes.Contains(text, raw) {
			t.Errorf("%s holds the secret", file)
		}
	}
	st, err := os.Stat(w.service.Home().Locator().KeyFile())
	if err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
		t.Fatalf("key file %v, %v", st, err)
	}
	new1, err := w.hooks.Rotate(t.Context(), "default", w.service, c.Of.ID, hooks.RotateRequest{})
	if err != nil || new1.Secret == c.Secret || new1.Of.Path != c.Of.Path {
		t.Fatal(new1, err)
	}
	answers := func(secret, id string) int {
		return send(h, "POST", path, "x", signed(t, secret, id, now, "x")...).Code
	}
	if a, b := answers(c.Secret, "a"), answers(new1.Secret, "b"); a != 202 || b != 202 {
		t.Errorf("during the overlap: %d, %d", a, b)
	}
	// A server that was started later has the same key.
	again := newWorld(t, setup{db: db})
	if rec := send(again.hooks.Receive(), "POST", path, "x",
		signed(t, new1.Secret, "c", now, "x")...); rec.Code != 202 {
		t.Errorf("another process: %d", rec.Code)
	}
	zero := time.Duration(0)
	new2, err := w.hooks.Rotate(t.Context(), "default", w.service, c.Of.ID, hooks.RotateRequest{Overlap: &zero})
	if err != nil || len(new2.Of.Secrets) != 1 {
		t.Fatal(new2, err)
	}
	if a, b, d := answers(c.Secret, "d"), answers(new1.Secret, "e"), answers(new2.Secret, "f"); a != 404 || b != 404 ||
		d != 202 {
		t.Errorf("after it: %d, %d, %d", a, b, d)
	}
	// The operator's secret is stored as a reference.
	w.env["HOOK"] = "a secret of the operator"
	ref := w.create(hooks.CreateRequest{Mode: hooks.ModeToken, SecretRef: "${env.HOOK}"})
	if ref.Secret != "" || len(ref.Of.Secrets) != 1 || ref.Of.Secrets[0].Ref != "${env.HOOK}" {
		t.Errorf("%+v", ref)
	}
	sent := func() int {
		return send(h, "POST", hooks.Path("default", ref.Of), "x", "X-Webhook-Token", "a secret of the operator",
			"Content-Type", "text/plain").Code
	}
	if got := sent(); got != 202 {
		t.Errorf("by reference: %d", got)
	}
	w.env["HOOK"] = "another secret of the operator"
	if got := sent(); got != 404 {
		t.Errorf("after the operator changed it: %d", got)
	}
	for _, q := range []hooks.CreateRequest{
		{SecretRef: "written down"}, {SecretRef: "${env.NOT_SET}"}, {Mode: "basic"},
		{Mode: hooks.ModeToken, Header: "Cookie"}, {Mode: hooks.ModeGitHub, Header: "X-Y"},
		{Mode: hooks.ModeToken, Header: "no header"},
	} {
		q.Workflow = "gate"
		if _, err := w.hooks.Create(t.Context(), "default", w.service, q); service.CodeOf(err) != service.CodeInvalid ||
			strings.Contains(err.Error(), "written down") {
			t.Errorf("%+v: %v", q, err)
		}
	}
	if err := w.hooks.Delete(t.Context(), "default", w.service, ref.Of.ID); err != nil {
		t.Error(err)
	}
	if err := w.hooks.Delete(t.Context(), "default", w.service, ref.Of.ID); service.CodeOf(
		err) != service.CodeNotFound {
		t.Errorf("deleted twice: %v", err)
	}
	if _, err := w.hooks.Rotate(t.Context(), "default", w.service, "wh_x", hooks.RotateRequest{}); service.CodeOf(
		err) != service.CodeNotFound {
		t.Errorf("unknown: %v", err)
	}
}

// TestReceive_Cause checks that the log of the server has why a delivery was rejected, which the
// sender does not learn.
func TestReceive_Cause(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	std, gh := w.create(hooks.CreateRequest{}), w.create(hooks.CreateRequest{Mode: hooks.ModeGitHub})
	tok := w.create(hooks.CreateRequest{Mode: hooks.ModeToken, Header: "x-token"})
	now := time.Now()
	for _, c := range []struct {
		hook    hooks.Webhook
		headers []string
		want    string
	}{
		{std.Of, nil, "the header webhook-id is missing"},
		{std.Of, signed(t, std.Secret, "m1", now.Add(-time.Hour), "hello"),
			"the time of the signature is more than 5m0s"},
		{std.Of, signed(t, std.Secret, "m1", now, "other"), "the signature is of no secret of the webhook"},
		{gh.Of, nil, "the header X-Hub-Signature-256 is missing"},
		{gh.Of, github("wrong", "m1", "hello"), "the signature is of no secret of the webhook"},
		{tok.Of, []string{"x-token", "wrong"}, "is not a secret of the webhook"},
		{hooks.Webhook{}, nil, "no webhook with a usable secret has this path"},
	} {
		path := "/hooks/unknown"
		if c.hook.ID != "" {
			path = hooks.Path("default", c.hook)
		}
		info := &transport.Request{}
		r := httptest.NewRequestWithContext(transport.WithRequest(t.Context(), info), http.MethodPost, path,
			strings.NewReader("hello"))
		for i := 0; i+1 < len(c.headers); i += 2 {
			r.Header.Set(c.headers[i], c.headers[i+1])
		}
		a := httptest.NewRecorder()
		w.hooks.Receive().ServeHTTP(a, r)
		if err := info.Cause(); a.Code != http.StatusNotFound || err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "webhook "+c.hook.ID) || strings.Contains(a.Body.String(), "signature") {
			t.Errorf("%s: status %d, %v, want %q", c.hook.ID, a.Code, err, c.want)
		}
	}
}

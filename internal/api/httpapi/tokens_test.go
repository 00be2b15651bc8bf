package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/httpapi"
)

// withAccess sets up the world's own token store.
func (w *world) withAccess() *access.Memory {
	store := &access.Memory{}
	w.api = httpapi.New(httpapi.Config{Access: store})
	return store
}

// inNamespace returns the same world with an admin of another namespace as its caller.
func (w *world) inNamespace(namespace string, approve bool) *world {
	c := *w
	c.caller.Namespace, c.caller.Approve = namespace, approve
	return &c
}

// tokenNames returns the names of the tokens on one page.
func tokenNames(a answer) (names, next string) {
	a.t.Helper()
	var l httpapi.List[httpapi.Token]
	a.is(http.StatusOK).decode(&l)
	for _, t := range l.Items {
		names += t.Name + " "
	}
	return strings.TrimSpace(names), l.Next
}

// TestTokens checks that tokens are created, listed and revoked in the caller's namespace, and that
// the text is returned only once (SEC2).
func TestTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.withAccess()
	var made httpapi.MadeToken
	got := w.do("POST", "/api/v1/tokens", `{"name": "ci", "role": "run", "expiresAt": "2100-01-01T00:00:00Z"}`).is(
		http.StatusCreated)
	got.decode(&made)
	if made.Namespace != "default" || made.Role != access.RoleRun || made.Approve || made.ExpiresAt == nil ||
		made.UsedAt != nil || got.header.Get("Location") != "/api/v1/tokens/"+made.ID {
		t.Errorf("%+v, %v", made, got.header)
	}
	p, err := access.NewTokens(access.Config{Store: store}).Find(t.Context(), made.Text)
	if err != nil || p.Token != made.ID || p.Role != access.RoleRun {
		t.Errorf("%+v, %v", p, err)
	}
	for _, name := range []string{"two", "three"} {
		w.do("POST", "/api/v1/tokens", map[string]any{"name": name, "role": "edit", "approve": true}).is(
			http.StatusCreated)
	}
	if a := w.do("GET", "/api/v1/tokens", nil); strings.Contains(a.body, "hk_") {
		t.Errorf("the list has texts: %s", a.body)
	}
	names, next := tokenNames(w.do("GET", "/api/v1/tokens?limit=2", nil))
	rest, end := tokenNames(w.do("GET", "/api/v1/tokens?limit=2&cursor="+next, nil))
	if names+" "+rest != "ci two three" || next == "" || end != "" {
		t.Errorf("%s, %q, %s, %q", names, next, rest, end)
	}
	w.do("DELETE", "/api/v1/tokens/"+made.ID, nil).is(http.StatusNoContent)
	w.do("DELETE", "/api/v1/tokens/"+made.ID, nil).problem(http.StatusNotFound, "not_found")
	if names, _ := tokenNames(w.do("GET", "/api/v1/tokens", nil)); names != "two three" {
		t.Error(names)
	}
	for name, body := range map[string]string{
		"no name": `{"role": "run"}`, "empty name": `{"name": "", "role": "run"}`,
		"unseen": `{"name": "a\u202eb", "role": "run"}`, "role": `{"name": "x", "role": "root"}`,
		"no role": `{"name": "x"}`, "expired": `{"name": "x", "role": "run", "expiresAt": "2020-01-01T00:00:00Z"}`,
		"no time":       `{"name": "x", "role": "run", "expiresAt": "0001-01-01T00:00:00Z"}`,
		"namespace":     `{"name": "x", "role": "run", "namespace": "../x"}`,
		"unknown field": `{"name": "x", "role": "run", "token": "hk_mine"}`,
		"approve":       `{"name": "x", "role": "run", "approve": "yes"}`,
	} {
		if p := w.do("POST", "/api/v1/tokens", body).problem(http.StatusUnprocessableEntity,
			"invalid"); p.Detail == "" {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if names, _ := tokenNames(w.do("GET", "/api/v1/tokens", nil)); names != "two three" {
		t.Errorf("something was made: %s", names)
	}
}

// TestTokens_OtherPrincipals checks that admins manage the tokens of their namespace, and admins of
// default the tokens of all; that no caller grants a permission that they do not have; and that no
// caller learns which namespaces exist (SEC2, SEC10, SEC12).
func TestTokens_OtherPrincipals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.withAccess()
	a, b := w.inNamespace("a", true), w.inNamespace("b", false)
	var ofA httpapi.MadeToken
	a.do("POST", "/api/v1/tokens", `{"name": "of a", "role": "admin", "approve": true}`).is(http.StatusCreated).decode(
		&ofA)
	w.do("POST", "/api/v1/tokens", `{"name": "of b", "role": "run", "namespace": "b"}`).is(http.StatusCreated)
	if names, _ := tokenNames(b.do("GET", "/api/v1/tokens", nil)); names != "of b" {
		t.Errorf("b has %s", names)
	}
	if names, _ := tokenNames(w.do("GET", "/api/v1/tokens?namespace=a", nil)); names != "of a" {
		t.Errorf("a has %s", names)
	}
	w.do("GET", "/api/v1/tokens?namespace=c", nil).problem(http.StatusNotFound, "not_found")
	for _, path := range []string{"/api/v1/tokens?namespace=", "/api/v1/audit?namespace="} {
		there, not := b.do("GET", path+"a", nil).problem(http.StatusForbidden, "forbidden"),
			b.do("GET", path+"c", nil).problem(http.StatusForbidden, "forbidden")
		if there.Detail != not.Detail {
			t.Errorf("%s tells which namespaces there are: %q, %q", path, there.Detail, not.Detail)
		}
		b.do("GET", path+"default", nil).problem(http.StatusForbidden, "forbidden")
		b.do("GET", path+"b", nil).is(http.StatusOK)
	}
	other, random := b.do("DELETE", "/api/v1/tokens/"+ofA.ID, nil).problem(http.StatusNotFound, "not_found"),
		b.do("DELETE", "/api/v1/tokens/0123456789abcdef", nil).problem(http.StatusNotFound, "not_found")
	if other.Detail != random.Detail {
		t.Errorf("%q, %q", other.Detail, random.Detail)
	}
	b.do("DELETE", "/api/v1/tokens/"+ofA.ID+"?namespace=a", nil).problem(http.StatusForbidden, "forbidden")
	for _, body := range []string{`{"name": "x", "role": "run", "namespace": "a"}`,
		`{"name": "x", "role": "run", "namespace": "default"}`, `{"name": "x", "role": "run", "approve": true}`} {
		b.do("POST", "/api/v1/tokens", body).problem(http.StatusForbidden, "forbidden")
	}
	if names, err := store.Namespaces(t.Context()); err != nil || strings.Join(names, " ") != "a b default" {
		t.Errorf("%v, %v", names, err)
	}
	w.do("DELETE", "/api/v1/tokens/"+ofA.ID+"?namespace=a", nil).is(http.StatusNoContent)
}

// TestAudit reads the log of the caller's namespace page by page.
func TestAudit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.withAccess()
	w.do("POST", "/api/v1/tokens", `{"name": "of a", "role": "run", "namespace": "a"}`).is(http.StatusCreated)
	at := time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC)
	for i, r := range []access.Record{{Namespace: "default", Action: "one"}, {Namespace: "a", Action: "of a"},
		{Namespace: "default", Action: "two"}, {Namespace: "default", Action: "three"}} {
		r.At, r.Actor, r.Outcome = at.Add(time.Duration(i)*time.Hour), "ann", access.OutcomeOK
		if err := store.Record(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	actions := func(w *world, query string) (text, next string) {
		t.Helper()
		var l httpapi.List[httpapi.AuditRecord]
		w.do("GET", "/api/v1/audit"+query, nil).is(http.StatusOK).decode(&l)
		for _, r := range l.Items {
			text += r.Action + " "
		}
		return strings.TrimSpace(text), l.Next
	}
	if got, _ := actions(w, ""); got != "three two one" {
		t.Error(got)
	}
	first, next := actions(w, "?limit=2")
	rest, end := actions(w, "?limit=2&cursor="+next)
	if first != "three two" || rest != "one" || end != "" {
		t.Errorf("%s, %s, %q", first, rest, end)
	}
	if got, _ := actions(w, "?since=2026-11-22T02:00:00Z"); got != "three two" {
		t.Error(got)
	}
	if got, _ := actions(w, "?namespace=a"); got != "of a" {
		t.Error(got)
	}
	if got, _ := actions(w.inNamespace("a", false), ""); got != "of a" {
		t.Error(got)
	}
	if got, _ := actions(w.inNamespace("b", false), ""); got != "" {
		t.Error(got)
	}
	w.do("GET", "/api/v1/audit?cursor=x", nil).problem(http.StatusUnprocessableEntity, "invalid")
	w.do("GET", "/api/v1/audit?actor=ann", nil).problem(http.StatusBadRequest, "invalid")
}

package httpapi_test

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/api/httpapi"
	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/service"
)

// statusEndpoint is an endpoint that responds with a given status.
type statusEndpoint struct{ status chan int }

func (d statusEndpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return &http.Response{StatusCode: <-d.status, Status: "as told", Header: http.Header{},
		Body: io.NopCloser(strings.NewReader("no")), Request: r}, nil
}

// withHooks sets up webhooks and notifications whose endpoints respond as desk specifies.
func (w *world) withHooks() (h *hooks.Hooks, desk statusEndpoint, store hooks.Store) {
	w.t.Helper()
	desk, store = statusEndpoint{make(chan int)}, w.service.Home().Hooks
	client := &http.Client{Transport: desk}
	h, err := hooks.New(hooks.Config{
		Service:   func(context.Context, string) (*service.Service, error) { return w.service, nil },
		PublicURL: "https://hocket.example.com", Secrets: secret.Resolver{Env: func(string) string {
			return "the operator's own secret"
		}},
		Operator: client, Guarded: client,
		Pace: hooks.Pace{Every: 5 * time.Millisecond, Delays: []time.Duration{time.Millisecond}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.api = httpapi.New(httpapi.Config{Hooks: h})
	return h, desk, store
}

// TestWebhooks checks that an admin creates, lists, rotates and deletes webhooks, that a secret is
// returned once, and that only operators may refer to operators' secrets (SEC2, SEC10, SEC11).
func TestWebhooks(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t, filepath.Join(t.TempDir(), "hocket.db"))
	h, _, _ := w.withHooks()
	w.do("POST", "/api/v1/workflows", m{"id": "post", "document": post}).is(http.StatusCreated)
	var made httpapi.Webhook
	w.do("POST", "/api/v1/webhooks", m{"workflow": "post", "name": "desk"}).is(http.StatusCreated).decode(&made)
	if made.Workflow != "post" || made.Name != "desk" || made.Mode != "standard" || made.CreatedBy != "ann" ||
		made.SecretRef != nil || made.Overlap != nil || made.DisabledAt != nil ||
		!strings.HasPrefix(made.Secret, "whsec_") || !strings.HasPrefix(made.URL, "https://hocket.example.com/hooks/") {
		t.Errorf("%+v", made)
	}
	var named httpapi.Webhook
	w.do("POST", "/api/v1/webhooks", m{"workflow": "post", "mode": "token", "header": "X-Desk",
		"secretRef": "${env.DESK}"}).is(http.StatusCreated).decode(&named)
	if named.Secret != "" || named.SecretRef == nil || *named.SecretRef != "${env.DESK}" || named.Header == nil ||
		*named.Header != "X-Desk" {
		t.Errorf("%+v", named)
	}
	list := func() (ids []string, body string) {
		a := w.do("GET", "/api/v1/webhooks", nil).is(http.StatusOK)
		var l httpapi.List[httpapi.Webhook]
		a.decode(&l)
		for _, one := range l.Items {
			ids = append(ids, one.ID)
		}
		return ids, a.body
	}
	ids, body := list()
	if len(ids) != 2 || !slices.Contains(ids, made.ID) || !slices.Contains(ids, named.ID) || strings.Contains(body,
		"whsec_") || strings.Contains(body, made.Secret) || strings.Contains(body, "own secret") {
		t.Errorf("%v %s", ids, body)
	}

	var rotated httpapi.Webhook
	w.do("POST", "/api/v1/webhooks/"+made.ID+"/rotate", m{"overlapSeconds": 60}).is(http.StatusOK).decode(&rotated)
	if rotated.ID != made.ID || rotated.URL != made.URL || rotated.Secret == made.Secret ||
		!strings.HasPrefix(rotated.Secret, "whsec_") || rotated.Overlap == nil ||
		time.Until(*rotated.Overlap) > time.Minute {
		t.Errorf("%+v", rotated)
	}
	w.do("POST", "/api/v1/webhooks/"+made.ID+"/rotate", m{"overlapSeconds": -1}).problem(http.StatusUnprocessableEntity,
		"invalid")
	path := strings.TrimPrefix(made.URL, "https://hocket.example.com")
	if stored, err := h.Webhooks(t.Context(), access.DefaultNamespace, w.service); err != nil ||
		!slices.ContainsFunc(stored, func(x hooks.Webhook) bool { return hooks.Path("default", x) == path }) {
		t.Errorf("%v", err)
	}

	for name, c := range map[string]struct {
		body   any
		status int
		code   string
	}{
		"no workflow":        {m{}, 422, "invalid"},
		"unknown workflow":   {m{"workflow": "nothing"}, 404, "not_found"},
		"unknown branch":     {m{"workflow": "post", "branch": "b"}, 422, "invalid"},
		"unknown mode":       {m{"workflow": "post", "mode": "basic"}, 422, "invalid"},
		"a written secret":   {m{"workflow": "post", "secretRef": "written-down-here"}, 422, "invalid"},
		"header of standard": {m{"workflow": "post", "header": "X-A"}, 422, "invalid"},
		"a definition":       {m{"workflow": "post", "document": post}, 422, "invalid"},
	} {
		if p := w.do("POST", "/api/v1/webhooks", c.body).problem(c.status, c.code); strings.Contains(p.Detail,
			"written-down") {
			t.Errorf("%s: %+v", name, p)
		}
	}
	w.inNamespace("tenant", true).do("POST", "/api/v1/webhooks", m{"workflow": "post", "secretRef": "${env.DESK}"}).
		problem(
			http.StatusForbidden, "forbidden")
	for _, role := range []access.Role{access.RoleRun, access.RoleEdit} {
		w.withCaller(role, true).do("POST", "/api/v1/webhooks", m{"workflow": "post"}).problem(http.StatusForbidden,
			"forbidden")
		w.withCaller(role, true).do("GET", "/api/v1/webhooks", nil).problem(http.StatusForbidden, "forbidden")
		w.withCaller(role, true).do("DELETE", "/api/v1/webhooks/"+made.ID, nil).problem(http.StatusForbidden,
			"forbidden")
	}

	w.do("DELETE", "/api/v1/webhooks/"+made.ID, nil).is(http.StatusNoContent)
	w.do("DELETE", "/api/v1/webhooks/"+made.ID, nil).problem(http.StatusNotFound, "not_found")
	w.do("POST", "/api/v1/webhooks/"+made.ID+"/rotate", m{}).problem(http.StatusNotFound, "not_found")
	if ids, _ := list(); !slices.Equal(ids, []string{named.ID}) {
		t.Errorf("%v", ids)
	}
}

// TestNotifications checks that an admin creates endpoints, sees which notifications were sent and
// which failed, and resends one that was given up (P23, SEC2, SEC12).
func TestNotifications(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t, filepath.Join(t.TempDir(), "hocket.db"))
	h, desk, store := w.withHooks()
	w.do("POST", "/api/v1/workflows", m{"id": "poem", "document": poem}).is(http.StatusCreated)
	var made httpapi.Endpoint
	w.do("POST", "/api/v1/notifications/endpoints", m{"url": "https://desk.example.com/in", "name": "desk",
		"on": []string{"run.completed"}, "approveLinks": true}).is(http.StatusCreated).decode(&made)
	if made.URL != "https://desk.example.com/in" || made.Name != "desk" ||
		!slices.Equal(made.On, []string{"run.completed"}) || !made.ApproveLinks || made.Operator ||
		!strings.HasPrefix(made.Secret, "whsec_") {
		t.Errorf("%+v", made)
	}
	a := w.do("GET", "/api/v1/notifications/endpoints", nil).is(http.StatusOK)
	var endpoints httpapi.List[httpapi.Endpoint]
	if a.decode(&endpoints); len(endpoints.Items) != 1 || endpoints.Items[0].ID != made.ID ||
		strings.Contains(a.body, "whsec_") {
		t.Errorf("%s", a.body)
	}
	w.withCaller(access.RoleAdmin, false).do("POST", "/api/v1/notifications/endpoints",
		m{"url": "https://a.example", "approveLinks": true}).problem(http.StatusForbidden, "forbidden")
	// The name of an endpoint is a role: it never changes, so that an admin without
	// permission to approve cannot redirect its links.
	for _, method := range []string{"PUT", "PATCH", "POST"} {
		if a := w.withCaller(access.RoleAdmin, false).do(method, "/api/v1/notifications/endpoints/"+made.ID,
			m{"name": "finance"}); a.status != http.StatusNotFound && a.status != http.StatusMethodNotAllowed {
			t.Errorf("%s of an endpoint: %d: %s", method, a.status, a.body)
		}
	}
	w.withCaller(access.RoleEdit, true).do("GET", "/api/v1/notifications", nil).problem(http.StatusForbidden,
		"forbidden")
	for _, body := range []m{{}, {"url": "ftp://a.example"}, {"url": "https://u:p@a.example"},
		{"url": "https://a.example", "on": []string{"run.started"}}} {
		w.do("POST", "/api/v1/notifications/endpoints", body).problem(http.StatusUnprocessableEntity, "invalid")
	}

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.Maintain(ctx, access.DefaultNamespace, w.service)
	}()
	defer func() {
		cancel()
		<-done
	}()
	for begun := false; !begun; time.Sleep(time.Millisecond) { // earlier events are not sent
		var err error
		if _, begun, err = store.Cursor(ctx); err != nil {
			t.Fatal(err)
		}
	}
	run := w.do("POST", "/api/v1/runs?wait=10s", m{"workflow": "poem", "input": "bees"}).run().ID
	desk.status <- http.StatusInternalServerError
	desk.status <- http.StatusInternalServerError // the second and last attempt
	stands := func(state string) httpapi.Notification {
		t.Helper()
		for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			var l httpapi.List[httpapi.Notification]
			w.do("GET", "/api/v1/notifications?state="+state+"&run="+run, nil).is(http.StatusOK).decode(&l)
			if len(l.Items) == 1 {
				return l.Items[0]
			}
		}
		t.Fatalf("none is %s", state)
		return httpapi.Notification{}
	}
	n := stands("dead")
	if n.Endpoint != made.ID || n.Type != "run.completed" || n.Run != run || n.Wait != nil || n.Tries != 2 ||
		n.Error == nil || !strings.Contains(*n.Error, "as told") || n.SettledAt == nil || n.DueAt != nil {
		t.Errorf("%+v", n)
	}
	var again httpapi.Notification
	w.do("POST", "/api/v1/notifications/"+n.ID+"/retry", nil).is(http.StatusOK).decode(&again)
	if again.ID != n.ID || again.State != "pending" || again.DueAt == nil {
		t.Errorf("%+v", again)
	}
	desk.status <- http.StatusNoContent
	if n = stands("delivered"); n.ID != again.ID || n.Error != nil {
		t.Errorf("%+v", n)
	}
	w.do("POST", "/api/v1/notifications/"+n.ID+"/retry", nil).problem(http.StatusUnprocessableEntity, "invalid")
	w.do("POST", "/api/v1/notifications/msg_x/retry", nil).problem(http.StatusNotFound, "not_found")
	w.do("GET", "/api/v1/notifications?state=lost", nil).problem(http.StatusUnprocessableEntity, "invalid")
	w.do("GET", "/api/v1/notifications?cursor=x", nil).problem(http.StatusUnprocessableEntity, "invalid")
	w.do("DELETE", "/api/v1/notifications/endpoints/"+made.ID, nil).is(http.StatusNoContent)
	w.do("DELETE", "/api/v1/notifications/endpoints/"+made.ID, nil).problem(http.StatusNotFound, "not_found")
}

package hooks_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/api/transport"
)

// TestAudit_NamespaceOfLinkRequests checks that actions through an entry point that needs no token
// are recorded with the namespace that they belong to, so that they appear in its audit log and in
// no other (SEC10, SEC18).
func TestAudit_NamespaceOfLinkRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{config: hooks.Config{PublicURL: public}})
	ask := func(h http.Handler, path, body string, header http.Header) *transport.Request {
		t.Helper()
		r := &transport.Request{}
		req := httptest.NewRequestWithContext(transport.WithRequest(t.Context(), r), http.MethodPost, path,
			strings.NewReader(body))
		req.Header = header
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		if _, told := r.Deeds(transport.Deed{}); rec.Code >= 300 || !told {
			t.Fatalf("%s: %d %s, told: %t", path, rec.Code, rec.Body, told)
		}
		return r
	}
	path := w.link(w.start(gate, "json", "", "x"))
	page := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Sec-Fetch-Site": {"same-origin"}}
	if who := ask(w.hooks.Approve(), path, form(path, "decision", "approve"), page).Who(); who.Namespace != "default" {
		t.Errorf("the decision is told as one of %+v", who)
	}
	made := w.create(hooks.CreateRequest{Mode: hooks.ModeToken})
	sent := http.Header{"X-Webhook-Token": {made.Secret}, "Content-Type": {"application/json"}}
	if who := ask(w.hooks.Receive(), hooks.Path("default", made.Of), `{}`, sent).Who(); who.Namespace != "default" ||
		who.Token != made.Of.ID {
		t.Errorf("the delivery is told as one of %+v", who)
	}
}

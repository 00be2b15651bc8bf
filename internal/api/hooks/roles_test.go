package hooks_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/engine"
)

// TestLinkRoles checks that a link that was sent to an endpoint without a role answers nothing, and
// is not used up.
func TestLinkRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{config: hooks.Config{PublicURL: public}})
	run := w.start("workflow: [{type: approval, prompt: Sure?, roles: [finance]}]\n", "yaml", "", "x")
	path := w.link(run)
	for range 2 {
		page := send(w.hooks.Approve(), "POST", path, form(path, "decision", "approve"), fromPage...)
		if page.Code != 403 || !strings.Contains(page.Body.String(), "Others may answer: finance.") {
			t.Errorf("%d: %s", page.Code, page.Body)
		}
	}
	if w.status(run) != engine.StatusPaused {
		t.Errorf("the run is %s", w.status(run))
	}
	mine := w.link(w.start("workflow: [{type: approval, prompt: Sure?, roles: [finance, ep_test]}]\n", "yaml", "", "x"))
	if page := send(w.hooks.Approve(), "POST", mine, form(mine, "decision", "approve"), fromPage...); page.Code != 200 {
		t.Errorf("%d: %s", page.Code, page.Body)
	}
}

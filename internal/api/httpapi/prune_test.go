package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/access"
)

// TestPrune checks that runs can be deleted in bulk, by age or by name, and that running runs and
// runs that were not named are kept.
func TestPrune(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do("PUT", "/api/v1/workflows/poem", m{"document": poem}).is(200)
	w.do("PUT", "/api/v1/workflows/post", m{"document": post}).is(200)
	start := func(workflow string) string {
		return w.do("POST", "/api/v1/runs?wait=1m", m{"workflow": workflow}).is(201).run().ID
	}
	count := func() int {
		var page struct{ Items []any }
		w.do("GET", "/api/v1/runs", nil).is(200).decode(&page)
		return len(page.Items)
	}
	prune := func(body m) (runs int) {
		t.Helper()
		var done struct{ Runs int }
		w.do("POST", "/api/v1/runs/prune", body).is(200).decode(&done)
		return done.Runs
	}
	before := time.Now().Add(-time.Minute)
	ended, waits := []string{start("poem"), start("poem"), start("poem")}, []string{start("post"), start("post")}
	w.withCaller(access.RoleEdit, true).do("POST", "/api/v1/runs/prune", m{"endedBefore": time.Now()}).problem(403,
		"forbidden")
	w.do("POST", "/api/v1/runs/prune", m{}).problem(422, "invalid")
	w.do("POST", "/api/v1/runs/prune", m{"runs": []string{}}).problem(422, "invalid")
	w.do("POST", "/api/v1/runs/prune", m{"endedBefore": "yesterday"}).problem(422, "invalid")
	w.do("POST", "/api/v1/runs/prune", m{"older": "30d"}).problem(422, "invalid")
	if p := w.do("POST", "/api/v1/runs/prune", m{"runs": []string{ended[0], "missing"}}).problem(404,
		"not_found"); !strings.Contains(p.Detail, `"missing"`) {
		t.Errorf("which run is missing is not told: %+v", p)
	}
	if n := prune(m{"endedBefore": before}) + prune(m{"pausedBefore": before}); n != 0 || count() != 5 {
		t.Fatalf("%d young runs were deleted", n)
	}
	if n := prune(m{"runs": []string{ended[0], waits[0]}}); n != 2 || count() != 3 {
		t.Errorf("%d of the named runs are gone, %d left", n, count())
	}
	w.do("GET", "/api/v1/runs/"+waits[0], nil).problem(404, "not_found")
	if n := prune(m{"endedBefore": time.Now()}); n != 2 || count() != 1 {
		t.Errorf("%d ended runs are gone, %d left", n, count())
	}
	if n := prune(m{"pausedBefore": time.Now()}); n != 1 || count() != 0 {
		t.Errorf("%d paused runs are gone, %d left", n, count())
	}
}

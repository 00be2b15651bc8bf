package httpapi_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/httpapi"
)

// TestDraftsByRole calls every route that shows or runs a document with every role: drafts and
// earlier versions need the role edit, a check needs run, and with the role run nothing reveals
// that a draft exists (SEC2, ADR 27).
func TestDraftsByRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := strings.ReplaceAll(poem, "Write.", "DRAFTED")
	first, second := poem, strings.ReplaceAll(poem, "Write.", "Write well.")
	w.do("POST", "/api/v1/workflows", m{"id": "poem", "document": first}).is(201)
	w.do("PUT", "/api/v1/workflows/poem", m{"document": second}).is(200)
	w.do("PUT", "/api/v1/workflows/poem", m{"document": secret, "draft": true}).is(200) // version 3
	w.do("POST", "/api/v1/workflows", m{"id": "poems", "document": secret, "draft": true}).is(201)
	start := func(body m) string { return w.do("POST", "/api/v1/runs?wait=1m", body).is(201).run().ID }
	published := start(m{"workflow": "poem"})
	drafted := start(m{"workflow": "poem", "draft": true})
	former := start(m{"workflow": "poem", "version": 1})
	loose := start(m{"document": first})
	at := func(run string) string { return "/api/v1/runs/" + run }
	for _, tc := range []struct {
		method, path string
		body         any
		run, edit    int // statuses with the role run, and with edit and admin
	}{
		{"GET", "/api/v1/workflows/poem", nil, 200, 200},
		{"GET", "/api/v1/workflows/poem?draft=true", nil, 403, 200},
		{"GET", "/api/v1/workflows/poem?version=1", nil, 403, 200},
		{"GET", "/api/v1/workflows/poem?version=3", nil, 403, 200},
		{"GET", "/api/v1/workflows/poem?version=99", nil, 403, 404},
		{"GET", "/api/v1/workflows/poems", nil, 404, 422},
		{"GET", "/api/v1/workflows/poems?draft=true", nil, 403, 200},
		{"GET", "/api/v1/workflows/poem/versions", nil, 200, 200},
		{"GET", "/api/v1/workflows/poems/versions", nil, 404, 200},
		{"POST", "/api/v1/workflows/poem/validate", m{}, 200, 200},
		{"POST", "/api/v1/workflows/poem/validate", m{"document": first}, 200, 200},
		{"POST", "/api/v1/workflows/poems/validate", m{}, 404, 200},
		{"POST", "/api/v1/runs", m{"workflow": "poem"}, 201, 201},
		{"POST", "/api/v1/runs", m{"workflow": "poem", "draft": true}, 403, 201},
		{"POST", "/api/v1/runs", m{"workflow": "poem", "version": 1}, 403, 201},
		{"POST", "/api/v1/runs", m{"workflow": "poem", "version": 2}, 403, 201},
		{"POST", "/api/v1/runs", m{"workflow": "poems"}, 404, 422},
		{"POST", "/api/v1/runs", m{"document": first}, 403, 201},
		{"POST", at(published) + "/fork", m{"at": 1}, 201, 201},
		{"POST", at(drafted) + "/fork", m{"at": 1}, 403, 201},
		{"POST", at(former) + "/fork", m{"at": 1}, 403, 201},
		{"POST", at(loose) + "/fork", m{"at": 1}, 403, 201},
		{"POST", at(published) + "/retry", m{"from": "a"}, 201, 201},
		{"POST", at(drafted) + "/retry", m{"from": "a"}, 403, 201},
		{"POST", at(former) + "/retry", m{"from": "a"}, 403, 201},
		{"POST", at(loose) + "/retry", m{"from": "a"}, 403, 201},
		{"POST", at(published) + "/retry", m{"from": "a", "model": "own/n"}, 403, 201},
		{"POST", at(published) + "/retry", m{"from": "a", "document": first}, 403, 201},
		{"GET", at(published) + "/definition", nil, 200, 200},
		{"GET", at(drafted) + "/definition", nil, 403, 200},
		{"GET", at(former) + "/definition", nil, 403, 200},
		{"GET", at(former) + "/graph", nil, 403, 200},
		{"GET", at(former) + "/calls/m1", nil, 403, 404},
		{"GET", at(drafted) + "/calls/m1", nil, 403, 404},
		{"GET", at(published) + "/graph", nil, 200, 200},
		{"GET", at(drafted) + "/graph", nil, 403, 200},
		{"GET", "/api/v1/schedules/preview?workflow=poem", nil, 200, 200},
		{"GET", "/api/v1/schedules/preview?workflow=poem&draft=true", nil, 403, 200},
		{"GET", "/api/v1/schedules/preview?workflow=poems", nil, 404, 422},
	} {
		for _, role := range access.Roles() {
			want := tc.edit
			if role == access.RoleRun {
				want = tc.run
			}
			a := w.withCaller(role, true).do(tc.method, tc.path, tc.body)
			if a.status != want {
				t.Errorf("%s %s %v by %s: %d, want %d: %s", tc.method, tc.path, tc.body, role, a.status, want, a.body)
			}
			if role == access.RoleRun && (strings.Contains(a.body, "DRAFTED") || strings.Contains(a.body, `"poems"?`) ||
				a.status == 404 && strings.Contains(a.body, "draft")) {
				t.Errorf("%s %s by run tells of a draft: %s", tc.method, tc.path, a.body)
			}
		}
	}
	runner := w.withCaller(access.RoleRun, true)
	var list httpapi.List[httpapi.Workflow]
	runner.do("GET", "/api/v1/workflows", nil).is(200).decode(&list)
	if len(list.Items) != 1 || list.Items[0].ID != "poem" || list.Items[0].Draft != nil {
		t.Errorf("the list shows %+v", list.Items)
	}
	var versions httpapi.List[httpapi.Version]
	runner.do("GET", "/api/v1/workflows/poem/versions", nil).is(200).decode(&versions)
	if len(versions.Items) != 1 || versions.Items[0].Number != 2 {
		t.Errorf("the versions are %+v", versions.Items)
	}
	var d httpapi.Definition
	runner.do("GET", "/api/v1/workflows/poem", nil).is(200).decode(&d)
	if d.Draft != nil || len(d.Versions) != 1 || d.Versions[0] != 2 {
		t.Errorf("draft %v, versions %v", d.Draft, d.Versions)
	}
	runner.do("GET", "/api/v1/workflows/poemx", nil).is(404)
	if a := runner.do("GET", "/api/v1/workflows/poemsx", nil); strings.Contains(a.body, "poems\"") ||
		strings.Contains(a.body, "'poems'") {
		t.Errorf("a hint names a draft: %s", a.body)
	}
}

// TestFormerDraftsByRole checks a run of a draft that was replaced by another draft: a document
// that was never published stays as hidden as a draft (SEC2).
func TestFormerDraftsByRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	draft := func(text string) {
		w.do("PUT", "/api/v1/workflows/poem", m{"document": strings.ReplaceAll(poem, "Write.", text), "draft": true}).
			is(200)
	}
	w.do("POST", "/api/v1/workflows", m{"id": "poem", "document": poem}).is(201)
	draft("DRAFTED")
	at := "/api/v1/runs/" + w.do("POST", "/api/v1/runs?wait=1m", m{"workflow": "poem", "draft": true}).is(201).run().ID
	runner := w.withCaller(access.RoleRun, true)
	hidden := func(when string) {
		t.Helper()
		if a := runner.do("GET", at+"/definition", nil); a.status != 403 || strings.Contains(a.body, "DRAFTED") {
			t.Errorf("%s: the definition is %d: %s", when, a.status, a.body)
		}
		if a := runner.do("POST", at+"/fork", m{"at": 1}); a.status != 403 {
			t.Errorf("%s: a fork is %d: %s", when, a.status, a.body)
		}
	}
	hidden("as a draft")
	draft("Write more.")
	hidden("replaced")
	w.do("POST", "/api/v1/workflows/poem/publish", m{}).is(200)
	hidden("behind what is published")
	w.do("GET", at+"/definition", nil).is(200)
}

// TestFork_RaisedLimitsNeedEditRole checks that a caller with the role run cannot obtain limits
// that need the role edit by forking a run that has them (SEC2).
func TestFork_RaisedLimitsNeedEditRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do("POST", "/api/v1/workflows", m{"id": "poem", "document": poem}).is(201)
	runner := w.withCaller(access.RoleRun, true)
	raised := m{"workflow": "poem", "limits": m{"maxSteps": 100_000}}
	runner.do("POST", "/api/v1/runs", raised).is(403)
	at := "/api/v1/runs/" + w.do("POST", "/api/v1/runs?wait=1m", raised).is(201).run().ID
	runner.do("POST", at+"/fork", m{"at": 1}).is(403)
	w.withCaller(access.RoleEdit, false).do("POST", at+"/fork", m{"at": 1}).is(201)
	at = "/api/v1/runs/" + w.do("POST", "/api/v1/runs?wait=1m", m{"workflow": "poem", "limits": m{"maxSteps": 2}}).is(
		201).run().ID
	runner.do("POST", at+"/fork", m{"at": 1}).is(201)
}

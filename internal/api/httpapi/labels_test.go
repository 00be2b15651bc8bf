package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/httpapi"
	"github.com/hocket-run/hocket/workflow"
)

// TestTestRun_MaxLabels checks that a document with the maximum number of labels still has room
// for the label of a test run, and that this leaves no more room for labels set by a person
//
func TestTestRun_MaxLabels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all []string
	for i := range workflow.MaxLabels {
		all = append(all, fmt.Sprintf("k%02d: x", i))
	}
	doc := "labels: {" + strings.Join(all, ", ") + "}\n" + poem
	start := func(labels m) answer { return w.do("POST", "/api/v1/runs", m{"document": doc, "labels": labels}) }
	start(m{"hocket/test-run": "true"}).is(201)
	var list httpapi.List[httpapi.RunLine]
	w.do("GET", "/api/v1/runs?label=hocket/test-run%3Dtrue,k31", nil).is(200).decode(&list)
	if len(list.Items) != 1 || len(list.Items[0].Labels) != 33 {
		t.Errorf("test runs: %+v", list.Items)
	}
	start(m{"hocket/test-run": "true", "mine": "x"}).problem(422, "invalid")
	own := m{}
	for i := range workflow.MaxOwnLabels + 1 {
		own[fmt.Sprint(workflow.OwnLabels, i)] = "x"
	}
	start(own).problem(422, "invalid")
	w.do("PUT", "/api/v1/workflows/own", m{"document": "labels: {hocket/test-run: \"true\"}\n" + poem}).problem(422,
		"invalid")
}

// TestWorkflowsByLabel checks that lists of workflows can be filtered by labels like lists of runs
// . A caller who may not see drafts sees no labels of drafts and finds nothing by them.
func TestWorkflowsByLabel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for id, labels := range map[string]string{"a": "{team: news, env: prod}", "b": "{team: sport}", "c": "{}"} {
		w.do("PUT", "/api/v1/workflows/"+id, m{"document": "labels: " + labels + "\n" + poem}).is(200)
	}
	w.do("PUT", "/api/v1/workflows/b", m{"document": "labels: {team: secret}\n" + poem, "draft": true}).is(200)
	w.do("PUT", "/api/v1/workflows/d", m{"document": "labels: {team: secret}\n" + poem, "draft": true}).is(200)
	runner := w.withCaller(access.RoleRun, false)
	for _, tt := range []struct{ query, edit, run string }{
		{"", "a b c d", "a b c"},
		{"?label=team%3Dnews", "a", "a"},
		{"?label=team", "a b d", "a b"},
		{"?label=team,team!%3Dnews", "b d", "b"},
		{"?label=team,env%3Dprod", "a", "a"},
		{"?label=!team", "c", "c"},
		{"?label=team%3Dsecret", "d", ""},
		{"?label=team%3Dnews&format=canvas", "", ""},
	} {
		for who, want := range map[*world]string{w: tt.edit, runner: tt.run} {
			var list httpapi.List[httpapi.Workflow]
			who.do("GET", "/api/v1/workflows"+tt.query, nil).is(200).decode(&list)
			var ids []string
			for _, e := range list.Items {
				if ids = append(ids, e.ID); e.Labels == nil {
					t.Errorf("the labels of %s are null", e.ID)
				}
				if who == runner && e.Labels["team"] == "secret" {
					t.Errorf("%s shows the labels of a draft: %v", e.ID, e.Labels)
				}
			}
			if got := strings.Join(ids, " "); got != want {
				t.Errorf("%s: got %q, want %q", tt.query, got, want)
			}
		}
	}
	var list httpapi.List[httpapi.Workflow]
	w.do("GET", "/api/v1/workflows?label=team&limit=1", nil).is(200).decode(&list)
	if len(list.Items) != 1 || list.Next == "" || list.Items[0].Labels["env"] != "prod" {
		t.Errorf("a page: %+v", list)
	}
	w.do("GET", "/api/v1/workflows?label=team&limit=1&cursor="+list.Next, nil).is(200).decode(&list)
	if len(list.Items) != 1 || list.Items[0].ID != "b" {
		t.Errorf("the next page: %+v", list)
	}
	w.do("GET", "/api/v1/workflows?label=a%20b%3Dc", nil).problem(422, "invalid")
	var d httpapi.Definition
	w.do("GET", "/api/v1/workflows/a", nil).is(200).decode(&d)
	if d.Labels["team"] != "news" {
		t.Errorf("labels of a workflow: %v", d.Labels)
	}
}

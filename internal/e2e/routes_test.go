//go:build unix

package e2e_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/client/api"
)

// tour calls the routes of a server through the generated client, as an admin who may approve.
type tour struct {
	*world
	ctx context.Context
	c   *api.ClientWithResponses
	in  *inbox
	run api.Run // a completed run of the workflow poem
}

// TestEveryRoute calls every route of the real server through the generated client, and checks each
// answer. It fails if a route is added that it does not call.
func TestEveryRoute(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	in := newInbox(t)
	// The receiver is a private address, which the operator allows by naming it.
	w := newWorld(t, "outbound: {allow: ['"+in.srv.URL+
		"']}\nserver:\n  url: https://hocket.test\n  mcp: {workflows: [poem]}\n  notifications:\n    desk: {url: '"+
		in.srv.URL+"/desk', secret: '${env.DESK_SECRET}', on: [wait.opened, run.completed], workflows: [gate], "+
		"approveLinks: true}\n", "DESK_SECRET="+deskSecret)
	tr := &tour{world: w, ctx: ctx, c: w.client(testToken), in: in}
	tr.workflows(t)
	tr.agents(t)
	tr.runs(t)
	tr.projections(t)
	tr.checkLongValues(t)
	tr.answers(t)
	tr.forks(t)
	tr.events(t)
	tr.checkOffers(t)
	tr.controls(t)
	tr.signedIn(t)
	tr.webhooks(t)
	tr.endpoints(t)
	tr.links(t)
	tr.tokens(t)
	tr.openai(t)
	tr.assistant(t)
	tr.checkHealthRoutes(t)
	tr.page(t)
	tr.feed(t)
	tr.deletes(t)

	guarded, open := w.routes()
	for _, r := range slices.Concat(guarded, open) {
		if !w.asked.has(r) {
			t.Errorf("%s is a route that this test does not ask", r)
		}
	}
	if w.asked.has("GET /nowhere") {
		t.Error("what was never asked counts as asked")
	}
}

// must returns the response of the generated client, and panics on an error.
func must[R any](res R, err error) R {
	if err != nil {
		panic(err)
	}
	return res
}

// refused checks that the response is a problem.
func refused(t *testing.T, res interface {
	StatusCode() int
	GetBody() []byte
}, status int, code string,
) api.Problem {
	t.Helper()
	var p api.Problem
	if err := json.Unmarshal(res.GetBody(), &p); err != nil || res.StatusCode() != status || string(p.Code) != code ||
		int(p.Status) != status {
		t.Fatalf("%d, want %d %s: %s", res.StatusCode(), status, code, res.GetBody())
	}
	return p
}

// workflows stores, changes, publishes and checks definitions.
func (tr *tour) workflows(t *testing.T) {
	made := must(tr.c.CreateWorkflowWithResponse(tr.ctx, api.CreateBody{Id: new("poem"), Document: poem}))
	d := checkStatus(t, made, 201, made.JSON201)
	if d.Id != "poem" || d.Document != poem || d.Format != "steps" || *d.Published != 1 || d.Facts == nil ||
		len(d.Facts.Nodes) != 1 {
		t.Errorf("stored %+v", d)
	}
	refused(t, must(tr.c.CreateWorkflowWithResponse(tr.ctx, api.CreateBody{Id: new("poem"), Document: poem})), 409,
		"conflict")

	tag := made.HTTPResponse.Header.Get("ETag")
	second := strings.Replace(poem, "by poet", "by the second", 1)
	put := must(tr.c.PutWorkflowWithResponse(tr.ctx, "poem", &api.PutWorkflowParams{IfMatch: &tag},
		api.DocumentBody{Document: second, Draft: new(true)}))
	if d := checkStatus(t, put, 200, put.JSON200); *d.Draft != 2 || *d.Published != 1 || d.Document != second {
		t.Errorf("changed to %+v", d)
	}
	now := put.HTTPResponse.Header.Get("ETag")
	if now == tag || !strings.HasPrefix(now, `"`) {
		t.Errorf("tag %s, then %s", tag, now)
	}
	// Another client still has the first version: its request would be a lost update, and changes
	// nothing.
	refused(t, must(tr.c.PutWorkflowWithResponse(tr.ctx, "poem", &api.PutWorkflowParams{IfMatch: &tag},
		api.DocumentBody{Document: poem})), 409, "conflict")
	refused(t, must(tr.c.PublishWorkflowWithResponse(tr.ctx, "poem", &api.PublishWorkflowParams{IfMatch: &tag},
		api.PublishInputBody{})), 409, "conflict")
	refused(t, must(tr.c.DeleteWorkflowWithResponse(tr.ctx, "poem", &api.DeleteWorkflowParams{IfMatch: &tag})), 409,
		"conflict")

	published := must(tr.c.PublishWorkflowWithResponse(tr.ctx, "poem", &api.PublishWorkflowParams{IfMatch: &now},
		api.PublishInputBody{}))
	if d := checkStatus(t, published, 200, published.JSON200); *d.Published != 2 || d.Draft != nil {
		t.Errorf("published %+v", d)
	}
	got := must(tr.c.GetWorkflowWithResponse(tr.ctx, "poem", &api.GetWorkflowParams{Version: new(int64(1))}))
	if d := checkStatus(t, got, 200, got.JSON200); d.Document != poem || len(d.Versions) != 2 {
		t.Errorf("the first version is %+v", d)
	}
	present := must(tr.c.GetWorkflowWithResponse(tr.ctx, "poem", nil)).HTTPResponse.Header.Get("ETag")
	if same := must(tr.c.GetWorkflowWithResponse(tr.ctx, "poem",
		&api.GetWorkflowParams{IfNoneMatch: &present})); same.StatusCode() != http.StatusNotModified {
		t.Errorf("asked with its tag: %d", same.StatusCode())
	}
	versions := must(tr.c.ListVersionsWithResponse(tr.ctx, "poem", nil))
	if v := checkStatus(t, versions, 200, versions.JSON200); len(v.Items) != 2 {
		t.Errorf("versions %+v", v)
	}
	drawn := must(tr.c.GetWorkflowGraphWithResponse(tr.ctx, "poem",
		&api.GetWorkflowGraphParams{Version: new(int64(1))}))
	if d := checkStatus(t, drawn, 200, drawn.JSON200); len(d.Graph.Nodes) != 1 ||
		d.Graph.Nodes[0].Span.Start.Line != 4 {
		t.Errorf("drawn %+v", d)
	}
	back := must(tr.c.PublishWorkflowWithResponse(tr.ctx, "poem", nil, api.PublishInputBody{Version: new(int64(1))}))
	if d := checkStatus(t, back, 200, back.JSON200); *d.Published != 1 || d.Document != poem {
		t.Errorf("published again %+v", d)
	}

	checked := must(tr.c.ValidateWorkflowWithResponse(tr.ctx, "poem",
		api.ValidateInputBody{Document: new("workflow:\n  - {id: a, type: agent, name: missing}\n")}))
	if v := checkStatus(t, checked, 200, checked.JSON200); v.Ok || len(v.Diagnostics) == 0 ||
		v.Diagnostics[0].Span.Start.Line != 2 || v.Diagnostics[0].Span.Start.Column < 3 || v.Facts != nil {
		t.Errorf("checked %+v", v)
	}
	stored := must(tr.c.ValidateWorkflowWithResponse(tr.ctx, "poem", api.ValidateInputBody{}))
	if v := checkStatus(t, stored, 200, stored.JSON200); !v.Ok || len(v.Diagnostics) != 0 || len(v.Facts.Nodes) != 1 {
		t.Errorf("checked the stored one: %+v", v)
	}
	tr.documents(t)
	for id, text := range map[string]string{"gates": gates, "gate": gate} {
		res := must(tr.c.CreateWorkflowWithResponse(tr.ctx, api.CreateBody{Id: &id, Document: text}))
		checkStatus(t, res, 201, res.JSON201)
	}
	broken := api.Source{File: "broken.yaml", Document: "workflow: 7\n"}
	refused(t,
		must(tr.c.ApplyWorkflowsWithResponse(tr.ctx,
			api.ApplyBody{Documents: []api.Source{{File: "fresh.yaml", Document: poem}, broken}})), 422, "invalid")
	applied := must(tr.c.ApplyWorkflowsWithResponse(tr.ctx, api.ApplyBody{
		Documents: []api.Source{{File: "gate.yaml", Document: gate}, {File: "gates.yaml", Document: gates}},
	}))
	if d := checkStatus(t, applied, 200, applied.JSON200); len(d.Workflows) != 2 || d.Workflows[0].Id != "gate" ||
		!d.Workflows[0].Unchanged || d.Workflows[1].Version != 1 {
		t.Errorf("applied %+v", d)
	}
	first := must(tr.c.ListWorkflowsWithResponse(tr.ctx, &api.ListWorkflowsParams{Limit: new(int64(2))}))
	page := checkStatus(t, first, 200, first.JSON200)
	rest := must(tr.c.ListWorkflowsWithResponse(tr.ctx, &api.ListWorkflowsParams{Cursor: &page.Next}))
	var ids []string
	for _, w := range append(page.Items, checkStatus(t, rest, 200, rest.JSON200).Items...) {
		ids = append(ids, w.Id)
	}
	slices.Sort(ids)
	if page.Next == "" || strings.Join(ids, " ") != "gate gates poem" {
		t.Errorf("listed %q, then %q", ids, page.Next)
	}
}

// documents compiles, lays out and converts definitions.
func (tr *tour) documents(t *testing.T) {
	compiled := must(tr.c.CompileDocumentWithResponse(tr.ctx,
		api.CompileBody{Document: strings.Replace(poem, "name: poet}", "name: 🐝}", 1)}))
	if v := checkStatus(t, compiled, 200, compiled.JSON200); v.Ok || v.Format != "steps" || len(v.Diagnostics) == 0 ||
		v.Diagnostics[0].Span.End.Column != v.Diagnostics[0].Span.Start.Column+2 {
		t.Errorf("compiled %+v", v)
	}
	laid := must(tr.c.GetLayoutWithResponse(tr.ctx, "poem", nil))
	empty := laid.HTTPResponse.Header.Get("ETag")
	if l := checkStatus(t, laid, 200, laid.JSON200); len(l.Nodes) != 0 {
		t.Errorf("layout %+v", l)
	}
	moved := api.Layout{Nodes: map[string]api.Position{"a": {X: 1.5, Y: -2}}}
	put2 := must(tr.c.PutLayoutWithResponse(tr.ctx, "poem", &api.PutLayoutParams{IfMatch: &empty}, moved))
	if l := checkStatus(t, put2, 200, put2.JSON200); l.Nodes["a"].X != 1.5 {
		t.Errorf("layout %+v", l)
	}
	refused(t, must(tr.c.PutLayoutWithResponse(tr.ctx, "poem", &api.PutLayoutParams{IfMatch: &empty}, moved)), 409,
		"conflict")
	converted := must(tr.c.ConvertDocumentWithResponse(tr.ctx, api.ConvertBody{Document: poem, To: "canvas"}))
	if v := checkStatus(t, converted, 200, converted.JSON200); v.Refused || v.Document == nil ||
		!strings.Contains(*v.Document, `"connections"`) || len(v.Changes) == 0 {
		t.Errorf("converted %+v", v)
	}
	if s := must(tr.c.GetSchemaWithResponse(tr.ctx, "steps")); s.StatusCode() != 200 ||
		!strings.Contains(string(s.Body), "json-schema.org") {
		t.Errorf("schema: %d %s", s.StatusCode(), s.Body)
	}
}

// agents stores, changes and lists agents.
func (tr *tour) agents(t *testing.T) {
	made := must(tr.c.CreateAgentWithResponse(tr.ctx, api.Agent{Id: new("critic"), Name: new("Critic"),
		SystemPrompt: new("Judge.")}))
	if a := checkStatus(t, made, 201, made.JSON201); *a.Id != "critic" || *a.SystemPrompt != "Judge." {
		t.Errorf("stored %+v", a)
	}
	tag := made.HTTPResponse.Header.Get("ETag")
	put := must(tr.c.PutAgentWithResponse(tr.ctx, "critic", &api.PutAgentParams{IfMatch: &tag},
		api.Agent{Name: new("Critic"), SystemPrompt: new("Judge hard.")}))
	checkStatus(t, put, 200, put.JSON200)
	refused(t, must(tr.c.PutAgentWithResponse(tr.ctx, "critic", &api.PutAgentParams{IfMatch: &tag},
		api.Agent{Name: new("Lost"), SystemPrompt: new("x")})), 409, "conflict")
	refused(t, must(tr.c.DeleteAgentWithResponse(tr.ctx, "critic", &api.DeleteAgentParams{IfMatch: &tag})), 409,
		"conflict")
	got := must(tr.c.GetAgentWithResponse(tr.ctx, "critic", nil))
	if a := checkStatus(t, got, 200, got.JSON200); *a.SystemPrompt != "Judge hard." {
		t.Errorf("changed to %+v", a)
	}
	applied := must(tr.c.ApplyAgentsWithResponse(tr.ctx,
		api.ApplyAgentsBody{Documents: []api.Source{
			{File: "critics.yaml", Document: "- {id: critic, name: Critic, systemPrompt: Judge hard.}\n"},
		}}))
	if d := checkStatus(t, applied, 200, applied.JSON200); len(d.Agents) != 1 || d.Agents[0] != "critic" {
		t.Errorf("applied %+v", d)
	}
	list := must(tr.c.ListAgentsWithResponse(tr.ctx, nil))
	if l := checkStatus(t, list, 200, list.JSON200); len(l.Items) != 1 || *l.Items[0].Name != "Critic" {
		t.Errorf("listed %+v", l)
	}
}

// deletes deletes whatever the tour created that still exists.
func (tr *tour) deletes(t *testing.T) {
	if res := must(tr.c.DeleteAgentWithResponse(tr.ctx, "critic", nil)); res.StatusCode() != http.StatusNoContent {
		t.Errorf("agent: %d %s", res.StatusCode(), res.Body)
	}
	refused(t, must(tr.c.GetAgentWithResponse(tr.ctx, "critic", nil)), 404, "not_found")
	if res := must(tr.c.DeleteRunWithResponse(tr.ctx, tr.run.Id)); res.StatusCode() != http.StatusNoContent {
		t.Errorf("run: %d %s", res.StatusCode(), res.Body)
	}
	refused(t, must(tr.c.GetRunWithResponse(tr.ctx, tr.run.Id, nil)), 404, "not_found")
	refused(t, must(tr.c.PruneRunsWithResponse(tr.ctx, api.PruneBody{Runs: &[]string{tr.run.Id}})), 404, "not_found")
	pruned := must(tr.c.PruneRunsWithResponse(tr.ctx, api.PruneBody{EndedBefore: new(time.Now())}))
	if p := checkStatus(t, pruned, 200, pruned.JSON200); p.Runs < 1 {
		t.Errorf("pruned %+v", p)
	}
	if res := must(tr.c.DeleteWorkflowWithResponse(tr.ctx, "poem", nil)); res.StatusCode() != http.StatusNoContent {
		t.Errorf("workflow: %d %s", res.StatusCode(), res.Body)
	}
	refused(t, must(tr.c.GetWorkflowWithResponse(tr.ctx, "poem", nil)), 404, "not_found")
}

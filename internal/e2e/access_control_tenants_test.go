//go:build unix

package e2e_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/access"
)

// idRequest is a request that names an id.
type idRequest struct{ method, path, body string }

// questions returns requests that name ids in every possible way.
func (g *guarded) questions(ids map[string]string) []idRequest {
	var out []idRequest
	bodies := []string{
		"", `{}`, `{"decision": "approve", "wait": "` + ids["wait"] + `"}`, `{"decision": "approve"}`, `{"at": 1}`,
		`{"version": 1}`, `{"overlapSeconds": 0}`,
		`{"limits": {"maxSteps": 9}}`, `{"document": "x"}`,
	}
	for _, r := range g.guarded {
		method, p, _ := strings.Cut(r, " ")
		if !strings.Contains(p, "{") {
			continue
		}
		for _, body := range bodies {
			out = append(out, idRequest{method, path(p, ids), body})
			if method == http.MethodGet {
				break
			}
		}
	}
	w := ids["workflows"]
	return append(out,
		idRequest{"GET", "/api/v1/workflows/" + w + "?version=1", ""},
		idRequest{"GET", "/api/v1/workflows/" + w + "?draft=true", ""},
		idRequest{"GET", "/api/v1/runs?workflow=" + w, ""}, idRequest{"GET", "/api/v1/runs?parent=" + ids["runs"], ""},
		idRequest{"GET", "/api/v1/waits?workflow=" + w, ""},
		idRequest{"GET", "/api/v1/notifications?run=" + ids["runs"], ""},
		idRequest{"GET", "/api/v1/schedules/preview?workflow=" + w, ""},
		idRequest{"POST", "/api/v1/runs", `{"workflow": "` + w + `"}`},
		idRequest{"POST", "/api/v1/webhooks", `{"workflow": "` + w + `"}`},
		idRequest{"POST", "/v1/chat/completions",
			`{"model": "` + w + `", "messages": [{"role": "user", "content": "x"}]}`},
		idRequest{"DELETE", "/api/v1/tokens/" + ids["tokens"] + "?namespace=b", ""},
		idRequest{"GET", "/api/v1/tokens?namespace=b", ""}, idRequest{"GET", "/api/v1/audit?namespace=b", ""},
	)
}

var varying = regexp.MustCompile(`"(updatedAt|createdAt|since)":"[^"]*"`)

// normalize removes the parts of an answer that necessarily differ.
func normalize(text string, ids map[string]string) string {
	for kind, id := range ids { // as whole words: the id of a wait is so short that random ids contain it
		text = regexp.MustCompile(`\b`+regexp.QuoteMeta(id)+`\b`).ReplaceAllString(text, "ID-OF-"+kind)
	}
	return varying.ReplaceAllString(text, "")
}

// checkTenants checks that requests for another tenant's objects are answered as for unknown ids
// and change nothing (SEC10). The owner gets a different answer.
func (g *guarded) checkTenants(t *testing.T) {
	theirs, nobodys := g.questions(g.ids), g.questions(g.random)
	owned := map[string]bool{}
	for i, q := range theirs {
		n := nobodys[i]
		if q.method == http.MethodGet {
			own, none := g.do(q.method, q.path, "", "Authorization", "Bearer "+g.owner),
				g.do(n.method, n.path, "", "Authorization", "Bearer "+g.owner)
			if own.status == http.StatusOK && own.body != none.body {
				owned[q.path] = true
			}
		}
		by := "Bearer " + g.tokens[access.RoleAdmin]
		a, b := g.do(q.method, q.path, q.body, "Authorization", by), g.do(n.method, n.path, n.body, "Authorization", by)
		if a.status != b.status || normalize(a.body, g.ids) != normalize(b.body, g.random) {
			t.Errorf("%s with %s\nof another: %d %s\nunknown: %d %s", a.route, q.body, a.status, a.body, b.status,
				b.body)
		}
		if list := strings.Contains(q.path, "?") && strings.Contains(a.body, `"items":[]`); a.status < 300 && !list &&
			q.method != http.MethodPut && !strings.HasSuffix(q.path, "/validate") {
			t.Errorf("%s with %s: %d %s", a.route, q.body, a.status, a.body)
		}
	}
	if len(owned) < 12 {
		t.Errorf("the owner finds only %d of them: %v", len(owned), slices.Sorted(maps.Keys(owned)))
	}
	b, ctx := g.client(g.owner), t.Context()
	run := must(b.GetRunWithResponse(ctx, g.ids["runs"], nil))
	if r := checkStatus(t, run, 200, run.JSON200); r.Status != "paused" || len(r.Waiting) != 1 {
		t.Errorf("the run of b is %+v", r)
	}
	workflow := must(b.GetWorkflowWithResponse(ctx, g.ids["workflows"], nil))
	if d := checkStatus(t, workflow, 200, workflow.JSON200); d.Document != gate {
		t.Errorf("the workflow of b is %+v", d)
	}
	for list, id := range map[string]string{"agents": g.ids["agents"], "tokens": g.ids["tokens"],
		"webhooks": g.ids["webhooks"], "notifications/endpoints": g.ids["endpoints"],
		"notifications": g.ids["notifications"]} {
		if a := g.do("GET", "/api/v1/"+list, "", "Authorization", "Bearer "+g.owner).is(200); !strings.Contains(a.body,
			id) {
			t.Errorf("b has no %s %s any more: %s", list, id, a.body)
		}
	}
	for _, list := range []string{"runs", "waits", "webhooks", "notifications", "notifications/endpoints", "tokens",
		"audit?limit=200", "schedules"} {
		a := g.do("GET", "/api/v1/"+list, "", "Authorization", "Bearer "+g.tokens[access.RoleAdmin]).is(200)
		for kind, id := range g.ids {
			if kind != "wait" && strings.Contains(a.body, id) && !strings.HasPrefix(list, "audit") {
				t.Errorf("the list %s of a has the %s of b: %s", list, kind, a.body)
			}
		}
		if strings.Contains(a.body, `"namespace":"b"`) {
			t.Errorf("the list %s of a tells of b: %s", list, a.body)
		}
	}
}

// checkAssistants checks that the tools of /mcp reveal as little to a tenant as the API does
// (SEC10).
func (g *guarded) checkAssistants(t *testing.T) {
	s, owner := g.session(t, g.tokens[access.RoleAdmin]), g.session(t, g.owner)
	ask := func(s *sdk.ClientSession, tool string, args map[string]any) (string, bool) {
		res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		text, err := json.Marshal(res.Content)
		if err != nil {
			t.Fatal(err)
		}
		return string(text), res.IsError
	}
	for tool, kind := range map[string]string{"get_run": "runs", "run_events": "runs", "get_workflow": "workflows",
		"get_agent": "agents", "cancel_run": "runs", "resume_run": "runs", "execute_workflow": "workflows"} {
		if kind == "workflows" || kind == "agents" { // tenant a may have created its own by now
			g.do("DELETE", "/api/v1/"+kind+"/"+g.ids[kind], "", "Authorization", "Bearer "+g.tokens[access.RoleAdmin])
			g.do("DELETE", "/api/v1/"+kind+"/"+g.random[kind], "", "Authorization",
				"Bearer "+g.tokens[access.RoleAdmin])
		}
		a, refused := ask(s, tool, map[string]any{"id": g.ids[kind]})
		b, _ := ask(s, tool, map[string]any{"id": g.random[kind]})
		if !refused || normalize(a, g.ids) != normalize(b, g.random) {
			t.Errorf("%s\nof another: %s\nunknown: %s", tool, a, b)
		}
		if strings.HasPrefix(tool, "get_") {
			if text, refused := ask(owner, tool, map[string]any{"id": g.ids[kind]}); refused {
				t.Errorf("%s: the owner gets %s", tool, text)
			}
		}
	}
}

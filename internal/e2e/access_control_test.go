//go:build unix

package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/client/api"
)

// guarded is a server with two tenants.
type guarded struct {
	*world
	inbox         string // an endpoint that must receive no messages
	guarded, open []string
	roles         map[string]access.Role // role required by each operation of the API document
	bodies        map[string]bool        // operations that accept a body
	tokens        map[access.Role]string // of namespace a; the admin may approve
	owner         string                 // token of the admin of namespace b
	ids, random   map[string]string      // ids of b's objects, and unknown ids, by kind
}

// maxBody is the server's body limit in this test.
const maxBody = 4096

// TestUnauthorizedRequests calls every route of the real server as a client that must not have
// access: without a token, with a wrong token, with too low a role, as another tenant, from another
// page, with too much data (SEC1, SEC2, SEC7, SEC9, SEC10, SEC15, SEC17, SEC20).
func TestUnauthorizedRequests(t *testing.T) {
	t.Parallel()
	in := newInbox(t)
	g := &guarded{inbox: in.srv.URL,
		world: newWorld(t,
			fmt.Sprintf("outbound: {allow: ['%s']}\nserver: {url: 'https://hocket.test', limits: {body: %d}}\n",
				in.srv.URL, maxBody))}
	g.guarded, g.open = g.routes()
	g.createObjects(t)
	g.document(t)
	t.Run("tokens", g.checkTokens)
	t.Run("roles", g.checkRoles)
	t.Run("pages", g.checkPages)
	t.Run("sizes", g.checkSizes)
	t.Run("queries", g.checkQueries)
	t.Run("tenants", g.checkTenants)
	t.Run("assistants", g.checkAssistants)
}

// document reads the server's own API document.
func (g *guarded) document(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string          `json:"operationId"`
			Role        access.Role     `json:"x-role"`
			RequestBody json.RawMessage `json:"requestBody"`
		}
	}
	g.do("GET", "/openapi.json", "").is(200).into(&doc)
	g.roles, g.bodies = map[string]access.Role{}, map[string]bool{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			r := strings.ToUpper(method) + " " + path
			if !op.Role.IsKnown() || op.OperationID == "" {
				t.Errorf("%s names no role", r)
			}
			g.roles[r], g.bodies[r] = op.Role, op.RequestBody != nil
		}
	}
	for _, r := range g.guarded {
		if strings.Contains(r, " /api/v1/") && g.roles[r] == "" {
			t.Errorf("%s is served and is in no document", r)
		}
	}
}

// createObjects creates one object of every kind that has an id in namespace b.
func (g *guarded) createObjects(t *testing.T) {
	ctx, admin := t.Context(), g.client(testToken)
	token := func(namespace string, role access.Role) api.MadeToken {
		res := must(admin.CreateTokenWithResponse(ctx, api.TokenBody{Name: string(role) + " of " + namespace,
			Namespace: &namespace, Role: api.TokenBodyRole(role), Approve: new(role == access.RoleAdmin)}))
		return checkStatus(t, res, 201, res.JSON201)
	}
	g.tokens = map[access.Role]string{}
	for _, role := range access.Roles() {
		g.tokens[role] = token("a", role).Token
	}
	g.owner = token("b", access.RoleAdmin).Token
	b := g.client(g.owner)
	g.ids = map[string]string{"tokens": token("b", access.RoleRun).Id, "agents": "agent-of-b"}
	for id, text := range map[string]string{"poem-of-b": poem, "gate-of-b": gate} {
		res := must(b.CreateWorkflowWithResponse(ctx, api.CreateBody{Id: &id, Document: text}))
		checkStatus(t, res, 201, res.JSON201)
	}
	g.ids["workflows"] = "gate-of-b"
	agent := must(b.CreateAgentWithResponse(ctx, api.Agent{Id: new(g.ids["agents"]), Name: new("B"),
		SystemPrompt: new("Write.")}))
	checkStatus(t, agent, 201, agent.JSON201)
	hook := must(b.CreateWebhookWithResponse(ctx, api.CreateWebhookBody{Workflow: "poem-of-b"}))
	g.ids["webhooks"] = checkStatus(t, hook, 201, hook.JSON201).Id
	// The endpoint rejects all its notifications.
	endpoint := must(b.CreateEndpointWithResponse(ctx, api.CreateEndpointBody{Url: g.inbox + "/gone"}))
	g.ids["endpoints"] = checkStatus(t, endpoint, 201, endpoint.JSON201).Id
	run := must(b.StartRunWithResponse(ctx, &api.StartRunParams{Wait: new("1m")},
		api.StartBody{Workflow: new("gate-of-b")}))
	r := checkStatus(t, run, 201, run.JSON201)
	g.ids["runs"], g.ids["wait"] = r.Id, r.Waiting[0].Id
	tr := &tour{world: g.world, ctx: ctx, c: b}
	g.ids["notifications"] = tr.settled(t, r.Id, "dead").Id

	g.random = map[string]string{"workflows": "gate-of-x", "agents": "agent-of-x", "wait": "w99"}
	for _, kind := range []string{"tokens", "webhooks", "endpoints", "runs", "notifications"} {
		id := []byte(g.ids[kind])
		for i := len(id) - 4; i < len(id); i++ { // a different id of the same form
			id[i] = map[bool]byte{true: '1', false: '0'}[id[i] == '0']
		}
		g.random[kind] = string(id)
	}
}

var parameter = regexp.MustCompile(`([a-z]+)/\{[a-zA-Z.]+\}`)

// path inserts the ids into a route.
func path(route string, ids map[string]string) string {
	return parameter.ReplaceAllStringFunc(route, func(s string) string {
		kind := parameter.FindStringSubmatch(s)[1]
		id := ids[kind]
		if kind == "models" {
			id = ids["workflows"]
		}
		if id == "" {
			id = "missing"
		}
		return kind + "/" + id
	})
}

// all returns the method and path of each route, by route, with unknown ids in the paths.
func (g *guarded) all() map[string][2]string {
	out := map[string][2]string{}
	for _, r := range slices.Concat(g.guarded, g.open) {
		method, p, _ := strings.Cut(r, " ")
		out[r] = [2]string{method, path(p, g.random)}
	}
	return out
}

// checkRefusal checks that an answer is a rejection with a code, in the form of the transport, and
// has the headers of every answer (SEC15).
func checkRefusal(t *testing.T, a answer, status int, code string) {
	t.Helper()
	if a.status != status {
		t.Errorf("%s: %d, want %d: %s", a.route, a.status, status, a.body)
		return
	}
	checkHeaders(t, a)
	if strings.Contains(a.route, " /v1/") {
		var e struct {
			Error struct{ Code, Type, Message string }
		}
		if err := json.Unmarshal([]byte(a.body), &e); err != nil || e.Error.Code != code || e.Error.Message == "" ||
			e.Error.Type == "" {
			t.Errorf("%s: no error of OpenAI's form with the code %s: %s", a.route, code, a.body)
		}
		return
	}
	if got, err := a.problem(); err != nil || got != code {
		t.Errorf("%s: code %q, want %q: %v", a.route, got, code, err)
	}
}

// checkHeaders checks the security headers of an answer (SEC15).
func checkHeaders(t *testing.T, a answer) {
	t.Helper()
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
		"Cache-Control": "no-store", "X-Request-Id": "",
	} {
		if got := a.header.Get(name); got == "" || !strings.HasPrefix(got, want) {
			if name == "Cache-Control" && got == "no-cache" && a.status == http.StatusOK &&
				!strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
				continue // the page's static files are the same for everyone
			}
			if name == "Cache-Control" && strings.HasSuffix(a.route, "/style.css") && a.status == http.StatusOK {
				continue
			}
			t.Errorf("%s: the header %s is %q", a.route, name, got)
		}
	}
	if a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%s: the answer is for pages of other origins", a.route)
	}
}

// checkTokens checks that no route answers without a token (SEC1). An admin gets a different
// answer, which shows that the check can fail.
func (g *guarded) checkTokens(t *testing.T) {
	for r, q := range g.all() {
		if slices.Contains(g.open, r) {
			a := g.do(q[0], q[1], "", "Authorization", "")
			checkHeaders(t, a)
			if a.status == http.StatusUnauthorized {
				t.Errorf("%s asks for a token", r)
			}
			continue
		}
		for _, token := range []string{"", "Bearer hk_0123456789012345678901234567890123456789012", "Bearer ",
			"Basic " + testToken, testToken, "Bearer " + testToken + "x"} {
			checkRefusal(t, g.do(q[0], q[1], "", "Authorization", token), 401, "unauthorized")
		}
		checkRefusal(t, g.do(q[0], q[1]+"?token="+testToken+"&ticket="+testToken, "", "Authorization", ""), 401,
			"unauthorized")
		a := g.do(q[0], q[1], "")
		checkHeaders(t, a)
		if a.status == http.StatusUnauthorized || a.status == http.StatusForbidden {
			t.Errorf("%s: an admin gets %d", r, a.status)
		}
	}
}

// checkRoles checks that each role below the one named in the document is rejected before anything
// else is checked (SEC2). The named role itself is admitted.
func (g *guarded) checkRoles(t *testing.T) {
	refusals := 0
	for _, r := range slices.Sorted(maps.Keys(g.roles)) {
		q := g.all()[r]
		for _, role := range access.Roles() {
			a := g.do(q[0], q[1], "", "Authorization", "Bearer "+g.tokens[role])
			if (access.Principal{Role: role}).May(g.roles[r]) {
				if a.status == http.StatusForbidden || a.status == http.StatusUnauthorized {
					t.Errorf("%s: %s gets %d: %s", r, role, a.status, a.body)
				}
				continue
			}
			refusals++
			checkRefusal(t, a, 403, "forbidden")
			checkRefusal(t, g.do(q[0], q[1], `{"no": "such body"}`, "Authorization", "Bearer "+g.tokens[role]), 403,
				"forbidden")
		}
	}
	if refusals < 20 {
		t.Errorf("%d refusals: the test looks in the wrong place", refusals)
	}
	// Actions that a role may not perform through a route that it may use.
	for _, body := range []string{`{"document": "x"}`, `{"workflow": "x", "draft": true}`,
		`{"workflow": "x", "version": 1}`} {
		checkRefusal(t, g.do("POST", "/api/v1/runs", body, "Authorization", "Bearer "+g.tokens[access.RoleRun]), 403,
			"forbidden")
		if a := g.do("POST", "/api/v1/runs", body, "Authorization",
			"Bearer "+g.tokens[access.RoleEdit]); a.status == http.StatusForbidden {
			t.Errorf("the role edit gets %s", a.body)
		}
	}
	for _, body := range []string{`{"name": "x", "role": "admin", "namespace": "b"}`,
		`{"name": "x", "role": "run", "namespace": "new"}`} {
		checkRefusal(t, g.do("POST", "/api/v1/tokens", body, "Authorization", "Bearer "+g.tokens[access.RoleAdmin]),
			403,
			"forbidden")
	}
}

// checkPages checks that a page whose host name resolves to this server, or that comes from another
// origin, gets nothing from any transport, including event streams (SEC9). The server's own page is
// served.
func (g *guarded) checkPages(t *testing.T) {
	for r, q := range g.all() {
		for _, h := range [][]string{
			{"Host", "evil.test"}, {"Host", "127.0.0.1.evil.test:80"}, {"Origin", "https://evil.test"},
			{"Origin", "null"},
			{"Origin", "https://evil.test", "Accept", "text/event-stream"},
			{"Host", "evil.test", "Accept", "text/event-stream"},
			{"Origin", "https://evil.test", "Access-Control-Request-Method", "POST"},
		} {
			checkRefusal(t, g.do(q[0], q[1], "", h...), 403, "forbidden")
		}
		// A browser also reports whether a page comes from another site.
		if q[0] != http.MethodGet {
			checkRefusal(t, g.do(q[0], q[1], "", "Sec-Fetch-Site", "cross-site"), 403, "forbidden")
		}
		plain := g.do(q[0], q[1], "")
		own := g.do(q[0], q[1], "", "Host", "hocket.test", "Origin", "https://hocket.test")
		if own.status != plain.status || own.status == http.StatusForbidden {
			t.Errorf("%s: its own page gets %d, a program %d", r, own.status, plain.status)
		}
		checkHeaders(t, own)
	}
	checkRefusal(t, g.do("OPTIONS", "/api/v1/runs", "", "Authorization", "", "Origin", "https://evil.test",
		"Access-Control-Request-Method", "POST"), 403, "forbidden")
}

// checkSizes checks that every route rejects bodies larger than the limit, even without a declared
// length (SEC17). One byte less is accepted.
func (g *guarded) checkSizes(t *testing.T) {
	body := func(n int) string { return `{"x": "` + strings.Repeat("x", n-len(`{"x": ""}`)) + `"}` }
	chunked := 0
	for r, q := range g.all() {
		checkRefusal(t, g.do(q[0], q[1], body(maxBody+1)), 413, "too_large")
		if a := g.do(q[0], q[1], body(maxBody)); a.status == http.StatusRequestEntityTooLarge {
			t.Errorf("%s: a body of the limit's size: %s", r, a.body)
		}
		if !g.bodies[r] && r != "POST /mcp" && r != "POST /v1/chat/completions" {
			continue
		}
		chunked++
		req, err := http.NewRequestWithContext(t.Context(), q[0], g.p.url+q[1],
			io.MultiReader(strings.NewReader(body(maxBody+1))))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+testToken)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		data := new(bytes.Buffer)
		if _, err := data.ReadFrom(res.Body); err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		checkRefusal(t, answer{t, r, res.StatusCode, res.Header, data.String()}, 413, "too_large")
	}
	if chunked < 12 {
		t.Errorf("%d bodies without a length: the test looks in the wrong place", chunked)
	}
}

// checkQueries checks that a query parameter that an operation does not have is rejected, not
// ignored (SEC7).
func (g *guarded) checkQueries(t *testing.T) {
	for r := range g.roles {
		q := g.all()[r]
		checkRefusal(t, g.do(q[0], q[1]+"?nonsense=1", ""), 400, "invalid")
		if q[0] == http.MethodGet {
			if a := g.do(q[0], q[1], ""); a.status == http.StatusBadRequest {
				t.Errorf("%s: %s", r, a.body)
			}
		}
	}
	for _, list := range []string{"runs", "workflows", "agents", "waits", "tokens", "notifications", "audit", "tools",
		"models", "schedules"} {
		g.do("GET", "/api/v1/"+list, "").is(200)
		checkRefusal(t, g.do("GET", "/api/v1/"+list+"?limit=1&limit=2", ""), 400, "invalid")
		checkRefusal(t, g.do("GET", "/api/v1/"+list+"?limit=201", ""), 422, "invalid")
		if a := g.do("GET", "/api/v1/"+list+"?cursor=%27%20OR%201", ""); a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: an invalid cursor: %d %s", list, a.status, a.body)
		}
	}
}

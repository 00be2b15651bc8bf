//go:build unix

package e2e_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/hocket-run/hocket/internal/client/api"
)

// deskSecret signs messages to the operator's endpoint.
var deskSecret = "whsec_" + base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))

// inbox is a receiver of notifications.
type inbox struct {
	srv *httptest.Server
	// got receives messages as they arrive; messages to /gone are answered with 410.
	got chan received
}

type received struct {
	path   string
	header http.Header
	body   []byte
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	in := &inbox{got: make(chan received, 100)}
	in.srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/gone") {
			w.WriteHeader(http.StatusGone)
		}
		in.got <- received{r.URL.Path, r.Header, body}
	}))
	t.Cleanup(in.srv.Close)
	return in
}

// notification is the body of a notification.
type notification struct {
	Type string
	Data struct {
		Run, Status string
		Wait        *struct{ ID, Prompt string }
		Links       struct{ Run, Approve string }
	}
}

// next waits for a message to a path, and checks its signature.
func (tr *tour) next(t *testing.T, path, kind, secret string) notification {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	for {
		select {
		case m := <-tr.in.got:
			var said notification
			if err := json.Unmarshal(m.body, &said); err != nil {
				t.Fatalf("%v: %s", err, m.body)
			}
			if m.path != path || said.Type != kind {
				continue
			}
			if err := hook.Verify(m.body, m.header); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			if hook.Verify(append(m.body, ' '), m.header) == nil {
				t.Error("the signature of another body is good")
			}
			return said
		case <-tr.ctx.Done():
			t.Fatalf("%s got no %s: %s", path, kind, tr.p.said())
		}
	}
}

// deliver sends a signed message to a webhook.
func (tr *tour) deliver(t *testing.T, address, secret, id, body string) answer {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	signature, err := hook.Sign(id, at, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return tr.do("POST", u.Path, body, "Authorization", "", "webhook-id", id, "webhook-timestamp",
		strconv.FormatInt(at.Unix(), 10), "webhook-signature", signature)
}

// webhooks creates a webhook, sends to it, rotates its secret and deletes it (SEC18).
func (tr *tour) webhooks(t *testing.T) {
	made := must(tr.c.CreateWebhookWithResponse(tr.ctx, api.CreateWebhookBody{Workflow: "poem", Name: new("issues")}))
	hook := checkStatus(t, made, 201, made.JSON201)
	if !strings.HasPrefix(hook.Url, "https://hocket.test/hooks/") || hook.Secret == nil || hook.CreatedBy == "" {
		t.Fatalf("made %+v", hook)
	}
	const body = `{"issue": 7}`
	var first, again struct{ Run string }
	tr.deliver(t, hook.Url, *hook.Secret, "msg_1", body).is(202).into(&first)
	tr.deliver(t, hook.Url, *hook.Secret, "msg_1", body).is(202).into(&again)
	if first.Run == "" || first.Run != again.Run {
		t.Errorf("delivered: run %q, again: run %q", first.Run, again.Run)
	}
	wrong := "whsec_" + base64.StdEncoding.EncodeToString([]byte("another secret of 32 bytes in it"))
	tr.deliver(t, hook.Url, wrong, "msg_2", body).is(404)
	ended := tr.followed(t, first.Run)
	if ended.Status != "completed" || ended.Input != body {
		t.Errorf("the delivery ran %+v", ended)
	}
	rotated := must(tr.c.RotateWebhookWithResponse(tr.ctx, hook.Id,
		api.RotateWebhookBody{OverlapSeconds: new(int64(0))}))
	fresh := checkStatus(t, rotated, 200, rotated.JSON200)
	tr.deliver(t, hook.Url, *hook.Secret, "msg_3", body).is(404)
	tr.deliver(t, hook.Url, *fresh.Secret, "msg_1", body).is(202).into(&again)
	if again.Run != first.Run {
		t.Errorf("a replay under a new secret ran %s", again.Run)
	}
	runs := must(tr.c.ListRunsWithResponse(tr.ctx, &api.ListRunsParams{Workflow: new("poem"), Limit: new(int64(200))}))
	for _, r := range checkStatus(t, runs, 200, runs.JSON200).Items {
		if r.CreatedAt.After(ended.StartedAt.Add(time.Microsecond)) && r.Id != first.Run {
			t.Errorf("run %s was started by a replay", r.Id)
		}
	}
	list := must(tr.c.ListWebhooksWithResponse(tr.ctx))
	if l := checkStatus(t, list, 200, list.JSON200); len(l.Items) != 1 || l.Items[0].Id != hook.Id ||
		l.Items[0].Secret != nil || strings.Contains(string(list.Body), *fresh.Secret) {
		t.Errorf("listed %s", list.Body)
	}
	if res := must(tr.c.DeleteWebhookWithResponse(tr.ctx, hook.Id)); res.StatusCode() != http.StatusNoContent {
		t.Errorf("deleted: %d %s", res.StatusCode(), res.Body)
	}
	tr.deliver(t, hook.Url, *fresh.Secret, "msg_4", body).is(404)

	// The path of a webhook in another namespace contains the namespace.
	token := must(tr.c.CreateTokenWithResponse(tr.ctx, api.TokenBody{Name: "of b", Role: "admin", Namespace: new("b")}))
	b := tr.client(checkStatus(t, token, 201, token.JSON201).Token)
	stored := must(b.CreateWorkflowWithResponse(tr.ctx, api.CreateBody{Id: new("poem"), Document: poem}))
	checkStatus(t, stored, 201, stored.JSON201)
	other := must(b.CreateWebhookWithResponse(tr.ctx, api.CreateWebhookBody{Workflow: "poem"}))
	hook = checkStatus(t, other, 201, other.JSON201)
	if !strings.HasPrefix(hook.Url, "https://hocket.test/hooks/b/") {
		t.Errorf("made %+v", hook)
	}
	tr.deliver(t, hook.Url, *hook.Secret, "msg_1", body).is(202).into(&again)
	refused(t, must(tr.c.GetRunWithResponse(tr.ctx, again.Run, nil)), 404, "not_found")
	in := must(b.GetRunWithResponse(tr.ctx, again.Run, nil))
	checkStatus(t, in, 200, in.JSON200)
}

// followed follows the stream of a run until it has ended.
func (tr *tour) followed(t *testing.T, id string) api.Run {
	t.Helper()
	last := 0
	_, live := tr.stream(t, id, "0")
	if ended, bad := readStream(live, &last); !ended || bad != "" {
		t.Fatalf("the stream of %s ended: %v, %s", id, ended, bad)
	}
	got := must(tr.c.GetRunWithResponse(tr.ctx, id, nil))
	return checkStatus(t, got, 200, got.JSON200)
}

// endpoints checks that endpoints are notified of what happens to runs; a rejected message is dead
// and can be sent again.
func (tr *tour) endpoints(t *testing.T) {
	made := must(tr.c.CreateEndpointWithResponse(tr.ctx, api.CreateEndpointBody{Url: tr.in.srv.URL + "/gone",
		Name: new("mine"), On: &[]string{"run.completed"}, Workflows: &[]string{"poem"}}))
	mine := checkStatus(t, made, 201, made.JSON201)
	if mine.Secret == nil || mine.Operator {
		t.Fatalf("made %+v", mine)
	}
	list := must(tr.c.ListEndpointsWithResponse(tr.ctx))
	if l := checkStatus(t, list, 200, list.JSON200); len(l.Items) != 2 ||
		strings.Contains(string(list.Body), *mine.Secret) ||
		strings.Contains(string(list.Body), deskSecret) {
		t.Errorf("endpoints %s", list.Body)
	}
	run := tr.start(t, "poem", "notified")
	if m := tr.next(t, "/gone", "run.completed", *mine.Secret); m.Data.Run != run.Id || m.Data.Status != "completed" ||
		m.Data.Links.Run != "https://hocket.test/api/v1/runs/"+run.Id {
		t.Errorf("told %+v", m)
	}
	dead := tr.settled(t, run.Id, "dead")
	again := must(tr.c.RetryNotificationWithResponse(tr.ctx, dead.Id))
	if n := checkStatus(t, again, 200, again.JSON200); n.Id != dead.Id || n.State != "pending" {
		t.Errorf("again: %+v", n)
	}
	tr.next(t, "/gone", "run.completed", *mine.Secret)
	if res := must(tr.c.DeleteEndpointWithResponse(tr.ctx, mine.Id)); res.StatusCode() != http.StatusNoContent {
		t.Errorf("deleted: %d %s", res.StatusCode(), res.Body)
	}

	// A private address that the operator did not name cannot be an endpoint (SEC8).
	private := newInbox(t)
	made = must(tr.c.CreateEndpointWithResponse(tr.ctx,
		api.CreateEndpointBody{Url: private.srv.URL, Workflows: &[]string{"poem"}}))
	if p := made.GetApplicationproblemJSON422(); p == nil || p.Code != "invalid" ||
		!strings.Contains(string(made.Body), "outbound") || len(private.got) != 0 {
		t.Errorf("a private address: %d %s, %d messages", made.StatusCode(), made.Body, len(private.got))
	}
}

// settled waits until the only notification of a run has a state.
func (tr *tour) settled(t *testing.T, run string, state api.ListNotificationsParamsState) api.Notification {
	t.Helper()
	for tr.ctx.Err() == nil {
		res := must(tr.c.ListNotificationsWithResponse(tr.ctx, &api.ListNotificationsParams{Run: &run, State: &state}))
		if l := checkStatus(t, res, 200, res.JSON200); len(l.Items) > 0 {
			return l.Items[0]
		}
		pause(tr.ctx)
	}
	t.Fatalf("no notification of %s is %s", run, state)
	return api.Notification{}
}

// links approves with a link: opening it changes nothing, by any user; only submitting the
// form decides (P34).
func (tr *tour) links(t *testing.T) {
	run := tr.start(t, "gate", nil)
	m := tr.next(t, "/desk", "wait.opened", deskSecret)
	for m.Data.Run != run.Id {
		m = tr.next(t, "/desk", "wait.opened", deskSecret)
	}
	u, err := url.Parse(m.Data.Links.Approve)
	if err != nil || u.Host != "hocket.test" || !strings.HasPrefix(u.Path, "/approve/") ||
		m.Data.Wait.Prompt != "Print it?" {
		t.Fatalf("told %+v, %v", m, err)
	}
	before := tr.eventsOf(t, run.Id)
	page := tr.do("GET", u.Path, "", "Authorization", "").is(200)
	tr.do("HEAD", u.Path, "", "Authorization", "").is(200)
	tr.do("GET", u.Path, "", "Authorization", "", "User-Agent", "Slackbot-LinkExpanding 1.0").is(200)
	if !strings.Contains(page.body, "Print it?") || !strings.Contains(page.body, `value="approve"`) ||
		strings.Contains(page.body, "<script") || !strings.HasPrefix(page.header.Get("Content-Security-Policy"),
		"default-src 'none'") {
		t.Errorf("the page: %v %s", page.header, page.body)
	}
	form := url.Values{"token": {strings.TrimPrefix(u.Path, "/approve/")}, "decision": {"approve"},
		"note": {"by link"}}.Encode()
	kind := []string{"Authorization", "", "Content-Type", "application/x-www-form-urlencoded"}
	tr.do("POST", u.Path, "", kind...).is(400)
	tr.do("POST", u.Path, form, append(kind, "Origin", "https://evil.test")...).is(403)
	if after := tr.eventsOf(t, run.Id); len(after) != len(before) {
		t.Errorf("looking changed the run: %d events, then %d", len(before), len(after))
	}
	tr.do("GET", "/approve/-/style.css", "", "Authorization", "").is(200)
	tr.do("POST", u.Path, form, append(kind, "Origin", "https://hocket.test", "Host", "hocket.test")...).is(200)
	if r := tr.followed(t, run.Id); r.Status != "completed" || !strings.HasPrefix(r.Output.(string), "says ") {
		t.Errorf("decided: %+v", r)
	}
	tr.do("POST", u.Path, form, kind...).is(410)
	if n := slices.Index(tr.eventsOf(t, run.Id), "wait.answered"); n < 0 {
		t.Error("no answer is in the journal")
	}
	tr.next(t, "/desk", "run.completed", deskSecret)
}

// eventsOf returns the types of a run's events.
func (tr *tour) eventsOf(t *testing.T, id string) []string {
	t.Helper()
	res := must(tr.c.ListEventsWithResponse(tr.ctx, id, &api.ListEventsParams{Limit: new(int64(1000))}))
	var types []string
	for _, e := range checkStatus(t, res, 200, res.JSON200).Items {
		types = append(types, e.Type)
	}
	return types
}

// tokens creates and revokes a token, and finds both in the audit log (SEC2).
func (tr *tour) tokens(t *testing.T) {
	made := must(tr.c.CreateTokenWithResponse(tr.ctx, api.TokenBody{Name: "ci", Role: "run"}))
	token := checkStatus(t, made, 201, made.JSON201)
	if !strings.HasPrefix(token.Token, "hk_") || token.Role != "run" || token.Approve {
		t.Errorf("made %+v", token)
	}
	ci := tr.client(token.Token)
	if res := must(ci.ListRunsWithResponse(tr.ctx, nil)); res.StatusCode() != http.StatusOK {
		t.Errorf("by the token: %d %s", res.StatusCode(), res.Body)
	}
	refused(t, must(ci.CreateTokenWithResponse(tr.ctx, api.TokenBody{Name: "more", Role: "run"})), 403, "forbidden")
	list := must(tr.c.ListTokensWithResponse(tr.ctx, nil))
	if l := checkStatus(t, list, 200, list.JSON200); len(l.Items) != 1 || l.Items[0].Id != token.Id ||
		l.Items[0].UsedAt == nil || strings.Contains(string(list.Body), token.Token) {
		t.Errorf("listed %s", list.Body)
	}
	if res := must(tr.c.RevokeTokenWithResponse(tr.ctx, token.Id, nil)); res.StatusCode() != http.StatusNoContent {
		t.Errorf("revoked: %d %s", res.StatusCode(), res.Body)
	}
	refused(t, must(ci.ListRunsWithResponse(tr.ctx, nil)), 401, "unauthorized")
	audit := must(tr.c.ListAuditWithResponse(tr.ctx, &api.ListAuditParams{Limit: new(int64(200))}))
	deeds := map[string]string{}
	for _, r := range checkStatus(t, audit, 200, audit.JSON200).Items {
		deeds[r.Actor+" "+r.Action+" "+r.Target] = r.Outcome
		if r.Request == "" || r.Remote == "" || r.Namespace != "default" {
			t.Errorf("record %+v", r)
		}
	}
	if deeds["HOCKET_TOKEN tokens.create "+token.Id] != "ok" || deeds["HOCKET_TOKEN tokens.revoke "+token.Id] != "ok" {
		t.Errorf("audit %s", audit.Body)
	}
}

// openai tests the endpoint for OpenAI clients.
func (tr *tour) openai(t *testing.T) {
	if a := tr.do("GET", "/v1/models", "").is(200); !strings.Contains(a.body, `"poem"`) {
		t.Errorf("models %s", a.body)
	}
	if a := tr.do("GET", "/v1/models/poem", "").is(200); !strings.Contains(a.body, `"object":"model"`) {
		t.Errorf("model %s", a.body)
	}
	const chat = `{"model": "poem", "messages": [{"role": "user", "content": "rain"}]`
	if a := tr.do("POST", "/v1/chat/completions", chat+"}").is(200); !strings.Contains(a.body,
		`"content":"says by poet"`) {
		t.Errorf("chat %s", a.body)
	}
	a, said := tr.do("POST", "/v1/chat/completions", chat+`, "stream": true}`).is(200), ""
	for _, piece := range regexp.MustCompile(`"content":"([^"]*)"`).FindAllStringSubmatch(a.body, -1) {
		said += piece[1] // the model splits its output anywhere
	}
	if said != "says by poet" || !strings.HasSuffix(a.body, "data: [DONE]\n\n") {
		t.Errorf("stream %s", a.body)
	}
}

// assistant tests a session of the official MCP client.
func (tr *tour) assistant(t *testing.T) {
	s := tr.session(t, testToken)
	if v := s.InitializeResult(); v.ServerInfo.Name == "" || v.Capabilities.Tools == nil ||
		v.Capabilities.Resources == nil {
		t.Errorf("initialized %+v", v)
	}
	for tool, args := range map[string]any{"poem": map[string]any{"input": "x"},
		"execute_workflow": map[string]any{"id": "poem", "input": "x"}} {
		res, err := s.CallTool(tr.ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
		if err != nil || res.IsError {
			t.Fatalf("%s: %v %+v", tool, err, res)
		}
		if text, err := json.Marshal(res.StructuredContent); err != nil ||
			!strings.Contains(string(text), "says by poet") {
			t.Errorf("%s: %s, %v", tool, text, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// session connects with the official MCP client.
func (w *world) session(t *testing.T, token string) *sdk.ClientSession {
	t.Helper()
	s, err := sdk.NewClient(&sdk.Implementation{Name: "e2e", Version: "1"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: w.p.url + "/mcp",
			HTTPClient: &http.Client{Transport: bearer{w, token}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // a test may have closed it
	return s
}

// bearer sends a token with every request.
type bearer struct {
	w     *world
	token string
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.w.asked.RoundTrip(r)
}

// checkHealthRoutes tests the routes for machines that monitor the server.
func (tr *tour) checkHealthRoutes(t *testing.T) {
	for _, path := range []string{"/healthz", "/readyz"} {
		if a := tr.do("GET", path, "", "Authorization", "").is(200); !strings.Contains(a.body, `"status":"`) {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	if a := tr.do("GET", "/metrics", "").is(200); !strings.Contains(a.body,
		`hocket_http_requests_total{method="POST",route="/api/v1/runs",status="201"}`) {
		t.Errorf("metrics %s", a.body)
	}
	var doc struct{ OpenAPI string }
	tr.do("GET", "/openapi.json", "").is(200).into(&doc)
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("the document is of OpenAPI %q", doc.OpenAPI)
	}
}

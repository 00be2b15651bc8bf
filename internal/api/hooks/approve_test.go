package hooks_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/service"
)

const public = "https://hocket.example.com"

// link returns the path of a link for the oldest open wait of a run.
func (w *world) link(run string) string {
	w.t.Helper()
	o, err := w.service.Show(w.t.Context(), run)
	if err != nil || len(o.Waiting) == 0 {
		w.t.Fatal(o.Status, o.Error, err)
	}
	return w.linkOf(run, o.Waiting[0].ID, "someone", time.Now())
}

func (w *world) linkOf(run, wait, whose string, from time.Time) string {
	w.t.Helper()
	text, err := w.hooks.LinkForTest(w.t.Context(), "default", run, wait, whose, from)
	if err != nil {
		w.t.Fatal(err)
	}
	path, ok := strings.CutPrefix(text, public)
	if !ok {
		w.t.Fatal(text)
	}
	return path
}

func (w *world) status(run string) event.Status {
	w.t.Helper()
	o, err := w.service.Show(w.t.Context(), run)
	if err != nil {
		w.t.Fatal(err)
	}
	return o.Status
}

// form returns the request body that the page of a link sends.
func form(path string, pairs ...string) string {
	v := url.Values{"token": {strings.TrimPrefix(path, "/approve/")}}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v.Encode()
}

// fromPage holds the headers of a form that the page of a link sends.
var fromPage = []string{"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin", "Origin",
	"null"}

// TestApprovePage_ShowsReviewedText checks that the page shows the text to be approved, exactly
// once, whether or not the prompt includes it (SEC12).
func TestApprovePage_ShowsReviewedText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{config: hooks.Config{PublicURL: public}})
	for name, doc := range map[string]string{"in the prompt": gate,
		"beside it": strings.Replace(gate, "\\n{{PREVIOUS_OUTPUT}}", "", 1)} {
		page := send(w.hooks.Approve(), "GET", w.link(w.start(doc, "json", "", "bees & honey")), "")
		if n := strings.Count(page.Body.String(), "bees &amp; honey"); page.Code != 200 || n != 1 {
			t.Errorf("%s: %d, the text occurs %d times", name, page.Code, n)
		}
	}
}

// TestApprovePage_EnterKey checks that Enter in the note field, which presses the first button of
// the form, approves nothing, because that button is disabled.
func TestApprovePage_EnterKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{config: hooks.Config{PublicURL: public}})
	for name, doc := range map[string]string{"decision": gate, "fields": looseTypes} {
		format := map[string]string{"decision": "json", "fields": "yaml"}[name]
		page := send(w.hooks.Approve(), "GET", w.link(w.start(doc, format, "", "x")), "").Body.String()
		_, page, _ = strings.Cut(page, "<form")
		if _, first, ok := strings.Cut(page, "<button"); !ok ||
			!strings.HasPrefix(first, ` type="submit" disabled hidden>`) {
			t.Errorf("%s: the first button of the form is %.80s", name, first)
		}
	}
}

// TestApprovalLink_LinkScanners checks that whatever follows, fetches or posts to a link without
// the form of its page changes nothing (P34, SEC12).
func TestApprovalLink_LinkScanners(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{config: hooks.Config{PublicURL: public}})
	h := w.hooks.Approve()
	run := w.start(gate, "json", "", "the text")
	path := w.link(run)
	token := strings.TrimPrefix(path, "/approve/")
	full := form(path, "decision", "approve")
	for _, c := range []struct {
		method, path, body string
		headers            []string
		status             int
	}{
		{"GET", path, "", nil, 200},
		{"HEAD", path, "", nil, 200},
		{"GET", path + "?decision=approve&token=" + token, full, fromPage, 200},
		{"HEAD", path, full, fromPage, 200},
		{"OPTIONS", path, full, fromPage, 405},
		{"PUT", path, full, fromPage, 405},
		{"PATCH", path, full, fromPage, 405},
		{"DELETE", path, full, fromPage, 405},
		{"POST", path, "", nil, 400},
		{"POST", path, "", fromPage, 400},
		{"POST", path, full, []string{"Content-Type", "text/plain"}, 400},
		{"POST", path, `{"token": "` + token + `", "decision": "approve"}`,
			[]string{"Content-Type", "application/json"}, 400},
		{"POST", path + "?decision=approve", full, fromPage, 400},
		{"POST", path, "decision=approve", fromPage, 400},
		{"POST", path, "decision=approve&token=" + token + "x", fromPage, 400},
		{"POST", path, full, []string{"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site",
			"cross-site", "Origin", "https://evil.example"}, 403},
		{"POST", path, full, []string{"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site",
			"same-site"}, 403},
		{"POST", path, full, []string{"Content-Type", "application/x-www-form-urlencoded", "Origin",
			"https://evil.example"}, 403},
		{"POST", path, form(path), fromPage, 422},
		{"POST", path, form(path, "decision", "perhaps"), fromPage, 422},
		{"POST", path, full + "&decision=reject", fromPage, 422},
		{"POST", path, full + "&decision=approve", fromPage, 422},
		{"POST", path, full + "&send=", fromPage, 422},
		{"POST", path, full + "&note=a&note=b", fromPage, 422},
		{"POST", path, full + "&token=" + token, fromPage, 422},
		{"POST", path, form(path, "decision", "approve", "note", strings.Repeat("x", 5000)), fromPage, 422},
		{"POST", path, form(path, "decision", "approve", "note", strings.Repeat("x", 70000)), fromPage, 400},
		{"POST", path + "x", form(path+"x", "decision", "approve"), fromPage, 404},
		{"GET", "/approve/nothing", "", nil, 404},
		{"GET", "/approve/", "", nil, 404},
	} {
		rec := send(h, c.method, c.path, c.body, c.headers...)
		if rec.Code != c.status {
			t.Errorf("%s %.60s %.80s: %d, want %d", c.method, c.path, c.body, rec.Code, c.status)
		}
		checkPage(t, rec)
	}
	if st := w.status(run); st != event.StatusPaused {
		t.Fatalf("the run is %s", st)
	}
	rec := send(h, "POST", path, form(path, "decision", "approve", "note", "go on"), fromPage...)
	if rec.Code != 200 || !strings.Contains(rec.Body.String(), "Approved") {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	checkPage(t, rec)
	if st, err := w.service.Wait(t.Context(), run); err != nil || st.Status != event.StatusCompleted {
		t.Errorf("%+v, %v", st, err)
	}
}

// checkPage checks that a response satisfies the page requirements of SEC15.
func checkPage(t *testing.T, rec *httptest.ResponseRecorder) {
	t.Helper()
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; " +
			"base-uri 'none'; frame-ancestors 'none'",
		"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
		"Content-Type": "text/html; charset=utf-8",
	} {
		if got := rec.Header().Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if bad := regexp.MustCompile(`(?i)<script|<img|<iframe|\son\w+=|style=|javascript:|https?://`).FindString(
		rec.Body.String()); bad != "" {
		t.Errorf("the page holds %q", bad)
	}
}

// TestApprovalLink_SingleUse checks that a link answers once, and that a second click, the opposite
// answer, and an answer after one from elsewhere get a page that says what happened (P24, SEC12).
func TestApprovalLink_SingleUse(t *testing.T) {
	t.Parallel()
	db := onDisk(t)
	w := newWorld(t, setup{db: db, config: hooks.Config{PublicURL: public}})
	h := w.hooks.Approve()
	run := w.start(gate, "json", "", "x")
	path := w.link(run)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		codes = map[int]int{}
	)
	for range 100 {
		wg.Go(func() {
			rec := send(h, "POST", path, form(path, "decision", "reject", "note", "not today"), fromPage...)
			mu.Lock()
			defer mu.Unlock()
			codes[rec.Code]++
			if rec.Code == http.StatusGone && !strings.Contains(rec.Body.String(), "reject") {
				t.Error(rec.Body)
			}
		})
	}
	wg.Wait()
	if codes[200] == 0 || codes[200]+codes[410] != 100 {
		t.Errorf("100 clicks: %v", codes)
	}
	answers := 0
	events, err := w.service.Events(t.Context(), run, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if d, ok := e.Data.(*event.WaitAnswered); ok {
			if answers++; d.Decision != "reject" || d.Note != "not today" ||
				d.By != (event.Actor{Name: "ep_test", Channel: event.ChannelLink}) {
				t.Errorf("%+v", d)
			}
		}
	}
	if answers != 1 {
		t.Errorf("%d answers", answers)
	}
	for _, method := range []string{"GET", "POST"} {
		rec := send(h, method, path, form(path, "decision", "approve"), fromPage...)
		if body := rec.Body.String(); rec.Code != http.StatusGone || !strings.Contains(body, "reject (not today)") {
			t.Errorf("%s after it: %d %s", method, rec.Code, body)
		}
	}
	// Already answered elsewhere, cancelled, pruned.
	for name, do := range map[string]func(run string) error{
		"Answered on": func(run string) error {
			return w.service.Answer(t.Context(), run, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
				Value: expr.Quote("approve")})
		},
		"cancelled": func(run string) error { return w.service.Cancel(t.Context(), run, "") },
	} {
		run := w.start(gate, "json", "", "x")
		path := w.link(run)
		if err := do(run); err != nil {
			t.Fatal(err)
		}
		rec := send(h, "POST", path, form(path, "decision", "approve"), fromPage...)
		if rec.Code != http.StatusGone || !strings.Contains(rec.Body.String(), name) {
			t.Errorf("%s: %d %s", name, rec.Code, rec.Body)
		}
		checkPage(t, rec)
	}
	// Another process on the store also opens the link: key and uses are those of the store.
	run = w.start(gate, "json", "", "x")
	path = w.link(run)
	again := newWorld(t, setup{db: db, config: hooks.Config{PublicURL: public}})
	if rec := send(again.hooks.Approve(), "POST", path, form(path, "decision", "approve"),
		fromPage...); rec.Code != 200 {
		t.Errorf("another process: %d %s", rec.Code, rec.Body)
	}
	// A separate store has its own key.
	other := newWorld(t, setup{db: onDisk(t), config: hooks.Config{PublicURL: public}})
	if rec := send(other.hooks.Approve(), "GET", path, ""); rec.Code != 404 {
		t.Errorf("another store: %d", rec.Code)
	}
}

// TestApprovalLink_Expiry checks that a link is valid for a day (SEC12).
func TestApprovalLink_Expiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{config: hooks.Config{PublicURL: public}})
		h := w.hooks.Approve()
		run := w.start(gate, "json", "", "x")
		path := w.link(run)
		time.Sleep(hooks.LinkLife - 2*time.Second)
		if rec := send(h, "GET", path, ""); rec.Code != 200 {
			t.Errorf("before: %d", rec.Code)
		}
		time.Sleep(2 * time.Second)
		for _, method := range []string{"GET", "POST"} {
			rec := send(h, method, path, form(path, "decision", "approve"), fromPage...)
			if rec.Code != http.StatusGone || !strings.Contains(rec.Body.String(), "Expired") {
				t.Errorf("%s after: %d %s", method, rec.Code, rec.Body)
			}
		}
		if st := w.status(run); st != event.StatusPaused {
			t.Errorf("the run is %s", st)
		}
	})
}

// TestApprovalLink_BoundToWait checks that a link opens only its own wait: neither one of another
// run, nor the next one of its own run (SEC12).
func TestApprovalLink_BoundToWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{config: hooks.Config{PublicURL: public}})
	h := w.hooks.Approve()
	const two = `{"nodes": [{"id": "s", "type": "start"}, {"id": "a", "type": "approval"}, {"id": "b", "type": ` +
		`"approval"}],
 "connections": [{"source": "s", "target": "a"}, {"source": "a", "target": "b", "sourceHandle": "approve"}]}`
	run, other := w.start(two, "json", "", "x"), w.start(two, "json", "", "x")
	path := w.link(run)
	if rec := send(h, "POST", path, form(path, "decision", "approve"), fromPage...); rec.Code != 200 {
		t.Fatal(rec.Code, rec.Body)
	}
	if _, err := w.service.Wait(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	rec := send(h, "POST", path, form(path, "decision", "approve"), fromPage...)
	if rec.Code != http.StatusGone || w.status(run) != event.StatusPaused || w.status(other) != event.StatusPaused {
		t.Errorf("%d, %s, %s", rec.Code, w.status(run), w.status(other))
	}
	// Sends the form of one link to another link.
	next := w.link(run)
	if rec := send(h, "POST", next, form(path, "decision", "approve"), fromPage...); rec.Code != http.StatusBadRequest {
		t.Errorf("another link's form: %d", rec.Code)
	}
}

// ask is a workflow whose agent asks a person; the answer has a schema.
const ask = `
agents:
  root: {model: fake/x, toolsets: [{type: user_prompt}]}
workflow:
  - {type: agent, name: root}
`

const askReplies = `
replies:
  - {agent: root, toolCalls: [{name: user_prompt, arguments: {message: "How many?", schema: {type: integer}}}]}
  - {agent: root, contains: "7", text: seven it is}
`

// TestQuestion checks that a question has a text field, and that an answer that does not fit is
// asked for again (P34).
func TestQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{config: hooks.Config{PublicURL: public}})
	h := w.hooks.Approve()
	run := w.start(ask, "yaml", askReplies, "go")
	path := w.link(run)
	rec := send(h, "GET", path, "")
	if body := rec.Body.String(); rec.Code != 200 || !strings.Contains(body, "<textarea") ||
		!strings.Contains(body, "How many?") {
		t.Fatal(rec.Code, body)
	}
	for answer, status := range map[string]int{"": 422, "many": 422} {
		rec := send(h, "POST", path, form(path, "send", "1", "answer", answer, "note", "<n>"), fromPage...)
		if rec.Code != status || !strings.Contains(rec.Body.String(), `value="&lt;n&gt;"`) {
			t.Errorf("%q: %d %s", answer, rec.Code, rec.Body)
		}
		checkPage(t, rec)
	}
	if rec := send(h, "POST", path, form(path, "send", "1", "answer", "7"), fromPage...); rec.Code != 200 {
		t.Fatal(rec.Code, rec.Body)
	}
	if _, err := w.service.Wait(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if o, err := w.service.Show(t.Context(), run); err != nil || o.Status != event.StatusCompleted ||
		expr.Text(o.Output) != "seven it is" {
		t.Errorf("%s %s, %v", o.Status, o.Output, err)
	}
}

// handoff immediately asks a person, who may enter text or choose "close".
const handoff = `{"id": "desk", "entrypointNodeId": "h", "agents": [{"id": "host", "name": "Host", "model": "fake/x"}],
 "nodes": [{"id": "h", "workflowId": "desk", "nodeType": "HUMAN", "nodeName": "Person", "prompt": "What now?"},
           {"id": "a", "workflowId": "desk", "nodeType": "AGENT", "nodeName": "Host", "agentId": "host"}],
 "edges": [{"id": "e1", "workflowId": "desk", "sourceNodeId": "h", "targetNodeId": null, "conditionType": ` +
	`"CONDITIONAL", "conditionValue": "close"},
           {"id": "e2", "workflowId": "desk", "sourceNodeId": "h", "targetNodeId": "a", "conditionType": "ALWAYS"},
           {"id": "e3", "workflowId": "desk", "sourceNodeId": "a", "targetNodeId": null, "conditionType": "ALWAYS"}]}`

// TestQuestionWithOptions checks that a question of a human node with options also accepts text
// (P34, S3-15).
func TestQuestionWithOptions(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		form []string
		want string
	}{
		"a text":    {[]string{"send", "1", "answer", "It is in the depot."}, "told: depot"},
		"an option": {[]string{"decision", "close", "answer", ""}, "close"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{config: hooks.Config{PublicURL: public}})
			h := w.hooks.Approve()
			run := w.start(handoff, "json", "replies:\n  - {agent: Host, contains: depot, text: \"told: depot\"}\n",
				"x")
			path := w.link(run)
			rec := send(h, "GET", path, "")
			if body := rec.Body.String(); !strings.Contains(body, "<textarea") || !strings.Contains(body,
				`value="close"`) || !strings.Contains(body, "Send</button>") || strings.Contains(body, "required") {
				t.Fatal(rec.Code, body)
			}
			if rec := send(h, "POST", path, form(path, "send", "1", "answer", " "),
				fromPage...); rec.Code != http.StatusUnprocessableEntity {
				t.Errorf("an empty text: %d", rec.Code)
			}
			if rec := send(h, "POST", path, form(path, x.form...), fromPage...); rec.Code != http.StatusOK {
				t.Fatal(rec.Code, rec.Body)
			}
			if _, err := w.service.Wait(t.Context(), run); err != nil {
				t.Fatal(err)
			}
			if o, err := w.service.Show(t.Context(), run); err != nil || o.Status != event.StatusCompleted ||
				expr.Text(o.Output) != x.want {
				t.Errorf("%s %s, %v", o.Status, o.Output, err)
			}
		})
	}
}

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
	if w.status(run) != event.StatusPaused {
		t.Errorf("the run is %s", w.status(run))
	}
	mine := w.link(w.start("workflow: [{type: approval, prompt: Sure?, roles: [finance, ep_test]}]\n", "yaml", "", "x"))
	if page := send(w.hooks.Approve(), "POST", mine, form(mine, "decision", "approve"), fromPage...); page.Code != 200 {
		t.Errorf("%d: %s", page.Code, page.Body)
	}
}

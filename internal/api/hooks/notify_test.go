package hooks_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/service"
)

func TestMain(m *testing.M) {
	leaktest.Main(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// TestNotifications checks that notifications are sent for waits and for the ends of runs, signed,
// with everything a person needs to know and a link for answering (P23, P34, SEC12).
func TestNotifications(t *testing.T) {
	t.Parallel()
	for _, db := range []string{"", onDisk(t)} {
		r := newReceiver(t)
		w := newWorld(t, setup{db: db, config: operator(t, r, hooks.Endpoint{ApproveLinks: true})})
		w.env["NOTIFY"] = operatorSecret
		w.start(gate, "json", "", "before anybody listens")
		stop := w.serve(t)
		run := w.start(gate, "json", "", "the text")
		opened := r.wait(1)[0]
		d := opened.Data
		if opened.Type != "wait.opened" || d.Namespace != "default" || d.Run != run || d.Workflow != "gate" ||
			d.Wait.Node != "ok" || d.Wait.Kind != "approval" ||
			!strings.Contains(d.Wait.Prompt, "the text") || !strings.Contains(opened.Body, `"input":"the text"`) ||
			!slices.Equal(d.Wait.Options, []string{"approve", "reject"}) || d.Links.Run != public+"/api/v1/runs/"+run {
			t.Errorf("%s", opened.Body)
		}
		path := strings.TrimPrefix(d.Links.Approve, public)
		if rec := send(w.hooks.Approve(), "POST", path, form(path, "decision", "approve", "note", "fine"),
			fromPage...); rec.Code != 200 {
			t.Fatal(rec.Code, rec.Body)
		}
		all := r.wait(3)[1:]
		slices.SortFunc(all, func(a, b receivedMessage) int { return strings.Compare(b.Type, a.Type) })
		if a := all[0]; a.Type != "wait.answered" || a.Data.Answer.Decision != "approve" ||
			a.Data.Answer.Note != "fine" || a.Data.Wait.ID != d.Wait.ID {
			t.Errorf("%s", a.Body)
		}
		if c := all[1]; c.Type != "run.completed" || c.Data.Status != "completed" || c.Data.Run != run ||
			c.Data.Links.Approve != "" {
			t.Errorf("%s", c.Body)
		}
		list := w.settled(t)
		if len(list) != 3 || slices.ContainsFunc(list, func(n hooks.Notification) bool {
			return n.State != hooks.StateDelivered
		}) {
			t.Errorf("%+v", list)
		}
		for _, n := range list {
			if strings.Contains(string(n.Body), "/approve/") {
				t.Errorf("a link is stored: %s", n.Body)
			}
		}
		stop()
	}
}

// TestBegin checks that notifications are sent for events after Begin, even if the first round of
// Maintain is later, and not for earlier events (P23).
func TestBegin(t *testing.T) {
	t.Parallel()
	for _, db := range []string{"", onDisk(t)} {
		r := newReceiver(t)
		w := newWorld(t, setup{db: db, config: operator(t, r, hooks.Endpoint{On: []hooks.Type{hooks.TypeWaitOpened}})})
		w.env["NOTIFY"] = operatorSecret
		w.start(gate, "json", "", "before")
		for range 2 {
			if err := w.hooks.Begin(t.Context(), "default", w.service); err != nil {
				t.Fatal(err)
			}
		}
		run := w.start(gate, "json", "", "after")
		if err := w.hooks.Begin(t.Context(), "default", w.service); err != nil {
			t.Fatal(err)
		}
		stop := w.late()
		if got := r.wait(1); got[0].Data.Run != run {
			t.Errorf("%s", got[0].Body)
		}
		if list := w.settled(t); len(list) != 1 {
			t.Errorf("%+v", list)
		}
		stop()
	}
}

// TestNotifier_AtLeastOnce checks that events that occur while no notifier is running are sent
// later, that rejected messages are sent again under the same id, and that a second process
// duplicates nothing.
func TestNotifier_AtLeastOnce(t *testing.T) {
	t.Parallel()
	db := onDisk(t)
	r := newReceiver(t)
	one := newWorld(t, setup{db: db,
		config: operator(t, r, hooks.Endpoint{On: []hooks.Type{hooks.TypeRunCompleted, hooks.TypeRunFailed}})})
	one.env["NOTIFY"] = operatorSecret
	stop := one.serve(t)
	stop()
	want := map[string]bool{}
	for range 20 {
		want[one.start(echo, "yaml", "", "hello")] = true // by a process that sends nothing
	}
	failed := one.start(echo, "yaml", "", "fail now")
	want[failed] = true
	r.answer = func(n int) int {
		if n%3 == 0 {
			return 500
		}
		return 200
	}
	two := newWorld(t, setup{db: db,
		config: operator(t, r, hooks.Endpoint{On: []hooks.Type{hooks.TypeRunCompleted, hooks.TypeRunFailed}})})
	two.env["NOTIFY"] = operatorSecret
	defer one.serve(t)()
	defer two.serve(t)()
	for end := time.Now().Add(long); ; time.Sleep(5 * time.Millisecond) {
		list, _, err := one.hooks.Notifications(t.Context(), "default", one.service,
			hooks.NotificationQuery{Limit: 200})
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == len(want) && !slices.ContainsFunc(list, func(n hooks.Notification) bool {
			return n.State == hooks.StatePending
		}) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d notifications", len(list))
		}
	}
	bodies := map[string]string{}
	for _, m := range r.wait(len(want)) {
		if !want[m.Data.Run] {
			t.Errorf("unexpected: %s", m.Body)
		}
		if had, ok := bodies[m.ID]; ok && had != m.Body {
			t.Errorf("another body under one id:\n%s\n%s", had, m.Body)
		}
		bodies[m.ID] = m.Body
		if m.Data.Run == failed && (m.Type != "run.failed" || m.Data.Error.Message == "") {
			t.Errorf("%s", m.Body)
		}
	}
	if len(bodies) != len(want) {
		t.Errorf("%d runs, %d ids", len(want), len(bodies))
	}
}

// TestGivenUp checks that the messages of an endpoint that accepts nothing become dead, and that a
// person can send them again.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	w := newWorld(t, setup{config: operator(t, r, hooks.Endpoint{On: []hooks.Type{hooks.TypeRunCompleted}})})
	w.env["NOTIFY"] = operatorSecret
	r.answer = func(n int) int {
		if n <= 3 {
			return 503
		}
		return 200
	}
	defer w.serve(t)()
	w.start(echo, "yaml", "", "hello")
	r.wait(3)
	n := w.settled(t)[0]
	if n.State != hooks.StateDead || n.Tries != 3 || !strings.Contains(n.Error, "503") {
		t.Errorf("%+v", n)
	}
	if _, err := w.hooks.Retry(t.Context(), "default", w.service, n.ID); err != nil {
		t.Fatal(err)
	}
	got := r.wait(4)
	if got[3].ID != got[0].ID {
		t.Errorf("%s, %s", got[3].ID, got[0].ID)
	}
	if n = w.settled(t)[0]; n.State != hooks.StateDelivered {
		t.Errorf("%+v", n)
	}
	if _, err := w.hooks.Retry(t.Context(), "default", w.service, n.ID); service.CodeOf(err) != service.CodeInvalid {
		t.Errorf("delivered: %v", err)
	}
	if _, err := w.hooks.Retry(t.Context(), "default", w.service, "msg_x"); service.CodeOf(
		err) != service.CodeNotFound {
		t.Errorf("unknown: %v", err)
	}
}

// TestNotifier_PrivateAddress checks that an endpoint created through the API cannot lead to a
// private address, not even by a redirect, and that its messages are given up on immediately
// (SEC8).
func TestNotifier_PrivateAddress(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	cfg := operator(t, r, hooks.Endpoint{On: []hooks.Type{hooks.TypeRunFailed}})
	w := newWorld(t, setup{config: cfg})
	w.env["NOTIFY"] = operatorSecret
	for _, u := range []string{r.URL, "http://169.254.169.254/latest", "http://localhost:1/",
		"http://[::ffff:127.0.0.1]/", "http://2130706433/"} {
		c, err := w.hooks.CreateEndpoint(t.Context(), "default", w.service,
			hooks.EndpointRequest{URL: u, On: []hooks.Type{hooks.TypeRunCompleted}})
		if err != nil || !strings.HasPrefix(c.Secret, "whsec_") {
			t.Fatal(u, err)
		}
	}
	for _, u := range []string{"ftp://example.com", "example.com", "https://u:p@example.com", "https://example.com/#x",
		""} {
		if _, err := w.hooks.CreateEndpoint(t.Context(), "default", w.service,
			hooks.EndpointRequest{URL: u}); service.CodeOf(err) != service.CodeInvalid {
			t.Errorf("%q: %v", u, err)
		}
	}
	defer w.serve(t)()
	w.start(echo, "yaml", "", "hello")
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if list := w.settled(t); len(list) == 5 {
			break
		}
	}
	list := w.settled(t)
	for _, n := range list {
		if n.State != hooks.StateDead || n.Tries != 1 && !strings.Contains(n.Error, "no such host") {
			t.Errorf("%+v", n)
		}
	}
	if len(list) != 5 || len(r.got) != 0 {
		t.Errorf("%d notifications, %d messages", len(list), len(r.got))
	}
}

// TestCreateEndpoint_PrivateAddress checks that creating an endpoint with an address that would be
// rejected returns an error with a remedy, that an address allowed by the operator is accepted, and
// so is one that does not currently resolve, which is checked when something is sent to it (SEC8).
func TestCreateEndpoint_PrivateAddress(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	cfg := operator(t, r, hooks.Endpoint{On: []hooks.Type{hooks.TypeRunFailed}})
	cfg.Refused = func(ctx context.Context, url string) error {
		return outbound.Check(ctx, outbound.Config{Allow: []string{"allowed.example"}, Resolve: func(context.Context,
			string) ([]netip.Addr, error) {
			return nil, errors.New("no such host")
		}}, url)
	}
	w := newWorld(t, setup{config: cfg})
	create := func(url string) error {
		_, err := w.hooks.CreateEndpoint(t.Context(), "default", w.service, hooks.EndpointRequest{URL: url})
		return err
	}
	for _, u := range []string{r.URL, "http://169.254.169.254/latest", "http://[::ffff:127.0.0.1]/",
		"http://2130706433/", "http://0x7f.1/"} {
		if err := create(u); service.CodeOf(err) != service.CodeInvalid ||
			!strings.Contains(err.Error(), "address refused") || !strings.Contains(err.Error(), "outbound: {allow:") {
			t.Errorf("%s: %v", u, err)
		}
	}
	for _, u := range []string{"http://allowed.example:8080/in", "https://unresolved.example/"} {
		if err := create(u); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
	if list, err := w.hooks.Endpoints(t.Context(), "default", w.service); err != nil || len(list) != 3 {
		t.Errorf("%d endpoints, %v", len(list), err)
	}
}

// TestMissingSecret checks that an unusable secret is logged once, at startup, with its name and
// that of the endpoint, that the list of notifications names both as well, and that pending
// notifications are sent as soon as the secret is available.
func TestMissingSecret(t *testing.T) {
	t.Parallel()
	var log lines
	r := newReceiver(t)
	cfg := operator(t, r, hooks.Endpoint{On: []hooks.Type{hooks.TypeRunCompleted}})
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	cfg.Pace.Delays = []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond, time.Millisecond}
	w := newWorld(t, setup{config: cfg})
	if got := log.with("secret not usable"); len(got) != 1 || !strings.Contains(got[0], "level=ERROR") ||
		!strings.Contains(got[0], "ops") || !strings.Contains(got[0], "server.notifications") ||
		!strings.Contains(got[0], "NOTIFY") {
		t.Errorf("the log says at the start: %v", got)
	}
	stop := w.serve(t)
	defer stop()
	w.start(echo, "yaml", "", "hello")
	var n hooks.Notification
	for end := time.Now().Add(long); n.State != hooks.StateDead &&
		time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if list := w.settled(t); len(list) > 0 {
			n = list[0]
		}
	}
	if !strings.Contains(n.Error, `"ops"`) || !strings.Contains(n.Error, "NOTIFY is empty or not set") || n.Tries != 5 {
		t.Errorf("the list says %+v", n)
	}
	if got := log.with("secret not usable"); len(got) != 1 {
		t.Errorf("the log repeats itself: %v", got)
	}
	stop()
	w.env["NOTIFY"] = operatorSecret
	if _, err := w.hooks.Retry(t.Context(), "default", w.service, n.ID); err != nil {
		t.Fatal(err)
	}
	defer w.serve(t)()
	r.wait(1)
}

// TestFilters checks that an endpoint is notified of exactly what it subscribed to.
func TestFilters(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	w := newWorld(t,
		setup{config: operator(t, r, hooks.Endpoint{Workflows: []string{"gate"},
			On: []hooks.Type{hooks.TypeWaitClosed, hooks.TypeRunCancelled, hooks.TypeRunCompleted}})})
	w.env["NOTIFY"] = operatorSecret
	defer w.serve(t)()
	w.start(echo, "yaml", "", "hello")
	run := w.start(gate, "json", "", "x")
	if err := w.service.Cancel(t.Context(), run, "no need"); err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, m := range r.wait(2) {
		types = append(types, m.Type)
		if m.Data.Run != run {
			t.Errorf("%s", m.Body)
		}
	}
	slices.Sort(types)
	if !slices.Equal(types, []string{"run.cancelled", "wait.closed"}) {
		t.Errorf("%v", types)
	}
	run = w.start(gate, "json", "", "x")
	if err := w.service.Answer(t.Context(), run, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
		Value: expr.Quote("approve")}); err != nil {
		t.Fatal(err)
	}
	if got := r.wait(3)[2]; got.Type != "run.completed" {
		t.Errorf("%s", got.Body)
	}
	if _, err := hooks.OperatorEndpoint(hooks.Endpoint{Name: "x", URL: "https://example.com",
		On: []hooks.Type{"run.started"}}, "${env.X}"); err == nil || !strings.Contains(err.Error(), "run.completed") {
		t.Errorf("unknown type: %v", err)
	}
	if _, err := hooks.OperatorEndpoint(hooks.Endpoint{Name: "x", URL: "https://example.com"},
		"written down"); err == nil || strings.Contains(err.Error(), "written") {
		t.Errorf("no reference: %v", err)
	}
}

// TestNotifier_ChildRunWaitOnce checks that for a wait in a workflow used as a tool one message is
// sent, with and without notifications of child runs (P8).
func TestNotifier_ChildRunWaitOnce(t *testing.T) {
	t.Parallel()
	const outer = "agents:\n  A: {model: fake/x, toolsets: [{type: workflow, workflow: middle, tool: call}]}\n"
	const middle = "agents:\n  B: {model: fake/x, toolsets: [{type: workflow, workflow: gate, tool: call}]}\n"
	const replies = "replies:\n  - {agent: A, toolCalls: [{name: call, arguments: {input: x}}]}\n  - {agent: B, " +
		"toolCalls: [{name: call, arguments: {input: y}}]}\n"
	for _, children := range []bool{false, true} {
		r := newReceiver(t)
		w := newWorld(t, setup{config: operator(t, r, hooks.Endpoint{Children: children})})
		w.env["NOTIFY"] = operatorSecret
		w.apply("middle", middle, "yaml")
		stop := w.serve(t)
		run := w.start(outer, "yaml", replies, "go")
		told := r.wait(1)[0]
		if (told.Data.Run == run) == children {
			t.Errorf("children %t: notified of run %s", children, told.Data.Run)
		}
		if list := w.settled(t); len(list) != 1 {
			t.Errorf("children %t: %d messages, want 1", children, len(list))
		}
		stop()
	}
}

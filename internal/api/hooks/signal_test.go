package hooks_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/service"
)

const order = `
workflow:
  - {id: paid, type: signal, signal: paid, filter: "{{ $signal.amount > 1 }}"}
  - {type: end, output: "{{ $steps.paid.output.amount }}"}
`

// TestSignalDelivery checks that a signed delivery is a signal to the run that its body names, once
// per delivery, and to no run of another workflow.
func TestSignalDelivery(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.apply("order", order, "yaml")
	w.apply("other", order, "yaml")
	begin := func(id string) string {
		flow, _, problems, err := w.service.LoadStored(t.Context(), id, service.Which{}, service.LoadOptions{})
		if err != nil || problems.HasErrors() {
			t.Fatal(err, problems)
		}
		run, err := w.service.Start(t.Context(), service.StartRequest{Trigger: service.TriggerAPI, Workflow: flow,
			Stored: id, Version: 1})
		if err == nil {
			_, err = w.service.Wait(t.Context(), run)
		}
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	run, foreign := begin("order"), begin("other")
	hook := w.create(hooks.CreateRequest{Workflow: "order", Signal: "paid", RunAt: "/meta/0/run"})
	h, path := w.hooks.Receive(), hooks.Path("default", hook.Of)
	deliver := func(secret, id, body string) (int, string) {
		headers := signed(t, secret, id, time.Now(), body)
		headers[len(headers)-1] = "application/json"
		got := send(h, "POST", path, body, headers...)
		return got.Code, got.Body.String()
	}
	body := func(run, amount string) string { return `{"amount":` + amount + `,"meta":[{"run":"` + run + `"}]}` }
	for name, tt := range map[string]struct {
		body, says string
		status     int
	}{
		"no run": {`{"amount":5}`, "/meta/0/run", http.StatusUnprocessableEntity},
		"a run that is none": {body("nope", "5"), "none of a run of the workflow",
			http.StatusUnprocessableEntity},
		"a run of another workflow": {body(foreign, "5"), "none of a run of the workflow",
			http.StatusUnprocessableEntity},
		"no JSON": {`{`, "JSON", http.StatusUnprocessableEntity},
	} {
		if status, text := deliver(hook.Secret, strings.ReplaceAll(name, " ", "-"), tt.body); status != tt.status ||
			!strings.Contains(text, tt.says) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if status, text := deliver("whsec_"+strings.Repeat("A", 43)+"=", "m1",
		body(run, "5")); status != http.StatusNotFound {
		t.Errorf("a wrong signature: %d %s", status, text)
	}
	for range 2 { // the filter does not accept it: it is kept, once
		if status, text := deliver(hook.Secret, "kept", body(run, "1")); status != http.StatusAccepted ||
			!strings.Contains(text, run) {
			t.Errorf("a signal that no step takes: %d %s", status, text)
		}
	}
	if w.status(run) != event.StatusPaused || w.status(foreign) != event.StatusPaused {
		t.Fatalf("the runs are %s and %s", w.status(run), w.status(foreign))
	}
	for range 2 {
		if status, text := deliver(hook.Secret, "m1", body(run, "5")); status != http.StatusAccepted {
			t.Errorf("a signal that is taken: %d %s", status, text)
		}
	}
	if _, err := w.service.Wait(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	o, err := w.service.Show(t.Context(), run)
	if err != nil || string(o.Output) != `5` || o.Answers[0].By.String() != "webhook "+hook.Of.ID+" (webhook)" {
		t.Errorf("%s, by %v, %v", o.Output, o.Answers, err)
	}
	if status, text := deliver(hook.Secret, "m2", body(run, "5")); status != http.StatusConflict &&
		status != http.StatusGone {
		t.Errorf("after the end: %d %s", status, text)
	}
	events, err := w.service.Events(t.Context(), run, 0)
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, e := range events {
		if _, ok := e.Data.(*event.SignalReceived); ok {
			kept++
		}
	}
	if kept != 1 {
		t.Errorf("%d signals are kept", kept)
	}
}

// TestSignalWebhooks checks that creating an invalid webhook returns an error.
func TestSignalWebhooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.apply("order", order, "yaml")
	for _, q := range []hooks.CreateRequest{{RunAt: "/run"}, {Signal: "a b"}, {Signal: "paid", RunAt: "run"},
		{Signal: "paid", Branch: "b"}, {Signal: "paid", RunAt: "/" + strings.Repeat("a", 500)}} {
		q.Workflow = "order"
		if _, err := w.hooks.Create(t.Context(), "default", w.service, q); service.CodeOf(err) != service.CodeInvalid {
			t.Errorf("%+v: %v", q, err)
		}
	}
	if got := w.create(hooks.CreateRequest{Workflow: "order", Signal: "paid"}).Of; got.RunAt != hooks.DefaultRunAt {
		t.Errorf("%+v", got)
	}
}

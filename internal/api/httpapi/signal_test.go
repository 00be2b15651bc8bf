package httpapi_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/service"
)

const awaitsTwo = "workflow:\n- {id: paid, type: signal, signal: payment, filter: \"{{ $signal.n > 1 }}\"}\n- {id: " +
	"sent, type: signal, signal: sent}\n"

// TestSignal checks that a signal is consumed or stored, that repeating it yields the same result,
// and that a rejected signal changes nothing.
func TestSignal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.do("POST", "/api/v1/runs?wait=1m", m{"document": awaitsTwo}).is(201).run()
	if len(run.Waiting) != 1 || run.Waiting[0].Signal != "payment" || run.Waiting[0].Filter == "" {
		t.Fatalf("the run waits for %+v", run.Waiting)
	}
	at := "/api/v1/runs/" + run.ID
	sends := func(name string, body any, status int, headers ...string) (out service.SignalResult) {
		t.Helper()
		w.do("POST", at+"/signals/"+name, body, headers...).is(status).decode(&out)
		return out
	}
	if out := sends("sent", nil, 202); out.Wait != "" || out.Key == "" {
		t.Errorf("a signal that no step takes: %+v", out)
	}
	sends("payment", m{"value": m{"n": 1}}, 202)
	for name, c := range map[string]struct {
		path, body   string
		status       int
		code, reason string
		key          string
	}{
		"another name": {"/signals/paymet", `{"value": 1}`, 404, "not_found", "signal-unknown", ""},
		"no name":      {"/signals/%20", `{"value": 1}`, 404, "not_found", "signal-unknown", ""},
		"a long name":  {"/signals/" + strings.Repeat("n", 65), `{"value": 1}`, 422, "invalid", "", ""},
		"a large value": {"/signals/payment", `{"value": "` + strings.Repeat("x", 300<<10) + `"}`, 422, "invalid",
			"signal-refused", ""},
		"an unknown key": {"/signals/payment", `{"values": 1}`, 422, "invalid", "", ""},
		"no JSON":        {"/signals/payment", `{"value": `, 400, "invalid", "", ""},
		"a long key":     {"/signals/payment", `{"value": 1}`, 422, "invalid", "", strings.Repeat("k", 256)},
		"an answer":      {"/resume", `{"input": 1}`, 409, "conflict", "wait-signal", ""},
	} {
		headers := []string{}
		if c.key != "" {
			headers = append(headers, "Idempotency-Key", c.key)
		}
		if p := w.do("POST", at+c.path, c.body, headers...).problem(c.status, c.code); c.reason != "" &&
			string(p.Reason) != c.reason {
			t.Errorf("%s: the reason is %s, want %s", name, p.Reason, c.reason)
		}
	}
	w.do("POST", "/api/v1/runs/missing/signals/payment", m{}).problem(404, "not_found")
	for range 2 {
		w := w.withCaller(access.RoleRun, false) // a signal is not an approval
		var out service.SignalResult
		w.do("POST", at+"/signals/payment", m{"value": m{"n": 2}}, "Idempotency-Key", "k1").is(200).decode(&out)
		if out.Node != "paid" || out.Key != "k1" {
			t.Errorf("a signal that a step takes: %+v", out)
		}
	}
	done := w.do("GET", at, nil).is(200).run()
	if done.Status != "completed" || string(done.Output) != "null" {
		t.Errorf("the run is %s with %s", done.Status, done.Output)
	}
	w.do("POST", at+"/signals/sent", m{}).problem(409, "conflict")
}

package httpapi_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/api/live"
)

// TestEventStream checks that the path of a run's events serves a stream to clients that accept
// one, and JSON to all others (P22), and that each rejects the parameters that it does not know
// (SEC7).
func TestEventStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.do("POST", "/api/v1/runs?wait=1m", m{"document": poem}).is(201).header.Get("Location") + "/events"
	const stream = "text/event-stream"
	for _, accept := range []string{stream, "text/html, text/event-stream;q=0.9", "text/event-stream; charset=utf-8"} {
		a := w.do("GET", at+"?types=run.completed", nil, "Accept", accept).is(200)
		if a.header.Get("Content-Type") != stream || !strings.Contains(a.body, "\nevent: run.completed\ndata: {") ||
			!strings.Contains(a.body, "\nevent: end\n") {
			t.Errorf("%s: %s %s", accept, a.header, a.body)
		}
	}
	for _, accept := range []string{"", "*/*", "application/json", "text/event-stream;q=0",
		"text/event-stream;q=0.000"} {
		if a := w.do("GET", at, nil, "Accept", accept).is(200); a.header.Get("Content-Type") != "application/json" {
			t.Errorf("%q: %s", accept, a.header)
		}
	}
	w.do("GET", at+"?after=1", nil).problem(400, "invalid")
	w.do("GET", at+"?limit=1", nil, "Accept", stream).problem(400, "invalid")
	w.do("GET", "/api/v1/runs/missing/events", nil, "Accept", stream).problem(404, "not_found")
	w.withCaller("", false).do("GET", at, nil, "Accept", stream).problem(401, "unauthorized")
	// On other paths the Accept header does not matter.
	if a := w.do("GET", strings.TrimSuffix(at, "/events"), nil, "Accept", stream).is(200); a.header.Get(
		"Content-Type") != "application/json" {
		t.Errorf("the run object is %s", a.header)
	}
}

// TestEventTicket checks that tickets are issued only if the server has them, and only for runs
// that exist.
func TestEventTicket(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.do("POST", "/api/v1/runs?wait=1m", m{"document": poem}).is(201).header.Get("Location") + "/events"
	w.do("POST", at+"/ticket", nil).problem(429, "limit") // this world has no tickets
	w.do("POST", "/api/v1/runs/missing/events/ticket", nil).problem(404, "not_found")
	if live.Path("r") != "/api/v1/runs/r/events" {
		t.Errorf("tickets are for %s", live.Path("r"))
	}
}

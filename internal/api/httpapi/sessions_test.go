package httpapi_test

import (
	"sync"
	"testing"
)

// TestSessions checks that of 100 concurrent starts in one session exactly one is accepted, that
// the others yield 409 and store nothing, and that cancel_previous makes room (P19).
func TestSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	answers := make([]answer, 100)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = w.do("POST", "/api/v1/runs?wait=1m", m{"document": post, "session": "s"}) })
	}
	all.Wait()
	first := ""
	for _, a := range answers {
		if a.status != 201 {
			a.problem(409, "conflict")
			continue
		}
		if first != "" {
			t.Error("two were accepted")
		}
		first = a.run().ID
	}
	next := w.do("POST", "/api/v1/runs?wait=1m", m{"document": post, "session": "s", "ifBusy": "cancel_previous"}).is(
		201).run()
	if was := w.do("GET", "/api/v1/runs/"+first, nil).is(200).run(); was.Status != "cancelled" ||
		next.Status != "paused" {
		t.Errorf("the first is %s, the next %s", was.Status, next.Status)
	}
	w.do("POST", "/api/v1/runs", m{"document": post, "session": "s", "ifBusy": "wait"}).problem(422, "invalid")
}

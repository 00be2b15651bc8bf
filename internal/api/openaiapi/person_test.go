package openaiapi_test

import (
	"net/http"
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
)

// TestBudgetNeedsPerson checks that only callers who may approve can raise the budget of a run
// (D32, P20).
func TestBudgetNeedsPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gateTurns())
	w.store(t, "mean.yaml", `
agents:
  Poet: {model: test/x, instruction: Write.}
workflow:
  budget: {calls: 1, on_reached: pause}
  steps:
    - {type: agent, name: Poet}
    - {type: agent, name: Poet}
`, false)
	q := w.talk(t, tokenRun, "mean", "x")
	run, _ := asks(t, q)
	if r := w.talk(t, tokenRun, "mean", "x", q.text(), "9 calls"); r.status != http.StatusForbidden {
		t.Errorf("got %d %s", r.status, r.body)
	}
	if st := w.status(t, run); st != engine.StatusPaused {
		t.Errorf("the run is %s", st)
	}
	q = w.talk(t, tokenPerson, "mean", "x")
	if done := w.talk(t, tokenPerson, "mean", "x", q.text(), "9 calls"); done.text() != "A poem." {
		t.Errorf("got %d %s", done.status, done.body)
	}
}

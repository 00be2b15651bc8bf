package httpapi_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/api/httpapi"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
)

// heldModel replies like echoModel, but the agent slow waits until it is released.
type heldModel struct {
	echoModel
	mu sync.Mutex
	// release belongs to the run in progress.
	release chan struct{}
}

func (h *heldModel) Call(ctx context.Context, q model.Request, tell func(model.Delta)) (model.Reply, error) {
	if q.Agent == "slow" {
		h.mu.Lock()
		release := h.release
		h.mu.Unlock()
		select {
		case <-release:
		case <-ctx.Done():
			return model.Reply{}, ctx.Err()
		}
	}
	return h.echoModel.Call(ctx, q, tell)
}

// busyGates is gates with an additional agent that keeps working, and an agent that runs after all
// of them.
var busyGates = strings.Replace(strings.Replace(gates, "workflow:",
	"  slow: {model: own/m, instruction: Work.}\n  last: {model: own/m, instruction: End.}\nworkflow:", 1),
	"name: c}]}", "name: c}, {id: slow, type: agent, name: slow}]}\n  - {id: last, type: agent, name: last}", 1)

// TestAnswers_SiblingRunning checks that in every order of the answers, with any number of them
// submitted while a sibling still works, each branch receives its own answer once, under its own
// id; an answer without an id yields 409 while several waits are open, and changes nothing; the run
// ends after the last answer and the sibling, not before (P1).
func TestAnswers_SiblingRunning(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"abc", "acb", "bac", "bca", "cab", "cba"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			h := &heldModel{}
			w := newWorldWith(t, ":memory:", h)
			for early := range len(order) + 1 {
				release := make(chan struct{})
				h.mu.Lock()
				h.release = release
				h.mu.Unlock()
				answeredInOrder(t, w, order, early, release)
			}
		})
	}
}

// answeredInOrder runs busyGates and submits early answers before the sibling continues.
func answeredInOrder(t *testing.T, w *world, order string, early int, release chan struct{}) {
	t.Helper()
	run := w.do("POST", "/api/v1/runs", m{"document": busyGates}).is(201).run()
	at := "/api/v1/runs/" + run.ID
	ids := map[string]string{}
	for u, err := range w.service.Watch(t.Context(), run.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if u.Event == nil {
			continue
		}
		if d, ok := u.Event.Data.(*event.WaitOpened); ok {
			ids[u.Event.Node] = d.Wait
		}
		if len(ids) == len(order) {
			break
		}
	}
	if ids["a"] == ids["b"] || ids["b"] == ids["c"] || ids["a"] == ids["c"] {
		t.Errorf("ids %v", ids)
	}
	answers := func() int {
		return strings.Count(w.do("GET", at+"/events?limit=1000", nil).is(200).body, `"type":"wait.answered"`)
	}
	for i, node := range strings.Split(order, "") {
		if i == early {
			close(release)
		}
		if i < len(order)-1 {
			w.do("POST", at+"/resume", m{"decision": "approve"}).problem(409, "conflict")
			if n := answers(); n != i {
				t.Errorf("%d early: %d answers after %d", early, n, i)
			}
		}
		decision := map[bool]string{true: "reject", false: "approve"}[node == "b"]
		body := m{"decision": decision, "wait": ids[node], "note": "for " + node}
		path := at + "/resume"
		if i >= early {
			path += "?wait=1m"
		}
		now := w.do("POST", path, body).is(200).run()
		last := i == len(order)-1
		switch {
		case len(now.Waiting) != len(order)-1-i:
			t.Errorf("%d early: %d waits after %d answers", early, len(now.Waiting), i+1)
		case i >= early && string(now.Status) != map[bool]string{true: "completed", false: "paused"}[last]:
			t.Errorf("%d early: after %d answers the run is %s", early, i+1, now.Status)
		case i < early && now.Status.Ended():
			t.Errorf("%d early: the run is %s while a branch works", early, now.Status)
		}
	}
	if early == len(order) {
		if now := w.do("GET", at, nil).is(200).run(); now.Status != "running" {
			t.Errorf("the run is %s while a branch works", now.Status)
		}
		close(release)
		if _, err := w.service.Wait(t.Context(), run.ID); err != nil {
			t.Fatal(err)
		}
	}
	done := w.do("GET", at, nil).is(200).run()
	if done.Status != "completed" || string(done.Output) != `"by last"` {
		t.Errorf("%d early: %s %s", early, done.Status, done.Output)
	}
	for node, says := range map[string]string{"a": "of a", "b": "for b", "c": "of c"} {
		if out := string(done.Outputs[node]); !strings.Contains(out, says) {
			t.Errorf("%d early: %s gave %s, which does not say %q", early, node, out, says)
		}
	}
	var events httpapi.List[struct{ Type, Node string }]
	text := w.do("GET", at+"/events?limit=1000", nil).is(200)
	text.decode(&events)
	for _, node := range []string{"a", "b", "c"} {
		if n := strings.Count(text.body, fmt.Sprintf("%q:%q", "note", "for "+node)); n != 1 {
			t.Errorf("%d early: %d answers for %s", early, n, node)
		}
	}
	for _, e := range events.Items[:len(events.Items)-1] {
		if e.Type == "run.completed" {
			t.Errorf("%d early: the run completed before its last event", early)
		}
	}
}

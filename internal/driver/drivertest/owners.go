package drivertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

func testFenced(t *testing.T, c Cluster) {
	var mu sync.Mutex
	var hung []chan struct{}
	w := &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		if q.Node == "b" {
			mu.Lock()
			n := len(hung)
			let := make(chan struct{})
			hung = append(hung, let)
			mu.Unlock()
			if n == 0 {
				<-let // the zombie's call
			}
		}
		return sim.Reply("%s", q.Node), nil
	}}
	zombie := c.Open(t, Options{World: w})
	run := start(t, zombie, chain(agent("a"), agent("b"), agent("c")))
	synctest.Wait()
	zombie.Fence()
	heir := c.Open(t, Options{World: w})
	if err := heir.Resume(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	settle(t, c, heir, run, event.StatusCompleted)
	before := c.Events(t, run)
	mu.Lock()
	close(hung[0])
	mu.Unlock()
	synctest.Wait()
	if after := c.Events(t, run); len(after) != len(before) {
		t.Errorf("a fenced owner wrote %d events", len(after)-len(before))
	}
	if n := w.Count("model", "c"); n != 1 {
		t.Errorf("%d calls of c: the fenced owner went on", n)
	}
	closeAll(t, heir, zombie)
}

// testFencedRefusal checks that a fenced owner does not reject an answer on the basis of its
// outdated view of the run.
func testFencedRefusal(t *testing.T, c Cluster) {
	var mu sync.Mutex
	heard := map[string]bool{}
	w := &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		mu.Lock()
		latency := time.Second
		if !heard[q.IdempotencyKey] && (q.Node == "a" || q.Node == "b") {
			latency = time.Hour // the zombie's calls: if they returned, it would learn that it is fenced
		}
		heard[q.IdempotencyKey] = true
		mu.Unlock()
		return sim.Reply("ok"), wait(ctx, latency)
	}}
	zombie := c.Open(t, Options{World: w})
	run := start(t, zombie, chain().fork("", "f", workflow.Fork{}, nodes(agent("a"), approval("ok")),
		nodes(agent("b"), agent("c"), agent("d"))))
	synctest.Wait()
	zombie.Fence()
	heir := c.Open(t, Options{World: w})
	if err := heir.Resume(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)
	id := openWaits(c.Events(t, run))["ok"]
	if err := zombie.Answer(t.Context(), run, engine.Answer{Wait: id, Value: text("yes")}); err != nil {
		t.Errorf("answer by way of a fenced process: %v", err)
	}
	settle(t, c, heir, run, event.StatusCompleted)
	closeAll(t, heir, zombie)
}

func testTwoResume(t *testing.T, c Cluster) {
	w := &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		return sim.Reply("ok"), wait(ctx, time.Second)
	}}
	p := c.Open(t, Options{World: w})
	run := start(t, p, chain(agent("a"), agent("b")))
	synctest.Wait()
	p.Kill()
	var ps []Process
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		q := c.Open(t, Options{World: w})
		ps = append(ps, q)
		wg.Go(func() { errs[i] = q.Resume(t.Context(), run) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, journal.ErrOwned):
			t.Errorf("resume: %v, want ErrOwned", err)
		}
	}
	if won != 1 {
		t.Errorf("%d processes own the run, want 1", won)
	}
	settle(t, c, ps[0], run, event.StatusCompleted)
	if n := w.Count("model", "a"); n != 2 {
		t.Errorf("%d calls of a, want 2: one died", n)
	}
	closeAll(t, ps...)
}

func testRecoverMany(t *testing.T, c Cluster) {
	w := &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		return sim.Reply("ok"), wait(ctx, time.Second)
	}}
	p := c.Open(t, Options{World: w})
	var runs []string
	for range 50 {
		runs = append(runs, start(t, p, chain(agent("a"), agent("b"))))
	}
	paused := start(t, p, chain(approval("ok")))
	settle(t, c, p, paused, event.StatusPaused)
	synctest.Wait()
	p.Kill()
	n := 0
	q := c.Open(t, Options{World: w, Fault: func(op string, _ int) sim.Fault {
		if n++; op == "claim" && n%3 == 0 {
			return sim.FaultSilent // P18: the store fails during recovery
		}
		return sim.FaultNone
	}})
	if err := q.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		settle(t, c, q, run, event.StatusCompleted)
	}
	settle(t, c, q, paused, event.StatusPaused)
	closeAll(t, q)
}

func testLostTools(t *testing.T, c Cluster) {
	tests := []struct {
		policy tool.Policy
		// answer to the question, if there is one
		answer string
		calls  int
		status event.Status
		text   string // text of the agent's reply
	}{
		{policy: tool.PolicyRetry, calls: 2, status: event.StatusCompleted, text: "acted"},
		{policy: tool.PolicySkip, calls: 1, status: event.StatusCompleted,
			text: "The outcome of this call is unknown; it was not repeated."},
		{policy: tool.PolicyFail, calls: 1, status: event.StatusFailed},
		{policy: tool.PolicyAsk, answer: "retry", calls: 2, status: event.StatusCompleted, text: "acted"},
		{policy: tool.PolicyAsk, answer: "skip", calls: 1, status: event.StatusCompleted,
			text: "The outcome of this call is unknown; it was not repeated."},
		{policy: tool.PolicyAsk, answer: "fail", calls: 1, status: event.StatusFailed},
		{policy: "", answer: "skip", calls: 1, status: event.StatusCompleted,
			text: "The outcome of this call is unknown; it was not repeated."},
	}
	for _, tt := range tests {
		name := fmt.Sprintf("%s/%s", tt.policy, tt.answer)
		var p Process
		var mu sync.Mutex
		hang := true
		w := &sim.World{Model: callsTool("act")}
		w.Tools = map[string]sim.Tool{
			"act": {Policy: tt.policy, Do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				mu.Lock()
				h := hang
				mu.Unlock()
				if h {
					<-ctx.Done()
					return tool.Result{}, ctx.Err()
				}
				return tool.Result{Text: "acted"}, nil
			}}}
		p = c.Open(t, Options{World: w})
		run := start(t, p, chain(agent("a")))
		synctest.Wait()
		p.Kill()
		mu.Lock()
		hang = false
		mu.Unlock()
		q := c.Open(t, Options{World: w})
		if err := q.Resume(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		if tt.answer != "" {
			settle(t, c, q, run, event.StatusPaused)
			if err := q.Answer(t.Context(), run, engine.Answer{Value: text(tt.answer)}); err != nil {
				t.Fatalf("%s: answer: %v", name, err)
			}
		}
		settle(t, c, q, run, tt.status)
		calls := w.Count("tool", "")
		if calls != tt.calls {
			t.Errorf("%s: %d calls, want %d", name, calls, tt.calls)
		}
		keys := map[string]bool{}
		for _, call := range w.Calls() {
			if call.Kind == "tool" {
				keys[call.Key] = true
			}
		}
		if len(keys) != 1 || keys[""] {
			t.Errorf("%s: keys %v, want one for all attempts (P12)", name, keys)
		}
		if got := replies(c.Events(t, run))["a"]; tt.text != "" && got[len(got)-1] != tt.text {
			t.Errorf("%s: reply %q, want %q", name, got, tt.text)
		}
		closeAll(t, q)
	}
}

func testRestore(t *testing.T, c Cluster) {
	w := &sim.World{Model: callsTool("one", "two"), Tools: map[string]sim.Tool{
		"one": {Do: func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{Text: "first"}, nil }},
		"two": {Policy: tool.PolicyRetry, Do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}},
	}}
	p := c.Open(t, Options{World: w})
	run := start(t, p, chain(agent("a")))
	synctest.Wait()
	p.Kill()
	q := c.Open(t, Options{World: w})
	if err := q.Resume(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	got := w.Restored()
	if len(got) != 1 || got[0].Call.Name != "one" || got[0].Call.Agent != "a" ||
		string(got[0].Call.Arguments) != "{}" || got[0].Result.Text != "first" {
		t.Errorf("restored %+v, want the finished call of one", got)
	}
	closeAll(t, q)
}

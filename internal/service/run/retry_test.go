package run_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

const pairDocument = `
agents:
  one: {model: house/m, instruction: I am one, max_tokens: 400}
  two: {model: house/m, instruction: I am two, max_tokens: 400}
workflow:
  - {type: agent, name: one}
  - {type: agent, name: two}
`

// failSecond fails every call of agent two until it is repaired, after using tokens. It counts
// calls.
type failSecond struct {
	works       atomic.Bool
	first, then atomic.Int64
}

func (m *failSecond) Call(_ context.Context, req model.Request, _ func(model.Delta)) (model.Reply, error) {
	u := &chat.Usage{InputTokens: 10, OutputTokens: 90}
	if req.Node == "one" {
		m.first.Add(1)
		return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText("1")}, Usage: u,
			Model: req.Model, StopReason: model.StopEnd}, nil
	}
	m.then.Add(1)
	if !m.works.Load() {
		return model.Reply{Usage: u}, &model.Error{Kind: model.KindOverloaded, Message: "busy"}
	}
	return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText("2")}, Usage: u,
		Model: req.Model, StopReason: model.StopEnd}, nil
}

func startPair(t *testing.T, s *service.Service, limits workflow.Limits) string {
	t.Helper()
	w, problems, err := service.Load(t.Context(), "pair", []byte(pairDocument),
		service.LoadOptions{Formats: linked.Kit().Formats})
	if err != nil || problems.HasErrors() {
		t.Fatal(problems, err)
	}
	w.Name = "pair"
	run, err := s.Start(t.Context(), service.StartRequest{Workflow: w, Input: "go", Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// retried performs a retry and waits for it.
func retried(t *testing.T, s *service.Service, run string, q service.RetryRequest) service.Recorded {
	t.Helper()
	id, err := s.Retry(t.Context(), run, q)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.TakeUp(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Wait(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	rec, err := s.Read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// TestRetryBudgets checks that a call counts once in a budget of the workflow, in the run that made
// it: a retry does not drop the failed attempts, and kept calls do not count again.
func TestRetryBudgets(t *testing.T) {
	t.Parallel()
	m := &failSecond{}
	s := openHouse(t, filepath.Join(t.TempDir(), "db"), m, config.WorkflowBudget{Calls: 5})
	run := startPair(t, s, workflow.Limits{})
	if _, err := s.Wait(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	made := m.first.Load() + m.then.Load()
	for made < 5 { // each retry repeats the second call, and no other
		rec := retried(t, s, run, service.RetryRequest{})
		if got := m.first.Load() + m.then.Load(); got != made+1 {
			t.Fatalf("%d calls after a retry, want %d: %s", got, made+1, rec.Object().Status)
		}
		made++
	}
	m.works.Store(true)
	o := retried(t, s, run, service.RetryRequest{}).Object()
	if got := m.first.Load() + m.then.Load(); got != 5 || o.Error == nil || o.Error.Code != event.CodeWorkflowBudget {
		t.Fatalf("%d calls, error %+v; want 5, and a run that met the workflow's budget", got, o.Error)
	}
	if m.first.Load() != 1 {
		t.Fatalf("the first call was made %d times", m.first.Load())
	}
}

// TestRetryStart checks that a retry starts at the time it is made, and that a run that has not
// ended has none.
func TestRetryStart(t *testing.T) {
	t.Parallel()
	m := &failSecond{}
	s := openHouse(t, filepath.Join(t.TempDir(), "db"), m, config.WorkflowBudget{})
	run := startPair(t, s, workflow.Limits{})
	if _, err := s.Wait(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	m.works.Store(true)
	before := time.Now()
	rec := retried(t, s, run, service.RetryRequest{})
	o := rec.Object()
	if o.Status != event.StatusCompleted || !o.Retry || o.ForkedFrom == nil || *o.ForkedFrom != run {
		t.Fatalf("got %s, retry %v of %v", o.Status, o.Retry, o.ForkedFrom)
	}
	if o.StartedAt == nil || o.StartedAt.Before(before.Truncate(time.Microsecond)) {
		t.Errorf("started at %v, before %v when it was made", o.StartedAt, before)
	}
	again := retried(t, s, o.ID, service.RetryRequest{From: "two"}).Object()
	if again.Status != event.StatusCompleted || *again.ForkedFrom != o.ID || m.first.Load() != 1 {
		t.Errorf("the retry of the retry: %s of %v, first call made %d times", again.Status, again.ForkedFrom,
			m.first.Load())
	}
	if _, err := s.Retry(t.Context(), "no-such-run", service.RetryRequest{}); err == nil {
		t.Error("a run that does not exist was retried")
	}
	if _, err := s.Retry(t.Context(), o.ID, service.RetryRequest{}); !errors.As(err, new(*service.InvalidError)) {
		t.Errorf("a completed run without From: %v", err)
	}
}

// TestRetry_Concurrent checks that two concurrent retries of one run are two runs, and that of two
// with the same id one is rejected.
func TestRetry_Concurrent(t *testing.T) {
	t.Parallel()
	m := &failSecond{}
	s := openHouse(t, filepath.Join(t.TempDir(), "db"), m, config.WorkflowBudget{})
	run := startPair(t, s, workflow.Limits{})
	if _, err := s.Wait(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	type made struct {
		id  string
		err error
	}
	at := func(id string) <-chan made {
		c := make(chan made, 1)
		go func() {
			id, err := s.Retry(t.Context(), run, service.RetryRequest{RunID: id})
			c <- made{id, err}
		}()
		return c
	}
	a, b := at(""), at("")
	x, y := <-a, <-b
	if x.err != nil || y.err != nil || x.id == y.id {
		t.Fatalf("%+v and %+v, want two runs", x, y)
	}
	a, b = at("same"), at("same")
	if x, y = <-a, <-b; (x.err == nil) == (y.err == nil) {
		t.Fatalf("%+v and %+v, want one run", x, y)
	}
}

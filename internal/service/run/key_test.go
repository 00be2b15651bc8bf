package run_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// modelFunc is a model.Client.
type modelFunc func(ctx context.Context, q model.Request) (string, error)

func (f modelFunc) Call(ctx context.Context, q model.Request, _ func(model.Delta)) (model.Reply, error) {
	text, err := f(ctx, q)
	return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(text)}, Model: q.Model,
		StopReason: model.StopEnd}, err
}

// replyWithAgentName answers every call with the name of the agent.
func replyWithAgentName(_ context.Context, q model.Request) (string, error) { return q.Agent, nil }

// opened opens a service on a store; db "" means in memory.
func opened(t *testing.T, db string, m modelFunc, change ...func(*service.Config)) *service.Service {
	t.Helper()
	if db == "" {
		db = service.Memory
	}
	cfg := service.Config{Documents: linked.Kit(), DB: db, Kind: journal.KindServe,
		Models: map[string]model.Client{"own": m}, Env: func(string) string { return "" }}
	for _, c := range change {
		c(&cfg)
	}
	s, err := service.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// agentGraph returns a graph of agents with model own/m, and of the other given nodes.
func agentGraph(edges string, nodes ...workflow.Node) *workflow.Workflow {
	var agents []workflow.Agent
	for _, n := range nodes {
		if n.Agent != nil {
			agents = append(agents, workflow.Agent{ID: n.ID, Model: "own/m"})
		}
	}
	w := enginetest.Graph(nodes, edges, agents...)
	w.Name = "drawn"
	return w
}

func begin(t *testing.T, s *service.Service, q service.StartRequest) string {
	t.Helper()
	run, err := s.Start(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// P24: 100 identical requests with one key, over two handles on one file, start one run, and all
// get it; so do requests after the run has ended, and after a restart. A different request with
// that key is rejected.
func TestStart_IdempotencyKey(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "hocket.db")
	two := []*service.Service{opened(t, db, replyWithAgentName), opened(t, db, replyWithAgentName)}
	q := service.StartRequest{Workflow: agentGraph("a -> ok", enginetest.Agent("a"), enginetest.Approval("ok")),
		Input: "go",
		Key:   "order 17 ü"}
	var (
		wg   sync.WaitGroup
		got  [100]service.Started
		errs [100]error
	)
	for i := range got {
		wg.Go(func() { got[i], errs[i] = two[i%2].Begin(t.Context(), q) })
	}
	wg.Wait()
	first := 0
	for i := range got {
		if errs[i] != nil || got[i].Run != got[0].Run {
			t.Fatalf("request %d: run %q, %v; want run %q", i, got[i].Run, errs[i], got[0].Run)
		}
		if !got[i].Again {
			first++
		}
	}
	heads, _, err := two[0].List(t.Context(), journal.Query{})
	if err != nil || len(heads) != 1 || first != 1 {
		t.Fatalf("%d runs, %d of the requests began one, %v; want 1 and 1", len(heads), first, err)
	}
	run := got[0].Run

	paused(t, two[0], run)
	if err := two[1].Answer(t.Context(), run, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
		Value: event.Value(`"approve"`)}); err != nil {
		t.Fatal(err)
	}
	if o := ended(t, two[1], run); o.Status != event.StatusCompleted {
		t.Fatalf("status %s", o.Status)
	}
	if again, err := opened(t, db, replyWithAgentName).Begin(t.Context(), q); err != nil || !again.Again ||
		again.Run != run {
		t.Errorf("after its end: %+v, %v", again, err)
	}

	for name, change := range map[string]func(*service.StartRequest){
		"input":    func(q *service.StartRequest) { q.Input = "stop" },
		"document": func(q *service.StartRequest) { q.Workflow = agentGraph("", enginetest.Agent("a")) },
		"model":    func(q *service.StartRequest) { q.Model = "own/other" },
		"limits":   func(q *service.StartRequest) { q.Limits.Timeout = workflow.Duration(time.Hour) },
		"stored":   func(q *service.StartRequest) { q.Version, q.Workflow.ID = 3, "x" },
	} {
		other := q
		w := *q.Workflow
		other.Workflow = &w
		change(&other)
		var invalid *service.InvalidError
		if got, err := two[0].Begin(t.Context(), other); !errors.As(err, &invalid) ||
			!strings.Contains(err.Error(), run) {
			t.Errorf("another %s with the same key: %+v, %v; want *InvalidError that names the run", name, got, err)
		}
	}
}

// TestStart_IdempotencyKeyNewVersion checks that a request for a stored workflow that is retried
// after a new version was published is the same request.
func TestStart_IdempotencyKeyNewVersion(t *testing.T) {
	t.Parallel()
	s := opened(t, "", replyWithAgentName)
	w := agentGraph("", enginetest.Agent("a"))
	w.ID = "stored"
	q := service.StartRequest{Workflow: w, Version: 1, Key: "k"}
	first, err := s.Begin(t.Context(), q)
	if err != nil || first.Again {
		t.Fatalf("%+v, %v", first, err)
	}
	q.Workflow, q.Version = agentGraph("a -> b", enginetest.Agent("a"), enginetest.Agent("b")), 2
	q.Workflow.ID = "stored"
	if again, err := s.Begin(t.Context(), q); err != nil || again != (service.Started{Run: first.Run, Again: true}) {
		t.Errorf("%+v, %v; want run %s again", again, err, first.Run)
	}
}

func TestBadKeys(t *testing.T) {
	t.Parallel()
	s := opened(t, "", replyWithAgentName)
	w := agentGraph("ok -> a", enginetest.Approval("ok"), enginetest.Agent("a"))
	run := begin(t, s, service.StartRequest{Workflow: w})
	paused(t, s, run)
	for name, q := range map[string]service.StartRequest{
		"too long":          {Key: strings.Repeat("x", service.MaxKey+1)},
		"control character": {Key: "a\nb"},
		"no UTF-8":          {Key: "a\xff"},
		"beside a run id":   {Key: "a", RunID: "r"},
	} {
		q.Workflow = w
		var invalid *service.InvalidError
		if _, err := s.Begin(t.Context(), q); !errors.As(err, &invalid) {
			t.Errorf("start, %s: %v, want *InvalidError", name, err)
		}
		if q.RunID != "" {
			continue
		}
		if err := s.Answer(t.Context(), run, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
			Key: q.Key, Value: event.Value(`"approve"`)}); !errors.As(err, &invalid) {
			t.Errorf("answer, %s: %v, want *InvalidError", name, err)
		}
	}
	if _, err := s.Begin(t.Context(),
		service.StartRequest{Workflow: w, Key: strings.Repeat("x", service.MaxKey)}); err != nil {
		t.Errorf("the longest key: %v", err)
	}
}

// P24: an answer that is sent again, because its acknowledgement was lost, does not answer the next
// question of the run, whether or not it names the node. The key is in the journal, so this holds
// after a restart.
func TestAnswer_IdempotencyKey(t *testing.T) {
	t.Parallel()
	for _, node := range []string{"", "ask"} {
		t.Run("node "+node, func(t *testing.T) {
			t.Parallel()
			db := filepath.Join(t.TempDir(), "hocket.db")
			s := opened(t, db, replyWithAgentName)
			run := begin(t, s,
				service.StartRequest{Workflow: agentGraph("ask => a; a => ask", enginetest.Question("ask"),
					enginetest.Agent("a"))})
			value := func(n int) event.Value { return event.Value(fmt.Sprintf(`"answer %d"`, n)) }
			for n := range 3 {
				before := paused(t, s, run)
				q := service.AnswerRequest{By: event.LocalBy(event.ChannelProgram), Node: node, Value: value(n),
					Key: fmt.Sprintf("k%d", n)}
				if err := s.Answer(t.Context(), run, q); err != nil {
					t.Fatal(err)
				}
				open := paused(t, s, run)
				if open.ID == before.ID {
					t.Fatalf("wait %s is still open", open.ID)
				}
				for i, s := range []*service.Service{s, opened(t, db, replyWithAgentName)} {
					if err := s.Answer(t.Context(), run, q); err != nil {
						t.Errorf("the same answer again on handle %d: %v", i, err)
					}
					q := q
					q.Value = value(n + 1)
					if err := s.Answer(t.Context(), run, q); !errors.Is(err, waits.ErrAnswer) ||
						service.CodeOf(err) != service.CodeInvalid {
						t.Errorf("another answer with the same key: %v, want ErrAnswer", err)
					}
					q = service.AnswerRequest{By: event.LocalBy(event.ChannelProgram), Wait: open.ID, Value: value(n),
						Key: q.Key}
					if err := s.Answer(t.Context(), run, q); !errors.Is(err, waits.ErrAnswer) {
						t.Errorf("the key of another wait's answer: %v, want ErrAnswer", err)
					}
				}
				if still := paused(t, s, run); still.ID != open.ID {
					t.Errorf("wait %s was answered by a request that was made again", open.ID)
				}
			}
		})
	}
}

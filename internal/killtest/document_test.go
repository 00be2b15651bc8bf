package killtest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/killtest"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/model/openai"
	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
	"github.com/hocket-run/hocket/workflow"
)

// openAI registers the OpenAI adapter.
var openAI = map[model.Protocol]model.Factory{model.ProtocolOpenAI: func(e model.Endpoint) (model.Client, error) {
	return openai.New(openai.Config{BaseURL: e.BaseURL, Key: e.Key, Own: e.Own,
		HTTP: outbound.New(outbound.Config{Allow: []string{e.BaseURL}})})
}}

// servers opens stores in PostgreSQL.
var servers = store.Servers{Postgres: pghome.New(nil)}

const envDocument = "HOCKET_TEST_DOCUMENT" // the child's store

// killWorkflow returns a workflow with a loop of two back edges, a parallel block, retries and an
// approval.
func killWorkflow() *workflow.Workflow {
	flaky := enginetest.In("research", enginetest.Agent("flaky"))
	flaky.Retry = &workflow.Retry{MaxRetries: 50, Delay: workflow.Duration(2 * time.Millisecond),
		On: []string{"server"}}
	nodes := []workflow.Node{enginetest.Agent("draft")}
	nodes = append(nodes, enginetest.Fork("research", workflow.Fork{}, "steady", "flaky")...)
	nodes = append(nodes, enginetest.In("research", enginetest.Agent("steady")),
		enginetest.In("research", enginetest.Agent("steady2")), flaky, enginetest.Agent("qa"),
		workflow.Node{ID: "good", Kind: workflow.KindDecide, Decide: &workflow.Decide{
			Cases: []workflow.Case{{Port: "yes", When: workflow.Condition{Language: workflow.LangMatch, Op: "contains",
				Text: "good"}}}, Else: "no"}},
		enginetest.Approval("ok"), enginetest.Agent("publish"))
	var agents []workflow.Agent
	for _, id := range []string{"draft", "steady", "steady2", "flaky", "qa", "publish"} {
		agents = append(agents, workflow.Agent{ID: id, System: "you are " + id, Model: "openai/fake"})
	}
	return enginetest.Graph(nodes, `draft -> research
		research:steady -> steady; steady -> steady2; steady2 -> research/join
		research:flaky -> flaky; flaky -> research/join
		research/join -> qa; qa -> good; good:no => draft; good:yes -> ok; ok:approve -> publish`, agents...)
}

// fake answers from the prompt alone, so that a repeated call gets the same reply; a call of flaky
// fails the first time it is seen.
type fake struct {
	mu   sync.Mutex
	seen map[string]int // requests by idempotency key
	done map[string]bool
	// repeated are calls that were repeated although their result was in the journal.
	repeated []string
}

func (f *fake) answer(r modeltest.Request) modeltest.Answer {
	key := r.Header.Get("Idempotency-Key")
	f.mu.Lock()
	f.seen[key]++
	n := f.seen[key]
	if f.done[key] {
		f.repeated = append(f.repeated, key)
	}
	f.mu.Unlock()
	a := modeltest.Answer{Latency: 4 * time.Millisecond}
	in := r.LastText()
	switch who := strings.TrimPrefix(r.System, "you are "); who {
	case "draft":
		v := 1
		if _, after, ok := strings.Cut(in, "bad v"); ok {
			v, _ = strconv.Atoi(after[:1])
			v++
		}
		a.Text = fmt.Sprintf("draft v%d", v)
	case "qa":
		_, after, _ := strings.Cut(in, " v")
		word := "bad"
		if after[:1] == "3" {
			word = "good"
		}
		a.Text = word + " v" + after[:1]
	case "flaky":
		if n == 1 {
			return modeltest.Answer{Status: 500, Error: "try again"}
		}
		a.Text = who + " of " + in
	default:
		a.Text = who + " of " + in
	}
	return a
}

// childDocument executes a run until it ends or pauses, in its own process.
func childDocument(run string) (err error) {
	ctx := context.Background()
	s, err := service.Open(ctx, service.Config{Documents: linked.Kit(), DB: os.Getenv(envDocument), Stores: servers,
		Adapters: openAI})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	o, err := s.Show(ctx, run)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		_, err = s.Start(ctx, service.StartRequest{Workflow: killWorkflow(), Input: "go", RunID: run})
	case err == nil && o.Status == event.StatusPaused:
		err = s.Answer(ctx, run, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
			Value: expr.Quote("approve")})
	case err == nil && !o.Status.Ended():
		err = s.Resume(ctx, run)
	}
	if err != nil && !errors.Is(err, engine.ErrEnded) {
		return err
	}
	_, err = s.Wait(ctx, run)
	return err
}

// TestKillDocument checks P3, P4 and D8: after kill -9 at random moments the run ends as if nothing
// had happened, and no call whose result is in the journal is repeated. There are 20 kills in make
// test, 1,000 in make test-all.
func TestKillDocument(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		killDocument(t, filepath.Join(t.TempDir(), "hocket.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		killDocument(t, pgtest.URL(t))
	})
}

func killDocument(t *testing.T, db string) {
	t.Helper()
	f := &fake{seen: map[string]int{}, done: map[string]bool{}}
	server := modeltest.Start(t, f.answer)
	ctx := context.Background()
	watch, err := service.Open(ctx, service.Config{Documents: linked.Kit(), DB: db, Stores: servers})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	want, undisturbed := "", 0
	h := killtest.Harness{
		Env: func(string) []string {
			return []string{envDocument + "=" + db, "OPENAI_BASE_URL=" + server.BaseURL(), "OPENAI_API_KEY=test"}
		},
		After: func(run string) bool {
			o, err := watch.Show(ctx, run)
			if errors.Is(err, journal.ErrNotFound) {
				return false // killed before the first commit: nothing was acknowledged
			}
			if err != nil {
				t.Fatalf("run %s: %v", run, err)
			}
			f.note(t, watch, run)
			if !o.Status.Ended() {
				return false
			}
			if run == killtest.Undisturbed {
				want, undisturbed = string(o.Output), len(server.Requests())
			}
			if o.Status != event.StatusCompleted || string(o.Output) != want {
				t.Fatalf("run %s: %s with output %s, want %s", run, o.Status, o.Output, want)
			}
			return true
		},
	}
	runs := h.Kill(t, killtest.Kills())
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.repeated) > 0 {
		t.Errorf("%d calls were made again though their result was in the journal: %v", len(f.repeated), f.repeated)
	}
	t.Logf("%d requests, %d would have been enough", len(server.Requests())-undisturbed, runs*undisturbed)
}

// note marks the calls whose results are in the journal.
func (f *fake) note(t *testing.T, s *service.Service, run string) {
	t.Helper()
	events, err := s.Events(context.Background(), run, 0)
	if err != nil {
		t.Fatalf("run %s: %v", run, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range events {
		if d, ok := e.Data.(*event.ModelReplied); ok {
			f.done[run+"/"+d.Call] = true
		}
	}
}

package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/api/live"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/workflow"
)

// answerAll answers the waits of a run until it has ended.
func answerAll(t testing.TB, s *service.Service, run string) {
	t.Helper()
	for {
		st, err := s.Wait(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		if st.Status.Ended() {
			return
		}
		o, err := s.Show(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range o.Waiting {
			err := s.Answer(t.Context(), run, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
				Wait: w.ID, Value: event.Value(`"approve"`)})
			// the run may fail after the first answer
			if err != nil && !errors.Is(err, waits.ErrClosed) && !errors.Is(err, engine.ErrEnded) {
				t.Fatal(err)
			}
		}
	}
}

// TestStream_FoldMatchesRunObject checks P36: folding the events of a live stream, cut now and
// then, yields in the end the run object that the server shows later, for random workflows with
// branches, loops, retries, missing tools, questions and failures. Each (node, iteration, attempt)
// occurs once, and nothing is open.
func TestStream_FoldMatchesRunObject(t *testing.T) {
	t.Parallel()
	s := open(t, ":memory:", func(_ context.Context, q model.Request, say func(model.Delta)) (string, error) {
		n := sim.Hash(1, q.Agent, q.IdempotencyKey)
		say(model.Delta{Text: "x"})
		if n%7 == 0 && len(q.Messages) < 3 {
			return "", &model.Error{Kind: model.KindInvalidRequest, Message: "not this one"}
		}
		return strconv.FormatUint(n%100, 10), nil
	})
	srv, _ := serve(t, s, live.Config{RingBytes: 4000})
	ended := map[event.Status]int{}
	for seed := range randtest.Seeds(40) {
		def := sim.Generate(seed)
		for i := range def.Nodes {
			// this test has no Go functions and no tools
			if n := &def.Nodes[i]; n.Kind == workflow.KindFunc || n.Kind == workflow.KindTool {
				*n = workflow.Node{ID: n.ID, Parent: n.Parent, Kind: workflow.KindAgent,
					Agent: &workflow.AgentNode{Agent: def.Agents[0].ID}}
			}
			if n := &def.Nodes[i]; n.Retry != nil {
				n.Retry.Delay = 0
			}
		}
		run, err := s.Start(t.Context(), service.StartRequest{Workflow: def, Input: "go"})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		rng := rand.New(rand.NewPCG(seed, 36))
		f := project.NewFolder(run, def)
		tries := map[string]int{}
		done := make(chan struct{})
		go func() {
			defer close(done)
			answerAll(t, s, run)
		}()
		last, over := "", false
		for cuts := 0; !over; cuts++ {
			st := connect(t, srv.URL+live.Path(run), last)
			if over = st.status == 204; over {
				break
			}
			for n := 1 + rng.IntN(60); n > 0 || cuts > 20; n-- {
				m, ok := st.next()
				if !ok {
					t.Fatalf("seed %d: the stream broke off after %s", seed, last)
				}
				if over = m.kind == live.TypeEnd; over {
					break
				}
				if m.id == "" {
					continue
				}
				_, e, err := journal.UnmarshalEvent([]byte(m.data))
				if err != nil {
					t.Fatal(err)
				}
				if f.Run().Status.Ended() {
					if _, ok := e.Data.(*event.RunResumed); !ok {
						t.Errorf("seed %d: %s comes after the end", seed, m.data)
					}
				}
				if d, ok := e.Data.(*event.StepStarted); ok {
					tries[fmt.Sprint(e.Node, d.Iteration, d.Scope)]++
				}
				f.Add(e)
				last = m.id
			}
			st.cut()
		}
		<-done
		want, err := s.Show(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		got := f.Run()
		if diff := cmp.Diff(asJSON(t, got), asJSON(t, want)); diff != "" {
			t.Errorf("seed %d (-folded +later):\n%s", seed, diff)
		}
		for what, n := range tries {
			if n != 1 {
				t.Errorf("seed %d: %s is there %d times", seed, what, n)
			}
		}
		for _, st := range got.Steps {
			if st.Status == project.StepRunning || st.Status == project.StepWaiting {
				t.Errorf("seed %d: %s is still %s", seed, st.Node, st.Status)
			}
		}
		ended[got.Status]++
	}
	if ended[event.StatusCompleted] < 5 || ended[event.StatusFailed] < 5 {
		t.Errorf("the runs ended %v: too few of a kind to tell anything", ended)
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

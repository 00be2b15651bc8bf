package hocket_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/graph"
)

// verdict is the type that the tests ask agents for.
type verdict struct {
	Fine  bool   `json:"fine"`
	Words string `json:"words"`
}

// judge is an agent that answers each task with a verdict and counts how often it is asked.
func judge(asked *atomic.Int64) hocket.Option {
	return hocket.WithModel("own",
		hocket.ModelFunc(func(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
			asked.Add(1)
			task := r.Messages[0].Text
			if strings.Contains(task, "fails") {
				return hocket.ModelReply{}, &hocket.ModelError{Kind: "content_filter", Message: "no"}
			}
			text := fmt.Sprintf(`{"fine": %t, "words": %q}`, r.Schema != nil, task)
			if r.Schema == nil {
				text = "on " + task
			}
			return hocket.ModelReply{Text: text, Usage: &hocket.TokenUsage{InputTokens: 10, OutputTokens: 5}}, nil
		}))
}

var critic = hocket.WithAgent(hocket.Agent{Name: "critic", Model: "own/m"})

func do(t *testing.T, fn func(ctx context.Context, s *state) error, o ...graph.NodeOptions) *graph.Compiled[state] {
	t.Helper()
	return compiled(t, graph.New[state]("t").Start(graph.Do("n", fn, o...)))
}

// TestSubagentAs checks that a function can ask an agent for a value of a type, and learns its
// usage; if it asks for the same again in one execution, it gets the first answer.
func TestSubagentAs(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	e, err := hocket.Open(t.Context(), hocket.Config{MaxCalls: 1}, documents.All(), judge(&asked), critic)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	g := do(t, func(ctx context.Context, s *state) error {
		for range 2 {
			v, err := hocket.SubagentAs[verdict](ctx, "critic", s.Text)
			if d := cmp.Diff(v.Value, verdict{true, "tides"}); err != nil || d != "" ||
				v.Text != `{"fine":true,"words":"tides"}` {
				t.Errorf("%+v, %v\n%s", v, err, d)
			}
			if v.Usage.InputTokens != 10 || v.Usage.OutputTokens != 5 || v.Usage.ModelCalls != 1 ||
				!strings.HasPrefix(v.Run, "up.") {
				t.Errorf("usage %+v of %s", v.Usage, v.Run)
			}
		}
		text, err := hocket.SubagentAs[string](ctx, "critic", s.Text)
		if err != nil || text.Value != "on tides" || text.Text != text.Value {
			t.Errorf("%+v, %v", text, err)
		}
		again, err := hocket.SubagentAs[verdict](ctx, "critic", s.Text, hocket.SubagentOptions{Key: "another"})
		if err != nil || again.Run == text.Run {
			t.Errorf("%+v, %v", again, err)
		}
		s.N++
		return nil
	})
	r, err := hocket.Run(t.Context(), e, g, state{Text: "tides"}, hocket.RunOptions{ID: "up"})
	if err != nil || r.Err != nil || r.State.N != 1 || asked.Load() != 3 {
		t.Fatalf("%+v, %v; asked %d times", r, err, asked.Load())
	}
	if up, err := e.Get(t.Context(), "up"); err != nil || up.Usage.InputTokens != 30 || up.Usage.ModelCalls != 3 {
		t.Errorf("with its agents (P20) the run used %+v, %v", up.Usage, err)
	}
}

// TestSubagentAsFails checks that an invalid call is an error that says why, and that an agent that
// failed is reported with its usage and asked again by the next attempt, which reuses the answers
// that exist.
func TestSubagentAsFails(t *testing.T) {
	t.Parallel()
	var asked, attempts atomic.Int64
	e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All(), judge(&asked), critic)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := hocket.SubagentAs[verdict](t.Context(), "critic", "x"); err == nil ||
		!strings.Contains(err.Error(), "needs the context of a node function") {
		t.Errorf("outside of a run: %v", err)
	}
	var failed []string
	g := do(t, func(ctx context.Context, _ *state) error {
		attempts.Add(1)
		if _, err := hocket.SubagentAs[verdict](ctx, "critic", "good"); err != nil {
			t.Error(err)
		}
		if _, err := hocket.SubagentAs[int](ctx, "critic", "x"); err == nil ||
			err.Error() != "SubagentAs gives a struct or a string, not int" {
			t.Errorf("%v", err)
		}
		if _, err := hocket.SubagentAs[struct{ C chan int }](ctx, "critic", "x"); err == nil ||
			!strings.Contains(err.Error(), "the answer as struct { C chan int }: ") {
			t.Errorf("%v", err)
		}
		if _, err := hocket.SubagentAs[string](ctx, "missing", "x"); err == nil ||
			!strings.Contains(err.Error(), `agent "missing" not found`) {
			t.Errorf("%v", err)
		}
		if _, err := hocket.SubagentAs[string](ctx, "critic", "x", hocket.SubagentOptions{
			Key: strings.Repeat("k", 201),
		}); err == nil || !strings.Contains(err.Error(), "Key has 201 bytes") {
			t.Errorf("%v", err)
		}
		v, err := hocket.SubagentAs[verdict](ctx, "critic", "this fails")
		var why *hocket.RunError
		if !errors.As(err, &why) || why.Code != "content_filter" || v.Usage.ModelCalls != 1 {
			t.Errorf("%+v, %v", v, err)
		}
		failed = append(failed, v.Run)
		return err
	}, graph.NodeOptions{Retry: graph.Retry{MaxAttempts: 2, Backoff: graph.Zero}})
	r, err := hocket.Run(t.Context(), e, g, state{})
	if err != nil || r.Err == nil || !strings.Contains(r.Err.Error(), `sub-agent "critic": `) {
		t.Fatalf("%+v, %v", r, err)
	}
	if attempts.Load() != 2 || asked.Load() != 3 || len(failed) != 2 || failed[0] == failed[1] {
		t.Errorf("%d attempts, asked %d times, runs %v", attempts.Load(), asked.Load(), failed)
	}
}

// TestSubagentAsAfterARestart checks that an answer survives the process, in a function and in a
// tool of a document: the agent is not asked again (X-152, P12).
func TestSubagentAsAfterARestart(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "app.db")
	var asked atomic.Int64
	first, started := make(chan struct{}, 2), make(chan struct{}, 2)
	first <- struct{}{}
	first <- struct{}{}
	var mu sync.Mutex
	runs := map[string]bool{}
	work := func(ctx context.Context) (string, error) {
		v, err := hocket.SubagentAs[verdict](ctx, "critic", "tides")
		if err != nil {
			return "", err
		}
		mu.Lock()
		runs[v.Run] = true
		mu.Unlock()
		select {
		case <-first: // the first time in each run
			started <- struct{}{}
			<-ctx.Done()
			return "", ctx.Err()
		default:
			return v.Value.Words, nil
		}
	}
	open := func() *hocket.Engine {
		tooled := hocket.WithModel("doc",
			hocket.ModelFunc(func(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
				if last := r.Messages[len(r.Messages)-1]; last.Role == "tool" {
					return hocket.ModelReply{Text: "so " + last.Text}, nil
				}
				return hocket.ModelReply{
					ToolCalls: []hocket.ToolUse{{ID: "c", Name: "judge", Arguments: json.RawMessage(`{}`)}},
				}, nil
			}))
		e, err := hocket.Open(t.Context(), hocket.Config{DB: db}, documents.All(), judge(&asked), tooled, critic,
			hocket.WithTool("judge", "", func(ctx context.Context, _ struct{}) (string, error) { return work(ctx) },
				hocket.ToolOptions{Idempotent: true}))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	g := do(t, func(ctx context.Context, s *state) (err error) {
		s.Text, err = work(ctx)
		return err
	})
	const doc = "agents:\n  root: {model: doc/m, instruction: Judge., tools: [judge]}\n"
	former := open()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := hocket.Run(ctx, former, g, state{}, hocket.RunOptions{ID: "graph"}); !errors.Is(err,
			hocket.ErrInterrupted) {
			t.Error(err)
		}
	})
	wg.Go(func() {
		w, err := former.Parse("doc.yaml", []byte(doc))
		if err == nil {
			_, err = former.Run(ctx, w, hocket.StartOptions{ID: "doc", Input: "go"})
		}
		if !errors.Is(err, hocket.ErrInterrupted) {
			t.Error(err)
		}
	})
	<-started
	<-started
	cancel()
	wg.Wait()
	if err := former.Close(); err != nil {
		t.Fatal(err)
	}
	second := open()
	defer second.Close()
	r, err := hocket.Resume(t.Context(), second, g, "graph")
	if err != nil || r.Err != nil || r.State.Text != "tides" {
		t.Errorf("%+v, %v", r, err)
	}
	if err := second.Resume(t.Context(), "doc"); err != nil {
		t.Fatal(err)
	}
	d, err := second.Wait(t.Context(), "doc")
	if err != nil || d.Err != nil || d.Text() != "so tides" {
		t.Errorf("%+v, %v", d, err)
	}
	if asked.Load() != 2 || len(runs) != 2 {
		t.Errorf("asked %d times in runs %v", asked.Load(), runs)
	}
}

// TestSubagentAsWithinLimits checks that the limits of the call, and those of the run that asks,
// limit the agent's usage (X-152, P20).
func TestSubagentAsWithinLimits(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All(), judge(&asked), critic)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	g := do(t, func(ctx context.Context, s *state) error {
		limits := graph.Limits{Budget: graph.Budget{MaxTokens: int64(s.N)}}
		_, err := hocket.SubagentAs[verdict](ctx, "critic", "tides", hocket.SubagentOptions{Limits: limits})
		return err
	}, once())
	r, err := hocket.Run(t.Context(), e, g, state{N: 1})
	if err != nil || r.Err == nil || asked.Load() != 0 {
		t.Errorf("one token: %+v, %v; asked %d times", r, err, asked.Load())
	}
	r, err = hocket.Run(t.Context(), e, g, state{},
		hocket.RunOptions{Limits: graph.Limits{Budget: graph.Budget{MaxTokens: 1}}})
	if err != nil || r.Err == nil || asked.Load() != 0 {
		t.Errorf("a run of one token: %+v, %v; asked %d times", r, err, asked.Load())
	}
	if r, err = hocket.Run(t.Context(), e, g, state{N: 100_000}); err != nil || r.Err != nil || asked.Load() != 1 {
		t.Errorf("enough: %+v, %v; asked %d times", r, err, asked.Load())
	}
}

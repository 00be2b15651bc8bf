package hocket_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/graph"
)

// saying returns an agent node that uses LLM sessions and appends the replies to the log.
func saying(id string, c graph.AgentConfig[state]) graph.AgentConfig[state] {
	c.ID, c.Options = id, once()
	if c.AgentType == "" {
		c.AgentType = hocket.AgentLLM
	}
	c.MessageFunc = func(v graph.View[state]) string { return v.State.Text }
	c.Output = func(s *state, messages []graph.AgentMessage) error {
		for _, m := range messages {
			s.Log = append(s.Log, strings.TrimSuffix(m.Type+" "+m.Tool, " ")+": "+m.Content)
		}
		return nil
	}
	return c
}

// worker returns a model that first calls a tool, and then replies with its result.
func worker(calls *atomic.Int32, before func(ctx context.Context, r hocket.ModelRequest) error) hocket.ModelFunc {
	return func(ctx context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
		calls.Add(1)
		if before != nil {
			if err := before(ctx, r); err != nil {
				return hocket.ModelReply{}, err
			}
		}
		usage := &hocket.TokenUsage{InputTokens: 800, OutputTokens: 100}
		last := r.Messages[len(r.Messages)-1]
		if last.Role == "user" && len(r.Tools) > 0 {
			return hocket.ModelReply{ToolCalls: []hocket.ToolUse{
				{ID: "1", Name: r.Tools[0].Name, Arguments: json.RawMessage(`{"word":"tide"}`)},
			}, Usage: usage}, nil
		}
		return hocket.ModelReply{Text: "so " + last.Text, Usage: usage}, nil
	}
}

// TestLLMSessions checks that an engine with models has agents of type llm by default, and that
// they get the tools that their node names, and no others (S2-68, SEC13).
func TestLLMSessions(t *testing.T) {
	t.Parallel()
	var (
		calls atomic.Int32
		seen  atomic.Pointer[hocket.ModelRequest]
		who   atomic.Pointer[hocket.ToolCallInfo]
	)
	env := func(name string) string { return map[string]string{"HOCKET_MODEL": "own/fallback"}[name] }
	e, err := hocket.Open(t.Context(), hocket.Config{Env: env},
		hocket.WithModel("own", worker(&calls, func(_ context.Context, r hocket.ModelRequest) error {
			seen.Store(&r)
			return nil
		})),
		hocket.WithLLMSessions("critic", hocket.LLMSessions{Model: "own/strict", SystemPrompt: "Be strict.",
			MaxTurns: 1}),
		hocket.WithTool("lookup", "Looks up a word.", func(ctx context.Context, in lookupArgs) (string, error) {
			info, _ := hocket.ToolCall(ctx)
			who.Store(&info)
			return lookup(ctx, in)
		}),
		hocket.WithTool("other", "Not asked for.", lookup))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	run := func(c graph.AgentConfig[state], o hocket.RunOptions) *hocket.Result[state] {
		t.Helper()
		r, err := hocket.Run(t.Context(), e, compiled(t, graph.New[state]("t").Start(saying("a", c))),
			state{Text: "tides?"}, o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}

	r := run(graph.AgentConfig[state]{Tools: []string{"lookup"}, SystemPrompt: "Look it up."},
		hocket.RunOptions{ID: "r1"})
	want := []string{"tool_use lookup: ", "tool_result lookup: tide is known", "text: so tide is known"}
	if diff := cmp.Diff(want, r.State.Log); diff != "" || r.Err != nil {
		t.Errorf("%v, -want +got:\n%s", r.Err, diff)
	}
	if o, err := e.Get(t.Context(), "r1"); err != nil || o.Usage.ModelCalls != 2 || o.Usage.InputTokens != 1600 ||
		o.Usage.OutputTokens != 200 || o.Usage.CostUSD != nil {
		t.Errorf("with its session (P20) the run used %+v, %v", o.Usage, err)
	}
	q := seen.Load()
	if q.Model != "fallback" || q.System != "Look it up." || len(q.Tools) != 1 || q.Tools[0].Name != "lookup" ||
		q.Agent != "a" || q.Node != "a" || q.Key == "" {
		t.Errorf("asked %+v", q)
	}
	if info := who.Load(); info.Run != "r1" || info.Node != "a" || info.Agent != "a" || info.Key == "" {
		t.Errorf("the tool was told %+v", info)
	}

	run(graph.AgentConfig[state]{}, hocket.RunOptions{Model: "own/run"})
	if q := seen.Load(); q.Model != "run" || len(q.Tools) != 0 {
		t.Errorf("asked %s with %d tools", q.Model, len(q.Tools))
	}
	r = run(graph.AgentConfig[state]{AgentType: "critic", Tools: []string{"lookup"}}, hocket.RunOptions{})
	if q := seen.Load(); q.Model != "strict" || q.System != "Be strict." || r.Err == nil ||
		!strings.Contains(r.Err.Error(), graph.StopMaxTurns) {
		t.Errorf("asked %+v; %v", q, r.Err)
	}
	r = run(graph.AgentConfig[state]{Tools: []string{"nothing"}}, hocket.RunOptions{})
	if r.Err == nil || !strings.Contains(r.Err.Error(), `tool "nothing" not found`) {
		t.Errorf("%v", r.Err)
	}
	r = run(graph.AgentConfig[state]{AgentType: "claude"}, hocket.RunOptions{})
	if r.Err == nil || r.Err.Error() != `No client provider set for agent type "claude"` {
		t.Errorf("%v", r.Err)
	}
	if e.Sessions("claude") != nil || e.Sessions(hocket.AgentLLM) == nil ||
		open(t, hocket.Config{}).Sessions(hocket.AgentLLM) != nil {
		t.Error("agents are registered that were not given, or the other way around")
	}
}

// TestLLMSessionInterrupted checks that a run that is interrupted between two model calls of an
// agent continues in another engine with the second call: a reply that was received is not
// requested again (P6, P12).
func TestLLMSessionInterrupted(t *testing.T) {
	t.Parallel()
	cfg := hocket.Config{DB: filepath.Join(t.TempDir(), "app.db"), Program: "test"}
	var calls, tools atomic.Int32
	g := compiled(t, graph.New[state]("t").Start(
		saying("a", graph.AgentConfig[state]{Tools: []string{"lookup"}, Session: graph.SessionConfig{Model: "own/m"}})))
	engine := func(before func(ctx context.Context, r hocket.ModelRequest) error) *hocket.Engine {
		e, err := hocket.Open(t.Context(), cfg, hocket.WithModel("own", worker(&calls, before)),
			hocket.WithTool("lookup", "Looks up a word.", func(ctx context.Context, in lookupArgs) (string, error) {
				tools.Add(1)
				return lookup(ctx, in)
			}))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	ctx, cancel := context.WithCancel(t.Context())
	first := engine(func(ctx context.Context, r hocket.ModelRequest) error {
		if len(r.Messages) == 1 {
			return nil
		}
		cancel()
		<-ctx.Done()
		return context.Cause(ctx)
	})
	_, err := hocket.Run(ctx, first, g, state{Text: "tides?"}, hocket.RunOptions{ID: "r"})
	if !errors.Is(err, hocket.ErrInterrupted) {
		t.Errorf("run: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if calls.Load() != 2 || tools.Load() != 1 {
		t.Errorf("before: %d model calls, %d tool calls", calls.Load(), tools.Load())
	}
	second := engine(nil)
	defer second.Close()
	r, err := hocket.Resume(t.Context(), second, g, "r")
	if err != nil || r.Err != nil || r.State.Log[len(r.State.Log)-1] != "text: so tide is known" {
		t.Fatalf("resume: %+v, %v", r, err)
	}
	if calls.Load() != 3 || tools.Load() != 1 {
		t.Errorf("after: %d model calls, %d tool calls", calls.Load(), tools.Load())
	}
}

// TestLLMSessionUnknownOutcome checks that a tool call that was in flight when the run was
// interrupted is repeated if the tool is idempotent, and that otherwise the tool determines what
// happens to it (P12).
func TestLLMSessionUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options hocket.ToolOptions
		calls   int32
		want    string
	}{
		"idempotent": {hocket.ToolOptions{Idempotent: true}, 2, "text: so tide is known"},
		"skip": {hocket.ToolOptions{Unknown: hocket.SkipCall}, 1,
			"text: so the call was interrupted; its outcome is unknown"},
		"ask": {hocket.ToolOptions{}, 1, `tool "lookup": ` + graph.ErrUnknownOutcome.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls, tools atomic.Int32
			ctx, cancel := context.WithCancel(t.Context())
			e, err := hocket.Open(t.Context(), hocket.Config{DB: filepath.Join(t.TempDir(), "app.db")},
				hocket.WithModel("own", worker(&calls, nil)),
				hocket.WithTool("lookup", "Looks up a word.", func(ctx context.Context, in lookupArgs) (string, error) {
					if tools.Add(1) == 1 {
						cancel()
						<-ctx.Done()
						return "", context.Cause(ctx)
					}
					return lookup(ctx, in)
				}, c.options))
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			g := compiled(t,
				graph.New[state]("t").Start(saying("a", graph.AgentConfig[state]{Tools: []string{"lookup"},
					Session: graph.SessionConfig{Model: "own/m"}})))
			if _, err := hocket.Run(ctx, e, g, state{Text: "tides?"}, hocket.RunOptions{ID: "r"}); !errors.Is(err,
				hocket.ErrInterrupted) {
				t.Fatalf("run: %v", err)
			}
			r, err := hocket.Resume(t.Context(), e, g, "r")
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(r.Err)
			if r.Err == nil {
				got = r.State.Log[len(r.State.Log)-1]
			}
			if got != c.want || tools.Load() != c.calls {
				t.Errorf("%d calls, %q; want %d, %q", tools.Load(), got, c.calls, c.want)
			}
		})
	}
}

// TestMonitorOfLLMSession checks that a context monitor acts on a session with a model that
// outlives its nodes: summarize, recreate, warn; clear-context requests a summary (S2-69, P41).
func TestMonitorOfLLMSession(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	e, err := hocket.Open(t.Context(), hocket.Config{}, hocket.WithModel("own", worker(&calls, nil)),
		hocket.WithLLMSessions(hocket.AgentLLM, hocket.LLMSessions{Model: "own/m", ContextWindow: 1000, KeepGroups: 1}))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for action, want := range map[graph.CompactionAction]string{
		graph.CompactSummarize: "1 summary, compacted, clear:summarize",
		graph.CompactRecreate:  "0 summaries, compacted, monitor:recreate clear:summarize",
		graph.CompactWarn:      "0 summaries, monitor:warn clear:summarize",
	} {
		session, err := e.Sessions(hocket.AgentLLM).CreateSession(t.Context(), graph.SessionConfig{Key: string(action)})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			for _, err := range session.Stream(t.Context(), "tides?") {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		before := calls.Load()
		var compacted bool
		r, err := hocket.Run(t.Context(), e, compiled(t, graph.New[state]("t").
			Start(graph.ContextMonitorConfig[state]{
				ID: "monitor", AgentType: hocket.AgentLLM, Action: action,
				Session: func(graph.View[state]) graph.Session { return session },
				OnCompaction: func(u graph.ContextWindowUsage, _ graph.CompactionAction) {
					compacted = u.UsagePercentage == 90
				},
			}).
			Then(graph.ClearContextConfig[state]{ID: "clear"})), state{})
		if err != nil || r.Err != nil {
			t.Fatal(err, r.Err)
		}
		got := fmt.Sprintf("%d summaries", calls.Load()-before)
		if calls.Load()-before == 1 {
			got = "1 summary"
		}
		if compacted {
			got += ", compacted"
		}
		got += ","
		for _, s := range r.Snapshot.Signals {
			if s.Type != graph.SignalContextWindowWarning {
				t.Errorf("signal %s", s.Type)
			}
			got += fmt.Sprintf(" %v:%v", s.Data["nodeId"], s.Data["action"])
		}
		if got != want {
			t.Errorf("%s: %s; want %s", action, got, want)
		}
		if err := session.Destroy(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// noSessions is a client that creates no sessions.
type noSessions struct{}

func (*noSessions) CreateSession(context.Context, graph.SessionConfig) (graph.Session, error) {
	return nil, errors.New("no sessions here")
}

// An agent node on a model of the program's own, with a tool: neither a client nor a provider is
// needed.
func ExampleWithLLMSessions() {
	type Page struct {
		Question string `json:"question"`
		Answer   string `json:"answer"`
	}
	model := hocket.ModelFunc(func(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == "user" {
			return hocket.ModelReply{ToolCalls: []hocket.ToolUse{
				{ID: "1", Name: "tides", Arguments: json.RawMessage(`{"port":"Brest"}`)},
			}}, nil
		}
		return hocket.ModelReply{Text: "High water is at " + last.Text + "."}, nil
	})
	type port struct {
		Port string `json:"port"`
	}
	ctx := context.Background()
	eng, err := hocket.Open(ctx, hocket.Config{},
		hocket.WithModel("house", model),
		hocket.WithLLMSessions("pilot", hocket.LLMSessions{Model: "house/small", SystemPrompt: "You know the sea."}),
		hocket.WithTool("tides", "Tells when the tide is high.", func(context.Context, port) (string, error) {
			return "17:40", nil
		}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	g, err := graph.New[Page]("pilot").
		Start(graph.AgentConfig[Page]{
			ID: "ask", AgentType: "pilot", Tools: []string{"tides"},
			MessageFunc: func(v graph.View[Page]) string { return v.State.Question },
			Output: func(p *Page, messages []graph.AgentMessage) error {
				p.Answer = messages[len(messages)-1].Content
				return nil
			},
		}).
		Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := hocket.Run(ctx, eng, g, Page{Question: "When is high water at Brest?"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Status, res.State.Answer)
	// Output:
	// completed High water is at 17:40.
}

// asked returns a graph that asks a question between two notes.
func asked(t *testing.T) *graph.Compiled[state] {
	t.Helper()
	return compiled(t, graph.New[state]("asked").Start(note("a")).Then(
		graph.WaitConfig[state]{ID: "w", Prompt: "Who?"}).Then(note("z")))
}

// TestWait_UntilRunEnds checks that Wait waits across pauses for the end, and returns at a pause if
// the options say so. A paused run is unchanged when ctx is done.
func TestWait_UntilRunEnds(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		if r, err := hocket.Run(t.Context(), e, asked(t), state{}, hocket.RunOptions{ID: "r"}); err != nil ||
			r.Status != hocket.StatusPaused {
			t.Fatalf("%+v, %v", r, err)
		}
		if r, err := e.Wait(t.Context(), "r", hocket.WaitOptions{UntilPaused: true}); err != nil ||
			r.Status != hocket.StatusPaused {
			t.Errorf("until paused: %+v, %v", r, err)
		}
		short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		r, err := e.Wait(short, "r")
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, hocket.ErrInterrupted) || r == nil ||
			r.Status != hocket.StatusPaused || len(r.Waiting) != 1 {
			t.Errorf("a paused run, with a deadline: %+v, %v", r, err)
		}
		ended := make(chan error, 1)
		go func() {
			r, err := e.Wait(t.Context(), "r")
			if err == nil && r.Status != hocket.StatusCompleted {
				err = fmt.Errorf("the run is %s", r.Status)
			}
			ended <- err
		}()
		if err := e.Answer(t.Context(), "r", hocket.Answer{Value: "I"}); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if _, err := e.Wait(t.Context(), "r", hocket.WaitOptions{}, hocket.WaitOptions{}); err == nil ||
			!strings.Contains(err.Error(), "at most one WaitOptions") {
			t.Errorf("two options: %v", err)
		}
	})
}

// TestWait_EngineClosed checks that a call that waits for an answer returns when the engine is
// closed.
func TestWait_EngineClosed(t *testing.T) {
	t.Parallel()
	for _, db := range []string{"", filepath.Join(t.TempDir(), "app.db")} {
		e, err := hocket.Open(t.Context(), hocket.Config{DB: db}, documents.All())
		if err != nil {
			t.Fatal(err)
		}
		if r, err := hocket.Run(t.Context(), e, asked(t), state{}, hocket.RunOptions{ID: "r"}); err != nil ||
			r.Status != hocket.StatusPaused {
			t.Fatalf("%+v, %v", r, err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := e.Wait(t.Context(), "r")
			ended <- err
		}()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, hocket.ErrClosed) {
			t.Errorf("store %q: %v, want that the engine is closed", db, err)
		}
	}
}

// typesOf returns the types of events, and the number of the last one.
func typesOf(t *testing.T, events func(yield func(hocket.Event, error) bool)) (types []string, last uint64) {
	t.Helper()
	for ev, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		types, last = append(types, ev.Type), ev.Seq
	}
	return types, last
}

// TestWatch_PausedRun checks that Watch returns when the run is paused and continues after an
// answer, and that Events returns the events so far.
func TestWatch_PausedRun(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		if r, err := hocket.Run(t.Context(), e, asked(t), state{}, hocket.RunOptions{ID: "r"}); err != nil ||
			r.Status != hocket.StatusPaused {
			t.Fatalf("%+v, %v", r, err)
		}
		first, last := typesOf(t, e.Watch(t.Context(), "r"))
		if first[0] != "run.created" || first[len(first)-1] != "run.paused" {
			t.Errorf("watched %v, want all up to the pause", first)
		}
		if there, seq := typesOf(t, e.Events(t.Context(), "r", 0)); seq != last ||
			strings.Join(there, " ") != strings.Join(first, " ") {
			t.Errorf("events %v, want %v", there, first)
		}
		if again, _ := typesOf(t, e.Watch(t.Context(), "r", hocket.WatchOptions{After: last})); len(again) > 0 {
			t.Errorf("after the last one: %v", again)
		}
		short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		var left error
		for _, left = range e.Watch(short, "r", hocket.WatchOptions{UntilEnded: true}) {
		}
		if !errors.Is(left, context.DeadlineExceeded) {
			t.Errorf("until ended: %v, want that it waited", left)
		}
		if err := e.Answer(t.Context(), "r", hocket.Answer{Value: "I"}); err != nil {
			t.Fatal(err)
		}
		rest, _ := typesOf(t, e.Watch(t.Context(), "r", hocket.WatchOptions{After: last}))
		if len(rest) == 0 || rest[len(rest)-1] != "run.completed" {
			t.Errorf("after the answer: %v, want all up to the end", rest)
		}
		if there, _ := typesOf(t, e.Events(t.Context(), "r", last)); strings.Join(there, " ") != strings.Join(rest,
			" ") {
			t.Errorf("events %v, want %v", there, rest)
		}
		for ev, err := range e.Events(t.Context(), "r", 0) {
			if ev.Seq != 1 || err != nil {
				t.Errorf("%+v, %v", ev, err)
			}
			break
		}
		for _, err := range e.Events(t.Context(), "none", 0) {
			if !errors.Is(err, hocket.ErrNotFound) {
				t.Errorf("%v", err)
			}
		}
	})
}

// TestAttach_Concurrent checks that calls with the same ID start one run, and that all of them get
// its result.
func TestAttach_Concurrent(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		var calls atomic.Int32
		g := compiled(t, graph.New[state]("t").Start(graph.Do("a", func(_ context.Context, s *state) error {
			s.N = int(calls.Add(1))
			return nil
		})))
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				o := hocket.RunOptions{ID: "r", Attach: true}
				if i%2 == 0 {
					r, err := hocket.Run(t.Context(), e, g, state{}, o)
					if err != nil || r.Status != hocket.StatusCompleted || r.State.N != 1 {
						t.Errorf("%+v, %v", r, err)
					}
					return
				}
				var last hocket.Step[state]
				for step, err := range hocket.Stream(t.Context(), e, g, state{}, o) {
					if err != nil {
						t.Error(err)
					}
					last = step
				}
				if last.Status != hocket.StatusCompleted || last.State.N != 1 {
					t.Errorf("%+v", last)
				}
			})
		}
		wg.Wait()
		if n := calls.Load(); n != 1 {
			t.Errorf("the node ran %d times", n)
		}
	})
}

// TestAttach checks that Attach returns a waiting or ended run as it is, resumes an interrupted
// one, and rejects another graph.
func TestAttach(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		g := asked(t)
		o := hocket.RunOptions{ID: "r", Attach: true}
		for range 2 {
			if r, err := hocket.Run(t.Context(), e, g, state{}, o); err != nil || r.Status != hocket.StatusPaused ||
				len(r.State.Log) != 1 {
				t.Fatalf("%+v, %v, want a run that waits", r, err)
			}
		}
		if r, err := hocket.Resume(t.Context(), e, g, "r", hocket.Answer{Value: "I"}); err != nil ||
			r.Status != hocket.StatusCompleted {
			t.Fatalf("%+v, %v", r, err)
		}
		seen := 0
		o.OnProgress = hocket.OnProgress(func(hocket.Progress[state]) { seen++ })
		if r, err := hocket.Run(t.Context(), e, g, state{}, o); err != nil || r.Status != hocket.StatusCompleted ||
			len(r.State.Log) != 2 || seen != 0 {
			t.Errorf("%+v, %v, want the run that has ended; progress %d times", r, err, seen)
		}
		if _, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "r"}); !errors.Is(err,
			hocket.ErrExists) {
			t.Errorf("without Attach: %v", err)
		}
		other := compiled(t, graph.New[state]("asked").Start(note("b")), graph.Config{Version: "2"})
		if r, err := hocket.Run(t.Context(), e, other, state{}, o); !errors.Is(err, hocket.ErrVersion) {
			t.Errorf("another graph: %+v, %v", r, err)
		}
		for want, bad := range map[string]hocket.RunOptions{
			"needs an ID":    {Attach: true},
			"call Resume":    {ID: "r", Attach: true, Answer: &hocket.Answer{Value: 1}},
			"without Resume": {ID: "r", Attach: true, ResumeFrom: &hocket.Snapshot[state]{ExecutionID: "r"}},
		} {
			if _, err := hocket.Run(t.Context(), e, g, state{}, bad); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		if _, err := hocket.Resume(t.Context(), e, g, "r", o); err == nil ||
			!strings.Contains(err.Error(), "Attach to Run") {
			t.Errorf("Resume: %v", err)
		}
	})
}

// TestAttach_InterruptedRun checks that an interrupted run continues when a call attaches to it.
func TestAttach_InterruptedRun(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{DB: filepath.Join(t.TempDir(), "app.db")})
	g, begun, gateway := gate(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	o := hocket.RunOptions{ID: "r", Attach: true}
	if r, err := hocket.Run(ctx, e, g, state{}, o); !errors.Is(err, hocket.ErrInterrupted) {
		t.Fatalf("%+v, %v", r, err)
	}
	close(gateway)
	if r, err := hocket.Run(t.Context(), e, g, state{}, o); err != nil || r.Status != hocket.StatusCompleted ||
		r.State.N != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestAttach_Documents checks that documents, too, are started only once for an ID.
func TestAttach_Documents(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		plain := strings.NewReplacer("own/m", "openai/m", "[lookup]", "[]").Replace(writerDoc)
		parse := func(text string) *hocket.Workflow {
			w, err := e.Parse("w.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		w := parse(plain)
		o := hocket.StartOptions{ID: "r", Attach: true, Input: "x", Replies: hocket.Replies("first")}
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				if i%2 == 0 {
					if run, err := e.Start(t.Context(), w, o); run != "r" || err != nil {
						t.Errorf("%q, %v", run, err)
					}
					return
				}
				if r, err := e.Run(t.Context(), w, o); err != nil || r.Text() != "first" {
					t.Errorf("%+v, %v", r, err)
				}
			})
		}
		wg.Wait()
		if r, err := e.Wait(t.Context(), "r"); err != nil || r.Usage.ModelCalls != 1 {
			t.Errorf("%+v, %v", r, err)
		}
		if _, err := e.Run(t.Context(), w, hocket.StartOptions{Attach: true}); err == nil ||
			!strings.Contains(err.Error(), "needs an ID") {
			t.Errorf("%v", err)
		}
		other := parse(strings.Replace(plain, "You write.", "You read.", 1))
		if _, err := e.Start(t.Context(), other, o); !errors.Is(err, hocket.ErrConflict) {
			t.Errorf("another document: %v", err)
		}
	})
}

// TestLLMSessions_Permissions checks that the operator's permissions apply to the tools of
// sessions: what they deny, or ask a person about, is not called, and the model is told why.
func TestLLMSessions_Permissions(t *testing.T) {
	t.Parallel()
	for rules, want := range map[string]string{
		"{deny: [lookup]}": `text: so The call of "lookup" was not made: the permissions of this run forbid it.`,
		`{ask: ["lookup:word=tide"]}`: `text: so The call of "lookup" was not made: a person must approve it first, ` +
			`and nobody can be asked in this session.`,
		"{deny: [other], default: allow}": "text: so tide is known",
	} {
		t.Run(rules, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "hocket.yaml")
			if err := os.WriteFile(file, []byte("permissions: "+rules+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			var calls, tools atomic.Int32
			e, err := hocket.Open(t.Context(), hocket.Config{}, hocket.WithConfig(file),
				hocket.WithModel("own", worker(&calls, nil)),
				hocket.WithTool("lookup", "Looks up a word.", func(ctx context.Context, in lookupArgs) (string, error) {
					tools.Add(1)
					return lookup(ctx, in)
				}), hocket.WithTool("other", "Not asked for.", lookup))
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			g := compiled(t, graph.New[state]("t").Start(saying("a", graph.AgentConfig[state]{
				Tools: []string{"lookup"}, Session: graph.SessionConfig{Model: "own/m"}})))
			r, err := hocket.Run(t.Context(), e, g, state{Text: "tides?"}, hocket.RunOptions{ID: "r"})
			if err != nil || r.Err != nil {
				t.Fatal(err, r.Err)
			}
			if got := r.State.Log[len(r.State.Log)-1]; got != want || (tools.Load() > 0) != strings.HasSuffix(want,
				"known") {
				t.Errorf("%d calls of the tool, %q; want %q", tools.Load(), got, want)
			}
		})
	}
}

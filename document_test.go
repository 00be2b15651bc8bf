package hocket_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/service"
)

const writerDoc = `
agents:
  writer:
    model: own/m
    instruction: You write.
    tools: [lookup]
workflow:
  steps:
    - id: write
      type: agent
      name: writer
`

type lookupArgs struct {
	Word string `json:"word" jsonschema:"the word to look up"`
}

// echo returns a model that repeats what it was asked, and calls the first tool that it is offered
// once.
func echo(seen *atomic.Pointer[hocket.ModelRequest]) hocket.Model {
	return hocket.ModelFunc(func(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == "user" && len(r.Tools) > 0 {
			seen.Store(&r)
			return hocket.ModelReply{ToolCalls: []hocket.ToolUse{
				{ID: "c1", Name: r.Tools[0].Name, Arguments: json.RawMessage(`{"word":"tide"}`)},
			}}, nil
		}
		r.Say("so ")
		return hocket.ModelReply{Text: "so " + last.Text, Usage: &hocket.TokenUsage{InputTokens: 3, OutputTokens: 2}},
			nil
	})
}

func lookup(_ context.Context, in lookupArgs) (string, error) {
	if in.Word == "" {
		return "", errors.New("no word")
	}
	return in.Word + " is known", nil
}

// TestDocument checks that a document runs on a model and a tool written in Go, and that an agent
// has exactly the tools that it lists (SEC13, D26).
func TestDocument(t *testing.T) {
	t.Parallel()
	var seen atomic.Pointer[hocket.ModelRequest]
	e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All(), hocket.WithModel("own", echo(&seen)),
		hocket.WithTool("lookup", "Looks up a word.", lookup, hocket.ToolOptions{Idempotent: true}),
		hocket.WithTool("other", "Not asked for.", lookup))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	w, err := e.Parse("writer.yaml", []byte(writerDoc))
	if err != nil {
		t.Fatal(err)
	}
	if w.Format() != "steps" || w.Name() != "writer" || len(w.Diagnostics()) > 0 {
		t.Errorf("%s %s %v", w.Format(), w.Name(), w.Diagnostics())
	}
	r, err := e.Run(t.Context(), w, hocket.StartOptions{Input: "the sea", ID: "doc"})
	if err != nil || r.Status != hocket.StatusCompleted || r.Text() != "so tide is known" {
		t.Fatalf("%+v, %v", r, err)
	}
	if r.Usage.ModelCalls != 2 || r.Usage.ToolCalls != 1 || len(r.Steps) != 1 || r.Steps[0].Node != "write" ||
		r.Steps[0].Model != "own/m" {
		t.Errorf("usage %+v, steps %+v", r.Usage, r.Steps)
	}
	q := seen.Load()
	if q == nil || len(q.Tools) != 1 || q.Tools[0].Name != "lookup" || q.Model != "m" ||
		q.Messages[len(q.Messages)-1].Text == "" || q.Agent != "writer" || q.Key == "" {
		t.Fatalf("asked %+v", q)
	}
	var schema struct {
		Properties map[string]struct{ Description string }
		Required   []string
	}
	if err := json.Unmarshal(q.Tools[0].Parameters, &schema); err != nil ||
		schema.Properties["word"].Description != "the word to look up" ||
		!slices.Equal(schema.Required, []string{"word"}) {
		t.Errorf("schema %s, %v", q.Tools[0].Parameters, err)
	}
	checkEvents(t, e, "doc")
	runs, next, err := e.List(t.Context(), hocket.Filter{Statuses: []hocket.Status{hocket.StatusCompleted}})
	if err != nil || next != "" || len(runs) != 1 || runs[0].ID != "doc" || runs[0].Format != "steps" ||
		runs[0].Workflow != "writer" {
		t.Errorf("%+v, %q, %v", runs, next, err)
	}
	var object struct {
		ID     string
		Output string
	}
	raw, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(raw, &object)
	}
	if err != nil || object.ID != "doc" || object.Output != r.Text() {
		t.Errorf("run object %s, %v", raw, err)
	}
}

// checkEvents checks that watching a run yields its events in JSON form, from beginning to end.
func checkEvents(t *testing.T, e *hocket.Engine, run string) {
	t.Helper()
	var types []string
	for ev, err := range e.Watch(t.Context(), run) {
		if err != nil {
			t.Fatal(err)
		}
		var line struct {
			Type string
			Seq  uint64
		}
		raw, err := json.Marshal(ev)
		if err == nil {
			err = json.Unmarshal(raw, &line)
		}
		if err != nil || line.Type != ev.Type || line.Seq != ev.Seq {
			t.Errorf("event %s, %v", raw, err)
		}
		types = append(types, ev.Type)
	}
	if types[0] != "run.created" || types[len(types)-1] != "run.completed" || !slices.Contains(types, "tool.returned") {
		t.Errorf("events %v", types)
	}
}

// TestDocumentErrors checks that nothing is stored if a document is invalid or cannot be started
// (D25).
func TestDocumentErrors(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{Env: func(string) string { return "" }})
	var doc *hocket.DocumentError
	if _, err := e.Parse("bad.yaml",
		[]byte("workflow:\n  steps:\n    - id: a\n      type: agent\n      name: missing\n")); !errors.As(err, &doc) ||
		!strings.Contains(doc.Error(), "bad.yaml:") || !strings.Contains(doc.Error(), "missing") {
		t.Errorf("%v", err)
	}
	if _, err := e.Load(t.Context(), filepath.Join(t.TempDir(), "none.yaml")); err == nil ||
		!strings.Contains(err.Error(), "no such file") {
		t.Errorf("%v", err)
	}
	path := filepath.Join(t.TempDir(), "w.yaml")
	if err := os.WriteFile(path, []byte(strings.NewReplacer("own/m", "openai/m", "[lookup]", "[]").Replace(writerDoc)),
		0o600); err != nil {
		t.Fatal(err)
	}
	w, err := e.Load(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Start(t.Context(), w); err == nil || !strings.Contains(err.Error(), "OPENAI_API_KEY") ||
		strings.Contains(err.Error(), "--") {
		t.Errorf("no key: %v", err)
	}
	if _, err := e.Start(t.Context(), w, hocket.StartOptions{Replies: []byte("replies: 7")}); !errors.As(err, &doc) {
		t.Errorf("bad replies: %v", err)
	}
	if runs, _, err := e.List(t.Context(), hocket.Filter{}); err != nil || len(runs) > 0 {
		t.Errorf("stored %+v, %v", runs, err)
	}
	if _, err := e.Get(t.Context(), "none"); !errors.Is(err, hocket.ErrNotFound) {
		t.Errorf("%v", err)
	}
	for _, err := range e.Watch(t.Context(), "none") {
		if !errors.Is(err, hocket.ErrNotFound) {
			t.Errorf("%v", err)
		}
	}
}

// TestRepliesAndCancel checks that a run without a provider is answered by a script, and can be
// cancelled by its id.
func TestRepliesAndCancel(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{})
	w, err := e.Parse("w.yaml", []byte(strings.Replace(writerDoc, "[lookup]", "[]", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Run(t.Context(), w); err == nil || !strings.Contains(err.Error(), "own") {
		t.Errorf("an unknown provider: %v", err)
	}
	r, err := e.Run(t.Context(), w, hocket.StartOptions{Input: "x", Replies: hocket.Replies("first", "second")})
	if err != nil || r.Text() != "first" {
		t.Errorf("%+v, %v", r, err)
	}
	if err := e.Cancel(t.Context(), r.ID, "late"); !errors.Is(err, hocket.ErrEnded) {
		t.Errorf("%v", err)
	}
	if r, err = e.Run(t.Context(), w, hocket.StartOptions{Input: "x", Replies: hocket.Replies()}); err != nil ||
		r.Status != hocket.StatusFailed {
		t.Fatalf("%+v, %v", r, err)
	}
	var failed *hocket.RunError
	if !errors.As(r.Err, &failed) || failed.Code != "no_reply" {
		t.Errorf("%#v", r.Err)
	}
}

// TestOptions checks that Open returns errors for all invalid options.
func TestOptions(t *testing.T) {
	t.Parallel()
	model := hocket.ModelFunc(func(context.Context, hocket.ModelRequest) (hocket.ModelReply, error) {
		return hocket.ModelReply{}, nil
	})
	for name, tc := range map[string]struct {
		options []hocket.Option
		want    []string
	}{
		"tool, bad name": {[]hocket.Option{hocket.WithTool("a b", "", lookup)},
			[]string{`tool "a b": a name must have 1 to 64 letters, digits, _ or -`}},
		"tool, twice": {[]hocket.Option{hocket.WithTool("a", "", lookup), hocket.WithTool("a", "", lookup)},
			[]string{`two tools have the name "a"`}},
		"tool, no struct": {
			[]hocket.Option{hocket.WithTool("a", "", func(context.Context, int) (int, error) { return 0, nil })},
			[]string{`tool "a": its arguments are not a struct`},
		},
		"tool, no schema": {
			[]hocket.Option{hocket.WithTool("a", "", func(context.Context, struct{ C chan int }) (int, error) {
				return 0, nil
			})}, []string{`tool "a": `},
		},
		"tool, policy": {
			[]hocket.Option{hocket.WithTool("a", "", lookup, hocket.ToolOptions{Unknown: "maybe"})},
			[]string{`unknown policy "maybe"`},
		},
		"model, bad name": {[]hocket.Option{hocket.WithModel("a/b", model)}, []string{`model provider "a/b"`}},
		"model, twice": {[]hocket.Option{hocket.WithModel("a", model), hocket.WithModel("a", model)},
			[]string{`two model providers have the name "a"`}},
		"agent, no name": {[]hocket.Option{hocket.WithAgent(hocket.Agent{})},
			[]string{"an agent has no name"}},
		"agent, twice": {[]hocket.Option{hocket.WithAgent(hocket.Agent{Name: "a"}),
			hocket.WithAgent(hocket.Agent{Name: "a"})}, []string{`two agents have the name "a"`}},
		"sessions without a name": {[]hocket.Option{hocket.WithSessions("", nil), hocket.WithModel("", model)},
			[]string{"sessions need", `model provider ""`}},
		"sessions, twice": {[]hocket.Option{
			hocket.WithSessions("a", &noSessions{}), hocket.WithLLMSessions("a", hocket.LLMSessions{}),
			hocket.WithSessions("a", &noSessions{}),
		}, []string{`agent type "a" has two clients`}},
		"sessions, bounds": {[]hocket.Option{
			hocket.WithLLMSessions("a", hocket.LLMSessions{MaxTurns: -1}), hocket.WithModel("own", model),
		}, []string{`agent type "a": config of LLM sessions: field MaxTurns is negative`}},
		"sessions, timeouts": {[]hocket.Option{
			hocket.WithLLMSessions("a", hocket.LLMSessions{ToolTimeout: -1}),
			hocket.WithLLMSessions("", hocket.LLMSessions{}),
		}, []string{`agent type "a" has a negative timeout`, "need an agent type"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := hocket.Open(t.Context(), hocket.Config{},
				append([]hocket.Option{documents.All()}, tc.options...)...)
			if err == nil {
				e.Close()
				t.Fatal("opened")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %s", err, want)
				}
			}
		})
	}
}

// TestTool_Results checks that the outcome of a tool reaches the model: an answer, a failure, a
// panic; and that the tool knows its caller (P12).
func TestTool_Results(t *testing.T) {
	t.Parallel()
	type args struct{}
	type answer struct {
		N int `json:"n"`
	}
	for name, tc := range map[string]struct {
		tool hocket.Option
		want string
	}{
		"value": {hocket.WithTool("lookup", "", func(context.Context, lookupArgs) (answer, error) {
			return answer{7}, nil
		}), `so {"n":7}`},
		"text": {hocket.WithTool("lookup", "", func(context.Context, lookupArgs) (string, error) {
			return "plain", nil
		}), "so plain"},
		"failure": {hocket.WithTool("lookup", "", func(context.Context, lookupArgs) (answer, error) {
			return answer{}, errors.New("no luck")
		}), "so no luck"},
		"schema": {hocket.WithTool("lookup", "", func(context.Context, args) (string, error) { return "called", nil }),
			"was not called"},
		"panic": {hocket.WithTool("lookup", "", func(context.Context, lookupArgs) (string, error) { panic("oops") }),
			"oops"},
		"caller": {hocket.WithTool("lookup", "", func(ctx context.Context, _ lookupArgs) (string, error) {
			c, ok := hocket.ToolCall(ctx)
			return fmt.Sprint(c.Run, c.Node, c.Agent, c.Key != "", ok), nil
		}), "so runwritewritertrue true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen atomic.Pointer[hocket.ModelRequest]
			e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All(), hocket.WithModel("own", echo(&seen)),
				tc.tool)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			w, err := e.Parse("w.yaml", []byte(writerDoc))
			if err != nil {
				t.Fatal(err)
			}
			r, err := e.Run(t.Context(), w, hocket.StartOptions{Input: "x", ID: "run"})
			if err != nil || !strings.Contains(r.Text()+fmt.Sprint(r.Err), tc.want) {
				t.Errorf("%q %v, %v", r.Text(), r.Err, err)
			}
		})
	}
}

// TestModelErrors checks that a model's failure keeps its kind.
func TestModelErrors(t *testing.T) {
	t.Parallel()
	e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All(), hocket.WithModel("own", hocket.ModelFunc(
		func(context.Context, hocket.ModelRequest) (hocket.ModelReply, error) {
			return hocket.ModelReply{},
				fmt.Errorf("asked: %w", &hocket.ModelError{Kind: "auth", Message: "who are you"})
		})))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	w, err := e.Parse("w.yaml", []byte(strings.Replace(writerDoc, "[lookup]", "[]", 1)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Run(t.Context(), w, hocket.StartOptions{Input: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r.Err, error(&hocket.RunError{Code: "auth", Message: "who are you", Node: "write"})); d != "" {
		t.Error(d)
	}
}

// TestSharedOptions checks that options may be passed to several engines concurrently.
func TestSharedOptions(t *testing.T) {
	t.Parallel()
	tool := hocket.WithTool("t", "", func(_ context.Context, in struct{ A int }) (int, error) { return in.A, nil })
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			e, err := hocket.Open(t.Context(), hocket.Config{DB: filepath.Join(t.TempDir(), "app.db")}, documents.All(),
				tool)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// tide is the state of the graph of these tests.
type tide struct {
	Asked bool
	Done  int
}

// tides returns a graph that does something, asks, and does something again. first is called by the
// first node.
func tides(t *testing.T, first func(ctx context.Context) error) *graph.Compiled[tide] {
	t.Helper()
	g, err := graph.New[tide]("tides").
		Start(graph.Do("first", func(ctx context.Context, _ *tide) error { return first(ctx) })).
		Then(graph.WaitConfig[tide]{ID: "ask", Prompt: "High or low?"}).
		Then(graph.Do("last", func(_ context.Context, s *tide) error {
			s.Done++
			return nil
		})).
		Compile()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func atOnce(context.Context) error { return nil }

// peer returns a process of the program, which works until end is called.
func peer(t *testing.T, db string, g *graph.Compiled[tide]) (e *hocket.Engine, end func()) {
	t.Helper()
	e, err := hocket.Open(t.Context(), hocket.Config{DB: db, Program: "tides"})
	if err != nil {
		t.Fatal(err)
	}
	if err := hocket.Register(e, g); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() {
		if err := e.Work(ctx); err != nil {
			t.Error(err)
		}
	})
	return e, sync.OnceFunc(func() {
		stop()
		working.Wait()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

func status(t *testing.T, e *hocket.Engine, run string) hocket.Status {
	t.Helper()
	r, err := e.Get(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return r.Status
}

// TestWork_ResumesInterruptedRuns checks that a run that one process of a program abandons
// continues in another one that calls Work, without a call of Recover. A run that a process
// interrupted deliberately stays interrupted (D15, D22).
func TestWork_ResumesInterruptedRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := filepath.Join(t.TempDir(), "hocket.db")
		hangs := tides(t, func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		dies, err := hocket.Open(t.Context(), hocket.Config{DB: db, Program: "tides"})
		if err != nil {
			t.Fatal(err)
		}
		e, end := peer(t, db, tides(t, atOnce))
		defer end()
		begun := make(chan error, 1)
		go func() {
			_, err := hocket.Run(t.Context(), dies, hangs, tide{}, hocket.RunOptions{ID: "r1"})
			begun <- err
		}()
		time.Sleep(time.Minute)
		if s := status(t, e, "r1"); s != hocket.StatusRunning {
			t.Fatalf("the run is %s, want that of the process that drives it", s)
		}
		if err := dies.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-begun; err == nil {
			t.Error("the process that ended has the run's end")
		}
		time.Sleep(6 * time.Second)
		if s := status(t, e, "r1"); s != hocket.StatusPaused {
			t.Fatalf("the run is %s, want it to continue in the other process", s)
		}
		if err := hocket.Register(e, hangs); err != nil { // the same graph with other functions
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := hocket.Run(ctx, e, hangs, tide{}, hocket.RunOptions{ID: "r2"}); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("a run whose context is done: %v", err)
		}
		time.Sleep(time.Minute)
		if r, err := e.Get(t.Context(), "r2"); err != nil || !r.Interrupted {
			t.Errorf("a run that its own process interrupted: %+v, %v", r, err)
		}
	})
}

// TestAnswer_StoredForProgram checks that an answer from outside the program is validated and
// stored, that the program accepts it when it is running or restarts, and that it decides once
// (D29, P24).
func TestAnswer_StoredForProgram(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := filepath.Join(t.TempDir(), "hocket.db")
		g := tides(t, atOnce)
		e, end := peer(t, db, g)
		for _, id := range []string{"lives", "away"} {
			if r, err := hocket.Run(t.Context(), e, g, tide{}, hocket.RunOptions{ID: id}); err != nil ||
				r.Status != hocket.StatusPaused {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: db})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		answer := func(run, text string) error {
			rec, err := s.Read(t.Context(), run)
			if err != nil {
				return err
			}
			by := event.LocalBy(event.ChannelCLI)
			return s.Proceed(t.Context(), rec,
				service.Proceed{By: by, Answer: &service.AnswerRequest{Value: expr.Quote(text), By: by}})
		}
		left := func(want bool) {
			t.Helper()
			program, got, err := s.Left(t.Context(), "away")
			if err != nil || got != want || program != "tides" {
				t.Errorf("left for %s: %v, %v, want %v", program, got, err, want)
			}
		}
		if err := answer("lives", "high"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if s := status(t, e, "lives"); s != hocket.StatusCompleted {
			t.Errorf("answered while the program works: %s", s)
		}
		end()

		before, err := s.Head(t.Context(), "away")
		if err != nil {
			t.Fatal(err)
		}
		left(false)
		for range 2 {
			if err := answer("away", "low"); err != nil {
				t.Errorf("answer: %v", err)
			}
		}
		left(true)
		if err := answer("away", "high"); !errors.Is(err, waits.ErrAnswered) {
			t.Errorf("another answer: %v", err)
		}
		if after, err := s.Head(t.Context(), "away"); err != nil || after.Epoch != before.Epoch ||
			after.LastSeq != before.LastSeq {
			t.Errorf("the run was touched: %+v, %v, want %+v", after, err, before)
		}
		e, end = peer(t, db, g)
		defer end()
		time.Sleep(3 * time.Second)
		r, err := e.Get(t.Context(), "away")
		if err != nil || r.Status != hocket.StatusCompleted || string(r.Outputs["ask"]) != `"low"` {
			t.Errorf("%+v, %v, want that the program took the answer", r, err)
		}
		left(false)
		if err := answer("away", "low"); err != nil {
			t.Errorf("the same answer afterwards: %v", err)
		}
	})
}

// report is the state of the scheduled graph of these tests.
type report struct{ City string }

// reports returns a graph whose function reports in which city it was called and when.
func reports(t *testing.T, do func(ctx context.Context, city string) error) *graph.Compiled[report] {
	t.Helper()
	g, err := graph.New[report]("reports").
		Start(graph.Do("report", func(ctx context.Context, s *report) error { return do(ctx, s.City) })).
		Compile()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// atWork returns an in-memory engine that works until the end of the test.
func atWork(t *testing.T, g *graph.Compiled[report], schedules ...hocket.Schedule[report]) (
	e *hocket.Engine, end func()) {
	t.Helper()
	e, err := hocket.Open(t.Context(), hocket.Config{Program: "billing"})
	if err != nil {
		t.Fatal(err)
	}
	if err := hocket.Register(e, g, schedules...); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() {
		if err := e.Work(ctx); err != nil {
			t.Error(err)
		}
	})
	return e, func() {
		stop()
		working.Wait()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// diary collects what functions wrote. It is safe for concurrent use.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) write(city string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, time.Now().UTC().Format("02 15:04:05 ")+city)
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

// TestSchedules checks that runs of a graph start at the times of its schedules, in their time
// zones, each with its own initial state, and that no two runs of one schedule overlap.
func TestSchedules(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // starts on 2000-01-01 00:00:00 UTC
		var d diary
		g := reports(t, func(ctx context.Context, city string) error {
			d.write(city)
			if city != "Rome" {
				return nil
			}
			select { // longer than the time between two of its runs
			case <-time.After(90 * time.Minute):
			case <-ctx.Done():
			}
			return ctx.Err()
		})
		e, end := atWork(t, g,
			hocket.Schedule[report]{ID: "ulm", Schedule: "30 6 * * *", TimeZone: "Europe/Berlin", State: report{"Ulm"}},
			hocket.Schedule[report]{ID: "rome", Schedule: "0 3,4,5 1 * *", State: report{"Rome"}},
			hocket.Schedule[report]{ID: "oslo", Schedule: "@every 8h", State: report{"Oslo"}})
		time.Sleep(32 * time.Hour)
		synctest.Wait()
		want := []string{"01 03:00:00 Rome", "01 05:00:00 Rome", "01 05:30:00 Ulm", "01 08:00:00 Oslo",
			"01 16:00:00 Oslo", "02 00:00:00 Oslo", "02 05:30:00 Ulm", "02 08:00:00 Oslo"}
		if diff := cmp.Diff(want, d.read()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		runs, _, err := e.List(t.Context(), hocket.Filter{Workflow: "reports"})
		if err != nil || len(runs) != len(want) {
			t.Errorf("%d runs, %v", len(runs), err)
		}
		list, err := e.Schedules(t.Context())
		if err != nil || len(list) != 3 {
			t.Fatal(list, err)
		}
		if s := list[2]; s.Graph != "reports" || s.ID != "ulm" || s.Schedule != "30 6 * * *" ||
			s.TimeZone != "Europe/Berlin" || s.LastStatus != hocket.StatusCompleted ||
			!s.Next.Equal(time.Date(2000, 1, 3, 5, 30, 0, 0, time.UTC)) {
			t.Errorf("%+v", s)
		}
		end()
	})
}

// TestControlSchedule checks that the scheduler obeys what the program requests for a schedule
//
func TestControlSchedule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		g := reports(t, func(_ context.Context, city string) error {
			d.write(city)
			return nil
		})
		e, end := atWork(t, g, hocket.Schedule[report]{Schedule: "@hourly", State: report{"Ulm"}})
		say := func(do string) hocket.ScheduleInfo {
			t.Helper()
			s, err := e.ControlSchedule(t.Context(), "reports", "", do)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		time.Sleep(30 * time.Minute)
		if s := say("skip"); !s.Next.Equal(time.Date(2000, 1, 1, 2, 0, 0, 0, time.UTC)) || s.SkippedBy != "billing" {
			t.Errorf("skipped: %+v", s)
		}
		time.Sleep(2 * time.Hour) // 02:30
		if s := say("pause"); s.Paused.IsZero() || s.PausedBy != "billing" || !s.Next.IsZero() {
			t.Errorf("paused: %+v", s)
		}
		time.Sleep(time.Hour) // 03:30
		asked := say("run").AskedRun
		time.Sleep(10 * time.Second)
		if r, err := e.Get(t.Context(), asked); err != nil || r.Status != hocket.StatusCompleted {
			t.Errorf("run %s that was asked for: %+v, %v", asked, r, err)
		}
		say("resume")
		time.Sleep(time.Hour) // 04:30:10
		if got, want := d.read(), []string{"01 02:00:00 Ulm", "01 03:30:01 Ulm", "01 04:00:00 Ulm"}; len(got) != 3 ||
			got[0] != want[0] || !strings.HasPrefix(got[1], "01 03:30:0") || got[2] != want[2] {
			t.Errorf("%q, want %q", got, want)
		}
		if _, err := e.ControlSchedule(t.Context(), "reports", "other", "pause"); !errors.Is(err, hocket.ErrNotFound) {
			t.Errorf("another schedule: %v", err)
		}
		if _, err := e.ControlSchedule(t.Context(), "none", "", "pause"); !errors.Is(err, hocket.ErrNotFound) {
			t.Errorf("a graph without schedules: %v", err)
		}
		if _, err := e.ControlSchedule(t.Context(), "reports", "", "stop"); err == nil ||
			!strings.Contains(err.Error(), `"stop"`) {
			t.Errorf("another word: %v", err)
		}
		end()
	})
}

// TestScheduleErrors checks that for an invalid schedule Register returns an error that names the
// schedule and the graph, and registers nothing.
func TestScheduleErrors(t *testing.T) {
	t.Parallel()
	e, err := hocket.Open(t.Context(), hocket.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	g := reports(t, func(context.Context, string) error { return nil })
	type list = []hocket.Schedule[report]
	for _, c := range []struct {
		schedules list
		want      string
	}{
		{list{{ID: "a", Schedule: "61 * * * *"}}, `schedule "a" of graph "reports": `},
		{list{{ID: "a"}}, "needs a schedule"},
		{list{{ID: "a", Schedule: "@daily", TimeZone: "Europe/Berlim"}}, "Europe/Berlim"},
		{list{{ID: "a b", Schedule: "@daily"}}, "an ID has letters"},
		{list{{ID: "a", Schedule: "@daily"}, {ID: "a", Schedule: "@hourly"}}, "another one has this ID"},
		{list{{ID: "a", Schedule: "@daily"}, {Schedule: "@hourly"}}, "of several schedules each needs an ID"},
		{list{{Schedule: "@daily", CatchUp: "some"}}, `CatchUp is "some"; use last, none or all`},
		{make(list, 101), "the limit is 100"},
	} {
		if err := hocket.Register(e, g, c.schedules...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if got, err := e.Schedules(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	type level struct{ Metres float64 }
	odd, err := graph.New[level]("odd").Start(graph.Do("n", func(context.Context, *level) error { return nil })).
		Compile()
	if err != nil {
		t.Fatal(err)
	}
	if err := hocket.Register(e, odd, hocket.Schedule[level]{Schedule: "@daily",
		State: level{math.NaN()}}); err == nil || !strings.Contains(err.Error(), "encode state") {
		t.Errorf("a state that JSON cannot hold: %v", err)
	}
}

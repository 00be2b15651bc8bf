package hocket_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"

	"github.com/hocket-run/hocket/documents"
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

// TestDocumentErrors checks that errors in documents and on start store nothing (D25).
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

// TestToolAnswers checks that the outcome of a tool reaches the model: an answer, a failure, a
// panic; and that the tool knows its caller (P12).
func TestToolAnswers(t *testing.T) {
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

// TestSharedOptions checks that options may be passed to several engines simultaneously.
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

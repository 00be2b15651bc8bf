package engine_test

import (
	"errors"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/workflow"
)

// TestValue_Normalized checks that inputs are normalized so that a fold and the live run produce
// the same bytes: white space and invalid UTF-8 are removed before anything else (D1).
func TestValue_Normalized(t *testing.T) {
	t.Parallel()
	q := enginetest.Question("q")
	tool := workflow.Node{ID: "t", Kind: workflow.KindTool, Tool: &workflow.ToolNode{Tool: "x"}}
	w := enginetest.New(t, enginetest.Graph(nodes(q, tool, "a"), "q -> t; t -> a"), nil)
	w.StartWith(event.RunCreated{Input: event.Value(`{ "in" : "<b>" }`)})
	w.Feed(engine.Answer{Value: event.Value(` { "a": "<i>&" } `)})
	if err := w.Try(engine.Answer{Wait: "w1", Value: event.Value(`{"a":"<i>&"}`)}); err != nil {
		t.Errorf("the same answer without blanks: %v", err)
	}
	if got := string(w.Pending[0].(*engine.CallTool).Arguments); got != `{"a":"<i>&"}` {
		t.Errorf("arguments %s", got)
	}
	w.Finish("t", &engine.ToolResult{Text: "x", Structured: event.Value("{\n\"html\": \"<p>\u2028\"}")})
	if got := w.Asked("a").Messages[0].Text.String(); got != "{\"html\":\"<p>\u2028\"}" {
		t.Errorf("prompt %q", got)
	}
	r := enginetest.Reply("bro\xffken")
	r.Message.ToolCalls = []chat.ToolCall{{ID: "\xfe", Name: "x\xff"}}
	w.Finish("a", r)
	w.Finish("a", enginetest.Returns("al\xffso"))
	if got, want := enginetest.Conv(w.Asked("a").Messages[1:]),
		"assistant: bro\ufffdken [x\ufffd() \ufffd]\ntool \ufffd: al\ufffdso\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	w.Finish("a", &engine.ModelResult{Failure: &event.Failure{Code: "se\xffrver", Message: "bo\xffom"}})
	if f := failure(t, w); f.Code != "se\ufffdrver" || f.Message != "bo\ufffdom" {
		t.Errorf("got %+v", f)
	}
}

// TestValue_InvalidJSON checks that input that is not JSON is rejected and changes nothing.
func TestValue_InvalidJSON(t *testing.T) {
	t.Parallel()
	w := enginetest.New(t, enginetest.Graph(nodes(enginetest.Question("q")), ""), nil)
	if err := w.Try(engine.Start{Created: event.RunCreated{Input: event.Value(`{`)}}); !errors.Is(err,
		engine.ErrInput) {
		t.Errorf("start: %v, want ErrInput", err)
	}
	w.Start("go")
	if err := w.Try(engine.Answer{Value: event.Value(`nonsense`)}); !errors.Is(err, waits.ErrAnswer) {
		t.Errorf("answer: %v, want ErrAnswer", err)
	}
	wantStatus(t, w, event.StatusPaused)
}

package llm_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/session/llm"
	"github.com/hocket-run/hocket/internal/session/sessiontest"
)

// TestCrash checks that model and tool calls answered before a crash are not paid for again, and
// that the session and its conversation are the same (ADR 12).
func TestCrash(t *testing.T) {
	t.Parallel()
	var (
		notes    sessiontest.Notes
		tools    int
		asked    int
		crash    = true
		crashed  = errors.New("the program died")
		ids      []string
		messages [][]string
	)
	b := &brain{}
	b.answer = func(r model.Request) (model.Reply, error) {
		asked++
		switch {
		case isSummaryRequest(r):
			return says("Much was said."), nil
		case r.LastText() == "look":
			return calls("1", "look", `{}`), nil
		case r.LastText() == "last" && crash:
			return model.Reply{}, crashed
		}
		return says("ok"), nil
	}
	cfg := llm.Config{Models: b, KeepGroups: 1,
		Tools: toolbox{"look": func(context.Context, llm.ToolCall) (llm.ToolResult, error) {
			tools++
			return llm.ToolResult{Text: "seen"}, nil
		}}}
	work := func(ctx context.Context) error {
		client, err := llm.New(cfg)
		if err != nil {
			return err
		}
		s, err := client.CreateSession(ctx, graph.SessionConfig{Key: "k", Model: "test/model", Tools: []string{"look"}})
		if err != nil {
			return err
		}
		ids = append(ids, s.ID())
		var said []string
		for _, m := range []string{"look", "two", "three", "summarize", "last"} {
			if m == "summarize" {
				if err := s.Summarize(ctx); err != nil {
					return err
				}
				continue
			}
			got, err := talk(ctx, s, m)
			if err != nil && !errors.Is(err, crashed) {
				return err
			}
			said = append(said, got)
		}
		messages = append(messages, said)
		return nil
	}
	notes.Run(t.Context(), t, work)
	if tools != 1 || asked != 6 { // look, its result, two, three, the summary, and the last call that failed
		t.Fatalf("%d tool calls, %d model calls before the crash", tools, asked)
	}
	crash = false
	notes.Run(t.Context(), t, work)
	if tools != 1 || asked != 7 {
		t.Errorf("%d tool calls and %d model calls in all, want 1 and 7: keys %q", tools, asked, notes.Keys())
	}
	if diff := cmp.Diff(messages[0][:3], messages[1][:3]); diff != "" || messages[1][3] != "text assistant: ok" ||
		ids[0] != ids[1] {
		t.Errorf("ids %q, last %q, the others, -before +after:\n%s", ids, messages[1][3], diff)
	}
	if last := b.asked[6].Messages; last[1].Text.String() != b.asked[5].Messages[1].Text.String() ||
		len(last) != len(b.asked[5].Messages) {
		t.Errorf("the conversation is another one: %+v", last)
	}
}

// TestOtherPrompt checks that an attempt with a different prompt does not receive the old answer.
func TestOtherPrompt(t *testing.T) {
	t.Parallel()
	var notes sessiontest.Notes
	b := &brain{answer: func(r model.Request) (model.Reply, error) { return says("about " + r.LastText()), nil }}
	client, err := llm.New(llm.Config{Models: b, Model: "test/model"})
	if err != nil {
		t.Fatal(err)
	}
	for _, prompt := range []string{"a", "b", "a"} {
		notes.Run(t.Context(), t, func(ctx context.Context) error {
			s, err := client.CreateSession(ctx, graph.SessionConfig{})
			if err != nil {
				return err
			}
			if got, err := talk(ctx, s, prompt); err != nil || got != "text assistant: about "+prompt {
				t.Errorf("%s: %q, %v", prompt, got, err)
			}
			return nil
		})
	}
	if len(b.asked) != 2 {
		t.Errorf("%d model calls, want 2", len(b.asked))
	}
}

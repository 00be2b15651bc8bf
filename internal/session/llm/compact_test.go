package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/session/llm"
)

const summaryWord = "SUMMARY"

// isSummaryRequest reports whether a request is for a summary; the agent's own requests have
// another system prompt.
func isSummaryRequest(r model.Request) bool {
	return strings.Contains(r.System, "Write a summary")
}

// TestLongSession runs a session of 200 turns with tools and a window that is far too small for it.
// It checks that after each compaction the task and the system prompt are present, calls have their
// results, the order is preserved and the last turns are unchanged (P41).
func TestLongSession(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keep := rapid.IntRange(1, 8).Draw(t, "keep")
		manual := rapid.IntRange(0, 40).Draw(t, "every")
		seed := rapid.Uint64().Draw(t, "seed")
		next := func(n int) int { seed = seed*6364136223846793005 + 1442695040888963407; return int(seed>>33) % n }

		const task = "Build the house. TASK"
		var (
			said    []string // every message of user, agent and tools, in order
			seen    int      // requests that were checked
			id      int
			todo    int // tool rounds left in this turn
			summing int
		)
		b := &brain{}
		b.answer = func(r model.Request) (model.Reply, error) {
			if isSummaryRequest(r) {
				summing++
				return says(fmt.Sprint(summaryWord, summing)), nil
			}
			seen++
			checkCallsAnswered(t, r.Messages)
			check(t, r, task, said, keep)
			tokens := int64(0)
			for _, m := range r.Messages {
				tokens += (m.Text.Len() + int64(len(m.ToolCalls)*20)) / 4
			}
			reply := says(fmt.Sprint("answer ", id, strings.Repeat(" word", next(40))))
			if todo > 0 {
				todo--
				reply.Message.ToolCalls = nil
				for range 1 + next(3) {
					id++
					reply.Message.ToolCalls = append(reply.Message.ToolCalls, chat.ToolCall{ID: fmt.Sprint("c", id),
						Name: "look", Arguments: json.RawMessage(fmt.Sprint(`{"n":`, id, `}`))})
				}
			}
			id++
			said = append(said, reply.Message.Text.String())
			return counted(reply, tokens, 10), nil
		}
		tools := toolbox{"look": func(_ context.Context, c llm.ToolCall) (llm.ToolResult, error) {
			text := "seen " + string(c.Arguments) + strings.Repeat(" stone", next(60))
			said = append(said, text)
			return llm.ToolResult{Text: text}, nil
		}}
		client, err := llm.New(llm.Config{Models: b, Tools: tools, Window: 3000, KeepGroups: keep})
		if err != nil {
			t.Fatal(err)
		}
		s, err := client.CreateSession(context.Background(),
			graph.SessionConfig{Model: "test/model", SystemPrompt: "SYSTEM", Tools: []string{"look"}})
		if err != nil {
			t.Fatal(err)
		}
		for turn := range 200 {
			message := task
			if turn > 0 {
				message = fmt.Sprint("turn ", turn)
			}
			said = append(said, message)
			todo = next(5)
			if _, err := talk(context.Background(), s, message); err != nil {
				t.Fatalf("turn %d: %v", turn, err)
			}
			if manual > 0 && turn%manual == manual-1 {
				if err := s.Summarize(context.Background()); err != nil {
					t.Fatalf("turn %d: summarize: %v", turn, err)
				}
			}
		}
		if summing == 0 || seen < 200 {
			t.Fatalf("%d compactions, %d requests: the test checks nothing", summing, seen)
		}
		if longest := longest(b.asked); longest > 400 {
			t.Fatalf("a request has %d messages: compaction does not bound the conversation", longest)
		}
	})
}

func longest(asked []model.Request) int {
	n := 0
	for _, r := range asked {
		n = max(n, len(r.Messages))
	}
	return n
}

// check compares a request with the whole conversation so far.
func check(t *rapid.T, r model.Request, task string, said []string, keep int) {
	if r.System != "SYSTEM" || len(r.Messages) == 0 || r.Messages[0].Text.String() != task {
		t.Fatalf("the task is lost: %q, %+v", r.System, r.Messages)
	}
	at, summaries := 0, 0
	for i, m := range r.Messages {
		if strings.Contains(m.Text.String(), summaryWord) {
			if summaries++; summaries > 1 || i != 1 {
				t.Fatalf("message %d is a summary, the %d.", i, summaries)
			}
			continue
		}
		found := slices.Index(said[at:], m.Text.String())
		if found < 0 {
			t.Fatalf("message %d (%q) is out of order or was never said", i, m.Text.String())
		}
		at += found + 1
	}
	// The very last group is always present unchanged: the user's message, or the results of the
	// last calls.
	if last := r.Messages[len(r.Messages)-1].Text.String(); last != said[len(said)-1] {
		t.Fatalf("the last message is %q, want %q", last, said[len(said)-1])
	}
	// The user's newest message is present, whatever came after it.
	newest := -1
	for i, text := range said {
		if text == task || strings.HasPrefix(text, "turn ") {
			newest = i
		}
	}
	if !slices.ContainsFunc(r.Messages, func(m chat.Message) bool { return m.Text.String() == said[newest] }) {
		t.Fatalf("the newest message %q is lost", said[newest])
	}
	// The last groups before it are present too, as far as they fit.
	same, bytes := 0, 0
	for same < len(r.Messages) && r.Messages[len(r.Messages)-1-same].Text.String() == said[len(said)-1-same] {
		bytes += int(r.Messages[len(r.Messages)-1-same].Text.Len())
		same++
	}
	if same < keep && bytes < 1500 && summaries > 0 {
		t.Fatalf("only the last %d messages stayed, %d groups should have", same, keep)
	}
	if summaries == 0 && len(r.Messages) != len(said) {
		t.Fatalf("%d messages of %d without a summary", len(r.Messages), len(said))
	}
}

// TestCompaction_RecentMessages checks that the last groups are kept unchanged, with or without
// calls, and that the summary follows the task.
func TestCompaction_RecentMessages(t *testing.T) {
	t.Parallel()
	b := replies(
		calls("1", "look", `{"n":1}`), says("one"), calls("2", "look", `{"n":2}`), says("two"), says("three"),
		says("It was about numbers."), says("four"),
	)
	s := open(t, llm.Config{Models: b, Tools: toolbox{"look": echo}, KeepGroups: 3},
		graph.SessionConfig{Tools: []string{"look"}})
	for _, m := range []string{"task", "second", "third"} {
		if _, err := talk(t.Context(), s, m); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Summarize(t.Context()); err != nil {
		t.Fatal(err)
	}
	// All remaining groups must be kept, so nothing can be removed.
	if err := s.Summarize(t.Context()); err != nil {
		t.Fatalf("a second time: %v", err)
	}
	request := b.asked[5]
	if !isSummaryRequest(request) || len(request.Tools) != 0 || !strings.Contains(request.Messages[0].Text.String(),
		`got {"n":1}`) {
		t.Errorf("request for a summary: %+v", request)
	}
	if _, err := talk(t.Context(), s, "fourth"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range b.asked[6].Messages {
		got = append(got, string(m.Role)+": "+m.Text.String())
	}
	want := []string{
		"user: task",
		"user: Summary of what happened since then; the original messages were removed:\n\nIt was about numbers.",
		"assistant: two", "user: third", "assistant: three", "user: fourth",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestThresholds checks that the conversation is compacted before the next message above 45 %,
// within the turn above 60 %, and never if the window's size is unknown (S2-60).
func TestThresholds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tokens int64
		window int
		within bool // the last turn has tools
		want   bool
	}{
		"45 % is not too full":             {450, 1000, false, false},
		"more is, between messages":        {451, 1000, false, true},
		"60 % is not too full in a turn":   {600, 1000, true, false},
		"more is":                          {601, 1000, true, true},
		"a window of unknown size is kept": {900_000, 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			summaries, big := 0, false
			b := &brain{}
			b.answer = func(r model.Request) (model.Reply, error) {
				switch {
				case isSummaryRequest(r):
					summaries++
					return says("All well."), nil
				case c.within && r.LastText() == "last":
					return counted(calls("1", "look", `{}`), c.tokens, 0), nil
				case big:
					return counted(says("ok"), c.tokens, 0), nil
				}
				return counted(says("ok"), 1, 0), nil
			}
			s := open(t, llm.Config{Models: b, Tools: toolbox{"look": echo}, Window: c.window, KeepGroups: 1},
				graph.SessionConfig{Tools: []string{"look"}})
			for i := range 10 {
				big = i == 9 && !c.within
				if _, err := talk(t.Context(), s, fmt.Sprint("message ", i)); err != nil {
					t.Fatal(err)
				}
			}
			if summaries != 0 {
				t.Fatalf("%d compactions too early", summaries)
			}
			if _, err := talk(t.Context(), s, "last"); err != nil {
				t.Fatal(err)
			}
			if (summaries > 0) != c.want {
				t.Errorf("%d compactions", summaries)
			}
		})
	}
}

// TestSubagentTokens checks that tokens used by an agent that a tool runs do not count for the
// parent (P41).
func TestSubagentTokens(t *testing.T) {
	t.Parallel()
	child := &brain{answer: func(model.Request) (model.Reply, error) { return counted(says("done"), 990, 5), nil }}
	summaries := 0
	n := 0
	parent := &brain{}
	parent.answer = func(r model.Request) (model.Reply, error) {
		if isSummaryRequest(r) {
			summaries++
		}
		if n++; n%2 == 1 {
			return counted(calls(fmt.Sprint(n), "agent", fmt.Sprint(`{"n":`, n, `}`)), 100, 5), nil
		}
		return counted(says("ok"), 100, 5), nil
	}
	inner := open(t, llm.Config{Models: child, Window: 1000}, graph.SessionConfig{})
	s := open(t, llm.Config{Models: parent, Window: 1000, KeepGroups: 1,
		Tools: toolbox{"agent": func(ctx context.Context, _ llm.ToolCall) (llm.ToolResult, error) {
			text, err := talk(ctx, inner, "work")
			return llm.ToolResult{Text: text}, err
		}}}, graph.SessionConfig{Tools: []string{"agent"}})
	for range 10 {
		if _, err := talk(t.Context(), s, "go"); err != nil {
			t.Fatal(err)
		}
	}
	if u, err := s.ContextUsage(t.Context()); err != nil ||
		u != (graph.SessionUsage{InputTokens: 100, OutputTokens: 5, MaxTokens: 1000}) || summaries != 0 {
		t.Errorf("%+v, %v, %d compactions", u, err, summaries)
	}
}

// TestUsage checks that the usage is that of the last reply, and that unknown usage is not reported
// (S2-69, S2-70).
func TestUsage(t *testing.T) {
	t.Parallel()
	b := replies(counted(says("a"), 20, 3), says("uncounted"), counted(says("c"), 50, 3), says("Short."),
		counted(says("d"), 30, 1))
	s := open(t, llm.Config{Models: b, KeepGroups: 1}, graph.SessionConfig{Model: "openai/gpt-4o-mini"})
	usage := func(want graph.SessionUsage, fails error) {
		t.Helper()
		got, err := s.ContextUsage(t.Context())
		if got != want || !errors.Is(err, fails) || (err == nil) != (fails == nil) {
			t.Errorf("got %+v, %v, want %+v, %v", got, err, want, fails)
		}
	}
	say := func() {
		t.Helper()
		if _, err := talk(t.Context(), s, "x"); err != nil {
			t.Fatal(err)
		}
	}
	usage(graph.SessionUsage{MaxTokens: 128_000}, nil)
	say()
	usage(graph.SessionUsage{InputTokens: 20, OutputTokens: 3, MaxTokens: 128_000}, nil)
	say()
	usage(graph.SessionUsage{MaxTokens: 128_000}, graph.ErrUnknownUsage)
	say()
	if err := s.Summarize(t.Context()); err != nil {
		t.Fatal(err)
	}
	usage(graph.SessionUsage{MaxTokens: 128_000}, graph.ErrUnknownUsage)
	say()
	usage(graph.SessionUsage{InputTokens: 30, OutputTokens: 1, MaxTokens: 128_000}, nil)
}

// TestWindows checks that a model missing from the table has no window size.
func TestWindows(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]int{
		"openai/gpt-5": 400_000, "gpt-5-mini": 400_000, "openai/gpt-5-chat-latest": 128_000, "openai/gpt-5.9": 0,
		"openai/gpt-50":              0,
		"claude-sonnet-4-5-20250929": 200_000, "google/gemini-2.5-pro": 1_048_576, "local/gpt-5": 0, "mystery": 0,
	} {
		s := open(t, llm.Config{Models: replies()}, graph.SessionConfig{Model: ref})
		if u, err := s.ContextUsage(t.Context()); err != nil || u.MaxTokens != want {
			t.Errorf("%s: %+v, %v, want %d", ref, u, err, want)
		}
	}
}

// TestSummaryFails checks that a failed summary leaves the conversation unchanged, and that a
// failed automatic compaction does not stop a turn that has room left.
func TestSummaryFails(t *testing.T) {
	t.Parallel()
	b := &brain{}
	b.answer = func(r model.Request) (model.Reply, error) {
		if isSummaryRequest(r) {
			return says("  "), nil
		}
		return counted(says("ok"), 500, 0), nil
	}
	s := open(t, llm.Config{Models: b, Window: 1000, KeepGroups: 1}, graph.SessionConfig{})
	for range 6 {
		if _, err := talk(t.Context(), s, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Summarize(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "the model returned an empty summary") {
		t.Errorf("got %v", err)
	}
	if n := len(b.asked[len(b.asked)-2].Messages); n < 9 {
		t.Errorf("%d messages are left", n)
	}
}

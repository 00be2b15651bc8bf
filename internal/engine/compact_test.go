package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// runRounds runs an agent for n rounds of one tool call each, with results of 300 bytes, and
// returns how often a summary was requested. With crash the process dies before each result.
func runRounds(t *testing.T, w *enginetest.World, n int, crash bool) (summaries int) {
	t.Helper()
	for i := 1; i <= n; {
		if c := w.Asked("a"); c.Compaction {
			summaries++
			if c.Tools != nil || len(c.Messages) != 1 || !strings.Contains(c.Messages[0].Text.String(), "[tool x]") ||
				!strings.Contains(c.System, "Write a summary") {
				t.Fatalf("asks for a summary by %q %v", c.System, c.Messages)
			}
			w.Finish("a", enginetest.Say("sum %d", summaries))
		} else {
			if len(c.Messages) > 24 {
				t.Fatalf("call %d has %d messages", i, len(c.Messages))
			}
			checkConversation(t, c.Messages)
			w.Finish("a", uncounted(enginetest.Asks(enginetest.Call(fmt.Sprint(i), "x", fmt.Sprintf(`{"n":%d}`, i)))))
			w.Finish("tool x", enginetest.Returns(strings.Repeat("r", 300)))
			i++
		}
		if crash {
			w.Crash()
		}
	}
	return summaries
}

// uncounted is a reply whose provider counts no tokens, so that the engine estimates them.
func uncounted(r *engine.ModelResult) *engine.ModelResult {
	r.Usage = nil
	return r
}

// checkConversation checks that each reply precedes all results of its calls, and that the task is
// present.
func checkConversation(t *testing.T, msgs []chat.Message) {
	t.Helper()
	if msgs[0].Role != chat.RoleUser || msgs[0].Text.String() != "go" {
		t.Fatalf("the task is gone: %v", msgs[0])
	}
	open := map[string]bool{}
	for _, m := range msgs {
		if m.Role == chat.RoleTool {
			if !open[m.ToolCallID] {
				t.Fatalf("a result without its call:\n%s", enginetest.Conv(msgs))
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			t.Fatalf("calls without results:\n%s", enginetest.Conv(msgs))
		}
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
	}
}

// TestCompaction checks that a conversation that reaches its agent's token threshold is shortened
// before the next call: the task, the summary and the last groups stay. The outcome is
// the same with a crash before each result, and no summary is requested twice.
func TestCompaction(t *testing.T) {
	t.Parallel()
	agent := workflow.Agent{Model: "m", MaxTurns: 200, NoProgress: 100,
		Compaction: &workflow.Compaction{Tokens: 1000, Keep: 2}}
	w := solo(t, agent, nil)
	n := runRounds(t, w, 60, false)
	crashed := solo(t, agent, nil)
	if again := runRounds(t, crashed, 60, true); n < 5 || again != n {
		t.Errorf("%d summaries, %d with crashes", n, again)
	}
	w.Finish("a", enginetest.Say("done"))
	wantStatus(t, w, event.StatusCompleted)
	calls, told := 0, 0
	for _, e := range w.Events {
		switch d := e.Data.(type) {
		case *event.ModelCalled:
			if d.Compaction != nil {
				calls++
			}
		case *event.AgentCompacted:
			told++
			if d.Error != nil || d.After >= d.Before || len(d.Removed) != 64 || len(d.Summary) != 64 ||
				len(d.Left) == 0 {
				t.Errorf("event %+v", d)
			}
		}
	}
	if calls != n || told != n {
		t.Errorf("%d summaries, %d calls, %d events", n, calls, told)
	}
}

// TestCompactionPins checks that pinned results stay, in whole groups, and that a summary of a
// summary replaces the earlier one.
func TestCompactionPins(t *testing.T) {
	t.Parallel()
	w := solo(t, workflow.Agent{Model: "m", MaxTurns: 200, NoProgress: 100,
		Compaction: &workflow.Compaction{Tokens: 1000, Keep: 1, Pin: []string{"plan"}}}, nil)
	w.Finish("a", enginetest.Asks(enginetest.Call("p", "plan", `{}`), enginetest.Call("q", "x", `{}`)))
	w.Finish("tool plan", enginetest.Returns("THE PLAN"))
	w.Finish("tool x", enginetest.Returns("beside it"))
	runRounds(t, w, 40, false)
	c := w.Asked("a")
	text := enginetest.Conv(c.Messages)
	if !strings.Contains(text, "THE PLAN") || !strings.Contains(text, "beside it") ||
		strings.Count(text, "Summary of what happened") != 1 {
		t.Errorf("the conversation is\n%s", text)
	}
}

// TestCompactionFails checks that without a summary the conversation stays whole, that the event
// says why, and that the next summary is requested after four more groups.
func TestCompactionFails(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]*engine.ModelResult{"refused": {Stop: "refusal"}, "empty": enginetest.Say(" "),
		"failed": enginetest.Fails("content_filter", "no")} {
		w := solo(t, workflow.Agent{Model: "m", MaxTurns: 200, NoProgress: 100,
			Compaction: &workflow.Compaction{Tokens: 1000, Keep: 1}}, nil)
		asked, rounds := []int{}, 0
		for rounds < 20 {
			if c := w.Asked("a"); c.Compaction {
				asked = append(asked, rounds)
				w.Finish("a", answer)
				w.Crash()
				continue
			}
			rounds++
			w.Finish("a",
				uncounted(enginetest.Asks(enginetest.Call(fmt.Sprint(rounds), "x", fmt.Sprintf(`{"n":%d}`, rounds)))))
			w.Finish("tool x", enginetest.Returns(strings.Repeat("r", 300)))
		}
		if len(asked) < 3 || asked[1]-asked[0] != 4 || asked[2]-asked[1] != 4 {
			t.Errorf("%s: asked after %v rounds", name, asked)
		}
		if c := w.Asked("a"); len(c.Messages) != 41 && !c.Compaction {
			t.Errorf("%s: the conversation has %d messages", name, len(c.Messages))
		}
	}
}

// TestCompactionAfterOverflow checks that a conversation that the provider rejects is shortened
// once and the call repeated; if that does not help, fallbacks and the step decide.
func TestCompactionAfterOverflow(t *testing.T) {
	t.Parallel()
	w := solo(t, workflow.Agent{Model: "m", Fallbacks: []string{"large"}, MaxTurns: 200, NoProgress: 100,
		Compaction: &workflow.Compaction{Keep: 1}}, nil)
	if n := runRounds(t, w, 6, false); n != 0 {
		t.Fatalf("%d summaries without a known window", n)
	}
	w.Finish("a", enginetest.Fails("context_length_exceeded", "too long"))
	w.Crash()
	if c := w.Asked("a"); !c.Compaction {
		t.Fatal("no summary is asked for")
	}
	w.Finish("a", enginetest.Say("short"))
	w.Crash()
	if c := w.Asked("a"); c.Compaction || c.Model != "m" || len(c.Messages) != 4 {
		t.Fatalf("asks %s with %s", c.Model, enginetest.Conv(c.Messages))
	}
	w.Finish("a", enginetest.Fails("context_length_exceeded", "still too long"))
	if c := w.Asked("a"); c.Compaction || c.Model != "large" {
		t.Fatalf("asks %s, for a summary: %v", c.Model, c.Compaction)
	}
	w.Finish("a", enginetest.Say("done"))
	wantStatus(t, w, event.StatusCompleted)
}

// TestCompaction_TokenCounts checks that the provider's token counts are used if available, and
// that the window is the model's.
func TestCompaction_TokenCounts(t *testing.T) {
	t.Parallel()
	used := func(r *engine.ModelResult, in int64) *engine.ModelResult {
		r.Usage = &chat.Usage{InputTokens: in, OutputTokens: 1}
		return r
	}
	for in, want := range map[int64]bool{700: false, 790: true} {
		w := enginetest.New(t, enginetest.Graph(nodes(enginetest.Agent("a")), "",
			workflow.Agent{ID: "a", Model: "m", NoProgress: 100, Compaction: &workflow.Compaction{Keep: 1}}), nil)
		w.StartWith(event.RunCreated{Input: enginetest.Text("go"), Prices: []event.Price{{Model: "m", Window: 1000}}})
		for i := range 6 {
			n := int64(10)
			if i == 5 {
				n = in
			}
			w.Finish("a", used(enginetest.Asks(enginetest.Call(fmt.Sprint(i), "x", fmt.Sprintf(`{"n":%d}`, i))), n))
			w.Finish("tool x", enginetest.Returns("r"))
		}
		if got := w.Asked("a").Compaction; got != want {
			t.Errorf("%d tokens of 1000: a summary is asked for: %v", in, got)
		}
	}
}

// TestCompactionGrowth checks that the cost of a conversation that is shortened grows with its
// turns: the journal, and what its model is sent, are at 2n turns at most slightly more than
// twice those at n. If the conversation stays whole, the model is sent about four times as much.
func TestCompactionGrowth(t *testing.T) {
	t.Parallel()
	cost := func(n int, c *workflow.Compaction) (journal, sent int) {
		w := solo(t, workflow.Agent{Model: "m", MaxTurns: 1000, NoProgress: 1000, Compaction: c}, nil)
		for i := 0; i < n; {
			call := w.Asked("a")
			for _, m := range call.Messages {
				sent += int(m.Text.Len())
			}
			if call.Compaction {
				w.Finish("a", enginetest.Say("the sum"))
				continue
			}
			w.Finish("a", uncounted(enginetest.Asks(enginetest.Call(fmt.Sprint(i), "x", fmt.Sprintf(`{"n":%d}`, i)))))
			w.Finish("tool x", enginetest.Returns(strings.Repeat("r", 300)))
			i++
		}
		for _, e := range w.Events {
			raw, err := json.Marshal(e.Data)
			if err != nil {
				t.Fatal(err)
			}
			journal += len(raw)
		}
		return journal, sent
	}
	short := &workflow.Compaction{Tokens: 1000, Keep: 2}
	journal, sent := cost(40, short)
	journal2, sent2 := cost(80, short)
	_, whole := cost(40, nil)
	_, whole2 := cost(80, nil)
	t.Logf("n = 40 and 80: journal %d and %d bytes, sent %d and %d; whole %d and %d", journal, journal2, sent, sent2,
		whole, whole2)
	if journal2*10 > journal*23 || sent2*10 > sent*23 {
		t.Errorf("the journal grows from %d to %d bytes, what is sent from %d to %d", journal, journal2, sent, sent2)
	}
	if whole2 < 3*whole {
		t.Errorf("a whole conversation is sent with %d and %d bytes: the test measures nothing", whole, whole2)
	}
}

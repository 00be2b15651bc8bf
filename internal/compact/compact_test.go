package compact_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/compact"
	_ "github.com/hocket-run/hocket/internal/randtest"
)

// talk builds a conversation from words: `u` is a user message, `s` a summary, `a` a text reply,
// `a:x,y` a reply with calls of these tools, `t` the result of the next open call.
func talk(words ...string) (msgs []chat.Message) {
	var open []chat.ToolCall
	for i, w := range words {
		kind, tools, _ := strings.Cut(w, ":")
		m := chat.Message{Role: chat.RoleUser, Text: chat.NewText(fmt.Sprintf("%s%d", kind, i))}
		switch kind {
		case "s":
			m = compact.Summary(fmt.Sprint("s", i))
		case "a":
			m.Role = chat.RoleAssistant
			for _, name := range strings.FieldsFunc(tools, func(r rune) bool { return r == ',' }) {
				c := chat.ToolCall{ID: fmt.Sprintf("c%d%s", i, name), Name: name, Arguments: []byte(`{}`)}
				m.ToolCalls, open = append(m.ToolCalls, c), append(open, c)
			}
		case "t":
			m.Role, m.ToolCallID, m.ToolName, open = chat.RoleTool, open[0].ID, open[0].Name, open[1:]
		}
		msgs = append(msgs, m)
	}
	return msgs
}

// TestSplit checks X-85: the task, the newest user message, calls without results, pinned results
// and the last groups are kept, and replies are not separated from their results.
func TestSplit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		words string
		o     compact.Options
		want  []compact.Range
		fresh int
	}{
		"nothing":             {"", compact.Options{}, nil, 0},
		"the task alone":      {"u", compact.Options{}, nil, 0},
		"replies go":          {"u a a a", compact.Options{}, []compact.Range{{From: 1, To: 4}}, 3},
		"the last stay":       {"u a a a", compact.Options{Keep: 2}, []compact.Range{{From: 1, To: 2}}, 1},
		"more than there are": {"u a a", compact.Options{Keep: 9}, nil, 0},
		"newest of the user": {"u a u a u a", compact.Options{}, []compact.Range{{From: 1, To: 4}, {From: 5, To: 6}},
			4},
		"results with replies": {"u a:x,y t t a:x t a", compact.Options{Keep: 2}, []compact.Range{{From: 1, To: 4}}, 1},
		"open calls":           {"u a:x a", compact.Options{}, []compact.Range{{From: 2, To: 3}}, 1},
		"half answered":        {"u a:x,y t a", compact.Options{}, []compact.Range{{From: 3, To: 4}}, 1},
		"pinned": {"u a a:plan,x t t a", compact.Options{Pin: []string{"plan"}},
			[]compact.Range{{From: 1, To: 2}, {From: 5, To: 6}}, 2},
		"a summary goes":     {"u s a a u", compact.Options{}, []compact.Range{{From: 1, To: 4}}, 2},
		"a summary, no task": {"s a u", compact.Options{}, []compact.Range{{From: 0, To: 2}}, 1},
	} {
		left, fresh := compact.Split(talk(strings.Fields(tc.words)...), tc.o)
		if d := cmp.Diff(tc.want, left); d != "" || fresh != tc.fresh {
			t.Errorf("%s: fresh %d, want %d\n%s", name, fresh, tc.fresh, d)
		}
	}
	long := talk("u", "a", "a", "a")
	long[2].Text = chat.NewText(strings.Repeat("x", 1000))
	if left, _ := compact.Split(long, compact.Options{Keep: 3, MaxTail: 100}); !slices.Equal(left,
		[]compact.Range{{From: 1, To: 3}}) {
		t.Errorf("a tail above MaxTail stays: %v", left)
	}
	long[3].Text = chat.NewText(strings.Repeat("x", 1000))
	if left, _ := compact.Split(long, compact.Options{Keep: 3, MaxTail: 100}); !slices.Equal(left,
		[]compact.Range{{From: 1, To: 3}}) {
		t.Errorf("the very last group goes: %v", left)
	}
}

// TestSplitAndReplace checks for random conversations: the ranges that Split returns
// can be removed; the remaining messages keep their order, replies keep their results, and the
// summary comes after the first group. Nothing that Options name is lost.
func TestSplitAndReplace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words, open := []string{"u"}, 0
		for range rapid.IntRange(0, 25).Draw(t, "length") {
			w := rapid.SampledFrom([]string{"u", "s", "a", "a:x", "a:plan", "a:x,plan", "t", "t"}).Draw(t, "word")
			switch {
			case w == "t" && open == 0, w != "t" && open > 0:
				continue
			case w == "t":
				open--
			default:
				open = strings.Count(w, "x") + strings.Count(w, "plan")
			}
			words = append(words, w)
		}
		msgs := talk(words...)
		o := compact.Options{Keep: rapid.IntRange(0, 5).Draw(t, "keep"),
			Pin: rapid.SampledFrom([][]string{nil, {"plan"}}).Draw(t, "pin")}
		left, fresh := compact.Split(msgs, o)
		if len(left) == 0 {
			if fresh != 0 {
				t.Fatalf("nothing goes, of it %d groups", fresh)
			}
			return
		}
		if why := compact.Check(msgs, left); why != "" {
			t.Fatalf("%v of %v: %s", left, words, why)
		}
		before := slices.Clone(msgs)
		out := compact.Replace(msgs, left, compact.Summary("new"))
		if d := cmp.Diff(before, msgs, cmp.Comparer(same)); d != "" {
			t.Fatalf("Replace changed what it was given\n%s", d)
		}
		gone := 0
		for _, r := range left {
			gone += r.To - r.From
			for _, m := range msgs[r.From:r.To] {
				for _, c := range m.ToolCalls {
					if slices.Contains(o.Pin, c.Name) {
						t.Fatalf("the pinned call %s went", c.ID)
					}
				}
			}
		}
		if len(out) != len(msgs)-gone+1 || !same(out[0], msgs[0]) || !compact.IsSummary(&out[1]) &&
			!slices.ContainsFunc(out[:len(out)-1], func(m chat.Message) bool {
				return strings.Contains(m.Text.String(), "new")
			}) {
			t.Fatalf("%d messages of %d, %d gone", len(out), len(msgs), gone)
		}
		calls := map[string]bool{}
		for _, m := range out {
			for _, c := range m.ToolCalls {
				calls[c.ID] = true
			}
			if m.Role == chat.RoleTool && !calls[m.ToolCallID] {
				t.Fatalf("the result of %s lost its call", m.ToolCallID)
			}
		}
		if open, was := compact.Unanswered(out), compact.Unanswered(msgs); len(was) != 0 && len(open) != len(was) {
			t.Fatalf("%d calls without results of %d", len(open), len(was))
		}
	})
}

func same(a, b chat.Message) bool {
	return a.Role == b.Role && a.Text.String() == b.Text.String() && a.ToolCallID == b.ToolCallID &&
		len(a.ToolCalls) == len(b.ToolCalls)
}

// TestCheck checks that ranges from a journal that cannot be removed are rejected with the reason.
func TestCheck(t *testing.T) {
	t.Parallel()
	msgs := talk("u", "a:x,y", "t", "t", "a", "a")
	for want, left := range map[string][]compact.Range{
		"":                                 {{From: 1, To: 4}, {From: 5, To: 6}},
		"nothing is removed":               nil,
		"messages 1 to 3 cut a call":       {{From: 1, To: 3}},
		"messages 2 to 5 cut a call":       {{From: 2, To: 5}},
		"messages 4 to 4 are no part":      {{From: 4, To: 4}},
		"messages 5 to 7 are no part":      {{From: 5, To: 7}},
		"messages 4 to 5 are no part":      {{From: 1, To: 4}, {From: 4, To: 5}},
		"messages 1 to 4 are no part":      {{From: 4, To: 5}, {From: 1, To: 4}},
		"messages -1 to 1 are no part":     {{From: -1, To: 1}},
		"messages 5 to 4 are no part of t": {{From: 5, To: 4}},
	} {
		if got := compact.Check(msgs, left); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%v: %q, want %q", left, got, want)
		}
	}
}

// TestTranscript checks X-84: the request for a summary contains the task, the speakers, calls and
// failures, and the beginnings of long messages, cut between characters.
func TestTranscript(t *testing.T) {
	t.Parallel()
	msgs := talk("u", "s", "a:x", "t", "a", "u")
	msgs[3].IsError = true
	msgs[4].Text = chat.NewText(strings.Repeat("ä", 5000))
	got := compact.Transcript(msgs, []compact.Range{{From: 1, To: 5}}).Text.String()
	for _, want := range []string{"stays in the agent's memory:\n\nu0\n", "[earlier summary]\n",
		"[assistant calls x]\n{}", "[tool x failed]\nt3", "… (1808 bytes more)"} {
		if !strings.Contains(got, want) {
			t.Errorf("the transcript lacks %q:\n%.400s", want, got)
		}
	}
	if !utf8.ValidString(got) || strings.Contains(got, "u5") {
		t.Error("the transcript cuts a letter, or shows what stays")
	}
	if whole := compact.Transcript(msgs, []compact.Range{{From: 0, To: 2}}).Text.String(); strings.Contains(whole,
		"memory") {
		t.Errorf("the task goes and is said to stay: %s", whole)
	}
}

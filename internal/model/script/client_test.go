package script_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/model/script"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func parse(t testing.TB, text string) *script.Script {
	t.Helper()
	s, diags := script.Parse("replies.yaml", []byte(text))
	if len(diags) > 0 {
		t.Fatalf("parse: %v", diags)
	}
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("replies:\n")
	add := func(contains, rest string) {
		fmt.Fprintf(&b, "- {contains: %q, times: always, %s}\n", contains, rest)
	}
	const call = `{name: get_weather, arguments: {city: Paris, days: 3}}`
	const usage = `usage: {inputTokens: 120, outputTokens: 30, cachedTokens: 100}`
	add(modeltest.PromptText, fmt.Sprintf("text: %q, %s", modeltest.ReplyText, usage))
	add(modeltest.PromptReasoning, fmt.Sprintf("text: %q, reasoning: %q", modeltest.ReplyText,
		modeltest.ReplyReasoning))
	add(modeltest.PromptTool, `text: Let me look., toolCalls: [`+call+`]`)
	add(modeltest.PromptTwoTools, `toolCalls: [`+call+`, {name: get_time}]`)
	add(modeltest.PromptBadTool, `toolCalls: [{name: get_weather, arguments: '{"city": Par'}]`)
	add(modeltest.ToolResult, fmt.Sprintf("text: %q", modeltest.ReplyToolDone))
	add("no clock here", fmt.Sprintf("text: %q", modeltest.ReplyToolDone))
	add("not JSON", fmt.Sprintf("text: %q", modeltest.ReplyToolDone))
	add(modeltest.PromptSchema, "json: "+modeltest.ReplySchema)
	add(modeltest.PromptLength, "text: cut by, stopReason: length")
	add(modeltest.PromptEmpty, `text: ""`)
	add(modeltest.PromptHang, "text: late, delayMs: 3600000")
	add(modeltest.PromptFiltered, "error: {code: content_filter}, usage: {inputTokens: 120, outputTokens: 5}")
	add(modeltest.PromptLate, "error: {code: overloaded}")
	for _, k := range model.ErrorKinds() {
		retry := ""
		if k == model.KindRateLimit {
			retry = fmt.Sprintf(", retryAfterMs: %d", modeltest.RetryAfter.Milliseconds())
		}
		add(modeltest.ErrorPrompt(k), fmt.Sprintf("error: {code: %s, message: %q%s}", k, modeltest.ErrorText(k), retry))
	}
	const noNetwork = "a script has no connection that could break"
	modeltest.Run(t, modeltest.Harness{
		Client: script.New(parse(t, b.String()), nil), Model: "any",
		Skip: map[string]string{
			"drop": noNetwork, "cut": noNetwork, "end": noNetwork, "malformed": noNetwork, "status": "no HTTP",
			"search": "a script answers what it holds",
		},
	})
}

// ask makes a call and returns the outcome on one line.
func ask(t *testing.T, c model.Client, agent, node, last string) string {
	t.Helper()
	reply, err := c.Call(t.Context(), model.Request{Agent: agent, Node: node,
		Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText(last)}}}, nil)
	if err != nil {
		var failed *model.Error
		if !errors.As(err, &failed) {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d %s", failed.Source, failed.Kind)
	}
	return fmt.Sprintf("%d %s", reply.Source, reply.Message.Text.String())
}

const order = `replies:
- {agent: A, contains: red, text: red}
- {agent: A, text: one}
- {agent: A, text: two, times: 2}
- {agent: n7, text: node}
- {error: {code: server}}
- {agent: B, text: b, times: always}
`

// TestScript_EntryOrder checks that the first match in file order is used, and each entry once, or
// as often as it specifies.
func TestScript_EntryOrder(t *testing.T) {
	t.Parallel()
	c := script.New(parse(t, order), nil)
	for i, step := range []struct{ agent, node, last, want string }{
		{"A", "n1", "blue", "2 one"},
		{"A", "n1", "the red one", "1 red"},
		{"A", "n1", "the red one", "3 two"},
		{"X", "outer/n7", "", "4 node"},
		{"A", "n1", "", "3 two"},
		{"B", "n2", "", "5 server"},
		{"A", "n1", "red", "0 no_reply"},
		{"B", "n2", "", "6 b"},
		{"B", "n2", "", "6 b"},
		{"Bb", "n2", "", "0 no_reply"},
	} {
		if got := ask(t, c, step.agent, step.node, step.last); got != step.want {
			t.Errorf("step %d: got %q; want %q", i, got, step.want)
		}
	}
	if got := c.Unused(); len(got) > 0 {
		t.Errorf("got unused %v; want none", got)
	}
}

// TestResume checks D19: used replies are derived from what was recorded. Whatever prefix of the
// calls is recorded, the remaining calls get the same replies.
func TestResume(t *testing.T) {
	t.Parallel()
	calls := []struct{ agent, node, last string }{
		{"A", "n1", "blue"}, {"A", "n1", "the red one"}, {"A", "n1", "x"}, {"X", "a/n7", ""}, {"A", "n1", ""},
		{"B", "n2", ""}, {"A", "n1", "x"}, {"B", "n2", ""},
	}
	s := parse(t, order)
	whole := script.New(s, nil)
	var want []string
	for _, c := range calls {
		want = append(want, ask(t, whole, c.agent, c.node, c.last))
	}
	for n := range len(calls) + 1 {
		var used []int
		for _, w := range want[:n] {
			var source int
			fmt.Sscan(w, &source)
			used = append(used, source)
		}
		slices.Reverse(used) // their order is irrelevant
		rest := script.New(s, append(used, 0, -3, 99))
		for i, c := range calls[n:] {
			if got := ask(t, rest, c.agent, c.node, c.last); got != want[n+i] {
				t.Errorf("after %d calls, call %d: got %q; want %q", n, n+i, got, want[n+i])
			}
		}
	}
}

// TestCallIDs_OtherScript checks that ids of tool calls differ from those in the conversation,
// whose start another script may have answered.
func TestCallIDs_OtherScript(t *testing.T) {
	t.Parallel()
	c := script.New(parse(t, "replies: [{toolCalls: [{name: a}, {name: b}]}]\n"), nil)
	reply, err := c.Call(t.Context(), model.Request{Agent: "W", Messages: []chat.Message{
		{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "call_1_1_1"}, {ID: "call_1_1_1_2"}}},
		{Role: chat.RoleTool, ToolCallID: "call_1_1_1", Text: chat.NewText("x")},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, call := range reply.Message.ToolCalls {
		ids = append(ids, call.ID)
	}
	if d := cmp.Diff([]string{"call_1_1_1_3", "call_1_1_2"}, ids); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// TestNoReply checks that a call without an entry names the agent, and what entries there were.
func TestNoReply(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("wörd ", 100)
	for name, tc := range map[string]struct{ replies, agent, node, last, want string }{
		"none": {"replies: []\n", "Writer", "n1", "hi\n there",
			`the reply script has no reply for agent "Writer" at node "n1": no entry matches (last message: ` +
				`"hi there")`},
		"node only": {"replies: []\n", "", "n1", "",
			`the reply script has no reply for agent "n1": no entry matches (last message: "")`},
		"misspelt": {"replies: [{agent: Writr, text: x}, {agent: Writr, text: y}, {agent: B, text: z}]\n", "Writer",
			"", "", `the reply script has no reply for agent "Writer": no entry matches; there are entries for ` +
				`"Writr", "B" (last message: "")`},
		"many": {
			"replies: [{agent: A, text: x}, {agent: B, text: x}, {agent: C, text: x}, {agent: D, text: x}, {agent: " +
				"E, text: x}, {agent: F, text: x}]\n", "W", "", "",
			`the reply script has no reply for agent "W": no entry matches; there are entries for "A", "B", "C", ` +
				`"D", "E" and others (last message: "")`,
		},
		"other": {"replies: [{agent: Writer, contains: zzz, text: x}]\n", "Writer", "", "hi",
			`the reply script has no reply for agent "Writer": 1 entries match, 0 of them are used, and the others ` +
				`need another message (last message: "hi")`},
		"long": {"replies: []\n", "W", "", long, `the reply script has no reply for agent "W": no entry matches ` +
			`(last message: "` + string([]rune(long)[:120]) + `…")`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := script.New(parse(t, tc.replies), nil).Call(t.Context(), model.Request{
				Agent: tc.agent, Node: tc.node,
				Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText(tc.last)}},
			}, nil)
			var failed *model.Error
			if !errors.As(err, &failed) || failed.Kind != model.KindNoReply || failed.Source != 0 {
				t.Fatalf("got %v; want no_reply", err)
			}
			if d := cmp.Diff(failed.Message, tc.want); d != "" {
				t.Errorf("-got +want\n%s", d)
			}
		})
	}
	c := script.New(parse(t, "replies: [{agent: W, text: x}]\n"), nil)
	ask(t, c, "W", "", "")
	if _, err := c.Call(t.Context(), model.Request{Agent: "W"}, nil); err == nil ||
		!strings.Contains(err.Error(), "all 1 matching entries are used") {
		t.Errorf("got %v", err)
	}
}

// TestCallIDs checks that ids of tool calls differ between uses of an entry and between entries,
// also after resume.
func TestCallIDs(t *testing.T) {
	t.Parallel()
	s := parse(t, "replies:\n- {agent: A, times: 2, toolCalls: [{name: f}, {name: g}]}\n- {toolCalls: [{name: f}, "+
		"{id: own, name: g}]}\n")
	c := script.New(s, nil)
	var got []string
	for range 3 {
		reply, err := c.Call(t.Context(), model.Request{Agent: "A"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range reply.Message.ToolCalls {
			got = append(got, call.ID)
		}
	}
	want := []string{"call_1_1_1", "call_1_1_2", "call_1_2_1", "call_1_2_2", "call_2_1_1", "own"}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("-got +want\n%s", d)
	}
	reply, err := script.New(s, []int{1}).Call(t.Context(), model.Request{Agent: "A"}, nil)
	if err != nil || reply.Message.ToolCalls[0].ID != "call_1_2_1" {
		t.Errorf("got %+v, %v", reply.Message.ToolCalls, err)
	}
}

// TestConcurrentUse checks that with many concurrent calls every entry is used exactly once.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	const n = 200
	var b strings.Builder
	b.WriteString("replies:\n")
	for i := range n {
		fmt.Fprintf(&b, "- {text: r%d}\n", i)
	}
	c := script.New(parse(t, b.String()), nil)
	var mu sync.Mutex
	seen := map[string]int{}
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			reply, err := c.Call(t.Context(), model.Request{}, nil)
			mu.Lock()
			defer mu.Unlock()
			seen[fmt.Sprint(reply.Message.Text.String(), err)]++
		})
	}
	wg.Wait()
	if len(seen) != n {
		t.Errorf("got %d different replies; want %d", len(seen), n)
	}
}

// TestDelay checks that a delay is waited for in full; if the context ends first, the wait ends,
// and the entry counts as used (see model.Interrupted).
func TestDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := parse(t, "replies:\n- {text: slow, delayMs: 5000}\n- {text: slow too, delayMs: 5000}\n- {text: fast}\n")
		c := script.New(s, nil)
		begin := time.Now()
		if got := ask(t, c, "", "", ""); got != "1 slow" || time.Since(begin) != 5*time.Second {
			t.Errorf("got %q after %s", got, time.Since(begin))
		}
		_, err := model.WithTimeouts(c, time.Second, 0).Call(t.Context(), model.Request{}, nil)
		var failed *model.Error
		if !errors.As(err, &failed) || failed.Kind != model.KindTimeout || model.SourceOf(err) != 2 {
			t.Errorf("got %v of source %d; want a timeout of 2", err, model.SourceOf(err))
		}
		if got := ask(t, c, "", "", ""); got != "3 fast" {
			t.Errorf("got %q", got)
		}
		c = script.New(s, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Call(ctx, model.Request{}, nil); !errors.Is(err, context.DeadlineExceeded) ||
			model.SourceOf(err) != 1 {
			t.Errorf("got %v of source %d", err, model.SourceOf(err))
		}
	})
}

func BenchmarkCall(b *testing.B) {
	c := script.New(
		parse(b, "replies:\n- {agent: Other, text: x}\n- {agent: Writer, text: A first draft, times: always, usage: "+
			"{inputTokens: 1, outputTokens: 1}}\n"), nil)
	req := model.Request{Agent: "Writer", Node: "n1",
		Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("write about Go")}}}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Call(ctx, req, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLongRecording measures a recording of a long run: the cost of a call does not grow with
// the number of used entries.
func BenchmarkLongRecording(b *testing.B) {
	const n = 10_000
	var text strings.Builder
	text.WriteString("replies:\n")
	for range n {
		text.WriteString("- {agent: Writer, text: x}\n")
	}
	s := parse(b, text.String())
	req := model.Request{Agent: "Writer"}
	for b.Loop() {
		c := script.New(s, nil)
		for range n {
			if _, err := c.Call(b.Context(), req, nil); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/call")
}

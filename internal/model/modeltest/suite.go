package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
)

// Harness describes the client under test and the scenarios that it cannot support. Each Skip entry
// is a scenario's name (the name of its subtest) with the reason, which is printed.
type Harness struct {
	// Client is called concurrently by several goroutines. A provider's client uses Canary as its
	// key.
	Client model.Client
	// Model is the model name used in requests.
	Model string
	Skip  map[string]string
	// SearchModel is a model with its provider's own web search; if empty, it is Model. The search
	// scenario calls it twice.
	SearchModel string
	// Wait is the timeout of the scenarios that hang, 50 ms if zero: long enough for the fake to be
	// reached, short enough for a test.
	Wait time.Duration
}

// Run checks that h.Client does what model.Client promises.
func Run(t *testing.T, h Harness) {
	t.Helper()
	if h.Wait == 0 {
		h.Wait = 50 * time.Millisecond
	}
	for _, s := range []struct {
		name string
		run  func(Harness, *testing.T)
	}{
		{"text", Harness.text}, {"nil onDelta", Harness.nilOnDelta}, {"reasoning", Harness.reasoning},
		{"tool", Harness.tool}, {"two tools", Harness.twoTools},
		{"bad arguments", Harness.badArguments}, {"schema", Harness.schema}, {"length", Harness.length},
		{"empty", Harness.empty},
		{"concurrent", Harness.concurrent}, {"cancel", Harness.cancel}, {"cancelled before", Harness.cancelledBefore},
		{"timeout", Harness.timeout},
		{"drop", broken(PromptDrop, model.KindNetwork)}, {"cut", Harness.cut},
		{"end", broken(PromptEnd, model.KindNetwork)},
		{"malformed", broken(PromptMalformed, model.KindServer)},
		{"late error", broken(PromptLate, model.KindOverloaded)},
		{"filtered", Harness.filtered}, {"search", Harness.search},
		{"rate_limit", failed(model.KindRateLimit)}, {"provider timeout", failed(model.KindTimeout)},
		{"overloaded", failed(model.KindOverloaded)},
		{"auth", failed(model.KindAuth)}, {"unknown_model", failed(model.KindNotFound)},
		{"invalid_request", failed(model.KindInvalidRequest)}, {"server", failed(model.KindServer)},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if reason := h.Skip[s.name]; reason != "" {
				t.Skipf("left out: %s", reason)
			}
			s.run(h, t)
		})
	}
}

func user(prompt string) []chat.Message {
	return []chat.Message{{Role: chat.RoleUser, Text: chat.NewText(prompt)}}
}

func (h Harness) request(prompt string) model.Request {
	return model.Request{Model: h.Model, System: "You take part in a test.", Messages: user(prompt), Agent: "Tester",
		Node: "n1"}
}

// deltaChecker collects deltas and checks that they arrive one at a time and never late.
type deltaChecker struct {
	t               *testing.T
	mu              sync.Mutex
	over            bool
	text, reasoning strings.Builder
	calls           map[int]*chat.ToolCall
	args            map[int]string
	count           int
}

func newWatch(t *testing.T) *deltaChecker {
	return &deltaChecker{t: t, calls: map[int]*chat.ToolCall{}, args: map[int]string{}}
}

func (w *deltaChecker) onDelta(d model.Delta) {
	if !w.mu.TryLock() {
		w.t.Error("onDelta was called by two goroutines at once")
		return
	}
	defer w.mu.Unlock()
	if w.over {
		w.t.Error("onDelta was called after Call had returned")
	}
	if d.IsEmpty() {
		return
	}
	w.count++
	w.text.WriteString(d.Text)
	w.reasoning.WriteString(d.Reasoning)
	if c := d.ToolCall; c != nil {
		if w.calls[c.Index] == nil {
			w.calls[c.Index] = &chat.ToolCall{}
		}
		w.calls[c.Index].ID += c.ID
		w.calls[c.Index].Name += c.Name
		w.args[c.Index] += c.Arguments
	}
}

func (h Harness) call(t *testing.T, req model.Request) (model.Reply, *deltaChecker) {
	t.Helper()
	w := newWatch(t)
	reply, err := h.Client.Call(t.Context(), req, w.onDelta)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if err != nil {
		t.Fatalf("Call: %v", err)
	}
	if reply.Message.Role != chat.RoleAssistant {
		t.Errorf("got role %q; want assistant", reply.Message.Role)
	}
	return reply, w
}

func (h Harness) text(t *testing.T) {
	reply, w := h.call(t, h.request(PromptText))
	if d := cmp.Diff(reply.Message.Text.String(), ReplyText); d != "" {
		t.Errorf("text: -got +want\n%s", d)
	}
	if got := w.text.String(); got != ReplyText || w.count < 2 {
		t.Errorf("got %d deltas making %q; want several making the text", w.count, got)
	}
	if reply.StopReason != model.StopEnd {
		t.Errorf("got stop reason %q", reply.StopReason)
	}
	if reply.Usage == nil || reply.Usage.InputTokens == 0 || reply.Usage.OutputTokens == 0 {
		t.Errorf("got usage %+v; want tokens in and out", reply.Usage)
	}
	if h.Skip["exact usage"] == "" {
		if d := cmp.Diff(reply.Usage, &chat.Usage{InputTokens: 120, OutputTokens: 30, CachedTokens: 100}); d != "" {
			t.Errorf("usage: -got +want\n%s", d)
		}
	}
}

func (h Harness) nilOnDelta(t *testing.T) {
	reply, err := h.Client.Call(t.Context(), h.request(PromptText), nil)
	if err != nil || reply.Message.Text.String() != ReplyText {
		t.Errorf("got %q, %v", reply.Message.Text.String(), err)
	}
}

func (h Harness) reasoning(t *testing.T) {
	reply, w := h.call(t, h.request(PromptReasoning))
	if reply.Reasoning != ReplyReasoning || w.reasoning.String() != ReplyReasoning {
		t.Errorf("got reasoning %q, deltas %q; want %q", reply.Reasoning, w.reasoning.String(), ReplyReasoning)
	}
	if reply.Message.Text.String() != ReplyText {
		t.Errorf("got text %q; reasoning must stay out of it", reply.Message.Text.String())
	}
}

func tools() []chat.ToolDef {
	return []chat.ToolDef{
		{
			Name: "get_weather", Description: "Tells the weather.",
			Parameters: json.RawMessage(
				`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},` +
					`"required":["city"]}`),
		},
		{Name: "get_time", Description: "Tells the time."},
	}
}

func (h Harness) tool(t *testing.T) {
	req := h.request(PromptTool)
	req.Tools = tools()
	reply, w := h.call(t, req)
	if reply.StopReason != model.StopToolCalls || len(reply.Message.ToolCalls) != 1 {
		t.Fatalf("got %q with %d calls; want one call", reply.StopReason, len(reply.Message.ToolCalls))
	}
	call := reply.Message.ToolCalls[0]
	wantArguments(t, call, "get_weather", `{"city":"Paris","days":3}`)
	if seen := w.calls[0]; seen == nil || seen.Name != call.Name || seen.ID != call.ID {
		t.Errorf("got deltas %+v; want the call's name and id", seen)
	} else if !sameJSON(w.args[0], string(call.Arguments)) {
		t.Errorf("got arguments in deltas %q; want %s", w.args[0], call.Arguments)
	}

	// The second turn: data that the provider must get back is sent with the message.
	req.Messages = append(req.Messages, reply.Message,
		chat.Message{Role: chat.RoleTool, ToolCallID: call.ID, ToolName: call.Name, Text: chat.NewText(ToolResult)})
	done, _ := h.call(t, req)
	if done.Message.Text.String() != ReplyToolDone || done.StopReason != model.StopEnd {
		t.Errorf("second turn: got %q, %q", done.Message.Text.String(), done.StopReason)
	}
}

func (h Harness) twoTools(t *testing.T) {
	req := h.request(PromptTwoTools)
	req.Tools = tools()
	reply, _ := h.call(t, req)
	calls := reply.Message.ToolCalls
	if len(calls) != 2 || calls[0].ID == calls[1].ID {
		t.Fatalf("got calls %+v; want two with ids of their own", calls)
	}
	wantArguments(t, calls[0], "get_weather", `{"city":"Paris","days":3}`)
	wantArguments(t, calls[1], "get_time", `{}`)
	req.Messages = append(req.Messages, reply.Message,
		chat.Message{Role: chat.RoleTool, ToolCallID: calls[0].ID, ToolName: calls[0].Name,
			Text: chat.NewText(ToolResult)},
		chat.Message{Role: chat.RoleTool, ToolCallID: calls[1].ID, ToolName: calls[1].Name,
			Text: chat.NewText("no clock here"), IsError: true})
	if done, _ := h.call(t, req); done.Message.Text.String() != ReplyToolDone {
		t.Errorf("second turn: got %q", done.Message.Text.String())
	}
}

// badArguments checks that arguments that are not JSON are returned as a JSON string
// (chat.ToolCall), and can be sent back.
func (h Harness) badArguments(t *testing.T) {
	req := h.request(PromptBadTool)
	req.Tools = tools()
	reply, _ := h.call(t, req)
	if len(reply.Message.ToolCalls) != 1 {
		t.Fatalf("got calls %+v; want one", reply.Message.ToolCalls)
	}
	call := reply.Message.ToolCalls[0]
	var text string
	if err := json.Unmarshal(call.Arguments, &text); err != nil || !strings.Contains(text, "Par") {
		t.Errorf("got arguments %s; want a JSON string of what the model wrote", call.Arguments)
	}
	req.Messages = append(req.Messages, reply.Message,
		chat.Message{Role: chat.RoleTool, ToolCallID: call.ID, ToolName: call.Name, Text: chat.NewText("not JSON"),
			IsError: true})
	h.call(t, req)
}

func wantArguments(t *testing.T, call chat.ToolCall, name, args string) {
	t.Helper()
	if call.Name != name || call.ID == "" || !sameJSON(string(call.Arguments), args) {
		t.Errorf("got call %q %q %s; want %s %s with an id", call.ID, call.Name, call.Arguments, name, args)
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	if a == "" {
		a = "{}" // a call without arguments may have no delta for them
	}
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && cmp.Equal(x, y)
}

func (h Harness) schema(t *testing.T) {
	req := h.request(PromptSchema)
	req.Schema = &model.Schema{Name: "the answer", Strict: true, JSON: json.RawMessage(
		`{"type":"object","properties":{"ok":{"type":"boolean"},"items":{"type":"array","items":{"type":"string"}}},` +
			`"required":["ok","items"],"additionalProperties":false}`)}
	if reply, _ := h.call(t, req); !sameJSON(reply.Message.Text.String(), ReplySchema) ||
		len(reply.Message.ToolCalls) > 0 {
		t.Errorf("got %q with %d calls; want %s", reply.Message.Text.String(), len(reply.Message.ToolCalls),
			ReplySchema)
	}
}

// search checks that the provider's own web search is requested, that citations are at the end, and
// that the reply can be sent back. A call to a model without a search fails.
func (h Harness) search(t *testing.T) {
	req := h.request(PromptSearch)
	if req.Search = true; h.SearchModel != "" {
		req.Model = h.SearchModel
	}
	reply, w := h.call(t, req)
	if reply.Message.Text.String() != ReplySearch || w.text.String() != ReplySearch ||
		len(reply.Message.ToolCalls) > 0 || len(w.calls) > 0 {
		t.Errorf("got %q, deltas %q, calls %+v; want %q", reply.Message.Text.String(), w.text.String(),
			reply.Message.ToolCalls, ReplySearch)
	}
	req.Messages = append(req.Messages, reply.Message,
		chat.Message{Role: chat.RoleUser, Text: chat.NewText(PromptText)})
	if again, _ := h.call(t, req); again.Message.Text.String() != ReplyText {
		t.Errorf("second turn: got %q", again.Message.Text.String())
	}
	req.Schema = &model.Schema{JSON: json.RawMessage(`{"type":"object"}`)}
	var failed *model.Error
	if _, err := h.Client.Call(t.Context(), req, nil); !errors.As(err, &failed) ||
		failed.Kind != model.KindInvalidRequest {
		t.Errorf("a search beside a schema: got %v; want an invalid request", err)
	}
}

func (h Harness) length(t *testing.T) {
	if reply, _ := h.call(t, h.request(PromptLength)); reply.StopReason != model.StopLength {
		t.Errorf("got stop reason %q; want length", reply.StopReason)
	}
}

func (h Harness) empty(t *testing.T) {
	if reply, _ := h.call(t, h.request(PromptEmpty)); !reply.Message.Text.IsZero() ||
		reply.StopReason != model.StopEnd {
		t.Errorf("got %q, %q; want nothing, well ended", reply.Message.Text.String(), reply.StopReason)
	}
}

func (h Harness) concurrent(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if reply, err := h.Client.Call(t.Context(), h.request(PromptText), nil); err != nil ||
				reply.Message.Text.String() != ReplyText {
				t.Errorf("got %q, %v", reply.Message.Text.String(), err)
			}
		})
	}
	wg.Wait()
}

// cancel checks that a done context ends a call to a provider that never responds, with the
// context's error (P11).
func (h Harness) cancel(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), h.Wait)
	defer cancel()
	_, err := h.Client.Call(ctx, h.request(PromptHang), nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v; want the context's error", err)
	}
	if _, ok := errors.AsType[*model.Error](err); ok {
		t.Errorf("got a provider's error %v for the caller's own cancelling", err)
	}
}

func (h Harness) cancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Client.Call(ctx, h.request(PromptText), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want context.Canceled", err)
	}
}

// timeout checks that a server that accepts and never responds fails the call on time (P11).
func (h Harness) timeout(t *testing.T) {
	_, err := model.WithTimeouts(h.Client, -1, h.Wait).Call(t.Context(), h.request(PromptHang), nil)
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Kind != model.KindTimeout {
		t.Errorf("got %v; want a timeout", err)
	}
}

// broken returns a scenario that checks that a partial response is an error, never a reply (P30).
func broken(prompt string, kind model.ErrorKind) func(Harness, *testing.T) {
	return func(h Harness, t *testing.T) { h.wantError(t, prompt, kind) }
}

// filtered checks that a withheld response is still charged (P20).
func (h Harness) filtered(t *testing.T) {
	failed := h.wantError(t, PromptFiltered, model.KindContentFilter)
	if failed == nil || h.Skip["exact usage"] != "" {
		return
	}
	if d := cmp.Diff(failed.Usage, &chat.Usage{InputTokens: 120, OutputTokens: 5}); d != "" {
		t.Errorf("usage of the withheld answer: -got +want\n%s", d)
	}
}

func (h Harness) cut(t *testing.T) {
	if failed := h.wantError(t, PromptCut, model.KindNetwork); failed != nil && failed.Usage != nil {
		t.Errorf("an answer that broke off says that it used %+v", failed.Usage)
	}
}

func failed(kind model.ErrorKind) func(Harness, *testing.T) {
	return func(h Harness, t *testing.T) {
		t.Helper()
		failed := h.wantError(t, ErrorPrompt(kind), kind)
		if failed == nil {
			return
		}
		if !strings.Contains(failed.Message, ErrorText(kind)) {
			t.Errorf("got message %q; want the provider's own text", failed.Message)
		}
		if kind == model.KindRateLimit && h.Skip["retry after"] == "" && failed.RetryAfter != RetryAfter {
			t.Errorf("got retry after %s; want %s", failed.RetryAfter, RetryAfter)
		}
		if want := statusOf()[kind]; h.Skip["status"] == "" && failed.Status != want {
			t.Errorf("got status %d; want %d", failed.Status, want)
		}
	}
}

func (h Harness) wantError(t *testing.T, prompt string, kind model.ErrorKind) *model.Error {
	t.Helper()
	reply, err := h.Client.Call(t.Context(), h.request(prompt), nil)
	var failed *model.Error
	if !errors.As(err, &failed) {
		t.Errorf("got %q, %v; want a *model.Error of kind %s", reply.Message.Text.String(), err, kind)
		return nil
	}
	if failed.Kind != kind || failed.Message == "" {
		t.Errorf("got kind %s, message %q; want %s", failed.Kind, failed.Message, kind)
	}
	if shown := fmt.Sprintf("%v %+v %q", err, *failed, errorChain(err)); strings.Contains(shown, Canary) {
		t.Errorf("the key is in the error: %s", shown)
	}
	return failed
}

// errorChain returns the messages of all errors in err's chain.
func errorChain(err error) []string {
	var out []string
	for err != nil && !slices.Contains(out, err.Error()) {
		out = append(out, err.Error())
		err = errors.Unwrap(err)
	}
	return out
}

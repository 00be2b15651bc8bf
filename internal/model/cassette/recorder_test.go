package cassette_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/cassette"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/model/openai"
	"github.com/hocket-run/hocket/internal/model/script"
	"github.com/hocket-run/hocket/internal/outbound"
	_ "github.com/hocket-run/hocket/internal/randtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// clientFunc is a function used as a Client.
type clientFunc func(ctx context.Context, req model.Request) (model.Reply, error)

func (f clientFunc) Call(ctx context.Context, req model.Request, _ func(model.Delta)) (model.Reply, error) {
	return f(ctx, req)
}

func record(t testing.TB, c model.Client, name string) (*cassette.Recorder, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	r, err := cassette.New(c, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r, path
}

// read parses a recording, which must be a valid script at any time.
func read(t testing.TB, path string) *script.Script {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, diags := script.Parse(path, raw)
	if len(diags) > 0 {
		t.Fatalf("the recording is no valid script: %v\n%s", diags, raw)
	}
	if strings.HasSuffix(path, ".json") && !json.Valid(raw) {
		t.Fatalf("not JSON:\n%s", raw)
	}
	return s
}

func user(text string) []chat.Message {
	return []chat.Message{{Role: chat.RoleUser, Text: chat.NewText(text)}}
}

func requests() []model.Request {
	schema := &model.Schema{JSON: json.RawMessage(`{"type":"object"}`)}
	var out []model.Request
	for i, prompt := range []string{
		modeltest.PromptText, modeltest.PromptTool, modeltest.PromptTwoTools, modeltest.PromptBadTool,
		modeltest.PromptReasoning, modeltest.PromptLength,
		modeltest.PromptEmpty, modeltest.PromptSchema, modeltest.ErrorPrompt(model.KindRateLimit), modeltest.PromptCut,
		modeltest.PromptFiltered,
	} {
		req := model.Request{Model: "m", Agent: fmt.Sprintf("Agent %d", i%3), Node: fmt.Sprintf("n%d", i%3),
			Messages: user(prompt)}
		if prompt == modeltest.PromptSchema {
			req.Schema = schema
		}
		out = append(out, req)
	}
	return out
}

// outcome is what a replay must return again.
type outcome struct {
	Message   chat.Message
	Reasoning string
	Usage     *chat.Usage
	Stop      model.StopReason
	Kind      model.ErrorKind
	Text      string
	Retry     time.Duration
}

func outcomeOf(reply model.Reply, err error) outcome {
	if failed, ok := errors.AsType[*model.Error](err); ok {
		return outcome{Kind: failed.Kind, Text: failed.Message, Retry: failed.RetryAfter}
	}
	return outcome{Message: reply.Message, Reasoning: reply.Reasoning, Usage: reply.Usage, Stop: reply.StopReason}
}

// TestRecordAndReplay checks that a recording replays a provider's replies, including failures and
// usage, and that the file is valid after every call.
func TestRecordAndReplay(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"replies.yaml", "replies.json"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := modeltest.Start(t, modeltest.Conformance)
			http := outbound.New(outbound.Config{Allow: []string{srv.URL()}})
			t.Cleanup(http.CloseIdleConnections)
			client, err := openai.New(openai.Config{BaseURL: srv.BaseURL(), Key: modeltest.Canary, HTTP: http})
			if err != nil {
				t.Fatal(err)
			}
			r, path := record(t, client, name)
			if n := len(read(t, path).Entries); n != 0 {
				t.Errorf("got %d entries before the first call", n)
			}
			var want []outcome
			for i, req := range requests() {
				want = append(want, outcomeOf(r.Call(t.Context(), req, nil)))
				if n := len(read(t, path).Entries); n != i+1 {
					t.Fatalf("got %d entries after %d calls", n, i+1)
				}
			}
			replay := script.New(read(t, path), nil)
			for i, req := range requests() {
				if d := cmp.Diff(outcomeOf(replay.Call(t.Context(), req, nil)), want[i]); d != "" {
					t.Errorf("call %d: -replay +recorded\n%s", i, d)
				}
			}
			raw, _ := os.ReadFile(path)
			if strings.Contains(string(raw), modeltest.Canary) {
				t.Error("the key is in the recording")
			}
		})
	}
}

// TestRecorder_FileFormat checks that the file is readable: multi-line strings are written
// verbatim.
func TestRecorder_FileFormat(t *testing.T) {
	t.Parallel()
	replies := []model.Reply{
		{Message: chat.Message{Text: chat.NewText("A first draft.")}, StopReason: model.StopEnd,
			Usage: &chat.Usage{InputTokens: 10, OutputTokens: 3}},
		{Message: chat.Message{Text: chat.NewText("# Title\n\nTwo: lines\n- and more\n")}, StopReason: model.StopEnd},
		{Message: chat.Message{Text: chat.NewText("Wait."),
			ToolCalls: []chat.ToolCall{{ID: "c1", Name: "web_search",
				Arguments: json.RawMessage(`{"query": "go 1.26", "n": 3}`)}}}, StopReason: model.StopToolCalls},
		{Message: chat.Message{Text: chat.NewText(`{"is_approved":true}`)}, StopReason: model.StopEnd},
		{Message: chat.Message{Text: chat.NewText("yes")}, StopReason: model.StopLength},
	}
	i := 0
	r, path := record(t, clientFunc(func(context.Context, model.Request) (model.Reply, error) {
		if i == len(replies) {
			return model.Reply{}, &model.Error{Kind: model.KindRateLimit, Message: "slow down",
				RetryAfter: 2 * time.Second}
		}
		i++
		return replies[i-1], nil
	}), "r.yaml")
	for range len(replies) + 1 {
		_, _ = r.Call(t.Context(), model.Request{Agent: "Writer", Schema: &model.Schema{}}, nil)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `# Recorded by hocket. Each entry answers one model call; see --replies.
replies:
- agent: Writer
  text: A first draft.
  usage: {inputTokens: 10, outputTokens: 3}
- agent: Writer
  text: |
    # Title

    Two: lines
    - and more
- agent: Writer
  text: Wait.
  toolCalls: [{id: c1, name: web_search, arguments: {query: go 1.26, n: 3}}]
- agent: Writer
  json: {is_approved: true}
- agent: Writer
  text: yes
  stopReason: length
- agent: Writer
  error: {code: rate_limit, message: slow down, retryAfterMs: 2000}
`
	if d := cmp.Diff(string(got), want); d != "" {
		t.Errorf("-got +want\n%s", d)
	}
}

// TestRecorder_TextRoundTrip checks that any string is read back unchanged, whatever YAML makes of
// it.
func TestRecorder_TextRoundTrip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		odd := rapid.SampledFrom([]string{"\n", " ", "\t", "#", ": ", "- ", "'", `"`, "\\", "{", "}", "|", "%", "\r",
			"\u2028", "\u00a0", "\x00", "\x7f", "\u0085", "\u009f", "\ufffe", "\uffff", "\U000fffff", "\ufeff", "~",
			"true", "0x1", "🌞", "é"})
		text := rapid.Map(rapid.SliceOfN(rapid.OneOf(odd, rapid.String()), 0, 8), func(parts []string) string {
			return strings.Join(parts, "")
		})
		call := chat.ToolCall{ID: text.Draw(rt, "id"), Name: "f" + text.Draw(rt, "name"),
			Arguments: mustJSON(map[string]any{text.Draw(rt, "key"): text.Draw(rt, "value")})}
		reply := model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(text.Draw(rt, "text"))},
			StopReason: model.StopEnd, Reasoning: text.Draw(rt, "reasoning")}
		if call.ID != "" {
			reply.Message.ToolCalls, reply.StopReason = []chat.ToolCall{call}, model.StopToolCalls
		}
		name := rapid.SampledFrom([]string{"r.yaml", "r.json"}).Draw(rt, "file")
		agent := text.Draw(rt, "agent")
		r, err := cassette.New(clientFunc(func(context.Context, model.Request) (model.Reply, error) {
			return reply, nil
		}), filepath.Join(dir, name))
		if err != nil {
			rt.Fatal(err)
		}
		_, _ = r.Call(context.Background(), model.Request{Agent: agent}, nil)
		if err := r.Close(); err != nil {
			rt.Fatal(err)
		}
		raw, _ := os.ReadFile(filepath.Join(dir, name))
		s, diags := script.Parse(name, raw)
		if len(diags) > 0 {
			rt.Fatalf("%v\n%s", diags, raw)
		}
		got, err := script.New(s, nil).Call(context.Background(), model.Request{Agent: agent}, nil)
		if err != nil {
			rt.Fatalf("%v\n%s", err, raw)
		}
		got.Source = 0
		if d := cmp.Diff(got, reply); d != "" {
			rt.Errorf("-got +want\n%s\n%s", d, raw)
		}
	})
}

func mustJSON(v any) json.RawMessage {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return json.RawMessage(strings.TrimSpace(b.String()))
}

// TestConcurrentCalls checks that concurrent calls of one agent are distinguished by node or by
// prompt, in whatever order they return.
func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	common := "--- Prior Step Outputs ---\n\nsame for all\n\n"
	for name, reqs := range map[string][]model.Request{
		"by question": {
			{Agent: "G", Node: "n", Messages: user(common + "one")}, {Agent: "G", Node: "n",
				Messages: user(common + "two")}, {Agent: "G", Node: "n", Messages: user(common + "three")},
		},
		"by node": {
			{Agent: "G", Node: "gen_1", Messages: user("same")}, {Agent: "G", Node: "gen_2", Messages: user("same")},
			{Agent: "G", Node: "gen_3", Messages: user("same")},
		},
		"shared node": {
			{Agent: "G", Node: "n", Messages: user("x")}, {Agent: "H", Node: "n", Messages: user("x")},
			{Agent: "G", Node: "m", Messages: user("y")},
		},
		"long lines": {
			{Agent: "G", Messages: user(strings.Repeat("a", 500) + "1")},
			{Agent: "G", Messages: user(strings.Repeat("a", 500) + "2")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var arrived, open sync.WaitGroup
			arrived.Add(len(reqs))
			behind := clientFunc(func(_ context.Context, req model.Request) (model.Reply, error) {
				arrived.Done()
				arrived.Wait() // all calls are in flight before the first reply
				return model.Reply{Message: chat.Message{
					Text: chat.NewText("for " + req.Agent + req.Node + req.LastText()),
				}, StopReason: model.StopEnd}, nil
			})
			r, path := record(t, behind, "r.yaml")
			for _, req := range reqs {
				open.Go(func() {
					if _, err := r.Call(t.Context(), req, nil); err != nil {
						t.Error(err)
					}
				})
			}
			open.Wait()
			s := read(t, path)
			for shift := range reqs {
				replay := script.New(s, nil)
				for i := range reqs {
					req := reqs[(i+shift)%len(reqs)]
					got, err := replay.Call(t.Context(), req, nil)
					if want := "for " + req.Agent + req.Node + req.LastText(); err != nil ||
						got.Message.Text.String() != want {
						t.Errorf("shift %d: got %q, %v; want %q", shift, got.Message.Text.String(), err, want)
					}
				}
			}
		})
	}
}

// TestRecorder_SequentialCallsUnquoted checks that consecutive calls of agents need no quotations:
// the recording stays valid when a prompt changes.
func TestRecorder_SequentialCallsUnquoted(t *testing.T) {
	t.Parallel()
	r, path := record(t, clientFunc(func(context.Context, model.Request) (model.Reply, error) {
		return model.Reply{StopReason: model.StopEnd}, nil
	}), "r.yaml")
	for i := range 4 {
		if _, err := r.Call(t.Context(), model.Request{Agent: "A", Node: "n", Messages: user(fmt.Sprint(i))},
			nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range read(t, path).Entries {
		if e.Contains != "" || e.Agent != "A" {
			t.Errorf("got %+v", e)
		}
	}
}

// TestRecorder_AbandonedCall checks that a call cancelled by its caller has no entry, and that a
// recording that cannot be written fails no call and is reported at the end.
func TestRecorder_AbandonedCall(t *testing.T) {
	t.Parallel()
	r, path := record(t, clientFunc(func(ctx context.Context, _ model.Request) (model.Reply, error) {
		return model.Reply{}, ctx.Err()
	}), "r.yaml")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Call(ctx, model.Request{Agent: "A"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := len(read(t, path).Entries); n != 0 {
		t.Errorf("got %d entries", n)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.Call(t.Context(), model.Request{}, nil); err != nil {
		t.Errorf("after Close: %v", err)
	}
	if _, err := cassette.New(nil, filepath.Join(t.TempDir(), "no", "such", "folder.yaml")); err == nil {
		t.Error("got no error from a path that cannot be")
	}
}

package main

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model/modeltest"
)

const here = "../../../examples"

// refs are models of the three protocols and a model without a price.
var refs = []string{"openai/gpt-6.1-terra", "anthropic/claude-haiku-5-5", "google/gemini-3.5-flash-lite",
	"openai/own-model"}

// play runs the command with a model server, and returns its output.
func play(t *testing.T, answer modeltest.Func, models []string, env map[string]string) (
	out string, server *modeltest.Server, err error) {
	t.Helper()
	server = modeltest.Start(t, answer)
	all := map[string]string{
		"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GOOGLE_API_KEY": "k", "OPENAI_BASE_URL": server.BaseURL(),
		"ANTHROPIC_BASE_URL":     server.URL(),
		"GOOGLE_GEMINI_BASE_URL": server.URL(),
	}
	maps.Copy(all, env)
	var printed bytes.Buffer
	err = live(t.Context(), config{models: models, env: func(name string) string { return all[name] }, examples: here,
		exchangeDir: filepath.Join(t.TempDir(), "live"), out: &printed})
	return printed.String(), server, err
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		models []string
		env    map[string]string
		want   string
	}{
		{nil, map[string]string{"CI": "true"}, "does not run in CI"},
		{nil, map[string]string{"GITHUB_ACTIONS": "true"}, "does not run in CI"},
		{nil, map[string]string{"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": "", "GOOGLE_API_KEY": "",
			"OPENAI_BASE_URL": "", "ANTHROPIC_BASE_URL": "", "GOOGLE_GEMINI_BASE_URL": ""}, "no key is set"},
		{[]string{"mistral/mistral-small-latest"}, nil, "MISTRAL_API_KEY"},
		{[]string{"openai/a", "openai/b", "openai/c", "openai/d", "openai/e", "openai/f", "openai/g"}, nil,
			"7 models: at most 6"},
	} {
		out, server, err := play(t, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{} }, tc.models,
			tc.env)
		if err == nil || !strings.Contains(err.Error(), tc.want) || len(server.Requests()) > 0 || out != "" {
			t.Errorf("%v %v: %v, %d requests, printed %q", tc.models, tc.env, err, len(server.Requests()), out)
		}
	}
}

// TestExpected checks that nothing differs for a server that responds as the adapters expect,
// whatever its protocol.
func TestExpected(t *testing.T) {
	t.Parallel()
	called := chat.ToolCall{Name: "list_directory", Arguments: []byte(`{"path":"."}`)}
	out, _, err := play(t, func(r modeltest.Request) modeltest.Answer {
		switch {
		case r.Schema != nil:
			return modeltest.Answer{Text: `{"ok":true}`}
		case slices.ContainsFunc(r.Tools, func(d chat.ToolDef) bool { return d.Name == called.Name }) &&
			r.Messages[len(r.Messages)-1].Role != chat.RoleTool:
			return modeltest.Answer{Reasoning: "I look.", ToolCalls: []chat.ToolCall{called}}
		}
		return modeltest.Answer{Text: "fine", Reasoning: "I thought about it.",
			Usage: &chat.Usage{InputTokens: 12, OutputTokens: 3, CachedTokens: 10}}
	}, refs, nil)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out) {
		// these replies make the run fail
		if _, what, ok := strings.Cut(line, "× "); ok && !strings.HasPrefix(what, "the run") {
			t.Error(line)
		}
	}
	for _, ref := range refs {
		if n := strings.Count(out, ref+" "); n < 12 {
			t.Errorf("%d examples with %s", n, ref)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// TestBudget checks that the calls of each model cost no more than its share plus one call that had
// already started; without a price they use no more tokens than the limit. Usage that the provider
// does not report is estimated from the size of what was sent and received. A name without its
// provider, and a configuration with other prices, make no difference.
func TestBudget(t *testing.T) {
	t.Parallel()
	prices := filepath.Join(t.TempDir(), "hocket.yaml")
	if err := os.WriteFile(prices, []byte("prices:\n  - {models: ['*'], input: 0, output: 0}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("dear ", 100_000)
	for name, tc := range map[string]struct {
		answer modeltest.Answer
		models []string
		env    map[string]string
		// each is the cost of a call, in USD or tokens, and limit the share of each model.
		each, limit float64
	}{
		"priced": {modeltest.Answer{Text: "dear", Usage: &chat.Usage{InputTokens: 30_000,
			OutputTokens: 20_000}}, []string{"openai/gpt-6.1-terra", "openai/gpt-6.1-sol"}, nil, 0.13, 0.48},
		"without provider": {modeltest.Answer{Text: "dear", Usage: &chat.Usage{InputTokens: 30_000,
			OutputTokens: 20_000}}, []string{"gpt-6.1-terra", "openai/gpt-6.1-terra"}, nil, 0.13, 0.96},
		"own prices": {
			modeltest.Answer{Text: "dear", Usage: &chat.Usage{InputTokens: 30_000, OutputTokens: 20_000}},
			[]string{"openai/gpt-6.1-terra"}, map[string]string{"HOCKET_CONFIG": prices}, 0.13, 0.96,
		},
		"without price": {modeltest.Answer{Text: "dear", Usage: &chat.Usage{InputTokens: 5_000,
			OutputTokens: 2_000}}, []string{"openai/own-model", "openai/other-model"}, nil, 7_000, maxTokens},
		"priced, no usage": {modeltest.Answer{Text: long, NoUsage: true}, []string{"openai/gpt-6.1-terra"}, nil, 0.25,
			0.96},
		"nothing reported": {modeltest.Answer{Text: long, NoUsage: true}, []string{"openai/own-model"}, nil, 50_000,
			maxTokens},
		"closed connection": {modeltest.Answer{Fault: modeltest.FaultDrop}, []string{"openai/own-model"}, nil,
			lostTokens, maxTokens},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, server, err := play(t, func(modeltest.Request) modeltest.Answer { return tc.answer }, tc.models,
				tc.env)
			if err != nil {
				t.Fatal(err)
			}
			calls := map[string]int{}
			for _, r := range server.Requests() {
				calls[r.Model]++
			}
			for model, n := range calls {
				// A run whose calls report no usage is limited by what the server receives, so that
				// it may exceed its share by the calls of that run.
				most := tc.limit + tc.each
				if tc.answer.Usage == nil {
					most = tc.limit + 8*tc.each
				}
				if spent := float64(n) * tc.each; spent > most {
					t.Errorf("%d calls of %s spend %.2f, its share is %.2f\n%s", n, model, spent, tc.limit, out)
				}
			}
			if !strings.Contains(out, "not run: the budget is spent") || len(calls) == 0 {
				t.Errorf("no example was left out\n%s", out)
			}
		})
	}
}

// TestRefusal checks that a refusal and a missing usage are reported once, with the examples in
// which they occurred, and that the exchange is kept.
func TestRefusal(t *testing.T) {
	t.Parallel()
	server := modeltest.Start(t, func(r modeltest.Request) modeltest.Answer {
		if r.Schema != nil {
			return modeltest.Answer{Status: 400, Error: "response_format is not supported"}
		}
		return modeltest.Answer{Text: "fine", NoUsage: true}
	})
	env := func(name string) string {
		return map[string]string{"OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": server.BaseURL()}[name]
	}
	target := newTarget(refs[0], env, 1)
	all, err := examples(here)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.name == "newsroom" || e.name == "translation" {
			target.run(t.Context(), e)
		}
	}
	var out bytes.Buffer
	target.report(&out)
	dir := t.TempDir()
	if _, err := target.write(dir); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"× no usage (newsroom", "× refused with 400: ", "response_format is not supported",
		"× the run failed: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "openai-gpt-6.1-terra-*.txt"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%v %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte("POST /v1/chat/completions")) ||
			bytes.Contains(text, []byte("sk-secret")) {
			t.Errorf("%s: %v\n%s", file, err, text)
		}
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	sse := func(events ...string) string { return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n" }
	const (
		chatPath, messages, gemini = "/v1/chat/completions", "/v1/messages", "/v1beta/models/m:streamGenerateContent"
		usage                      = `{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`
	)
	for name, tc := range map[string]struct {
		path, contentType, body string
		want                    []string
	}{
		"openai as expected": {chatPath, "text/event-stream",
			sse(
				`{"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"a","reasoning":"r"},`+
					`"finish_reason":"stop"}]}`, usage, "[DONE]"), nil},
		"openai unknown": {chatPath, "text/event-stream; charset=utf-8",
			sse(`{"cost":1,"choices":[{"delta":{"content":"a","mood":{"good":1}},"finish_reason":"eos"}]}`, usage,
				"[DONE]"),
			[]string{"unknown field cost", "unknown field choices.delta.mood", `unknown choices.finish_reason "eos"`}},
		"openai unknown usage": {chatPath, "text/event-stream",
			sse(
				`{"choices":[],"usage":{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":1,`+
					`"warm_tokens":2}}}`, "[DONE]"), []string{"unknown field usage.prompt_tokens_details.warm_tokens"}},
		"openai whole": {chatPath, "application/json",
			`{"id":"1","object":"chat.completion","choices":[{"message":{"role":"assistant","content":"a"},` +
				`"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`,
			[]string{"answered as application/json, not as a stream"}},
		"openai without end": {chatPath, "text/event-stream", sse(usage), []string{"the stream ends without [DONE]"}},
		"openai no usage": {chatPath, "text/event-stream", sse(`{"choices":[],"usage":null}`, "[DONE]"),
			[]string{"no usage"}},
		"openai one piece": {chatPath, "text/event-stream", sse(`{"choices":[{"delta":{"content":"`+
			strings.Repeat("a", 700)+`"}}]}`, usage, "[DONE]"), []string{"a text of 600 bytes or more in one event"}},
		"openai no JSON": {chatPath, "text/event-stream", sse(`{`, usage, "[DONE]"),
			[]string{"an event is not JSON: {"}},
		"anthropic as expected": {messages, "text/event-stream",
			sse(
				`{"type":"message_start","message":{"id":"1","type":"message","role":"assistant","content":[],`+
					`"model":"m","usage":{"input_tokens":1}}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"f",`+
					`"input":{"any":{"thing":1}}}}`,
				`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}`,
				`{"type":"message_stop"}`), nil},
		"anthropic cut": {messages, "text/event-stream", sse(`{"type":"message_start","message":{"id":"1"}}`),
			[]string{"no usage", "the stream ends without message_stop"}},
		"anthropic unknown": {messages, "text/event-stream",
			sse(`{"type":"message_start","message":{"usage":{"input_tokens":1,"dream_tokens":2}}}`,
				`{"type":"content_block_start","content_block":{"type":"hologram"}}`,
				`{"type":"message_nap"}`, `{"type":"message_stop"}`),
			[]string{"unknown field message.usage.dream_tokens",
				`unknown content_block.type "hologram"`, `unknown type "message_nap"`}},
		"google as expected": {gemini, "text/event-stream",
			sse(
				`{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f",` +
					`"args":{"any":{"thing":1}}}}]},"finishReason":"STOP","index":0}],` +
					`"usageMetadata":{"promptTokenCount":1},"modelVersion":"m"}`), nil},
		"google unknown": {gemini, "text/event-stream",
			sse(
				`{"candidates":[{"content":{"parts":[{"text":"a","tone":"warm"}]},"finishReason":"BORED"}],` +
					`"usageMetadata":{"promptTokenCount":1}}`),
			[]string{"unknown field candidates.content.parts.tone", `unknown candidates.finishReason "BORED"`}},
	} {
		got, _ := differences(&exchange{path: tc.path, contentType: tc.contentType, status: 200, body: []byte(tc.body)})
		slices.Sort(got)
		slices.Sort(tc.want)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s\ngot  %q\nwant %q", name, got, tc.want)
		}
	}
}

// TestDifferences_Cancelled checks that a response is not blamed for what it lacks because the call
// was cancelled, as those that lose in a quorum are.
func TestDifferences_Cancelled(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"candidates\":[]}\n\ndata: {\"cand")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	to := &recorder{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/models/m:streamGenerateContent", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&tap{next: server.Client().Transport, to: to}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 30)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	all := to.take()
	if len(all) != 1 {
		t.Fatalf("%d exchanges", len(all))
	}
	if found, hasUsage := differences(all[0]); len(found) > 0 || hasUsage {
		t.Errorf("%q, usage %v", found, hasUsage)
	}
}

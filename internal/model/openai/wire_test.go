package openai_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/model/openai"
	"github.com/hocket-run/hocket/internal/outbound"
)

func fullRequest() model.Request {
	return model.Request{
		Model: "m-1", System: "sys", IdempotencyKey: "run1/n1/1",
		Messages: []chat.Message{
			{Role: chat.RoleUser, Text: chat.NewText("hi"), Name: "Some One"},
			{Role: chat.RoleAssistant, Text: chat.NewText("wait"), ToolCalls: []chat.ToolCall{
				{ID: "a", Name: "f", Arguments: json.RawMessage(`{"x": 1}`)}, {ID: "b", Name: "g"},
				{ID: "c", Name: "h", Arguments: json.RawMessage(`"{bro"`)},
			}},
			{Role: chat.RoleTool, ToolCallID: "a", Text: chat.NewText("1")},
			{Role: chat.RoleTool, ToolCallID: "b", Text: chat.NewText("")},
			{Role: chat.RoleTool, ToolCallID: "c", Text: chat.NewText("no JSON"), IsError: true},
			{Role: chat.RoleAssistant, Text: chat.NewText("")},
			{Role: chat.RoleSystem, Text: chat.NewText("be brief")},
			{Role: chat.RoleUser, Text: chat.NewText("go on <b>&")},
		},
		Tools: []chat.ToolDef{{Name: "f", Description: "does f",
			Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}}}`)}, {Name: "g"}},
		Schema: &model.Schema{Name: "my schema!", JSON: json.RawMessage(`{"type":"object","properties":{}}`),
			Strict: true},
		Params: model.Params{
			Temperature: new(0.0), TopP: new(0.5), FrequencyPenalty: new(0.1), PresencePenalty: new(-0.1),
			MaxTokens:       new(int64(0)),
			ReasoningEffort: "low", ThinkingBudget: new(int64(5)), Stop: []string{"END"},
			ProviderOptions: map[string]json.RawMessage{"seed": json.RawMessage(`7`),
				"extra.deep": json.RawMessage(`{"a":[1]}`), "top_p": json.RawMessage(`0.9`)},
		},
	}
}

// TestRequestBody checks the request as sent: explicitly set zero values are sent (D28), options
// are applied last and take precedence.
func TestRequestBody(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		own         bool
		tokens, not string
	}{
		"own":        {true, "max_completion_tokens", "max_tokens"},
		"compatible": {false, "max_tokens", "max_completion_tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := modeltest.Start(t, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: "ok"} })
			if _, err := newClient(t, srv, "", tc.own).Call(t.Context(), fullRequest(), nil); err != nil {
				t.Fatal(err)
			}
			seen := srv.Requests()[0]
			if got := seen.Header.Get("Idempotency-Key"); got != "run1/n1/1" {
				t.Errorf("got Idempotency-Key %q", got)
			}
			if got, ok := seen.Header["Authorization"]; ok {
				t.Errorf("got Authorization %q without a key", got)
			}
			const want = `{
				"model": "m-1", "stream": true, "stream_options": {"include_usage": true},
				"messages": [
					{"role": "system", "content": "sys"},
					{"role": "user", "content": "hi"},
					{"role": "assistant", "content": "wait", "tool_calls": [
						{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\": 1}"}},
						{"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
						{"id": "c", "type": "function", "function": {"name": "h", "arguments": "{\"input\":\"{bro\"}"}}
					]},
					{"role": "tool", "tool_call_id": "a", "content": "1"},
					{"role": "tool", "tool_call_id": "b", "content": ""},
					{"role": "tool", "tool_call_id": "c", "content": "no JSON"},
					{"role": "assistant", "content": ""},
					{"role": "system", "content": "be brief"},
					{"role": "user", "content": "go on <b>&"}
				],
				"tools": [
					{"type": "function", "function": {"name": "f", "description": "does f", "parameters": {"type": ` +
				`"object", "properties": {"x": {"type": "integer"}}}}},
					{"type": "function", "function": {"name": "g", "parameters": {"type": "object", "properties": {}}}}
				],
				"response_format": {"type": "json_schema", "json_schema": {"name": "my_schema_", "strict": true, ` +
				`"schema": {"type": "object", "properties": {}}}},
				"temperature": 0, "top_p": 0.9, "frequency_penalty": 0.1, "presence_penalty": -0.1, "TOKENS": 0,
				"reasoning_effort": "low", "stop": ["END"], "seed": 7, "extra": {"deep": {"a": [1]}}
			}`
			var got, wanted any
			if err := json.Unmarshal(seen.Body, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(strings.Replace(want, "TOKENS", tc.tokens, 1)), &wanted); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(got, wanted); d != "" {
				t.Errorf("-got +want\n%s", d)
			}
		})
	}
}

// TestSmallRequestBody checks that the smallest request has only what was specified.
func TestSmallRequestBody(t *testing.T) {
	t.Parallel()
	srv := modeltest.Start(t, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: "ok"} })
	req := model.Request{Model: "m", Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("hi")}}}
	if _, err := newClient(t, srv, "k-1234", true).Call(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	seen := srv.Requests()[0]
	if got := seen.Header.Get("Authorization"); got != "Bearer k-1234" {
		t.Errorf("got Authorization %q", got)
	}
	if d := cmp.Diff(string(seen.Body),
		`{"messages":[{"content":"hi","role":"user"}],"model":"m","stream_options":{"include_usage":true},`+
			`"stream":true}`); d != "" {
		t.Errorf("-got +want\n%s", d)
	}
}

// canned returns a client for a server that answers every call with the same bytes.
func canned(t *testing.T, status int, contentType, body string) *openai.Client {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	client := outbound.New(outbound.Config{Allow: []string{srv.URL}})
	t.Cleanup(client.CloseIdleConnections)
	c, err := openai.New(openai.Config{BaseURL: srv.URL, Key: "k-1234", HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const sse = "text/event-stream"

// TestCompatibleServers_Quirks checks the deviations of compatible servers from OpenAI.
func TestCompatibleServers_Quirks(t *testing.T) {
	t.Parallel()
	call := func(id, name, args string) chat.ToolCall {
		return chat.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(args)}
	}
	for name, tc := range map[string]struct {
		contentType, body string
		want              model.Reply
	}{
		"whole answer": {
			"application/json",
			`{"model":"m","choices":[{"message":{"role":"assistant","content":"hi","reasoning_content":"hm",` +
				`"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
				`"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`,
			model.Reply{
				Message: chat.Message{Text: chat.NewText("hi"), ToolCalls: []chat.ToolCall{call("a", "f", "{}")},
					Extra: json.RawMessage(`{"openai":{"from":"127.0.0.1/m-1","fields":{"reasoning_content":"hm"}}}`)},
				Reasoning: "hm", StopReason: "tool_calls", Model: "m",
				Usage: &chat.Usage{InputTokens: 3, OutputTokens: 2},
			},
		},
		"whole answer called a stream": {
			sse, "\n  {\"choices\":[{\"message\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}",
			model.Reply{Message: chat.Message{Text: chat.NewText("hi")}, StopReason: "stop"},
		},
		"comments, CRLF, no space, no last empty line": {
			sse,
			": PROCESSING\r\n\r\n: PROCESSING\n\ndata:{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\n\r\ndata: " +
				"{\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}",
			model.Reply{Message: chat.Message{Text: chat.NewText("ab")}, StopReason: "stop"},
		},
		"no finish reason but an end mark": {
			sse, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}\n\ndata: [DONE]\n\n",
			model.Reply{Message: chat.Message{Text: chat.NewText("a")}, StopReason: "stop"},
		},
		"calls all numbered 0, stop for finish": {
			sse,
			`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f",` +
				`"arguments":"{\"x\":"}}]}}]}` + "\n\n" +
				`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}` + "\n\n" +
				`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"g",` +
				`"arguments":"{}"}}]},"finish_reason":"stop"}]}` + "\n\n",
			model.Reply{Message: chat.Message{ToolCalls: []chat.ToolCall{call("a", "f", `{"x":1}`),
				call("b", "g", "{}")}}, StopReason: "tool_calls"},
		},
		"calls without ids": {
			sse,
			`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}},{"index":1,` +
				`"function":{"name":"g","arguments":"null"}}]},"finish_reason":"tool_calls"}]}` + "\n\n",
			model.Reply{Message: chat.Message{ToolCalls: []chat.ToolCall{call("call_8_0", "f", "{}"),
				call("call_8_1", "g", "{}")}}, StopReason: "tool_calls"},
		},
		"reasoning by another name": {
			sse, "data: {\"choices\":[{\"delta\":{\"reasoning\":\"hm\",\"content\":null}}]}\n\ndata: " +
				"{\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n",
			model.Reply{Message: chat.Message{Text: chat.NewText("a"),
				Extra: json.RawMessage(`{"openai":{"from":"127.0.0.1/m-1","fields":{"reasoning":"hm"}}}`)},
				Reasoning: "hm", StopReason: "stop"},
		},
		"refusal": {
			sse, "data: {\"choices\":[{\"delta\":{\"refusal\":\"I will not.\"},\"finish_reason\":\"stop\"}]}\n\n",
			model.Reply{Message: chat.Message{Text: chat.NewText("I will not.")}, StopReason: "refusal"},
		},
		"second choice left out": {
			sse,
			"data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"}},{\"index\":0," +
				"\"delta\":{\"content\":\"yes\"},\"finish_reason\":\"stop\"}]}\n\n",
			model.Reply{Message: chat.Message{Text: chat.NewText("yes")}, StopReason: "stop"},
		},
		"cut arguments": {
			sse,
			`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f",` +
				`"arguments":"{\"x\":"}}]},"finish_reason":"length"}]}` + "\n\n",
			model.Reply{Message: chat.Message{ToolCalls: []chat.ToolCall{call("a", "f", `"{\"x\":"`)}},
				StopReason: "length"},
		},
		"null error": {
			sse, "data: {\"error\":null,\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n",
			model.Reply{Message: chat.Message{Text: chat.NewText("a")}, StopReason: "stop"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := canned(t, 200, tc.contentType, tc.body).Call(t.Context(), fullRequest(), nil)
			if err != nil {
				t.Fatal(err)
			}
			tc.want.Message.Role = chat.RoleAssistant
			if d := cmp.Diff(got, tc.want); d != "" {
				t.Errorf("-got +want\n%s", d)
			}
		})
	}
}

func TestErrorAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status            int
		contentType, body string
		kind              model.ErrorKind
		message           string
	}{
		"object": {429, "application/json",
			`{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`, model.KindRateLimit,
			"slow down"},
		"text in error": {404, "application/json", `{"error":"model \"x\" not found, try pulling it first"}`,
			model.KindNotFound, `model "x" not found, try pulling it first`},
		"detail": {422, "application/json", `{"detail":"bad field"}`, model.KindInvalidRequest,
			"bad field"},
		"structured detail": {422, "application/json", `{"detail":[{"loc":["body"]}]}`, model.KindInvalidRequest,
			`{"detail":[{"loc":["body"]}]}`},
		"message": {403, "application/json", `{"message":"forbidden here"}`, model.KindAuth,
			"forbidden here"},
		"array": {400, "application/json",
			`[{"error":{"code":400,"message":"bad key","status":"INVALID_ARGUMENT"}}]`, model.KindInvalidRequest,
			"bad key"},
		"plain text":        {502, "text/plain", "upstream gone\n", model.KindServer, "upstream gone"},
		"page":              {502, "text/html", "<html>Bad gateway</html>", model.KindServer, "502 Bad Gateway"},
		"nothing":           {503, "text/plain", "", model.KindOverloaded, "503 Service Unavailable"},
		"overloaded by 529": {529, "application/json", `{}`, model.KindOverloaded, "{}"},
		"request timeout": {408, "application/json", `{"error":{"message":"too slow"}}`, model.KindTimeout,
			"too slow"},
		"key quoted": {401, "application/json", `{"error":{"message":"Incorrect API key provided: k-1234."}}`,
			model.KindAuth, "Incorrect API key provided: [secret]."},
		"filter by code": {400, "application/json", `{"error":{"message":"policy","code":"content_filter"}}`,
			model.KindContentFilter, "policy"},
		"error with status OK": {200, "application/json", `{"error":{"message":"no credit","code":402}}`,
			model.KindQuota, "no credit"},
		"error in a stream": {200, sse, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: " +
			"{\"error\":{\"message\":\"upstream\",\"code\":429}}\n\n", model.KindRateLimit, "upstream"},
		"no choices": {200, "application/json", `{"object":"x"}`, model.KindServer,
			"the answer cannot be read: it has no choices"},
		"stream of nothing": {200, sse, "data: [DONE]\n\n", model.KindServer,
			"the answer cannot be read: it has no choices"},
		"stream of usage": {
			200, sse,
			"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":0," +
				"\"total_tokens\":3}}\n\ndata: [DONE]\n\n",
			model.KindServer, "the answer cannot be read: it has no choices",
		},
		"empty stream": {200, sse, "", model.KindNetwork, ""},
		"page for an answer": {200, "text/html", "<html>login</html>", model.KindServer,
			"the answer cannot be read: it is text/html, neither JSON nor a stream of events"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := canned(t, tc.status, tc.contentType, tc.body).Call(t.Context(), fullRequest(), nil)
			var failed *model.Error
			if !errors.As(err, &failed) || failed.Kind != tc.kind {
				t.Fatalf("got %v; want kind %s", err, tc.kind)
			}
			if tc.message != "" && failed.Message != tc.message {
				t.Errorf("got message %q; want %q", failed.Message, tc.message)
			}
		})
	}
}

// TestUnreachable checks that a missing listener and a forbidden address each have their own error.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	at := srv.URL
	srv.Close()
	for name, tc := range map[string]struct {
		allow []string
		kind  model.ErrorKind
	}{
		"no listener":     {[]string{at}, model.KindNetwork},
		"refused address": {nil, model.KindInvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := openai.New(openai.Config{BaseURL: at, HTTP: outbound.New(outbound.Config{Allow: tc.allow})})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Call(t.Context(), fullRequest(), nil)
			var failed *model.Error
			if !errors.As(err, &failed) || failed.Kind != tc.kind {
				t.Fatalf("got %v; want kind %s", err, tc.kind)
			}
			if refused := errors.Is(err, outbound.ErrRefused); refused != (tc.allow == nil) {
				t.Errorf("got ErrRefused: %t for %v", refused, err)
			}
		})
	}
	if _, err := openai.New(openai.Config{}); err == nil {
		t.Error("got no error from an empty Config")
	}
}

// TestConnectionReuse checks that one connection serves successive calls.
func TestConnectionReuse(t *testing.T) {
	t.Parallel()
	srv := modeltest.Start(t, modeltest.Conformance)
	c := newClient(t, srv, "", false)
	ports := map[string]bool{}
	for range 4 {
		req := model.Request{Model: "m",
			Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText(modeltest.PromptText)}}}
		if _, err := c.Call(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range srv.Requests() {
		ports[r.Remote] = true
	}
	if len(ports) != 1 {
		t.Errorf("got %d connections; want one", len(ports))
	}
}

package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/anthropic"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/outbound"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func newClient(t *testing.T, srv *modeltest.Server, key string) *anthropic.Client {
	t.Helper()
	http := outbound.New(outbound.Config{Allow: []string{srv.URL()}})
	t.Cleanup(http.CloseIdleConnections)
	c, err := anthropic.New(anthropic.Config{BaseURL: srv.URL(), Key: key, Own: true, HTTP: http})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConformance(t *testing.T) {
	t.Parallel()
	srv := modeltest.Start(t, modeltest.Conformance)
	modeltest.Run(t, modeltest.Harness{Client: newClient(t, srv, modeltest.Canary), Model: "claude-test"})
}

func wantBody(t *testing.T, body []byte, want string) {
	t.Helper()
	var got, wanted any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(got, wanted); d != "" {
		t.Errorf("-got +want\n%s", d)
	}
}

// TestRequestBody checks the request as sent: the results of one turn in one message, before the
// user's text; the kept thinking in its original position.
func TestRequestBody(t *testing.T) {
	t.Parallel()
	srv := modeltest.Start(t, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: "ok"} })
	req := model.Request{
		Model: "claude-x", System: "sys", IdempotencyKey: "k1",
		Messages: []chat.Message{
			{Role: chat.RoleUser, Text: chat.NewText(" ")},
			{Role: chat.RoleAssistant, Text: chat.NewText("wait"), ToolCalls: []chat.ToolCall{
				{ID: "a", Name: "f", Arguments: json.RawMessage(`{"x":1}`)}, {ID: "b", Name: "g"},
				{ID: "c", Name: "h", Arguments: json.RawMessage(`"{bro"`)},
			},
				Extra: json.RawMessage(
					`{"anthropic":[{"thinking":"hm","signature":"s1"},{"text":4},{"redacted":"xx"},{"call":0},` +
						`{"call":1},{"call":2}]}`)},
			{Role: chat.RoleTool, ToolCallID: "a", Text: chat.NewText("1")},
			{Role: chat.RoleTool, ToolCallID: "b", Text: chat.NewText("")},
			{Role: chat.RoleTool, ToolCallID: "c", Text: chat.NewText("no JSON"), IsError: true},
			{Role: chat.RoleSystem, Text: chat.NewText("be brief")},
			{Role: chat.RoleUser, Text: chat.NewText("go on")},
			{Role: chat.RoleAssistant},
			{Role: chat.RoleAssistant, Text: chat.NewText("other"), Extra: json.RawMessage(`{"google":{"x":1}}`)},
			{Role: chat.RoleUser, Text: chat.NewText("now")},
		},
		Tools: []chat.ToolDef{
			{Name: "f", Description: "does f", Parameters: json.RawMessage(
				`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"$defs":{}}`)}, {Name: "g"},
		},
		Params: model.Params{
			Temperature: new(0.0), TopP: new(0.5), ThinkingBudget: new(int64(2000)), Stop: []string{"END"},
			ReasoningEffort: "high",
			ProviderOptions: map[string]json.RawMessage{"metadata.user_id": json.RawMessage(`"u"`)},
		},
	}
	if _, err := newClient(t, srv, "k-1234").Call(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	seen := srv.Requests()[0]
	if seen.Header.Get("X-Api-Key") != "k-1234" || seen.Header.Get("Idempotency-Key") != "k1" ||
		seen.Header.Get("Authorization") != "" {
		t.Errorf("got headers %v", seen.Header)
	}
	wantBody(t, seen.Body, `{
		"model": "claude-x", "max_tokens": 18384, "stream": true, "temperature": 0, "top_p": 0.5, "stop_sequences": `+
		`["END"],
		"system": [{"type": "text", "text": "sys"}, {"type": "text", "text": "be brief"}],
		"thinking": {"type": "enabled", "budget_tokens": 2000}, "output_config": {"effort": "high"}, "metadata": `+
		`{"user_id": "u"},
		"messages": [
			{"role": "user", "content": [{"type": "text", "text": "(empty)"}]},
			{"role": "assistant", "content": [
				{"type": "thinking", "thinking": "hm", "signature": "s1"}, {"type": "text", "text": "wait"}, `+
		`{"type": "redacted_thinking", "data": "xx"},
				{"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}, {"type": "tool_use", "id": "b", `+
		`"name": "g", "input": {}},
				{"type": "tool_use", "id": "c", "name": "h", "input": {"input": "{bro"}}
			]},
			{"role": "user", "content": [
				{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "1"}]},
				{"type": "tool_result", "tool_use_id": "b"},
				{"type": "tool_result", "tool_use_id": "c", "is_error": true, "content": [{"type": "text", "text": `+
		`"no JSON"}]},
				{"type": "text", "text": "go on"}
			]},
			{"role": "assistant", "content": [{"type": "text", "text": "other"}]},
			{"role": "user", "content": [{"type": "text", "text": "now"}]}
		],
		"tools": [
			{"name": "f", "description": "does f", "input_schema": {"type": "object", "properties": {"x": {"type": `+
		`"integer"}}, "required": ["x"], "$defs": {}}},
			{"name": "g", "input_schema": {"type": "object", "properties": {}}}
		]
	}`)
}

func TestThinkingAndBounds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		params model.Params
		want   string
	}{
		"nothing set": {model.Params{}, `"max_tokens": 16384`},
		"bound": {model.Params{MaxTokens: new(int64(5)), ThinkingBudget: new(int64(2000))},
			`"max_tokens": 5, "thinking": {"type": "enabled", "budget_tokens": 2000}`},
		"off": {model.Params{ThinkingBudget: new(int64(0))},
			`"max_tokens": 16384, "thinking": {"type": "disabled"}`},
		"adaptive": {model.Params{ThinkingBudget: new(int64(-1))},
			`"max_tokens": 16384, "thinking": {"type": "adaptive"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := modeltest.Start(t, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: "ok"} })
			req := model.Request{Model: "m", Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("hi")}},
				Params: tc.params}
			if _, err := newClient(t, srv, "").Call(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			wantBody(t, srv.Requests()[0].Body,
				`{"model": "m", "stream": true, "messages": [{"role": "user", "content": [{"type": "text", "text": `+
					`"hi"}]}], `+tc.want+`}`)
		})
	}
}

// TestSchema checks structured output with the API's own feature, and with a forced tool for models
// that lack it.
func TestSchema(t *testing.T) {
	t.Parallel()
	schema := &model.Schema{
		JSON: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":3}},"required":["n"]}`),
	}
	for name, tc := range map[string]struct {
		model, tool, format, choice string
		tools                       []chat.ToolDef
	}{
		"native": {model: "claude-sonnet-4-5",
			format: `{"type":"json_schema","schema":{"type":"object","additionalProperties":false,` +
				`"properties":{"n":{"type":"integer","description":"{minimum: 3}"}},"required":["n"]}}`},
		"forced": {model: "claude-3-5-haiku-latest", tool: "final_answer",
			choice: `{"type":"tool","name":"final_answer"}`},
		"forced beside tools": {
			model: "claude-sonnet-4-20250514", tool: "final_answer_", choice: `{"type":"any"}`,
			tools: []chat.ToolDef{{Name: "final_answer"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := modeltest.Start(t, func(modeltest.Request) modeltest.Answer {
				if tc.tool == "" {
					return modeltest.Answer{Text: `{"n":4}`}
				}
				return modeltest.Answer{Text: "Here it is.",
					ToolCalls: []chat.ToolCall{{Name: tc.tool, Arguments: json.RawMessage(`{"n":4}`)}}}
			})
			var deltas strings.Builder
			reply, err := newClient(t, srv, "").Call(t.Context(), model.Request{
				Model: tc.model, Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("hi")}},
				Schema: schema, Tools: tc.tools,
			}, func(d model.Delta) { deltas.WriteString(d.Text) })
			if err != nil {
				t.Fatal(err)
			}
			if reply.Message.Text.String() != `{"n":4}` || len(reply.Message.ToolCalls) != 0 ||
				reply.StopReason != model.StopEnd {
				t.Errorf("got %+v", reply)
			}
			if !strings.HasSuffix(deltas.String(), `{"n":4}`) {
				t.Errorf("got deltas %q", deltas.String())
			}
			var body struct {
				OutputConfig struct{ Format json.RawMessage } `json:"output_config"`
				ToolChoice   json.RawMessage                  `json:"tool_choice"`
			}
			if err := json.Unmarshal(srv.Requests()[0].Body, &body); err != nil {
				t.Fatal(err)
			}
			if tc.format != "" {
				wantBody(t, body.OutputConfig.Format, tc.format)
			}
			if tc.choice != "" {
				wantBody(t, body.ToolChoice, tc.choice)
			}
		})
	}
}

// TestThinkingRoundTrip checks that the thinking of a reply is sent back to the provider with its
// signature; another provider's extra is ignored.
func TestThinkingRoundTrip(t *testing.T) {
	t.Parallel()
	srv := modeltest.Start(t, modeltest.Conformance)
	c := newClient(t, srv, "")
	req := model.Request{Model: "m", Messages: []chat.Message{
		{Role: chat.RoleUser, Text: chat.NewText(modeltest.PromptTool)},
	}, Tools: []chat.ToolDef{{Name: "get_weather"}}}
	reply, err := c.Call(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(reply.Message.Extra),
		`{"from":"127.0.0.1","anthropic":[{"thinking":"First I thought about it.","signature":"sig-1"},{"text":12},`+
			`{"call":0}]}`); d != "" {
		t.Errorf("extra: -got +want\n%s", d)
	}
	req.Messages = append(req.Messages, reply.Message,
		chat.Message{Role: chat.RoleTool, ToolCallID: reply.Message.ToolCalls[0].ID, Text: chat.NewText("18C")})
	if _, err := c.Call(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	sent := srv.Requests()[1].Messages[1]
	if d := cmp.Diff(string(sent.Extra), `{"signature":"sig-1","thinking":"First I thought about it."}`); d != "" {
		t.Errorf("sent back: -got +want\n%s", d)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	if _, err := anthropic.New(anthropic.Config{}); err == nil {
		t.Error("got no error from an empty Config")
	}
	// Other tools expect a base URL that includes the version; both forms are equivalent.
	srv := modeltest.Start(t, modeltest.Conformance)
	c, err := anthropic.New(anthropic.Config{BaseURL: srv.URL() + "/v1/",
		HTTP: outbound.New(outbound.Config{Allow: []string{srv.URL()}})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Call(t.Context(), model.Request{Model: "m",
		Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText(modeltest.PromptText)}}}, nil); err != nil {
		t.Error(err)
	}
	if got := srv.Requests()[0].Path; got != "/v1/messages" {
		t.Errorf("got path %s", got)
	}
}

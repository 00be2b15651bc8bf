package google_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/google"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/outbound"
)

// TestMain ignores one goroutine that a transitive dependency of the SDK starts at program start.
func TestMain(m *testing.M) {
	leaktest.Main(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func newClient(t *testing.T, url, key string) *google.Client {
	t.Helper()
	http := outbound.New(outbound.Config{Allow: []string{url}})
	t.Cleanup(http.CloseIdleConnections)
	c, err := google.New(google.Config{BaseURL: url, Key: key, Own: true, HTTP: http})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConformance(t *testing.T) {
	t.Parallel()
	srv := modeltest.Start(t, modeltest.Conformance)
	modeltest.Run(t, modeltest.Harness{
		Client: newClient(t, srv.URL(), modeltest.Canary), Model: "gemini-test", SearchModel: "gemini-2.5-flash",
		Skip: map[string]string{"bad arguments": "this API gives arguments as an object, never as text"},
	})
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

func ok(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: "ok"} }

func TestRequestBody(t *testing.T) {
	t.Parallel()
	srv := modeltest.Start(t, ok)
	req := model.Request{
		Model: "gemini-x", System: "sys", IdempotencyKey: "k1",
		Messages: []chat.Message{
			{Role: chat.RoleUser, Text: chat.NewText("")},
			{Role: chat.RoleAssistant, Text: chat.NewText("wait"),
				Extra: json.RawMessage(`{"google":{"signature":"AQI="}}`), ToolCalls: []chat.ToolCall{
					{ID: "a", Name: "f", Arguments: json.RawMessage(`{"x":1}`),
						Extra: json.RawMessage(`{"google":{"signature":"AwQ="}}`)},
					{ID: "b", Name: "g"}, {ID: "c", Name: "h", Arguments: json.RawMessage(`"{bro"`)},
				}},
			{Role: chat.RoleTool, ToolCallID: "a", Text: chat.NewText("1")},
			{Role: chat.RoleTool, ToolCallID: "b", ToolName: "g", Text: chat.NewText("")},
			{Role: chat.RoleTool, ToolCallID: "c", Text: chat.NewText("no JSON"), IsError: true},
			{Role: chat.RoleSystem, Text: chat.NewText("be brief")},
			{Role: chat.RoleUser, Text: chat.NewText("go on")},
			{Role: chat.RoleAssistant},
			{Role: chat.RoleAssistant, Text: chat.NewText("other"), Extra: json.RawMessage(`{"anthropic":[]}`)},
			{Role: chat.RoleUser, Text: chat.NewText("now")},
		},
		Tools: []chat.ToolDef{{Name: "f", Description: "does f",
			Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}}}`)}, {Name: "g"}},
		Schema: &model.Schema{JSON: json.RawMessage(`{"type":"object","properties":{}}`)},
		Params: model.Params{
			Temperature: new(0.0), TopP: new(0.5), FrequencyPenalty: new(0.25), PresencePenalty: new(-0.5),
			MaxTokens:      new(int64(9)),
			ThinkingBudget: new(int64(128)), Stop: []string{"END"},
			ProviderOptions: map[string]json.RawMessage{"generationConfig.seed": json.RawMessage(`7`),
				"labels.a.b": json.RawMessage(`[1]`)},
		},
	}
	if _, err := newClient(t, srv.URL(), "k-1234").Call(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	seen := srv.Requests()[0]
	if seen.Header.Get("X-Goog-Api-Key") != "k-1234" || seen.Header.Get("Idempotency-Key") != "k1" {
		t.Errorf("got headers %v", seen.Header)
	}
	if seen.Path != "/v1beta/models/gemini-x:streamGenerateContent" {
		t.Errorf("got path %s", seen.Path)
	}
	wantBody(t, seen.Body, `{
		"systemInstruction": {"role": "user", "parts": [{"text": "sys"}, {"text": "be brief"}]},
		"contents": [
			{"role": "user", "parts": [{"text": "(empty)"}]},
			{"role": "model", "parts": [
				{"text": "wait", "thoughtSignature": "AQI="},
				{"functionCall": {"id": "a", "name": "f", "args": {"x": 1}}, "thoughtSignature": "AwQ="},
				{"functionCall": {"id": "b", "name": "g"}},
				{"functionCall": {"id": "c", "name": "h", "args": {"input": "{bro"}}}
			]},
			{"role": "user", "parts": [
				{"functionResponse": {"id": "a", "name": "f", "response": {"output": "1"}}},
				{"functionResponse": {"id": "b", "name": "g", "response": {"output": ""}}},
				{"functionResponse": {"id": "c", "name": "h", "response": {"error": "no JSON"}}},
				{"text": "go on"}
			]},
			{"role": "model", "parts": [{"text": "other"}]},
			{"role": "user", "parts": [{"text": "now"}]}
		],
		"tools": [{"functionDeclarations": [
			{"name": "f", "description": "does f", "parametersJsonSchema": {"type": "object", "properties": {"x": `+
		`{"type": "integer"}}}}, {"name": "g"}
		]}],
		"generationConfig": {
			"temperature": 0, "topP": 0.5, "frequencyPenalty": 0.25, "presencePenalty": -0.5, "maxOutputTokens": 9, `+
		`"stopSequences": ["END"],
			"responseMimeType": "application/json", "responseJsonSchema": {"type": "object", "properties": {}},
			"thinkingConfig": {"includeThoughts": true, "thinkingBudget": 128}, "seed": 7
		},
		"labels": {"a": {"b": [1]}}
	}`)
}

func TestThinking(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		params model.Params
		want   string
	}{
		"off":    {model.Params{ThinkingBudget: new(int64(0))}, `{"thinkingBudget": 0}`},
		"free":   {model.Params{ThinkingBudget: new(int64(-1))}, `{"thinkingBudget": -1, "includeThoughts": true}`},
		"effort": {model.Params{ReasoningEffort: "low"}, `{"thinkingLevel": "LOW", "includeThoughts": true}`},
		"none":   {model.Params{}, `null`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := modeltest.Start(t, ok)
			req := model.Request{Model: "m", Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("hi")}},
				Params: tc.params}
			if _, err := newClient(t, srv.URL(), "").Call(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			var body struct {
				GenerationConfig struct{ ThinkingConfig json.RawMessage }
			}
			if err := json.Unmarshal(srv.Requests()[0].Body, &body); err != nil {
				t.Fatal(err)
			}
			if body.GenerationConfig.ThinkingConfig == nil {
				body.GenerationConfig.ThinkingConfig = json.RawMessage("null")
			}
			wantBody(t, body.GenerationConfig.ThinkingConfig, tc.want)
		})
	}
}

// TestSchema_WithTools checks that for models before Gemini 3, which reject a response schema
// along with functions, the reply is the arguments of a function.
func TestSchema_WithTools(t *testing.T) {
	t.Parallel()
	for name, tool := range map[string]string{"gemini-2.5-flash": "final_answer", "gemini-3-pro": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := modeltest.Start(t, func(modeltest.Request) modeltest.Answer {
				if tool == "" {
					return modeltest.Answer{Text: `{"n":4}`}
				}
				return modeltest.Answer{Text: "Here:",
					ToolCalls: []chat.ToolCall{{Name: tool, Arguments: json.RawMessage(`{"n":4}`)}}}
			})
			reply, err := newClient(t, srv.URL(), "").Call(t.Context(), model.Request{
				Model: name, Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("hi")}},
				Tools:  []chat.ToolDef{{Name: "f"}},
				Schema: &model.Schema{JSON: json.RawMessage(`{"type":"object"}`)},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if reply.Message.Text.String() != `{"n":4}` || len(reply.Message.ToolCalls) != 0 ||
				reply.StopReason != model.StopEnd {
				t.Errorf("got %+v", reply)
			}
			seen := srv.Requests()[0]
			if forced := strings.Contains(string(seen.Body), `"mode":"ANY"`); forced != (tool != "") ||
				(seen.Schema != nil) != (tool == "") {
				t.Errorf("got body %s", seen.Body)
			}
		})
	}
}

// TestSignaturesAndIDs checks that signatures are sent back with the parts they came with, and that
// calls without ids get ids.
func TestSignaturesAndIDs(t *testing.T) {
	t.Parallel()
	c := canned(t,
		`{"candidates":[{"content":{"parts":[{"text":"Let","thoughtSignature":"AQ=="},{"text":" `+
			`me"},{"functionCall":{"name":"f"},"thoughtSignature":"Ag=="},{"functionCall":{"name":"g",`+
			`"args":{"a":1}}}]},"finishReason":"STOP"}]}`)
	got, err := c.Call(t.Context(),
		model.Request{Model: "m", Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("x")}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := model.Reply{
		Message: chat.Message{
			Role: chat.RoleAssistant, Text: chat.NewText("Let me"),
			Extra: json.RawMessage(`{"google":{"signature":"AQ=="}}`),
			ToolCalls: []chat.ToolCall{
				{ID: "call_1_0", Name: "f", Arguments: json.RawMessage(`{}`),
					Extra: json.RawMessage(`{"google":{"signature":"Ag=="}}`)},
				{ID: "call_1_1", Name: "g", Arguments: json.RawMessage(`{"a":1}`)},
			},
		},
		StopReason: model.StopToolCalls,
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("-got +want\n%s", d)
	}
}

// canned returns a client for a server that answers every call with one event.
func canned(t *testing.T, event string) *google.Client {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: "+event+"\r\n\r\n")
	}))
	t.Cleanup(srv.Close)
	return newClient(t, srv.URL, "k-1234")
}

func TestFinishReasons(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		event string
		kind  model.ErrorKind
		says  string
	}{
		"prompt blocked": {`{"promptFeedback":{"blockReason":"SAFETY","blockReasonMessage":"no"}}`,
			model.KindContentFilter, "SAFETY no"},
		"recitation": {`{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"RECITATION"}]}`,
			model.KindContentFilter, "RECITATION"},
		"malformed call": {`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"print(x)"}]}`,
			model.KindServer, "MALFORMED_FUNCTION_CALL"},
		"malformed call beside a whole one": {`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]},` +
			`"finishReason":"MALFORMED_FUNCTION_CALL"}]}`, model.KindServer, "MALFORMED_FUNCTION_CALL"},
		"unknown word after a text": {`{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"HALF"}]}`,
			model.KindServer, "HALF"},
		"other": {`{"candidates":[{"finishReason":"OTHER"}]}`, model.KindServer, "OTHER"},
		"error inside": {`{"error":{"code":429,"message":"quota of k-1234","status":"RESOURCE_EXHAUSTED"}}`,
			model.KindRateLimit, "quota of [secret]"},
		"null candidate": {`{"candidates":[null]}`, model.KindServer,
			"the answer cannot be read: it has null in place of an object"},
		"no candidate": {`{"usageMetadata":{}}`, model.KindNetwork, "ended early"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := canned(t, tc.event).Call(t.Context(), model.Request{Model: "m",
				Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("x")}}}, nil)
			var failed *model.Error
			if !errors.As(err, &failed) || failed.Kind != tc.kind || !strings.Contains(failed.Message, tc.says) {
				t.Errorf("got %v; want %s saying %q", err, tc.kind, tc.says)
			}
			if strings.Contains(fmt.Sprintf("%+v", err), "k-1234") {
				t.Errorf("the key is in %+v", err)
			}
		})
	}
}

// TestStream_NotClosedByServer checks that a server that leaves the stream open after a complete
// response does not delay the call for long.
func TestStream_NotClosedByServer(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `data: {"candidates":[{"content":{"parts":[{"text":"done"}]},"finishReason":"STOP"}]}`+"\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(srv.Close)
	reply, err := newClient(t, srv.URL, "").Call(t.Context(),
		model.Request{Model: "m", Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("x")}}}, nil)
	if err != nil || reply.Message.Text.String() != "done" {
		t.Errorf("got %q, %v", reply.Message.Text.String(), err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	if _, err := google.New(google.Config{}); err == nil {
		t.Error("got no error from an empty Config")
	}
}

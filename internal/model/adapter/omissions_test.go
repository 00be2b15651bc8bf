package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
)

// TestOmissions_Refusals checks which parameters count as refused, by the server's message. The
// recorded refusals of servers are in internal/model/providers/testdata.
func TestOmissions_Refusals(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"Unsupported parameter: 'max_tokens' is not supported with this model.":                       "max_tokens",
		"'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.":         "max_tokens",
		"Unrecognized request argument supplied: max_tokens":                                          "max_tokens",
		"This model does not support max_tokens greater than 4096":                                    "",
		"max_tokens 5000 is not supported, use max_completion_tokens or a smaller one":                "",
		"max_tokens must be at most 4096; larger values are not supported with max_completion_tokens": "",
		"max_tokens is not supported with this sampler":                                               "",
		"temperature above the maximum of 1 is not supported":                                         "",
		"'temperature' does not support 0 with this model. Only the default (1) value is supported.":  "temperature",
		"This model does not support image input; stop and retry":                                     "",
		"This model does not support image input, stop and retry":                                     "",
		"This model does not support the stop parameter":                                              "stop",
		"stop: Extra inputs are not permitted":                                                        "stop",
		"Stop sequences are not supported":                                                            "stop",
		"role must be one of: user, assistant; response_format ok":                                    "",
		"role must be one of user or assistant in a request with response_format":                     "",
		"tools are not supported in streaming mode":                                                   "",
		"Streaming is not supported by this model":                                                    "stream",
		"This model does not support streaming":                                                       "stream",
		"The model has been deprecated. Use a model that is temperature-tuned.":                       "",
		"The model has been deprecated, use the temperature-tuned one":                                "",
		"Unsupported value. See https://example.com/docs. (temperature)":                              "temperature",
		"Images are not supported. Please check the size of the input. temperature: 1 (messages)":     "",
	} {
		if got := omitted(message); got != want {
			t.Errorf("%s: got %q; want %q", message, got, want)
		}
	}
}

// omitted returns the parameter that a call leaves out after a refusal.
func omitted(message string) (name string) {
	o := Omissions{Always: []string{"stream", "stream_options"}}
	req := model.Request{Model: "m", Schema: &model.Schema{}, Params: model.Params{Temperature: new(0.0),
		MaxTokens: new(int64(1)), Stop: []string{"x"}}}
	_, _ = o.Call(context.Background(), req, nil,
		func(_ context.Context, req model.Request, _ func(model.Delta)) (model.Reply, error) {
			if len(req.Omit) > 0 {
				name = req.Omit[0]
				return model.Reply{}, nil
			}
			return model.Reply{}, &model.Error{Kind: model.KindInvalidRequest, Message: message}
		})
	return name
}

// callFunc is a function used as a model.Client.
type callFunc func(context.Context, model.Request, func(model.Delta)) (model.Reply, error)

// Call implements model.Client.
func (f callFunc) Call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	return f(ctx, req, onDelta)
}

// TestRefusals_AfterOutput checks that a call is not made again once the server has sent a part of
// the reply, or counted tokens.
func TestRefusals_AfterOutput(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		delta model.Delta
		usage *chat.Usage
		want  int
	}{
		"a refusal": {model.Delta{}, nil, 2},
		"text":      {model.Delta{Text: "a"}, nil, 1},
		"a call":    {model.Delta{ToolCall: &model.ToolCallDelta{}}, nil, 1},
		"usage":     {model.Delta{}, &chat.Usage{InputTokens: 1}, 1},
	} {
		calls := 0
		client := callFunc(func(_ context.Context, _ model.Request, onDelta func(model.Delta)) (model.Reply, error) {
			if calls++; calls > 1 {
				return model.Reply{}, nil
			}
			onDelta(tc.delta)
			return model.Reply{}, &model.Error{Kind: model.KindInvalidRequest, Status: http.StatusOK, Usage: tc.usage,
				Message: "Unsupported parameter: temperature. Bad definition of tool 'f'"}
		})
		var o Omissions
		_, err := o.Call(t.Context(), model.Request{Params: model.Params{Temperature: new(0.0)}}, nil, client)
		if calls != tc.want || (err == nil) != (tc.want == 2) {
			t.Errorf("%s, a parameter: got %d calls, %v; want %d", name, calls, err, tc.want)
		}
		calls = 0
		_, err = WithoutRefusedTools(client).Call(t.Context(), model.Request{Tools: []chat.ToolDef{{Name: "f"}}}, nil)
		if calls != tc.want || (err == nil) != (tc.want == 2) {
			t.Errorf("%s, a tool: got %d calls, %v; want %d", name, calls, err, tc.want)
		}
	}
}

// TestRefusedTools_Bounded checks that the memory of refused tools does not grow without end.
func TestRefusedTools_Bounded(t *testing.T) {
	t.Parallel()
	client := WithoutRefusedTools(callFunc(
		func(_ context.Context, req model.Request, _ func(model.Delta)) (model.Reply, error) {
			if len(req.Tools) > 0 {
				return model.Reply{}, &model.Error{Kind: model.KindInvalidRequest, Message: "tools[0]: bad"}
			}
			return model.Reply{}, nil
		}))
	big := strings.Repeat("x", 1000)
	for i := range 3 * maxRefused {
		d := chat.ToolDef{Name: "f", Description: big, Parameters: json.RawMessage(fmt.Sprint(i))}
		if _, err := client.Call(t.Context(), model.Request{Tools: []chat.ToolDef{d}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if w, ok := client.(*withoutTools); !ok || len(w.refused) > maxRefused {
		t.Errorf("got %d refusals; want at most %d", len(w.refused), maxRefused)
	}
}

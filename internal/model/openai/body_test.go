package openai

import (
	"encoding/json"
	"net/http"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	_ "github.com/hocket-run/hocket/internal/randtest"
)

// TestBody_MatchesSDK checks that the messages of a request are byte for byte those that the SDK
// writes.
func TestBody_MatchesSDK(t *testing.T) {
	t.Parallel()
	create := func(h *http.Client) (*Client, error) { return New(Config{BaseURL: "http://127.0.0.1:1", HTTP: h}) }
	modeltest.CheckBodies(t, create, func(c *Client, req model.Request) {
		opts := []option.RequestOption{option.WithJSONSet("stream", true)}
		for path, value := range req.Params.ProviderOptions {
			opts = append(opts, option.WithJSONSet(path, value))
		}
		p := c.params(req)
		p.Messages = messages(req)
		_ = c.post(t.Context(), "chat/completions", p, nil, opts...) // no server responds
	}, func(*rapid.T, *chat.Message, int) json.RawMessage { return nil })
}

// messages returns the conversation. chat.Message.Name is not sent: names with spaces are rejected,
// and the engine writes speakers into the text if they matter (D30).
func messages(req model.Request) []sdk.ChatCompletionMessageParamUnion {
	out := make([]sdk.ChatCompletionMessageParamUnion, 0, len(req.Messages)+1)
	if req.System != "" {
		out = append(out, sdk.SystemMessage(req.System))
	}
	for _, m := range req.Messages {
		switch m.Role {
		case chat.RoleSystem:
			out = append(out, sdk.SystemMessage(m.Text.String()))
		case chat.RoleAssistant:
			out = append(out, assistant(m))
		case chat.RoleTool:
			out = append(out, sdk.ToolMessage(m.Text.String(), adapter.CallID(m.ToolCallID, notEmpty)))
		default:
			out = append(out, sdk.UserMessage(m.Text.String()))
		}
	}
	return out
}

func notEmpty(id string) bool { return id != "" }

func assistant(m chat.Message) sdk.ChatCompletionMessageParamUnion {
	if len(m.ToolCalls) == 0 {
		return sdk.AssistantMessage(m.Text.String())
	}
	var a sdk.ChatCompletionAssistantMessageParam
	if m.Text.IsZero() {
		a.Content = param.Override[sdk.ChatCompletionAssistantMessageParamContentUnion](json.RawMessage("null"))
	} else {
		a.Content.OfString = param.NewOpt(m.Text.String())
	}
	for _, call := range m.ToolCalls {
		a.ToolCalls = append(a.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID: adapter.CallID(call.ID, notEmpty),
				Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name: adapter.CallName(call.Name), Arguments: string(adapter.ArgumentsObject(call.Arguments)),
				},
			},
		})
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &a}
}

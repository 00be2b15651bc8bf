package anthropic

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
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
		p := params(req, c.cfg.host())
		p.Messages = messages(req.Messages)
		_ = c.post(t.Context(), "v1/messages", p, nil, opts...) // no server responds
	}, randomLayout)
}

// randomLayout generates the layout that the adapter keeps of a reply: blocks that fit it, or do
// not.
func randomLayout(t *rapid.T, m *chat.Message, i int) json.RawMessage {
	if i >= 0 || !rapid.Bool().Draw(t, "layout") {
		return nil
	}
	var blocks []block
	text := int(m.Text.Len())
	call := 0
	for range rapid.IntRange(1, 6).Draw(t, "blocks") {
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			blocks = append(blocks,
				block{Thinking: "so <then> \"x\"\n" + strings.Repeat("hm ", rapid.IntRange(0, 300).Draw(t, "long")),
					Signature: "s<ig"})
		case 1:
			blocks = append(blocks, block{Redacted: "cmVk"})
		case 2:
			blocks = append(blocks,
				block{Used: json.RawMessage(`{"type": "server_tool_use", "id": "<1>", "input": {"query": "é"}}`)},
				block{Found: json.RawMessage(`{"type":"web_search_tool_result","content":[ ]}`)})
		case 3:
			n := rapid.IntRange(0, text).Draw(t, "stretch")
			blocks = append(blocks, block{Text: n, List: rapid.Bool().Draw(t, "list")})
			text -= n
		default:
			if call < len(m.ToolCalls) {
				blocks = append(blocks, block{Call: new(call)})
				call++
			}
		}
	}
	if rapid.IntRange(0, 9).Draw(t, "fits") > 0 {
		blocks = append(blocks, block{Text: text})
		for ; call < len(m.ToolCalls); call++ {
			blocks = append(blocks, block{Call: new(call)})
		}
	}
	raw, err := json.Marshal(extra{Anthropic: blocks})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// messages returns the conversation. Tool results belong to the user, all those of one turn in one
// message and before any user text, so adjacent messages of one role become one message.
func messages(list []chat.Message) []sdk.MessageParam {
	var out []sdk.MessageParam
	add := func(role sdk.MessageParamRole, blocks ...sdk.ContentBlockParamUnion) {
		if len(blocks) == 0 {
			return
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			return
		}
		out = append(out, sdk.MessageParam{Role: role, Content: blocks})
	}
	for _, m := range list {
		switch m.Role {
		case chat.RoleSystem:
		case chat.RoleAssistant:
			add(sdk.MessageParamRoleAssistant, assistant(m)...)
		case chat.RoleTool:
			add(sdk.MessageParamRoleUser, toolResult(m))
		default:
			text := m.Text.String()
			if strings.TrimSpace(text) == "" {
				text = emptyText
			}
			add(sdk.MessageParamRoleUser, sdk.NewTextBlock(text))
		}
	}
	return out
}

func toolResult(m chat.Message) sdk.ContentBlockParamUnion {
	block := sdk.ToolResultBlockParam{ToolUseID: adapter.CallID(m.ToolCallID, validID)}
	if m.IsError {
		block.IsError = param.NewOpt(true)
	}
	if !m.Text.IsZero() {
		block.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: m.Text.String()}}}
	}
	return sdk.ContentBlockParamUnion{OfToolResult: &block}
}

// assistant returns the blocks of a reply, with thinking in its original positions. A reply without
// text and calls has none.
func assistant(m chat.Message) []sdk.ContentBlockParamUnion {
	layout := layoutOf(m, "")
	var out []sdk.ContentBlockParamUnion
	at := 0
	for _, b := range layout {
		switch {
		case b.Signature != "":
			out = append(out, sdk.NewThinkingBlock(b.Signature, b.Thinking))
		case b.Redacted != "":
			out = append(out, sdk.NewRedactedThinkingBlock(b.Redacted))
		case b.Call != nil:
			call := m.ToolCalls[*b.Call]
			out = append(out, sdk.NewToolUseBlock(adapter.CallID(call.ID, validID),
				adapter.ArgumentsObject(call.Arguments), adapter.CallName(call.Name)))
		case b.Used != nil:
			use := param.Override[sdk.ServerToolUseBlockParam](b.Used)
			out = append(out, sdk.ContentBlockParamUnion{OfServerToolUse: &use})
		case b.Found != nil:
			found := param.Override[sdk.WebSearchToolResultBlockParam](b.Found)
			out = append(out, sdk.ContentBlockParamUnion{OfWebSearchToolResult: &found})
		default:
			text := m.Text.String()[at : at+b.Text]
			at += b.Text
			if !b.List && strings.TrimSpace(text) != "" {
				out = append(out, sdk.NewTextBlock(text))
			}
		}
	}
	return out
}

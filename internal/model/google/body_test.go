package google

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genai"
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
		cfg := config(req, nil)
		cfg.HTTPOptions.ExtrasRequestProvider = func(body map[string]any) map[string]any {
			for path, value := range req.Params.ProviderOptions {
				setPath(body, strings.Split(path, "."), value)
			}
			return body
		}
		for range c.generate(t.Context(), req.Model, contents(req.Messages), cfg) { // no server responds
		}
	}, func(t *rapid.T, _ *chat.Message, _ int) json.RawMessage {
		switch rapid.IntRange(0, 3).Draw(t, "signature") {
		case 0:
			return extraOf([]byte("sig\xff"))
		case 1:
			return json.RawMessage(`{"anthropic":[]}`)
		}
		return nil
	})
}

// contents returns the conversation; adjacent messages of one role become one content, so that all
// results of a turn are together.
func contents(list []chat.Message) []*genai.Content {
	var out []*genai.Content
	names := map[string]string{}
	add := func(role genai.Role, parts ...*genai.Part) {
		if len(parts) == 0 {
			return
		}
		if n := len(out); n > 0 && out[n-1].Role == string(role) {
			out[n-1].Parts = append(out[n-1].Parts, parts...)
			return
		}
		out = append(out, &genai.Content{Role: string(role), Parts: parts})
	}
	for _, m := range list {
		switch m.Role {
		case chat.RoleSystem:
		case chat.RoleAssistant:
			for _, c := range m.ToolCalls {
				names[c.ID] = c.Name
			}
			add(genai.RoleModel, assistant(m)...)
		case chat.RoleTool:
			name := m.ToolName
			if name == "" {
				name = names[m.ToolCallID]
			}
			key := "output"
			if m.IsError {
				key = "error"
			}
			add(genai.RoleUser, &genai.Part{FunctionResponse: &genai.FunctionResponse{
				ID: m.ToolCallID, Name: adapter.CallName(name), Response: map[string]any{key: m.Text.String()},
			}})
		default:
			text := m.Text.String()
			if text == "" {
				text = emptyText
			}
			add(genai.RoleUser, &genai.Part{Text: text})
		}
	}
	return out
}

func assistant(m chat.Message) []*genai.Part {
	var parts []*genai.Part
	if !m.Text.IsZero() {
		parts = append(parts, &genai.Part{Text: m.Text.String(), ThoughtSignature: signatureOf(m.Extra)})
	}
	for _, c := range m.ToolCalls {
		parts = append(parts, &genai.Part{
			FunctionCall: &genai.FunctionCall{ID: c.ID, Name: adapter.CallName(c.Name),
				Args: adapter.Object(adapter.ArgumentsObject(c.Arguments))},
			ThoughtSignature: signatureOf(c.Extra),
		})
	}
	return parts
}

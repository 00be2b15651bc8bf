package modeltest

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
)

// anthropicWire implements Anthropic's Messages API.
type anthropicWire struct{}

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   json.RawMessage `json:"content"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
}

func (anthropicWire) decode(_ string, body []byte) (Request, error) {
	var in struct {
		Model     string          `json:"model"`
		Stream    bool            `json:"stream"`
		MaxTokens int64           `json:"max_tokens"`
		System    json.RawMessage `json:"system"`
		Messages  []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Type        string          `json:"type"`
			Name        string          `json:"name"`
			Description string          `json:"description"`
			InputSchema json.RawMessage `json:"input_schema"`
		} `json:"tools"`
		OutputConfig struct {
			Format struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"format"`
		} `json:"output_config"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	if in.MaxTokens == 0 {
		return Request{}, errors.New("max_tokens is missing")
	}
	req := Request{Model: in.Model, Stream: in.Stream, System: textOf(in.System), Schema: in.OutputConfig.Format.Schema}
	for _, m := range in.Messages {
		var blocks []anthropicBlock
		if json.Unmarshal(m.Content, &blocks) != nil {
			req.Messages = append(req.Messages,
				chat.Message{Role: chat.Role(m.Role), Text: chat.NewText(textOf(m.Content))})
			continue
		}
		req.Messages = append(req.Messages, fromBlocks(chat.Role(m.Role), blocks)...)
	}
	for _, t := range in.Tools {
		if strings.HasPrefix(t.Type, "web_search_") {
			req.Search = true
			continue
		}
		req.Tools = append(req.Tools, chat.ToolDef{Name: t.Name, Description: t.Description, Parameters: t.InputSchema})
	}
	return req, nil
}

// fromBlocks returns the messages that one message of blocks represents: each tool result is a
// separate message.
func fromBlocks(role chat.Role, blocks []anthropicBlock) []chat.Message {
	var out []chat.Message
	msg := chat.Message{Role: role}
	for _, b := range blocks {
		switch b.Type {
		case "text":
			msg.Text = msg.Text.AppendString(b.Text)
		case "thinking":
			msg.Extra = json.RawMessage(toJSON(obj{"thinking": b.Thinking, "signature": b.Signature}))
		case "tool_use":
			msg.ToolCalls = append(msg.ToolCalls, chat.ToolCall{ID: b.ID, Name: b.Name, Arguments: b.Input})
		case "tool_result":
			out = append(out, chat.Message{Role: chat.RoleTool, Text: chat.NewText(textOf(b.Content)),
				ToolCallID: b.ToolUseID, IsError: b.IsError})
		}
	}
	if !msg.Text.IsZero() || msg.ToolCalls != nil || len(out) == 0 {
		out = append(out, msg)
	}
	return out
}

func (anthropicWire) errorBody(a Answer) string {
	kind := a.Code
	if kind == "" {
		kind = map[int]string{400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error",
			529: "overloaded_error"}[a.Status]
	}
	if kind == "" {
		kind = "api_error"
	}
	return toJSON(obj{"type": "error", "error": obj{"type": kind, "message": a.Error}})
}

func (w anthropicWire) lateError(a Answer) string {
	return "event: error\ndata: " + w.errorBody(a) + "\n\n"
}

func (anthropicWire) stop(a Answer) string {
	switch {
	case a.Finish == "length":
		return "max_tokens"
	case a.Finish == "pause_turn":
		return a.Finish
	case a.Finish == "content_filter":
		return "refusal"
	case len(a.ToolCalls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

func (w anthropicWire) events(req Request, a Answer) []string {
	var out []string
	add := func(kind string, v obj) {
		v["type"] = kind
		out = append(out, "event: "+kind+"\ndata: "+toJSON(v)+"\n\n")
	}
	usage := obj{"input_tokens": a.Usage.InputTokens - a.Usage.CachedTokens,
		"cache_read_input_tokens": a.Usage.CachedTokens, "output_tokens": 1}
	add("message_start", obj{"message": obj{
		"id": "m" + itoa(req.Seq), "type": "message", "role": "assistant", "model": req.Model, "content": []any{},
		"stop_reason": nil, "usage": usage,
	}})
	add("ping", obj{})
	index := 0
	block := func(start obj, deltas ...obj) {
		add("content_block_start", obj{"index": index, "content_block": start})
		for _, d := range deltas {
			add("content_block_delta", obj{"index": index, "delta": d})
		}
		add("content_block_stop", obj{"index": index})
		index++
	}
	deltas := func(kind, key, text string) (ds []obj) {
		for _, p := range pieces(text) {
			ds = append(ds, obj{"type": kind, key: p})
		}
		return ds
	}
	if a.Reasoning != "" {
		ds := append(deltas("thinking_delta", "thinking", a.Reasoning),
			obj{"type": "signature_delta", "signature": "sig-" + itoa(req.Seq)})
		block(obj{"type": "thinking", "thinking": "", "signature": ""}, ds...)
	}
	said := deltas("text_delta", "text", a.Text)
	if a.Sources != nil {
		id := "srvtoolu_" + itoa(req.Seq)
		block(obj{"type": "server_tool_use", "id": id, "name": "web_search", "input": obj{},
			"caller": obj{"type": "direct"}},
			deltas("input_json_delta", "partial_json", toJSON(obj{"query": a.SearchQuery}))...)
		var found []obj
		for i, s := range a.Sources {
			found = append(found, obj{"type": "web_search_result", "title": s.Title, "url": s.URL,
				"encrypted_content": "enc-" + itoa(i), "page_age": nil})
			said = append(said, obj{"type": "citations_delta", "citation": obj{
				"type": "web_search_result_location", "title": s.Title, "url": s.URL,
				"encrypted_index": "idx-" + itoa(i), "cited_text": "",
			}})
		}
		block(obj{"type": "web_search_tool_result", "tool_use_id": id, "caller": obj{"type": "direct"},
			"content": found})
	}
	if a.Text != "" {
		block(obj{"type": "text", "text": ""}, said...)
	}
	for _, c := range a.ToolCalls {
		block(obj{"type": "tool_use", "id": c.ID, "name": c.Name, "input": obj{}},
			deltas("input_json_delta", "partial_json", wireArguments(c.Arguments))...)
	}
	add("message_delta", obj{"delta": obj{"stop_reason": w.stop(a), "stop_sequence": nil},
		"usage": obj{"output_tokens": a.Usage.OutputTokens}})
	add("message_stop", obj{})
	return out
}

func (w anthropicWire) whole(req Request, a Answer) string {
	var content []obj
	if a.Text != "" {
		content = append(content, obj{"type": "text", "text": a.Text})
	}
	for _, c := range a.ToolCalls {
		content = append(content, obj{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.Arguments})
	}
	return toJSON(obj{
		"id": "m" + itoa(req.Seq), "type": "message", "role": "assistant", "model": req.Model, "content": content,
		"stop_reason": w.stop(a),
		"usage":       obj{"input_tokens": a.Usage.InputTokens, "output_tokens": a.Usage.OutputTokens},
	})
}

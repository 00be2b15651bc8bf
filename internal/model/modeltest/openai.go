package modeltest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
)

func itoa(n int) string { return strconv.Itoa(n) }

// toJSON encodes a value that always encodes.
func toJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

type obj = map[string]any

// countWords is a tokenizer that a test can follow: a token is a word.
func countWords(req Request, a Answer) *chat.Usage {
	in := len(strings.Fields(req.System))
	for _, m := range req.Messages {
		in += len(strings.Fields(m.Text.String())) + 1
	}
	return &chat.Usage{InputTokens: int64(in),
		OutputTokens: int64(len(strings.Fields(a.Text)) + 3*len(a.ToolCalls) + 1)}
}

// pieces splits a string into at most four parts at rune boundaries.
func pieces(s string) []string {
	runes := []rune(s)
	size := max((len(runes)+3)/4, 1)
	var out []string
	for len(runes) > 0 {
		n := min(size, len(runes))
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	return out
}

// textOf reads content that is a string or a list of parts with text.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts) // mostly null
	var all []string
	for _, p := range parts {
		all = append(all, p.Text)
	}
	return strings.Join(all, "\n")
}

// openaiWire implements Chat Completions.
type openaiWire struct{}

func (openaiWire) decode(_ string, body []byte) (Request, error) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role       string          `json:"role"`
			Content    json.RawMessage `json:"content"`
			ToolCallID string          `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string `json:"id"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				Parameters  json.RawMessage `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
		WebSearchOptions json.RawMessage `json:"web_search_options"`
		ResponseFormat   struct {
			JSONSchema struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	req := Request{Model: in.Model, Stream: in.Stream, Schema: in.ResponseFormat.JSONSchema.Schema,
		Search: in.WebSearchOptions != nil}
	var system []string
	for _, m := range in.Messages {
		if m.Role == "system" || m.Role == "developer" {
			system = append(system, textOf(m.Content))
			continue
		}
		msg := chat.Message{Role: chat.Role(m.Role), Text: chat.NewText(textOf(m.Content)), ToolCallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			msg.ToolCalls = append(msg.ToolCalls,
				chat.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: rawArguments(c.Function.Arguments)})
		}
		req.Messages = append(req.Messages, msg)
	}
	req.System = strings.Join(system, "\n")
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, chat.ToolDef{Name: t.Function.Name, Description: t.Function.Description,
			Parameters: t.Function.Parameters})
	}
	return req, nil
}

func rawArguments(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return json.RawMessage(toJSON(text))
}

// wireArguments returns arguments as the string that a model wrote; a JSON string represents output
// that is not JSON.
func wireArguments(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

func (openaiWire) errorBody(a Answer) string {
	return toJSON(obj{"error": obj{"message": a.Error, "type": "error", "code": a.Code}})
}

func (w openaiWire) lateError(a Answer) string { return "data: " + w.errorBody(a) + "\n\n" }

func (openaiWire) finish(a Answer) string {
	switch {
	case a.Finish != "":
		return a.Finish
	case len(a.ToolCalls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (openaiWire) usage(a Answer) obj {
	u := a.Usage
	return obj{
		"prompt_tokens": u.InputTokens, "completion_tokens": u.OutputTokens,
		"total_tokens":              u.InputTokens + u.OutputTokens,
		"prompt_tokens_details":     obj{"cached_tokens": u.CachedTokens},
		"completion_tokens_details": obj{"reasoning_tokens": u.ReasoningTokens},
	}
}

func (o openaiWire) events(req Request, a Answer) []string {
	chunk := func(choices []obj, usage any) string {
		return "data: " + toJSON(obj{"id": "c" + itoa(req.Seq), "object": "chat.completion.chunk", "model": req.Model,
			"choices": choices, "usage": usage}) + "\n\n"
	}
	delta := func(d obj) string { return chunk([]obj{{"index": 0, "delta": d, "finish_reason": nil}}, nil) }
	out := []string{": the fake server\n\n", delta(obj{"role": "assistant", "content": ""})}
	for _, p := range pieces(a.Reasoning) {
		out = append(out, delta(obj{"reasoning_content": p}))
	}
	for _, p := range pieces(a.Text) {
		out = append(out, delta(obj{"content": p}))
	}
	if a.Sources != nil {
		out = append(out, delta(obj{"annotations": o.annotations(a)}))
	}
	for i, c := range a.ToolCalls {
		out = append(out,
			delta(
				obj{"tool_calls": []obj{
					{"index": i, "id": c.ID, "type": "function", "function": obj{"name": c.Name, "arguments": ""}},
				}}))
		for _, p := range pieces(wireArguments(c.Arguments)) {
			out = append(out, delta(obj{"tool_calls": []obj{{"index": i, "function": obj{"arguments": p}}}}))
		}
	}
	out = append(out, chunk([]obj{{"index": 0, "delta": obj{}, "finish_reason": o.finish(a)}}, nil))
	if !a.NoUsage && strings.Contains(string(req.Body), "include_usage") {
		out = append(out, chunk([]obj{}, o.usage(a)))
	}
	return append(out, "data: [DONE]\n\n")
}

func (openaiWire) annotations(a Answer) (out []obj) {
	for _, s := range a.Sources {
		out = append(out, obj{"type": "url_citation", "url_citation": obj{"title": s.Title, "url": s.URL,
			"start_index": 0, "end_index": len(a.Text)}})
	}
	return out
}

func (o openaiWire) whole(req Request, a Answer) string {
	message := obj{"role": "assistant", "content": a.Text}
	if a.Sources != nil {
		message["annotations"] = o.annotations(a)
	}
	if a.Reasoning != "" {
		message["reasoning_content"] = a.Reasoning
	}
	var calls []obj
	for _, c := range a.ToolCalls {
		calls = append(calls, obj{"id": c.ID, "type": "function",
			"function": obj{"name": c.Name, "arguments": wireArguments(c.Arguments)}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	v := obj{
		"id": fmt.Sprintf("c%d", req.Seq), "object": "chat.completion", "model": req.Model,
		"choices": []obj{{"index": 0, "message": message, "finish_reason": o.finish(a)}},
	}
	if !a.NoUsage {
		v["usage"] = o.usage(a)
	}
	return toJSON(v)
}

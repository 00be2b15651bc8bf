package adapter

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// Arguments makes the value of chat.ToolCall.Arguments of what a model wrote: a JSON object as it is, nothing as {}, and whatever else as a
// JSON string, so that the engine can tell the model (see chat.ToolCall).
func Arguments(text string) json.RawMessage {
	raw := bytes.TrimSpace([]byte(text))
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	if raw[0] == '{' && json.Valid(raw) {
		return raw
	}
	return Quote(text)
}

// ArgumentsText is the inverse: the text that a provider wants to see again.
func ArgumentsText(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "{}"
	}
	if text := ""; raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// ArgumentsObject is for providers that take nothing but an object: what the model wrote otherwise stands under the key "input".
func ArgumentsObject(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	if raw[0] == '{' {
		return raw
	}
	return json.RawMessage(`{"input":` + string(raw) + `}`)
}

// Quote gives s as a JSON string.
func Quote(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return json.RawMessage(`""`) // a string always encodes
	}
	return bytes.TrimSpace(b.Bytes())
}

// Object gives a JSON Schema as a map, for SDKs that want one. What is empty or no object is the schema of an object without properties.
func Object(raw json.RawMessage) map[string]any {
	var m map[string]any
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return map[string]any{"type": "object", "properties": map[string]any{}}
	}
	return m
}

// IsJSON tells by the content type that an answer is one JSON value rather than a stream of events.
func IsJSON(h http.Header) bool {
	t, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	t = strings.ToLower(strings.TrimSpace(t))
	return t == "application/json" || strings.HasSuffix(t, "+json")
}

package adapter

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// Arguments returns the value of chat.ToolCall.Arguments for the model's output: a JSON object
// unchanged, empty output as {}, and anything else as a JSON string, so that the engine can tell
// the model (see chat.ToolCall).
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

// ArgumentsText is the inverse of Arguments: it returns the string that a provider expects to get
// back.
func ArgumentsText(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "{}"
	}
	if text := ""; raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// ArgumentsObject returns the arguments for a provider that accepts only an object: any other model
// output is put under the key "input".
func ArgumentsObject(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	if raw[0] == '{' {
		return raw
	}
	return json.RawMessage(`{"input":` + string(raw) + `}`)
}

// Quote returns s as a JSON string.
func Quote(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return json.RawMessage(`""`) // a string always encodes
	}
	return bytes.TrimSpace(b.Bytes())
}

// Object returns a JSON Schema as a map, for SDKs that need one. Empty input or a value that is not
// an object yields the schema of an object without properties.
func Object(raw json.RawMessage) map[string]any {
	var m map[string]any
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return map[string]any{"type": "object", "properties": map[string]any{}}
	}
	return m
}

// IsJSON reports, based on the content type, whether a response is one JSON value rather than a
// stream of events.
func IsJSON(h http.Header) bool {
	t, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	t = strings.ToLower(strings.TrimSpace(t))
	return t == "application/json" || strings.HasSuffix(t, "+json")
}

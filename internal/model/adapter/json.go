package adapter

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
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

// ArgumentsObject returns the arguments as a provider accepts them in a conversation, which is as
// an object: any other model output is put under the key "input".
func ArgumentsObject(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	if raw[0] == '{' {
		return raw
	}
	return json.RawMessage(`{"input":` + string(raw) + `}`)
}

// maxName is the maximum length of a tool's name that every provider accepts.
const maxName = 64

// CallName returns the name of a call as every provider accepts it in a conversation. A model may
// have called a tool that does not exist by any name, or by none.
func CallName(name string) string {
	clean := []byte(name[:min(len(name), maxName)])
	for i := range clean {
		if !IsName(string(clean[i:i+1]), "_-") {
			clean[i] = '_'
		}
	}
	if len(clean) == 0 {
		return "_"
	}
	return string(clean)
}

// ShortID is the length of the ids that CallID makes.
const ShortID = 9

// CallID returns the id of a call for a provider that did not make it: id itself if it is valid,
// otherwise ShortID letters and digits derived from it, which every provider accepts.
func CallID(id string, valid func(string) bool) string {
	if valid(id) {
		return id
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(id)))[:ShortID]
}

// maxCalls is the maximum number of tool calls in one reply.
const maxCalls = 1000

// CheckCalls returns an error if a reply has more than 1,000 tool calls, which no model makes.
func CheckCalls(n int) error {
	if n <= maxCalls {
		return nil
	}
	return &model.Error{Kind: model.KindServer,
		Message: fmt.Sprintf("the answer has more than the limit of %d tool calls", maxCalls)}
}

// UniqueID returns the id of a call that follows calls in a reply: id itself, or a new one if it is
// empty or belongs to one of them. turn makes new ids unique in the conversation.
func UniqueID(calls []chat.ToolCall, id string, turn int) string {
	for n := len(calls); id == "" || slices.ContainsFunc(calls, func(c chat.ToolCall) bool { return c.ID == id }); n++ {
		id = fmt.Sprintf("call_%d_%d", turn, n)
	}
	return id
}

// IsName reports whether s consists of ASCII letters, digits and the bytes in more.
func IsName(s, more string) bool {
	for _, b := range []byte(s) {
		isLetter := b|0x20 >= 'a' && b|0x20 <= 'z'
		if !isLetter && (b < '0' || b > '9') && strings.IndexByte(more, b) < 0 {
			return false
		}
	}
	return true
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

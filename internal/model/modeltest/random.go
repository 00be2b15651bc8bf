package modeltest

import (
	"encoding/json"
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/text"
)

// ExtraFunc generates the data that an adapter keeps for a message, or for one of its calls if i is
// not negative; nil for none.
type ExtraFunc func(t *rapid.T, m *chat.Message, i int) json.RawMessage

// RandomRequest generates a request with a conversation that no model would produce: any order of
// roles, empty and long strings, strings that are not UTF-8.
func RandomRequest(t *rapid.T, extra ExtraFunc) model.Request {
	req := model.Request{
		Model:    rapid.SampledFrom([]string{"m", "claude-3-x", "gemini-2.5"}).Draw(t, "model"),
		System:   randomText(t, "system"),
		Messages: RandomMessages(t, rapid.IntRange(1, 12).Draw(t, "messages"), extra),
		Params:   randomParams(t),
	}
	req.Messages[len(req.Messages)-1].Role = chat.RoleUser
	if rapid.Bool().Draw(t, "tools") {
		req.Tools = []chat.ToolDef{{Name: "f", Description: "does <f>",
			Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}}}`)}, {Name: "g"}}
	}
	if rapid.Bool().Draw(t, "schema") {
		req.Schema = &model.Schema{Name: "s",
			JSON: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`), Strict: true}
	}
	return req
}

// RandomMessages generates n messages.
func RandomMessages(t *rapid.T, n int, extra ExtraFunc) []chat.Message {
	out := make([]chat.Message, n)
	for i := range out {
		m := &out[i]
		m.Role = rapid.SampledFrom([]chat.Role{chat.RoleUser, chat.RoleAssistant, chat.RoleAssistant, chat.RoleTool,
			chat.RoleTool, chat.RoleSystem}).Draw(t, "role")
		m.Text = randomPieces(t, randomText(t, "text"))
		switch m.Role {
		case chat.RoleAssistant:
			for j := range rapid.IntRange(0, 3).Draw(t, "calls") {
				m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: fmt.Sprintf("%d_%d", i%3, j),
					Name: rapid.SampledFrom([]string{"", "f", "g<"}).Draw(t, "name"), Arguments: randomArguments(t)})
				m.ToolCalls[j].Extra = extra(t, m, j)
			}
			m.Extra = extra(t, m, -1)
		case chat.RoleTool:
			m.ToolCallID = rapid.SampledFrom([]string{"", "0_0", "1_1", "2_0", "\"<"}).Draw(t, "id")
			m.ToolName = rapid.SampledFrom([]string{"", "f"}).Draw(t, "tool")
			m.IsError = rapid.Bool().Draw(t, "error")
		}
	}
	return out
}

func randomText(t *rapid.T, name string) string {
	piece := rapid.SampledFrom([]string{
		"", " ", "\n", "word ", `"quoted"`, `back\slash`, "<b>&amp;</b>", "\x00\x01\x1f\x7f\b\f\r\t", "é€𝄞", "\u2028",
		"\u2029", "\ufffd", "\xff\xfe", "\xe2\x80", "messages",
		strings.Repeat("0123456789 plain text\n", 40), strings.Repeat("plain", 200), strings.Repeat("ü", 300),
		strings.Repeat(`<"`, 400), strings.Repeat("é\u2028", 200), strings.Repeat("x", 600) + "\xc3",
	})
	return strings.Join(rapid.SliceOfN(piece, 0, 4).Draw(t, name), "")
}

// randomPieces splits a string into random pieces.
func randomPieces(t *rapid.T, s string) (out text.Text) {
	for s != "" {
		n := len(s)
		if rapid.Bool().Draw(t, "cut") {
			n = rapid.IntRange(1, n).Draw(t, "piece")
		}
		out, s = out.AppendString(s[:n]), s[n:]
	}
	return out
}

func randomArguments(t *rapid.T) json.RawMessage {
	raw := rapid.SampledFrom([]string{
		"", "null", "{}", `{ "b" : 1.50, "a": ["<x>", {"c": null}] }`, `{"n": 12345678901234567890, "m": 1e400}`,
		`"{broken"`, `"` + strings.Repeat("y", 600) + `"`, `[1]`, `7`,
		`{"long": "` + strings.Repeat(`\n<z>`, 200) + `"}`, `{"u": "\ud800\u2028é"}`,
	}).Draw(t, "arguments")
	if raw == "" {
		return nil
	}
	return json.RawMessage(raw)
}

func randomParams(t *rapid.T) model.Params {
	p := model.Params{}
	if rapid.Bool().Draw(t, "params") {
		p.Temperature, p.MaxTokens, p.Stop = new(0.5), new(int64(9)), []string{"END"}
	}
	switch path := rapid.SampledFrom([]string{"", "", "seed", "messages", "messages.0", "messages.0.content",
		":messages.0", `mess\ages.0`, "contents", "contents.0", "extra.messages", "system"}).Draw(t, "option"); path {
	case "":
	default:
		p.ProviderOptions = map[string]json.RawMessage{path: json.RawMessage(`[{"role":"user"}]`)}
	}
	return p
}

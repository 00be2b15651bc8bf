package modeltest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
)

// Canary is the key that clients under test are given. It must never be seen again (SEC11); error scenarios of Conformance quote it, as
// careless providers do.
const Canary = "sk-canary-0123456789"

// Prompts of the suite's scenarios. ErrorPrompt makes those of the error scenarios.
const (
	PromptText      = "conformance: text"
	PromptReasoning = "conformance: reasoning"
	PromptTool      = "conformance: tool"
	PromptTwoTools  = "conformance: two tools"
	PromptBadTool   = "conformance: bad arguments"
	PromptSchema    = "conformance: schema"
	PromptLength    = "conformance: length"
	PromptEmpty     = "conformance: empty"
	PromptHang      = "conformance: hang"
	PromptDrop      = "conformance: drop"
	PromptCut       = "conformance: cut"
	PromptEnd       = "conformance: end"
	PromptMalformed = "conformance: malformed"
	PromptLate      = "conformance: late error"
	PromptFiltered  = "conformance: filtered"
	PromptSearch    = "conformance: search"
)

// What the scenarios answer.
const (
	ReplyText      = "Grüße aus dem Modell: 18 °C, sonnig 🌞. A second sentence follows."
	ReplyReasoning = "First I thought about it."
	ReplySchema    = `{"ok":true,"items":["a","b"]}`
	ReplyToolDone  = "It is 18 degrees in Paris."
	ToolResult     = "18C"
	// ReplySearch is what becomes of two pages, one of them cited twice, and of one without an address that can be followed.
	ReplySearch = "It rained.\n\nSources:\n- Paris weather: https://weather.example/paris\n- https://rain.example/"
)

// ErrorPrompt is the prompt of the scenario that fails with kind.
func ErrorPrompt(kind model.ErrorKind) string { return "conformance: error " + string(kind) }

// ErrorText is the provider's own text in that scenario.
func ErrorText(kind model.ErrorKind) string { return "provider says: " + string(kind) }

// statusOf are the error scenarios of HTTP providers.
func statusOf() map[model.ErrorKind]int {
	return map[model.ErrorKind]int{
		model.KindRateLimit:      http.StatusTooManyRequests,
		model.KindTimeout:        http.StatusGatewayTimeout,
		model.KindOverloaded:     http.StatusServiceUnavailable,
		model.KindAuth:           http.StatusUnauthorized,
		model.KindNotFound:       http.StatusNotFound,
		model.KindInvalidRequest: http.StatusBadRequest,
		model.KindServer:         http.StatusInternalServerError,
	}
}

// RetryAfter is what the rate limit scenario asks for.
const RetryAfter = 7 * time.Second

// Conformance answers the scenarios of the suite.
func Conformance(req Request) Answer {
	prompt := req.LastUser()
	if len(req.Messages) > 0 && req.Messages[len(req.Messages)-1].Role == chat.RoleTool {
		return afterTools(req)
	}
	if kind, ok := strings.CutPrefix(prompt, "conformance: error "); ok {
		k := model.ErrorKind(kind)
		a := Answer{Status: statusOf()[k], Error: ErrorText(k) + " for key " + Canary}
		if k == model.KindRateLimit {
			a.RetryAfter = RetryAfter
		}
		return a
	}
	weather := chat.ToolCall{Name: "get_weather", Arguments: json.RawMessage(`{"city":"Paris","days":3}`)}
	switch prompt {
	case PromptText:
		return Answer{Text: ReplyText, Usage: &chat.Usage{InputTokens: 120, OutputTokens: 30, CachedTokens: 100}}
	case PromptReasoning:
		return Answer{Text: ReplyText, Reasoning: ReplyReasoning}
	case PromptTool:
		return Answer{Reasoning: ReplyReasoning, Text: "Let me look.", ToolCalls: []chat.ToolCall{weather}}
	case PromptTwoTools:
		return Answer{ToolCalls: []chat.ToolCall{weather, {Name: "get_time", Arguments: json.RawMessage(`{}`)}}}
	case PromptBadTool:
		return Answer{ToolCalls: []chat.ToolCall{{Name: "get_weather", Arguments: json.RawMessage(`"{\"city\": Par"`)}}}
	case PromptSchema:
		return Answer{Text: ReplySchema}
	case PromptLength:
		return Answer{Text: "cut by", Finish: "length"}
	case PromptFiltered:
		return Answer{Text: "half of", Finish: "content_filter", Usage: &chat.Usage{InputTokens: 120, OutputTokens: 5}}
	case PromptSearch:
		if !req.Search {
			return Answer{Status: http.StatusBadRequest, Error: "a web search was not asked for"}
		}
		return Answer{Text: "It rained.", SearchQuery: "weather Paris", Sources: []Source{
			{Title: "Paris\nweather", URL: "https://weather.example/paris"}, {URL: "https://rain.example/"}, {Title: "again", URL: "https://weather.example/paris"},
			{Title: "bad", URL: "javascript:alert(1)"},
		}}
	case PromptHang:
		return Answer{Fault: FaultHang}
	case PromptDrop:
		return Answer{Fault: FaultDrop}
	case PromptCut:
		return Answer{Text: ReplyText, Fault: FaultCut}
	case PromptEnd:
		return Answer{Text: ReplyText, Fault: FaultEnd}
	case PromptMalformed:
		return Answer{Fault: FaultMalformed}
	case PromptLate:
		return Answer{Text: ReplyText, Fault: FaultLate, Status: 529, Code: "overloaded_error", Error: ErrorText(model.KindOverloaded)}
	}
	return Answer{}
}

// afterTools answers once every tool call of the last assistant message has its result, and complains otherwise, as providers do.
func afterTools(req Request) Answer {
	got := map[string]string{}
	for _, m := range slices.Backward(req.Messages) {
		if m.Role == chat.RoleTool {
			got[m.ToolCallID] = m.Text.String()
			continue
		}
		for _, c := range m.ToolCalls {
			if _, ok := got[c.ID]; !ok {
				return Answer{Status: 400, Error: "no result for tool call " + c.ID}
			}
		}
		if len(m.ToolCalls) != len(got) {
			return Answer{Status: 400, Error: "results do not match the tool calls"}
		}
		break
	}
	return Answer{Text: ReplyToolDone}
}

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

// Canary is the key passed to clients under test. It must never reappear (SEC11); error scenarios
// of Conformance quote it, as careless providers do.
const Canary = "sk-canary-0123456789"

// Prompts of the suite's scenarios. ErrorPrompt returns those of the error scenarios.
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

// Replies of the scenarios.
const (
	ReplyText      = "Grüße aus dem Modell: 18 °C, sonnig 🌞. A second sentence follows."
	ReplyReasoning = "First I thought about it."
	ReplySchema    = `{"ok":true,"items":["a","b"]}`
	ReplyToolDone  = "It is 18 degrees in Paris."
	ToolResult     = "18C"
	// ReplySearch is the reply that cites two pages, one of them twice, and one with an address
	// that cannot be followed.
	ReplySearch = "It rained.\n\nSources:\n- Paris weather: https://weather.example/paris\n- https://rain.example/"
)

// ErrorPrompt returns the prompt of the scenario that fails with kind.
func ErrorPrompt(kind model.ErrorKind) string { return "conformance: error " + string(kind) }

// ErrorText returns the provider's own message in that scenario.
func ErrorText(kind model.ErrorKind) string { return "provider says: " + string(kind) }

// statusOf returns the HTTP statuses of the error scenarios.
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

// RetryAfter is the wait that the rate limit scenario requests.
const RetryAfter = 7 * time.Second

// Conformance replies to the scenarios of the suite.
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
			{Title: "Paris\nweather", URL: "https://weather.example/paris"}, {URL: "https://rain.example/"},
			{Title: "again", URL: "https://weather.example/paris"},
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
		return Answer{Text: ReplyText, Fault: FaultLate, Status: 529, Code: "overloaded_error",
			Error: ErrorText(model.KindOverloaded)}
	}
	return Answer{}
}

// afterTools replies once every tool call of the last assistant message has its result, and returns
// an error otherwise, as providers do.
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

package adapter

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
)

// ReportedFailure returns the failure that an answer with HTTP status 200, or an event of it, reports in place
// of content: the value of an "error" key, or the whole of an object of type error. It returns nil
// if there is none.
func ReportedFailure(raw []byte) error {
	if !bytes.Contains(raw, []byte(`error"`)) { // as in most events
		return nil
	}
	var e struct {
		Error  json.RawMessage `json:"error"`
		Object json.RawMessage `json:"object"`
		Type   json.RawMessage `json:"type"`
	}
	if json.Unmarshal(raw, &e) != nil {
		return nil //nolint:nilerr // what is no object reports no failure
	}
	if !isNothing(e.Error) {
		return StreamError(e.Error)
	}
	if textOf(e.Object) == "error" || textOf(e.Type) == "error" {
		return StreamError(raw)
	}
	return nil
}

// UnmarkedFailure returns the failure that raw reports in the form of an error body, such as a message
// and a code, or nil. Only the absence of an answer shows that such an object is a failure.
func UnmarkedFailure(raw []byte) error {
	if message, _ := ErrorObject(raw); message != "" {
		return StreamError(raw)
	}
	var e struct {
		Msg   string `json:"msg"`       // GLM
		Error string `json:"error_msg"` // Baidu
		Base  struct {
			Message string `json:"status_msg"`
		} `json:"base_resp"` // MiniMax
	}
	_ = json.Unmarshal(raw, &e)
	if message := cmp.Or(e.Msg, e.Error, e.Base.Message); message != "" {
		return StreamError(Quote(message))
	}
	return nil
}

// isNothing reports whether raw is missing or one of the values that servers send for no error.
func isNothing(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", `""`, "{}", "[]", "false", "0":
		return true
	}
	return false
}

// Stop returns the meaning of the word with which a server reports why an answer ended: the reason,
// model.StopEnd for an unknown word, or the failure that it stands for. detail is the server's
// explanation, if any.
func Stop(word, detail string) (model.StopReason, error) {
	kind := model.KindServer
	first, _, _ := strings.Cut(strings.ToLower(word), ":") // Google's compatible server adds its own word
	switch first {
	case "length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded":
		return model.StopLength, nil
	case "content_filter", "content_filtered", "sensitive", "safety", "recitation", "blocklist", "prohibited_content",
		"spii", "guardrail_intervened":
		return "", Filtered(detail)
	case "error", "network_error", "abort", "aborted", "failed", "function_call_filter", "malformed_function_call",
		"malformed_tool_use", "malformed_model_output", "unexpected_tool_call":
	case "insufficient_system_resource":
		kind = model.KindOverloaded
	case "timeout":
		kind = model.KindTimeout
	default:
		return model.StopEnd, nil
	}
	return "", &model.Error{Kind: kind, Message: cmp.Or(detail, "the provider ended the answer with "+word)}
}

// LaterUsage returns the usage of an answer after another report of it. Reports are totals, not
// differences. A count that is zero or missing keeps the earlier one: some servers end with a
// report of zeros, others spread the counts over reports.
func LaterUsage(earlier *chat.Usage, u chat.Usage) *chat.Usage {
	if earlier != nil {
		u.InputTokens = cmp.Or(u.InputTokens, earlier.InputTokens)
		u.OutputTokens = cmp.Or(u.OutputTokens, earlier.OutputTokens)
		u.CachedTokens = cmp.Or(u.CachedTokens, earlier.CachedTokens)
		u.CacheWriteTokens = cmp.Or(u.CacheWriteTokens, earlier.CacheWriteTokens)
		u.ReasoningTokens = cmp.Or(u.ReasoningTokens, earlier.ReasoningTokens)
	}
	return &u
}

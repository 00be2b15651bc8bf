package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
)

// addContent adds the content of a chunk or message: a text, or a list of parts, of which the SDK
// returns the JSON as text. Parts of unknown types, such as Mistral's references, are left out.
func (a *answer) addContent(text string, f respjson.Field, onDelta func(model.Delta)) {
	var parts []json.RawMessage
	switch value := f.Raw(); {
	case strings.HasPrefix(value, "{"):
		parts = []json.RawMessage{json.RawMessage(value)}
	case !strings.HasPrefix(value, "["):
		a.appendText(text, onDelta)
	case json.Unmarshal([]byte(value), &parts) != nil:
		return // the SDK parsed it
	}
	for _, part := range parts {
		var typed struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(part, &typed) // a part may be a string
		switch typed.Type {
		case "", "text", "output_text":
			a.appendText(textIn(part), onDelta)
		case "thinking", "reasoning":
			if thought := textIn(part); thought != "" {
				a.reasoning.WriteString(thought)
				onDelta(model.Delta{Reasoning: thought})
			}
		case "refusal":
			a.refusal.WriteString(textIn(part))
		}
	}
}

func (a *answer) appendText(text string, onDelta func(model.Delta)) {
	if text != "" {
		a.text.WriteString(text)
		onDelta(model.Delta{Text: text})
	}
}

// textIn returns the text in a part: a string, or that of an object's field, or of each element of
// a list.
func textIn(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var list []json.RawMessage
	if json.Unmarshal(value, &list) == nil {
		var all strings.Builder
		for _, part := range list {
			all.WriteString(textIn(part))
		}
		return all.String()
	}
	var part struct {
		Text      json.RawMessage `json:"text"`
		Thinking  json.RawMessage `json:"thinking"`
		Reasoning json.RawMessage `json:"reasoning"`
		Summary   json.RawMessage `json:"summary"`
		Content   json.RawMessage `json:"content"`
		Refusal   json.RawMessage `json:"refusal"`
	}
	if json.Unmarshal(value, &part) != nil {
		return ""
	}
	for _, field := range []json.RawMessage{part.Text, part.Thinking, part.Reasoning, part.Summary, part.Content,
		part.Refusal} {
		if len(field) > 0 {
			if text := textIn(field); text != "" {
				return text
			}
		}
	}
	return ""
}

// addUsage adds a report of usage.
func (a *answer) addUsage(u sdk.CompletionUsage) {
	details := u.PromptTokensDetails
	got := chat.Usage{
		InputTokens:     u.PromptTokens,
		OutputTokens:    u.CompletionTokens,
		CachedTokens:    details.CachedTokens,
		ReasoningTokens: u.CompletionTokensDetails.ReasoningTokens,

		CacheWriteTokens: number(details.JSON.ExtraFields, "cache_write_tokens"),
	}
	extra := u.JSON.ExtraFields
	if got.ReasoningTokens == 0 {
		if n := number(extra, "reasoning_tokens"); n <= got.OutputTokens { // SGLang, Databricks
			got.ReasoningTokens = n
		}
	}
	if got.CachedTokens == 0 {
		// DeepSeek; Moonshot; gateways to Anthropic
		n := cmp.Or(number(extra, "prompt_cache_hit_tokens"), number(extra, "cached_tokens"),
			number(extra, "cache_read_input_tokens"))
		if n <= got.InputTokens {
			got.CachedTokens = n
		}
	}
	a.counts, a.total = adapter.LaterUsage(a.counts, got), cmp.Or(u.TotalTokens, a.total)
}

// usage counts thoughts as output, as chat.Usage requires; xAI does not.
func (a *answer) usage() *chat.Usage {
	if a.counts == nil {
		return nil
	}
	u := *a.counts
	if thoughts := u.ReasoningTokens; thoughts > 0 &&
		a.total == chat.AddTokens(chat.AddTokens(u.InputTokens, u.OutputTokens), thoughts) {
		u.OutputTokens = chat.AddTokens(u.OutputTokens, thoughts)
	}
	return &u
}

// addGroq processes the field in which Groq sends the usage of a stream, and the reason why it
// ended early.
func (a *answer) addGroq(field json.RawMessage) {
	var groq struct {
		Usage *sdk.CompletionUsage `json:"usage"`
	}
	if field == nil || json.Unmarshal(field, &groq) != nil {
		return
	}
	if groq.Usage != nil {
		a.addUsage(*groq.Usage)
	}
	a.failed = cmp.Or(a.failed, adapter.ReportedFailure(field))
}

// raw returns the JSON of a field for which the SDK has none, or nil if it is missing or null.
func raw(fields map[string]respjson.Field, name string) json.RawMessage {
	f, ok := fields[name]
	if !ok || f.Raw() == "null" {
		return nil
	}
	return json.RawMessage(f.Raw())
}

// number returns the value of such a field, or 0.
func number(fields map[string]respjson.Field, name string) (n int64) {
	if f := raw(fields, name); f == nil || json.Unmarshal(f, &n) != nil {
		return 0
	}
	return n
}

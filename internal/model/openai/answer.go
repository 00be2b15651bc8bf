package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
)

// answer accumulates the response.
type answer struct {
	// turn makes ids of tool calls unique in the conversation if a server sends none.
	turn int
	// tools reports whether the request offered tools; only then is reasoning wanted back.
	tools bool
	dialect
	text, reasoning, refusal strings.Builder
	calls                    []*pendingCall
	// counts is the usage in the terms of the API, total its sum as reported.
	counts    *chat.Usage
	total     int64
	model, id string
	finish    string
	// failed is a failure that a choice reports, and unmarked one that may be reported in place of
	// choices.
	failed, unmarked error
	done             bool
	chunks, choices  int
	sources          adapter.Sources
	reasoningField   string // the field in which the reasoning came
	details          reasoningDetails
}

// add processes one chunk.
func (a *answer) add(chunk sdk.ChatCompletionChunk, onDelta func(model.Delta)) {
	a.chunks++
	if chunk.Model != "" {
		a.model, a.id = chunk.Model, chunk.ID
	}
	if chunk.JSON.Usage.Valid() {
		a.addUsage(chunk.Usage)
	}
	a.addGroq(raw(chunk.JSON.ExtraFields, "x_groq"))
	if len(chunk.Choices) == 0 {
		a.unmarked = cmp.Or(adapter.UnmarkedFailure([]byte(chunk.RawJSON())), a.unmarked)
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		a.choices++
		d := choice.Delta
		if message := raw(choice.JSON.ExtraFields, "message"); message != nil && !choice.JSON.Delta.Valid() &&
			!a.began() {
			a.failed = cmp.Or(json.Unmarshal(message, &d), a.failed) // the whole answer as one event
		}
		a.addContent(d.Content, d.JSON.Content, onDelta)
		if r := a.addReasoning(d.JSON.ExtraFields); r != "" {
			onDelta(model.Delta{Reasoning: r})
		}
		a.addCitations(d.JSON.ExtraFields["annotations"])
		a.refusal.WriteString(d.Refusal)
		for _, piece := range d.ToolCalls {
			a.addCall(piece, onDelta)
		}
		a.end(choice.FinishReason, choice.JSON.ExtraFields)
	}
}

// began reports whether a part of the reply has come.
func (a *answer) began() bool {
	return a.text.Len() > 0 || a.reasoning.Len() > 0 || a.refusal.Len() > 0 || len(a.calls) > 0
}

// end processes the end of a choice: its finish reason and the fields that the SDK does not have.
func (a *answer) end(finish string, extra map[string]respjson.Field) {
	a.finish = cmp.Or(finish, a.finish)
	var u sdk.CompletionUsage
	if usage := raw(extra, "usage"); usage != nil && json.Unmarshal(usage, &u) == nil {
		a.addUsage(u) // Moonshot
	}
	if told := raw(extra, "error"); told != nil {
		a.failed = cmp.Or(a.failed, adapter.ReportedFailure([]byte(`{"error":`+string(told)+`}`)))
	}
	// OpenRouter may report stop although the model's provider failed.
	var native string
	if f := raw(extra, "native_finish_reason"); f != nil && json.Unmarshal(f, &native) == nil {
		_, failed := adapter.Stop(native, "")
		a.failed = cmp.Or(a.failed, failed)
	}
}

// cut reports whether the answer ended at a limit.
func (a *answer) cut() bool {
	stop, _ := adapter.Stop(a.finish, "")
	return stop == model.StopLength
}

// addWhole processes a response received as one value.
func (a *answer) addWhole(c sdk.ChatCompletion) {
	a.model, a.id, a.done = c.Model, c.ID, true
	if c.JSON.Usage.Valid() {
		a.addUsage(c.Usage)
	}
	if a.choices = len(c.Choices); a.choices == 0 {
		a.unmarked = adapter.UnmarkedFailure([]byte(c.RawJSON()))
		return
	}
	choice := c.Choices[0]
	a.end(choice.FinishReason, choice.JSON.ExtraFields)
	a.addContent(choice.Message.Content, choice.Message.JSON.Content, func(model.Delta) {})
	a.refusal.WriteString(choice.Message.Refusal)
	for _, n := range choice.Message.Annotations {
		a.sources.Add(n.URLCitation.Title, n.URLCitation.URL)
	}
	a.addReasoning(choice.Message.JSON.ExtraFields)
	for i, call := range choice.Message.ToolCalls {
		var extra struct {
			Content json.RawMessage `json:"extra_content"`
		}
		_ = json.Unmarshal([]byte(call.RawJSON()), &extra) // it was parsed before
		p := &pendingCall{index: int64(i), id: call.ID, name: call.Function.Name, content: string(extra.Content)}
		p.args.WriteString(call.Function.Arguments)
		a.calls = append(a.calls, p)
	}
}

// addCitations adds the citations of a chunk, for which the SDK has no field.
func (a *answer) addCitations(f respjson.Field) {
	var list []sdk.ChatCompletionMessageAnnotation
	if f.Raw() == "" || json.Unmarshal([]byte(f.Raw()), &list) != nil {
		return
	}
	for i := range list {
		a.sources.Add(list[i].URLCitation.Title, list[i].URLCitation.URL)
	}
}

// cite appends the list of cited sources to the text.
func (a *answer) cite(onDelta func(model.Delta)) {
	if text := a.sources.Text(); text != "" {
		a.text.WriteString(text)
		onDelta(model.Delta{Text: text})
	}
}

// problem returns the reason why a is not a Reply, or nil if it is one. A response is complete if
// it says so, with a finish reason or the end mark.
func (a *answer) problem(contentType string) error {
	if err := cmp.Or(a.failed, adapter.CheckCalls(len(a.calls))); err != nil {
		return err
	}
	if _, err := adapter.Stop(a.finish, a.refusal.String()); err != nil {
		return err
	}
	if a.unmarked != nil && (a.choices == 0 || a.finish == "" && !a.done) {
		return a.unmarked
	}
	if a.finish == "" && !a.done {
		if a.chunks == 0 && contentType != "" && !strings.HasPrefix(strings.ToLower(contentType), "text/event-stream") {
			return fmt.Errorf("it is %s, neither JSON nor a stream of events", contentType)
		}
		return adapter.UnexpectedEnd()
	}
	if a.choices == 0 {
		return errors.New("it has no choices")
	}
	return nil
}

// finalUsage returns the usage of a complete response, or nil if it is not complete or reported
// none.
func (a *answer) finalUsage() *chat.Usage {
	if a.finish == "" && !a.done {
		return nil // some servers send running totals
	}
	return a.usage()
}

func (a *answer) reply() model.Reply {
	r := model.Reply{
		Message:    chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(a.text.String())},
		Reasoning:  a.reasoning.String(),
		Usage:      a.usage(),
		StopReason: model.StopEnd,
		Model:      a.model,
		ID:         a.id,
	}
	for _, c := range a.calls {
		call := chat.ToolCall{ID: adapter.UniqueID(r.Message.ToolCalls, c.id, a.turn), Name: c.name,
			Arguments: adapter.Arguments(c.arguments())}
		if c.content != "" {
			call.Extra = a.keep(map[string]json.RawMessage{extraContent: json.RawMessage(c.content)})
		}
		r.Message.ToolCalls = append(r.Message.ToolCalls, call)
	}
	r.Message.Extra = a.keep(a.wantedBack())
	switch {
	case a.cut():
		r.StopReason = model.StopLength
	case len(a.calls) > 0:
		r.StopReason = model.StopToolCalls
	case a.refusal.Len() > 0:
		r.StopReason = model.StopRefusal
		if r.Message.Text.IsZero() {
			r.Message.Text = chat.NewText(a.refusal.String())
		}
	}
	return r
}

// Fields that are not OpenAI's. What came in one is sent back in the same: servers know one name of
// reasoning and reject the other.
const (
	reasoningContent = "reasoning_content"
	reasoningText    = "reasoning"
	reasoningBlocks  = "reasoning_details"
	extraContent     = "extra_content"
)

// addReasoning processes the model's visible thinking in a message or a part of one, and returns
// its text.
func (a *answer) addReasoning(extra map[string]respjson.Field) string {
	a.details.add(extra[reasoningBlocks].Raw())
	for _, name := range []string{reasoningContent, reasoningText} {
		if text := textIn([]byte(extra[name].Raw())); text != "" {
			a.reasoning.WriteString(text)
			a.reasoningField = name
			return text
		}
	}
	return ""
}

// wantedBack returns the fields of the reply that are sent back with it.
func (a *answer) wantedBack() map[string]json.RawMessage {
	switch {
	case !a.tools:
	case len(a.details) > 0:
		if raw, err := json.Marshal(a.details); err == nil { // it was decoded from JSON
			return map[string]json.RawMessage{reasoningBlocks: raw}
		}
	case a.reasoning.Len() > 0 && a.reasoningField != "":
		return map[string]json.RawMessage{a.reasoningField: adapter.Quote(a.reasoning.String())}
	}
	return nil
}

// Expected describes the responses that this adapter expects.
func Expected() adapter.Answers {
	return adapter.Answers{
		Types: []reflect.Type{reflect.TypeFor[sdk.ChatCompletionChunk](), reflect.TypeFor[sdk.ChatCompletion]()},
		Extra: []string{
			"choices.delta.reasoning_content", "choices.delta.reasoning", "choices.delta.reasoning_details",
			"choices.delta.annotations", "choices.delta.tool_calls.extra_content",
			"choices.message.reasoning_content", "choices.message.reasoning", "choices.message.reasoning_details",
			"choices.message.tool_calls.extra_content", "choices.error",
			"choices.native_finish_reason", "choices.usage", "x_groq", "usage.prompt_cache_hit_tokens",
			"usage.cached_tokens", "usage.cache_read_input_tokens", "usage.prompt_tokens_details.cache_write_tokens",
			"usage.reasoning_tokens",
		},
		Words: map[string][]string{"choices.finish_reason": {"stop", "length", "tool_calls", "content_filter"}},
		Texts: []string{"choices.delta.content"}, Usage: "usage", End: "[DONE]",
	}
}

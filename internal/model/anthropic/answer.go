package anthropic

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
)

// answer accumulates the response.
type answer struct {
	// turn makes ids of tool calls unique in the conversation if a server sends none.
	turn int
	// schemaTool is the tool whose arguments are the reply, "" for none.
	schemaTool string
	// from and own describe the server.
	from   string
	own    bool
	blocks []*pending
	calls  int // the number of calls visible to the caller
	// counts is the usage in the terms of the API, in which input does not include the cache.
	counts    *chat.Usage
	model, id string
	stop      sdk.StopReason
	detail    string
	done      bool
	sources   adapter.Sources
	list      string // the text of sources, once complete
}

// pending is a content block that may still receive chunks.
type pending struct {
	index               int64
	kind                string
	id, name            string
	text, args          strings.Builder
	input               string // its arguments if they were sent with its start
	thinking, signature strings.Builder
	redacted            string
	raw                 string // the block as received
	call                int    // its index among the calls visible to the caller
	isSchemaTool        bool
}

// add processes one event.
func (a *answer) add(e sdk.MessageStreamEventUnion, onDelta func(model.Delta)) {
	switch e.Type {
	case "message_start":
		a.model, a.id = e.Message.Model, e.Message.ID
		a.addUsage(totals(e.Message.Usage))
	case "content_block_start":
		a.start(e, onDelta)
	case "content_block_delta":
		a.delta(a.block(e), e.Delta, onDelta)
	case "message_delta":
		if e.Delta.StopReason != "" {
			a.stop = e.Delta.StopReason
		}
		a.detail = e.Delta.StopDetails.Explanation
		a.addUsage(e.Usage)
	case "message_stop":
		a.done = true
	}
}

// deltaKinds are the kinds of blocks that have chunks of a type.
var deltaKinds = map[string]string{"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking",
	"input_json_delta": "tool_use"}

// block returns the block to which a chunk belongs: the last one with the chunk's index. If its
// kind differs, or no block has that index, the server does not number blocks as the API does: the
// chunk continues the last tool call, or begins a text.
func (a *answer) block(e sdk.MessageStreamEventUnion) *pending {
	kind := deltaKinds[e.Delta.Type]
	var last *pending
	for _, b := range slices.Backward(a.blocks) {
		if known := b.kind == "text" || b.kind == "thinking" || b.kind == "tool_use"; b.index == e.Index &&
			(b.kind == kind || !known || kind == "") {
			return b
		}
		if b.kind == kind && last == nil {
			last = b
		}
	}
	switch {
	case last != nil && e.Delta.Type != "text_delta" && e.Delta.Type != "thinking_delta":
		return last
	case kind == "tool_use":
		return &pending{} // without a start, it has no name
	}
	b := &pending{index: e.Index, kind: kind}
	a.blocks = append(a.blocks, b)
	return b
}

func (a *answer) start(e sdk.MessageStreamEventUnion, onDelta func(model.Delta)) {
	cb := e.ContentBlock
	b := &pending{index: e.Index, kind: cb.Type, id: cb.ID, name: cb.Name, redacted: cb.Data, raw: cb.RawJSON()}
	for i := range cb.Citations {
		a.sources.Add(cb.Citations[i].Title, cb.Citations[i].URL)
	}
	b.text.WriteString(cb.Text)
	b.thinking.WriteString(cb.Thinking)
	b.signature.WriteString(cb.Signature)
	a.numberCall(b)
	if input, err := json.Marshal(cb.Input); err == nil && cb.Input != nil && string(input) != "{}" {
		b.input = string(input)
	}
	a.blocks = append(a.blocks, b)
	switch {
	case b.kind == "tool_use" && !b.isSchemaTool:
		onDelta(model.Delta{ToolCall: &model.ToolCallDelta{Index: b.call, ID: b.id, Name: b.name,
			Arguments: b.input}})
	case cb.Text != "":
		onDelta(model.Delta{Text: cb.Text})
	}
}

// numberCall sets the index of b among the calls visible to the caller.
func (a *answer) numberCall(b *pending) {
	b.call, b.isSchemaTool = a.calls, b.kind == "tool_use" && b.name == a.schemaTool
	if b.kind == "tool_use" && !b.isSchemaTool {
		a.calls++
	}
}

func (a *answer) delta(b *pending, d sdk.MessageStreamEventUnionDelta, onDelta func(model.Delta)) {
	switch d.Type {
	case "text_delta":
		b.text.WriteString(d.Text)
		onDelta(model.Delta{Text: d.Text})
	case "thinking_delta":
		b.thinking.WriteString(d.Thinking)
		onDelta(model.Delta{Reasoning: d.Thinking})
	case "signature_delta":
		b.signature.WriteString(d.Signature)
	case "citations_delta":
		a.sources.Add(d.Citation.Title, d.Citation.URL)
	case "input_json_delta":
		b.args.WriteString(d.PartialJSON)
		if b.isSchemaTool {
			onDelta(model.Delta{Text: d.PartialJSON})
		} else if d.PartialJSON != "" && b.kind == "tool_use" {
			onDelta(model.Delta{ToolCall: &model.ToolCallDelta{Index: b.call, Arguments: d.PartialJSON}})
		}
	}
}

// addWhole processes a response received as one value.
func (a *answer) addWhole(m sdk.Message) {
	a.model, a.id, a.stop, a.detail, a.done = m.Model, m.ID, m.StopReason, m.StopDetails.Explanation, true
	a.addUsage(totals(m.Usage))
	for i, cb := range m.Content {
		b := &pending{index: int64(i), kind: cb.Type, id: cb.ID, name: cb.Name, redacted: cb.Data, raw: cb.RawJSON()}
		for i := range cb.Citations {
			a.sources.Add(cb.Citations[i].Title, cb.Citations[i].URL)
		}
		b.text.WriteString(cb.Text)
		b.thinking.WriteString(cb.Thinking)
		b.signature.WriteString(cb.Signature)
		b.args.Write(cb.Input)
		a.numberCall(b)
		a.blocks = append(a.blocks, b)
	}
}

// totals returns the usage at the start of a response in the form of that at its end.
func totals(u sdk.Usage) (t sdk.MessageDeltaUsage) {
	t.InputTokens, t.OutputTokens = u.InputTokens, u.OutputTokens
	t.CacheReadInputTokens, t.CacheCreationInputTokens = u.CacheReadInputTokens, u.CacheCreationInputTokens
	t.OutputTokensDetails.ThinkingTokens = u.OutputTokensDetails.ThinkingTokens
	t.JSON.InputTokens, t.JSON.OutputTokens = u.JSON.InputTokens, u.JSON.OutputTokens
	return t
}

// addUsage adds a report of usage. The counts of input are often missing in the last one.
func (a *answer) addUsage(u sdk.MessageDeltaUsage) {
	if !u.JSON.InputTokens.Valid() && !u.JSON.OutputTokens.Valid() {
		return
	}
	a.counts = adapter.LaterUsage(a.counts, chat.Usage{
		InputTokens:     u.InputTokens,
		OutputTokens:    u.OutputTokens,
		CachedTokens:    u.CacheReadInputTokens,
		ReasoningTokens: u.OutputTokensDetails.ThinkingTokens,

		CacheWriteTokens: u.CacheCreationInputTokens,
	})
}

// usage counts cache reads and cache writes as input, as chat.Usage requires.
func (a *answer) usage() *chat.Usage {
	if a.counts == nil {
		return nil
	}
	u := *a.counts
	u.InputTokens += u.CachedTokens + u.CacheWriteTokens
	return &u
}

// problem returns the reason why a is not a Reply, or nil if it is one. The API's "refusal" is its
// filter, not the model's own words.
func (a *answer) problem() error {
	if err := adapter.CheckCalls(a.calls); err != nil {
		return err
	}
	if a.stop == sdk.StopReasonRefusal {
		return adapter.Filtered(a.detail)
	}
	if a.stop == "" {
		return adapter.UnexpectedEnd()
	}
	if _, err := adapter.Stop(string(a.stop), a.detail); err != nil {
		return err
	}
	if a.stop == sdk.StopReasonPauseTurn {
		return &model.Error{Kind: model.KindServer,
			Message: "the provider paused the answer in the middle of a web search (pause_turn)"}
	}
	return nil
}

// cite appends the list of cited sources to the text.
func (a *answer) cite(onDelta func(model.Delta)) {
	if a.list = a.sources.Text(); a.list != "" {
		onDelta(model.Delta{Text: a.list})
	}
}

// finalUsage returns the usage of a complete response: earlier numbers in a stream are preliminary.
func (a *answer) finalUsage() *chat.Usage {
	if a.stop == "" {
		return nil
	}
	return a.usage()
}

// arguments returns the arguments of a tool call. If a server sends them with the start of the
// block and in chunks, the chunks count, unless they are blank.
func (b *pending) arguments() string {
	if args := b.args.String(); strings.TrimSpace(args) != "" {
		return args
	}
	return b.input
}

// toolBlock returns the block of a tool that the API calls itself, with the arguments received in
// chunks.
func (b *pending) toolBlock() json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(b.raw), &fields) != nil {
		return json.RawMessage("{}") // it was parsed before
	}
	fields["input"] = adapter.ArgumentsObject(adapter.Arguments(b.arguments()))
	raw, err := json.Marshal(fields)
	if err != nil {
		return json.RawMessage("{}") // it was decoded from JSON
	}
	return raw
}

func (a *answer) reply() model.Reply {
	r := model.Reply{Message: chat.Message{Role: chat.RoleAssistant}, Usage: a.usage(), StopReason: model.StopEnd,
		Model: a.model, ID: a.id}
	var text, reasoning strings.Builder
	var layout []block
	keeps := false
	for _, b := range a.blocks {
		switch {
		case b.kind == "text":
			text.WriteString(b.text.String())
			layout = append(layout, block{Text: b.text.Len()})
		case b.kind == "thinking":
			reasoning.WriteString(b.thinking.String())
			if b.signature.Len() > 0 || !a.own && b.thinking.Len() > 0 {
				layout = append(layout, block{Thinking: b.thinking.String(), Signature: b.signature.String()})
				keeps = true
			}
		case b.kind == "redacted_thinking":
			layout = append(layout, block{Redacted: b.redacted})
			keeps = true
		case b.kind == "server_tool_use":
			layout = append(layout, block{Used: b.toolBlock()})
			keeps = true
		case b.kind == "web_search_tool_result":
			layout = append(layout, block{Found: json.RawMessage(b.raw)})
			keeps = true
		case b.isSchemaTool:
			answer := string(adapter.Arguments(b.arguments()))
			text.Reset()
			text.WriteString(answer)
			layout = []block{{Text: len(answer)}}
			keeps = false
		case b.kind == "tool_use":
			i := len(r.Message.ToolCalls)
			layout = append(layout, block{Call: &i})
			r.Message.ToolCalls = append(r.Message.ToolCalls,
				chat.ToolCall{ID: adapter.UniqueID(r.Message.ToolCalls, b.id, a.turn), Name: b.name,
					Arguments: adapter.Arguments(b.arguments())})
		}
	}
	if a.list != "" {
		text.WriteString(a.list)
		layout = append(layout, block{Text: len(a.list), List: true})
		keeps = true
	}
	r.Message.Text, r.Reasoning = chat.NewText(text.String()), reasoning.String()
	if keeps {
		// strings and numbers always encode
		if raw, err := json.Marshal(extra{From: a.from, Anthropic: layout}); err == nil {
			r.Message.Extra = raw
		}
	}
	stop, _ := adapter.Stop(string(a.stop), "") // problem returned its error
	switch {
	case stop == model.StopLength:
		r.StopReason = stop
	case len(r.Message.ToolCalls) > 0:
		r.StopReason = model.StopToolCalls
	}
	return r
}

// Expected describes the responses that this adapter expects.
func Expected() adapter.Answers {
	return adapter.Answers{
		Types: []reflect.Type{reflect.TypeFor[sdk.MessageStreamEventUnion](), reflect.TypeFor[sdk.Message]()},
		Words: map[string][]string{
			"type": {"message_start", "message_delta", "message_stop", "content_block_start",
				"content_block_delta", "content_block_stop", "ping"},
			"content_block.type": {"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use",
				"web_search_tool_result"},
			"delta.type": {"text_delta", "input_json_delta", "citations_delta", "thinking_delta",
				"signature_delta"},
			"delta.stop_reason": {"end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal",
				"model_context_window_exceeded"},
		},
		Texts: []string{"delta.text"}, Usage: "usage", End: "message_stop",
	}
}

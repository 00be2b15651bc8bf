package anthropic

import (
	"reflect"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/hocket-run/hocket/internal/model/adapter"
)

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

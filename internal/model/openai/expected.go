package openai

import (
	"reflect"

	sdk "github.com/openai/openai-go/v3"

	"github.com/hocket-run/hocket/internal/model/adapter"
)

// Expected describes the responses that this adapter expects.
func Expected() adapter.Answers {
	return adapter.Answers{
		Types: []reflect.Type{reflect.TypeFor[sdk.ChatCompletionChunk](), reflect.TypeFor[sdk.ChatCompletion]()},
		Extra: []string{
			"choices.delta.reasoning_content", "choices.delta.reasoning", "choices.delta.annotations",
			"choices.message.reasoning_content", "choices.message.reasoning",
		},
		Words: map[string][]string{"choices.finish_reason": {"stop", "length", "tool_calls", "content_filter"}},
		Texts: []string{"choices.delta.content"}, Usage: "usage", End: "[DONE]",
	}
}

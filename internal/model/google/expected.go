package google

import (
	"reflect"

	"google.golang.org/genai"

	"github.com/hocket-run/hocket/internal/model/adapter"
)

// Expected describes the responses that this adapter expects.
func Expected() adapter.Answers {
	return adapter.Answers{
		Types: []reflect.Type{reflect.TypeFor[genai.GenerateContentResponse]()},
		Words: map[string][]string{"candidates.finishReason": {
			"STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "LANGUAGE", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT",
			"SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY",
			"IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS",
		}},
		Texts: []string{"candidates.content.parts.text"}, Usage: "usageMetadata",
	}
}

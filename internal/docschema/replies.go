package docschema

import (
	"cmp"
	"slices"

	"github.com/hocket-run/hocket/internal/docschema/part"
	"github.com/hocket-run/hocket/internal/model"
)

func sortAny(values []any) {
	slices.SortFunc(values, func(a, b any) int {
		x, _ := a.(string)
		y, _ := b.(string)
		return cmp.Compare(x, y)
	})
}

// replyScript returns the schema of package model/script.
func replyScript() part.Object {
	count := func() part.Object { return part.Whole("", 0) }
	millis := func(doc string) part.Object {
		s := part.Whole(doc, 0)
		s["maximum"] = 86_400_000
		return s
	}
	call := part.Entry("a tool call", part.Object{
		"id":   part.Scalar("the id of the call; generated if absent"),
		"name": part.Needed(part.With(part.Object{"type": "string", "minLength": 1}, "the name of the tool")),
		"arguments": part.Either("a map, or a text that a model might have written instead",
			part.Object{"type": []string{"object", "null"}}, part.Object{"type": "string"}),
	}, "name")
	reply := part.Entry("one reply: a text, a JSON value, tool calls or an error", part.Object{
		"agent":     part.Scalar("the name of the agent or the id of the node that is answered; any without it"),
		"contains":  part.Scalar("a text that must be in the last message"),
		"text":      part.Scalar("the reply"),
		"json":      part.Anything("the reply as a value, which is sent as compact JSON"),
		"reasoning": part.Scalar("what the model thought"),
		"toolCalls": part.With(part.Object{"type": []string{"array", "null"}, "items": call, "minItems": 1},
			"the tools that the model asks for"),
		"error": part.Section("the failure of the call", part.Object{
			"code": part.With(part.Object{"type": "string", "minLength": 1},
				"the kind of failure, such as rate_limit"),
			"message":      part.Scalar("what the provider says"),
			"retryAfterMs": millis("the delay before a retry that the provider asks for"),
		}, "code"),
		"stopReason": part.OneOf("why the model stopped", string(model.StopEnd), string(model.StopLength),
			string(model.StopToolCalls), string(model.StopRefusal), ""),
		"delayMs": millis("how long the reply takes"),
		"usage": part.Section("what the call used", part.Object{
			"inputTokens": count(), "outputTokens": count(), "cachedTokens": count(), "reasoningTokens": count(),
			"cacheWriteTokens": count(),
		}),
		"times": part.Either("how often the reply may be used: a number from 1, or always", part.Whole("", 1),
			part.Object{"const": "always"}),
	})
	has := func(key string) part.Object {
		return part.Object{"required": []string{key},
			"properties": part.Object{key: part.Object{"not": part.Object{"type": "null"}}}}
	}
	reply["anyOf"] = []any{has("text"), part.Object{"required": []string{"json"}}, has("toolCalls"), has("error")}
	reply["allOf"] = []any{
		part.Object{"not": part.Object{"allOf": []any{has("text"), part.Object{"required": []string{"json"}}}}},
		part.Object{"if": has("error"),
			"then": part.Object{"not": part.Object{
				"anyOf": []any{has("text"), part.Object{"required": []string{"json"}}, has("toolCalls")},
			}}},
	}
	return part.Entry("What models answer, in order: each call takes the first reply that matches and is not used up.",
		part.Object{
			part.KeySchema: part.Word("the address of this schema, for editors"), "replies": part.List("", reply),
		}, "replies")
}

package docschema

import (
	"cmp"
	"slices"

	"github.com/hocket-run/hocket/internal/model"
)

func sortAny(values []any) {
	slices.SortFunc(values, func(a, b any) int {
		x, _ := a.(string)
		y, _ := b.(string)
		return cmp.Compare(x, y)
	})
}

// replyScript is the schema of package model/script.
func replyScript() object {
	count := func() object { return whole("", 0) }
	millis := func(doc string) object {
		s := whole(doc, 0)
		s["maximum"] = 86_400_000
		return s
	}
	call := entry("a tool call", object{
		"id": scalar("the id of the call; generated if absent"), "name": needed(with(object{"type": "string", "minLength": 1}, "the name of the tool")),
		"arguments": either("a map, or a text that a model might have written instead", object{"type": []string{"object", "null"}}, object{"type": "string"}),
	}, "name")
	reply := entry("one reply: a text, a JSON value, tool calls or an error", object{
		"agent": scalar("the name of the agent or the id of the node that is answered; any without it"), "contains": scalar("a text that must be in the last message"),
		"text": scalar("the reply"), "json": anything("the reply as a value, which is sent as compact JSON"), "reasoning": scalar("what the model thought"),
		"toolCalls": with(object{"type": []string{"array", "null"}, "items": call, "minItems": 1}, "the tools that the model asks for"),
		"error": section("the failure of the call", object{
			"code": with(object{"type": "string", "minLength": 1}, "the kind of failure, such as rate_limit"), "message": scalar("what the provider says"),
			"retryAfterMs": millis("the delay before a retry that the provider asks for"),
		}, "code"),
		"stopReason": oneOf("why the model stopped", string(model.StopEnd), string(model.StopLength), string(model.StopToolCalls), string(model.StopRefusal), ""),
		"delayMs":    millis("how long the reply takes"),
		"usage": section("what the call used", object{
			"inputTokens": count(), "outputTokens": count(), "cachedTokens": count(), "reasoningTokens": count(), "cacheWriteTokens": count(),
		}),
		"times": either("how often the reply may be used: a number from 1, or always", whole("", 1), object{"const": "always"}),
	})
	has := func(key string) object {
		return object{"required": []string{key}, "properties": object{key: object{"not": object{"type": "null"}}}}
	}
	reply["anyOf"] = []any{has("text"), object{"required": []string{"json"}}, has("toolCalls"), has("error")}
	reply["allOf"] = []any{
		object{"not": object{"allOf": []any{has("text"), object{"required": []string{"json"}}}}},
		object{"if": has("error"), "then": object{"not": object{"anyOf": []any{has("text"), object{"required": []string{"json"}}, has("toolCalls")}}}},
	}
	return entry("What models answer, in order: each call takes the first reply that matches and is not used up.", object{
		keySchema: word("the address of this schema, for editors"), "replies": list("", reply),
	}, "replies")
}

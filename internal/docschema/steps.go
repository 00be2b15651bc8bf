package docschema

import (
	"github.com/hocket-run/hocket/internal/format/steps"
)

// sectionOf makes a section of a steps document from the reader's table of keys. A key without a form here takes any value; TestSections holds that there is none.
func sectionOf(name string, forms object) object {
	works, reported := steps.Keys(name)
	out := idle("Has no effect.", reported...)
	for _, key := range works {
		out[key] = object{}
		if form, ok := forms[key]; ok {
			out[key] = form
		}
	}
	return out
}

func documentForms() object {
	return object{
		"version":  with(object{"enum": []any{"", "0", "1", "2", "3", "4", "5", "6", "7", 0, 1, 2, 3, 4, 5, 6, 7, nil}}, "the version of docker-agent's form; the newest without it"),
		"metadata": section("for people", object{"author": scalar(""), "license": scalar(""), "readme": scalar(""), "description": scalar("what the workflow is for"), "version": scalar("")}),
		"providers": mapOf("servers of models by name, beside those that Hocket knows", section("", sectionOf("providers", object{
			"api_type": scalar("how the server is spoken to"), "base_url": scalar("the address of the server"), "token_key": scalar("the variable that holds the key"),
		}))),
		"models":      mapOf("models with parameters, by names that agents use", either("", object{"type": "string"}, entry("", sectionOf("models", modelForms())))),
		"mcps":        mapOf("MCP servers by name, which toolsets name by ref", object{"type": "object"}),
		"permissions": either("permissions of every agent", ref("permissions"), list("", ref("permissions")), object{"type": "null"}),
		"agents":      either("agents by name, or a list of agents with ids", mapOf("", section("", agentProperties(true))), agentList()),
		"workflow":    either("the steps, or a map with the key steps and bounds", ref("steps"), ref("workflow")),
	}
}

func modelForms() object {
	return object{
		"provider": scalar("the provider"), "model": scalar("the name that the provider gives the model"), "temperature": number("how freely the model chooses words"),
		"max_tokens": whole("the most tokens of a reply", 0), "top_p": number("which share of the likeliest words it chooses from"),
		"frequency_penalty": number(""), "presence_penalty": number(""), "base_url": scalar("the address of the server"), "token_key": scalar("the variable that holds the key"),
		"provider_opts":   mapOf("members of the request's JSON, set as they are", object{}),
		"thinking_budget": anything("a number of tokens, 0 for none, -1 to let the model decide, or a word such as low"), "parallel_tool_calls": anything("whether a reply may have several tool calls"), "track_usage": anything("usage is always recorded"),
	}
}

func stepsDocument() object {
	s := entry("Agents, and the steps in which they work. Keys that begin with x- are the author's own.", join(sectionOf("document", documentForms()),
		object{keySchema: word("the address of this schema, for editors")}))
	s["anyOf"] = []any{object{"required": []string{"workflow"}}, object{"required": []string{"agents"}, "properties": object{
		"agents": object{"minProperties": 1, "minItems": 1, "not": object{"type": "null"}},
	}}}
	s["patternProperties"] = object{"^x-": object{}}
	budget := object{
		"tokens": whole("the most tokens, in and out", 0), "calls": whole("the most model calls and tool calls", 0),
		"cost_usd": with(object{"type": []string{"number", "null"}, "minimum": 0}, "the most money, in US dollars"),
	}
	loops := typed("how often a step may run again because a condition leads back to it; 100 by default", "integer")
	s["$defs"] = join(agentDefs(), object{
		"steps": with(object{"type": "array", "items": ref("step"), "minItems": 1}, "steps, one after another"),
		"workflow": entry("", object{
			"steps": ref("steps"), "max_loop_iterations": loops,
			"budget":    section("bounds of the run", join(budget, object{"on_reached": needed(oneOf("whether the run ends or asks a person", "fail", "pause"))})),
			"overrides": section("overrides the keys next to it", object{"max_loop_iterations": loops}),
		}, "steps"),
		"step": stepSchema(),
		"branch": either("steps, or the id or the number of a step of a list around it, to go back to", list("", either("", ref("step"), object{"type": []string{"string", "integer"}, "minLength": 1})),
			object{"type": []string{"string", "integer"}, "minLength": 1}),
		"retry": entry("the step is tried again where it fails", object{
			"max_attempts": whole("how often, beside the first attempt; 0 by default", 0),
			"backoff": either("how long to wait before: fixed (1s), exponential (1s, 2s, 4s), or a map", needed(oneOf("", "fixed", "exponential")), entry("", object{
				"type": needed(oneOf("", "fixed", "exponential")), "initial_delay_seconds": with(object{"type": []string{"number", "null"}, "minimum": 0, "maximum": 1e6}, "the first pause"),
			})),
			"on": texts("kinds of failures, or parts of their messages; any failure without it"),
		}),
		"budget": section("bounds of the step", budget),
	})
	return s
}

// stepSchema takes the keys of each type of step from the reader.
func stepSchema() object {
	forms := object{
		"type": needed(oneOf("what the step does", "agent", "condition", "parallel")),
		"id":   with(object{"type": []string{"string", "number", "boolean"}, "minLength": 1, "pattern": "^[^/]*$"}, "the name under which others refer to it; without it that of the agent"),
		"name": scalar("of an agent step: the agent"), "retry": ref("retry"), "budget": ref("budget"),
		"prompt":    with(object{"type": []string{"string", "number", "boolean", "null"}, "pattern": `\S`}, "the user message, with {{PREVIOUS_OUTPUT}}; without it the outputs of all steps before, and the input"),
		"condition": scalar("an expression that is true or false; {{ $steps.ID.output }} is the output of a step"),
		"true":      ref("branch"), "false": ref("branch"), "steps": ref("steps"),
	}
	var rules []any
	all := object{}
	for _, typ := range []string{"agent", "condition", "parallel"} {
		works, _ := steps.Keys(typ + " step")
		names := []any{}
		for _, key := range works {
			names = append(names, key)
			all[key] = forms[key]
		}
		then := object{"propertyNames": object{"enum": names}}
		switch typ {
		case "agent":
			then["required"] = []string{"name"}
			then["properties"] = object{"name": id("")}
		case "condition":
			then["required"] = []string{"condition"}
			then["properties"] = object{"condition": object{"pattern": `\S`, "not": object{"type": "null"}}, "retry": false}
			then["anyOf"] = []any{object{"required": []string{"true"}}, object{"required": []string{"false"}}}
		case "parallel":
			then["required"] = []string{"steps"}
			ports, _ := steps.Keys("block ports") // ids of children are ports of the block
			then["properties"] = object{"steps": object{"items": object{"properties": object{"id": object{"not": object{"enum": ports}}}}}}
		}
		rules = append(rules, object{"if": object{"properties": object{"type": object{"const": typ}}, "required": []string{"type"}}, "then": then})
	}
	s := entry("one step; in a branch, a step with an id alone leads back to that step", all)
	s["allOf"] = rules
	s["anyOf"] = []any{object{"required": []string{"type"}}, object{"required": []string{"id"}, "maxProperties": 1}}
	return s
}

package docschema

import (
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/tool"
)

// agentTypes gives the form of each key of agents by its name in lists; keys of steps documents that have none there by theirs. TestAgentKeys holds that all keys
// of package agents are here.
func agentTypes(snake bool) map[string]object {
	text := word
	if snake {
		text = scalar
	}
	return map[string]object{
		"id": id(""), "name": text(""), "description": text(""), "model": text(""), "systemPrompt": text(""), "params": ref("params"),
		"tools": texts(""), "toolsets": list("", ref("toolset")), "permissions": either("", ref("permissions"), list("", ref("permissions"))),
		"subAgents": texts(""), "handoffs": texts(""), "structuredOutput": ref("output"), "maxIterations": whole("", 0),
		"maxConsecutiveToolCalls": whole("", 0), "fallback": either("", texts(""), ref("fallback")), "addDate": flag(""), "addEnvironmentInfo": flag(""),
		"addPromptFiles": texts(""), "commands": either("", ref("commands"), list("", ref("commands"))), "welcomeMessage": text(""),
	}
}

// agentProperties gives the keys of agents: in the spelling of steps documents alone, or as lists take them, in both.
func agentProperties(snakeOnly bool) object {
	out := object{}
	for _, k := range agents.Keys() {
		form, ok := agentTypes(snakeOnly)[k.List]
		if !ok || !k.Works {
			form = object{"deprecated": true}
		}
		note := k.Note
		if !k.Works {
			note = "Has no effect: " + note + "."
		}
		if k.Steps != "" {
			out[k.Steps] = with(copied(form), note)
		}
		if k.List != "" && !snakeOnly {
			out[k.List] = with(copied(form), note)
		}
	}
	return out
}

func copied(s object) object { return join(s) }

// agentDefs are the parts of agents.
func agentDefs() object {
	params := object{}
	for camel, snake := range map[string]string{
		"temperature": "temperature", "topP": "top_p", "frequencyPenalty": "frequency_penalty", "presencePenalty": "presence_penalty",
	} {
		params[camel], params[snake] = number(""), number("")
	}
	params["maxTokens"], params["max_tokens"] = whole("the most tokens of a reply", 0), whole("the most tokens of a reply", 0)
	budget := either("a number of tokens, 0 for none, -1 to let the model decide, or a word such as low", whole("", -1), word(""))
	params["thinkingBudget"], params["thinking_budget"] = budget, budget
	params["reasoningEffort"], params["reasoning_effort"] = word("the provider's word for how long to think"), word("")
	params["stop"] = wordList("texts at which the reply ends")
	params["provider"], params["provider_opts"] = mapOf("members of the request's JSON, set as they are", object{}), mapOf("", object{})
	command := either("", scalar(""), entry("", object{"description": word(""), "instruction": word("")}, "instruction"))
	return object{
		"params":  section("parameters of model calls", params),
		"toolset": toolset(),
		"permissions": entry("which tool calls are made, which a person is asked about, which are never made", object{
			"allow": wordList("patterns of calls that are made: tool, toolset/*, tool:argument=glob"), "ask": wordList("patterns of calls that a person has to approve first"),
			"deny": wordList("patterns of calls that are refused"), "default": oneOf("what holds for calls that no pattern names", "allow", "ask", "deny", ""),
		}),
		"output": section("the reply is a JSON value of the schema", object{
			"name": scalar("a name for the value"), "description": scalar("what the value is"), "strict": flag("whether the provider is to enforce the schema"),
			"schema": with(object{"type": "object"}, "a JSON Schema"), "repairs": whole("how often a reply that does not fit is asked for again; 2 by default", 0),
		}, "schema"),
		"fallback": section("models that are tried in order where the model is rate limited, overloaded or too slow", join(object{"models": texts("")}, idle("Has no effect.", "retries", "cooldown"))),
		"commands": mapOf("prompts by name", command),
	}
}

// toolset is a toolset of an agent. Types that this version does not know are a warning of the readers.
func toolset() object {
	names := []any{}
	for typ := range tool.Keys() {
		names = append(names, typ)
	}
	sortAny(names)
	return with(object{
		"type": "object", "required": []string{"type"},
		"properties": object{
			"type":  with(object{"type": []string{"string", "number", "boolean"}, "examples": names}, "what the toolset is"),
			"name":  scalar("the name of the toolset, in permissions and in names of tools that are there twice"),
			"tools": texts("the tools of the set that the agent may use; all without it"), "instruction": scalar("what the agent is told about the tools"),
		},
	}, "a set of tools")
}

func agentList() object {
	return list("agents, each with an id", entry("", join(agentProperties(false), object{"system_prompt": word("the system prompt"), "fallbacks": texts("")}), "id"))
}

func agentsFile() object {
	all := agentList()
	return object{
		"description": "Agents that documents name by id: a map with the key agents, or the list alone.",
		"anyOf": []any{
			entry("", object{keySchema: word("the address of this schema, for editors"), "agents": needed(all)}, "agents"), all,
		},
		"$defs": agentDefs(),
	}
}

func toolsFile() object {
	var rules []any
	types := []any{}
	for typ := range tool.Keys() {
		types = append(types, typ)
	}
	sortAny(types)
	for _, typ := range types {
		rules = append(rules, object{
			"if":   object{"properties": object{"type": object{"const": typ}}, "required": []string{"type"}},
			"then": object{"propertyNames": object{"enum": append(tool.Keys()[typ.(string)], "type")}},
		})
	}
	set := toolset()
	set["properties"].(object)["type"] = with(object{"type": "string", "examples": types}, "what the toolset is")
	set["allOf"] = rules
	return entry("The toolsets that an operator offers to all workflows.", object{
		keySchema: word("the address of this schema, for editors"), "toolsets": list("toolsets; agents list them, or tools of them, by name", set),
		"mcps": mapOf("MCP servers by name, which toolsets name by ref", object{"type": "object"}),
	}, "toolsets")
}

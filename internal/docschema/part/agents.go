package part

import (
	"cmp"
	"slices"

	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/tool/kinds"
	"github.com/hocket-run/hocket/workflow"
)

// agentTypes returns the form of each agent key by its name in lists; keys that exist only in steps
// documents are listed under their name there.
func agentTypes(snake bool) map[string]Object {
	text := Word
	if snake {
		text = Scalar
	}
	return map[string]Object{
		"id": ID(""), "name": text(""), "description": text(""), "model": text(""), "systemPrompt": text(""),
		"params": Ref("params"),
		"tools":  Texts(""), "toolsets": List("", Ref("toolset")), "use_toolsets": Texts(""),
		"instruction_file": Either("", text(""), Texts("")), "readonly": Flag(""),
		"permissions": Either("", Ref("permissions"), List("", Ref("permissions"))),
		"subAgents":   Texts(""), "handoffs": Texts(""), "structuredOutput": Ref("output"),
		"maxIterations":           Whole("", 0),
		"maxConsecutiveToolCalls": Whole("", 0), "fallback": Either("", Texts(""), Ref("fallback")),
		"compaction": Either("", Flag(""), Ref("compaction")), "addDate": Flag(""), "addEnvironmentInfo": Flag(""),
		"addPromptFiles": Texts(""), "commands": Either("", Ref("commands"), List("", Ref("commands"))),
		"welcomeMessage": text(""), "toolCalls": OneOf("", workflow.ToolCallsOrdered, workflow.ToolCallsParallel),
	}
}

// AgentProperties returns the keys of agents: only in the spelling of steps documents if snakeOnly
// is set, otherwise in both spellings, as lists accept them.
func AgentProperties(snakeOnly bool) Object {
	out := Object{}
	for _, k := range agents.Keys() {
		if k.Works && k.List == "" && !snakeOnly {
			continue
		}
		form, ok := agentTypes(snakeOnly)[cmp.Or(k.List, k.Steps)]
		if !ok || !k.Works {
			form = Object{"deprecated": true}
		}
		note := k.Note
		if !k.Works {
			note = "Has no effect: " + note + "."
		}
		if k.Steps != "" {
			out[k.Steps] = With(copied(form), note)
		}
		if k.List != "" && !snakeOnly {
			out[k.List] = With(copied(form), note)
		}
	}
	return out
}

func copied(s Object) Object { return Join(s) }

// AgentDefs returns the definitions of the parts of agents.
func AgentDefs() Object {
	params := Object{}
	for camel, snake := range map[string]string{
		"temperature": "temperature", "topP": "top_p", "frequencyPenalty": "frequency_penalty",
		"presencePenalty": "presence_penalty",
	} {
		params[camel], params[snake] = Number(""), Number("")
	}
	params["maxTokens"], params["max_tokens"] = Whole("the most tokens of a reply", 0),
		Whole("the most tokens of a reply", 0)
	budget := Either("a number of tokens, 0 for none, -1 to let the model decide, or a word such as low", Whole("", -1),
		Word(""))
	params["thinkingBudget"], params["thinking_budget"] = budget, budget
	params["reasoningEffort"], params["reasoning_effort"] = Word("the provider's word for how long to think"), Word("")
	params["stop"] = WordList("texts at which the reply ends")
	params["provider"], params["provider_opts"] = MapOf("members of the request's JSON, set as they are", Object{}),
		MapOf("", Object{})
	command := Either("", Scalar(""), Entry("", Object{"description": Word(""), "instruction": Word("")},
		"instruction"))
	return Object{
		"params":  Section("parameters of model calls", params),
		"toolset": Toolset(),
		"permissions": Entry("which tool calls are made, which a person is asked about, which are never made", Object{
			"allow":   WordList("patterns of calls that are made: tool, toolset/*, tool:argument=glob"),
			"ask":     WordList("patterns of calls that a person has to approve first"),
			"deny":    WordList("patterns of calls that are refused"),
			"edit":    WordList("patterns of calls whose arguments a person who is asked about them may change"),
			"default": OneOf("what holds for calls that no pattern names", "allow", "ask", "deny", ""),
		}),
		"output": Section("the reply is a JSON value of the schema", Object{
			"name": Scalar("a name for the value"), "description": Scalar("what the value is"),
			"strict":  Flag("whether the provider is to enforce the schema"),
			"schema":  With(Object{"type": "object"}, "a JSON Schema"),
			"repairs": Whole("how often a reply that does not fit is asked for again; 2 by default", 0),
		}, "schema"),
		"fallback": Section("what happens where a model fails", Object{
			"models": Texts("models that are tried in order where the one before fails"),
			"retries": Whole("how often a model is called again after an error that may pass; 0 or nothing: 2 where "+
				"there are models, -1: never", -1),
			"cooldown": Scalar(
				"how long the agent stays with a model that it fell back to, such as 5m; 0 or nothing: 1m"),
		}),
		"compaction": Section("when a summary takes the place of the older part of a conversation", Object{
			"at": Number("the part of the model's context window from which it does, up to 1, or a number of " +
				"tokens; 0.8 by default"),
			"keep": Whole(
				"how many of the last messages of the user and replies with their results stay; 6 by default", 1),
			"pin":   Texts("tools whose calls and results stay"),
			"model": Scalar("the model that writes the summary; the agent's by default"),
		}),
		"commands": MapOf("prompts by name", command),
	}
}

// Toolset is the schema of an agent's toolset. Readers warn about types that this version does not
// know.
func Toolset() Object {
	names := slices.Sorted(slices.Values(kinds.Names(kinds.Supported())))
	return With(Object{
		"type": "object", "required": []string{"type"},
		"properties": Object{
			"type": With(Object{"type": []string{"string", "number", "boolean"}, "examples": names},
				"what the toolset is"),
			"name":        Scalar("the name of the toolset, in permissions and in names of tools that are there twice"),
			"tools":       Texts("the tools of the set that the agent may use; all without it"),
			"instruction": Scalar("what the agent is told about the tools"),
			"required": Flag("whether a step fails if the toolset does not start; in a steps document without a " +
				"workflow false for mcp and openapi, otherwise true"),
			"readonly": Flag("whether only tools that change nothing are offered"),
		},
	}, "a set of tools")
}

// AgentList is the schema of a list of agents, each with an id.
func AgentList() Object {
	return List("agents, each with an id",
		Entry("", Join(AgentProperties(false), Object{"system_prompt": Word("the system prompt"),
			"fallbacks": Texts("")}), "id"))
}

package agents

import (
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/tool/kinds"
)

// Key is a key of an agent definition, as spelled in steps documents and as spelled in lists of
// agents. One of the two may be "".
type Key struct {
	Steps, List string
	// Works reports whether the key is supported. Unsupported keys are docker-agent's, which
	// readers report by name.
	Works bool
	// Note describes the effect of the key, or what happens to an unsupported key.
	Note string
}

// Keys returns all keys of agent definitions, in the order in which they are written. Readers,
// writers and the guide use this list.
func Keys() []Key {
	return []Key{
		{"", "id", true,
			"the name by which everything else names the agent; in steps documents it is the key of the map `agents`"},
		{"name", "name", true, "the name that people see; default: the id"},
		{"description", "description", true,
			"what the agent is for; shown to agents that may ask it or hand over to it"},
		{"model", "model", true, "`provider/model`, or in steps documents an entry of `models`"},
		{"instruction", "systemPrompt", true,
			"the system prompt; a template in steps documents, in canvas documents with [tokens](canvas.md#prompts), " +
				"sent as written elsewhere"},
		{"instruction_file", "", true, "the name of a file, or a list of names, whose text is the instruction: see " +
			"[files](#date-environment-and-files)"},
		{"", "params", true,
			"`temperature`, `topP`, `maxTokens`, `frequencyPenalty`, `presencePenalty`, `reasoningEffort`, " +
				"`thinkingBudget`, `stop`, `provider` (options as the provider names them); in steps documents they " +
				"are under `models`"},
		{"tools", "tools", true, "names of tools of the operator's tools file; `*` means all of them"},
		{"toolsets", "toolsets", true, "sets of tools that belong to the agent"},
		{"use_toolsets", "", true, "names of entries of the map `toolsets` of the document, in addition to its own"},
		{"readonly", "", true, "`true`: its toolsets offer only tools that change nothing, as with [`readonly`]" +
			"(tools.md#keys-of-every-toolset) of each of them"},
		{"permissions", "permissions", true,
			"`allow`, `ask`, `deny`, `edit` (patterns such as `shell:cmd=git log*`) and `default`: which tool calls " +
				"are made, which a person is asked about, which are never made, and of which a person who is asked " +
				"may change the arguments; at the top of a steps document they are every agent's"},
		{"sub_agents", "subAgents", true, "agents that it may ask: each is a tool"},
		{"handoffs", "handoffs", true, "agents that it may hand the conversation over to, by the tool `handoff`"},
		{"structured_output", "structuredOutput", true,
			"`name`, `description`, `strict`, `schema`: the reply is a JSON value of that schema"},
		{"max_iterations", "maxIterations", true, "how many model calls an execution may take; 0 or nothing: 50"},
		{"max_consecutive_tool_calls", "maxConsecutiveToolCalls", true,
			"how many identical tool calls one after another end it as `no_progress`; 0 or nothing: 5"},
		{"tool_calls", "toolCalls", true,
			"`ordered` (the default): of the tool calls of one reply, one that may change something is made alone, " +
				"in their order; `parallel`: all are made concurrently"},
		{"fallback", "fallback", true, "`models` that are tried in order where the one before fails, `retries` of " +
			"each of them, `cooldown`: see [fallbacks](#fallbacks)"},
		{"compaction", "compaction", true, "`at`, `keep`, `pin`, `model`: a summary takes the place of the older " +
			"part of a long conversation: see [long conversations](#long-conversations)"},
		{"add_date", "addDate", true, "puts the day on which the run began behind the system prompt"},
		{"add_environment_info", "addEnvironmentInfo", true,
			"puts the working directory, the system and whether there is a git repository behind the system prompt"},
		{"add_prompt_files", "addPromptFiles", true,
			"appends files to the system prompt, searched for in the document's folder and its parent folders"},
		{"commands", "commands", true, "prompts by name: `hocket run FILE /name` runs one"},
		{"welcome_message", "welcomeMessage", true, "shown on a terminal before a run"},
		{"rag", "rag", false, "retrieval from documents"},
		{"hooks", "hooks", false, "commands at points of the run"},
		{"skills", "skills", false, "discovery of SKILL.md files"},
		{"code_mode_tools", "codeModeTools", false, "tools as code that the model writes"},
		{"add_description_parameter", "addDescriptionParameter", false,
			"a parameter by which the model says why it calls a tool"},
		{"num_history_items", "numHistoryItems", false, "a bound on the messages that are sent"},
		{"harness", "", false, "another program, such as Codex, in place of a model"},
		{"safety", "", false, "which tool calls are made without asking: see `permissions`"},
		{"redact_secrets", "", false, "secrets are removed from what tools and models are sent"},
		{"cache", "", false, "answers to questions that were asked before"},
		{"force_handoff", "", false, "the agent that continues when this one has answered"},
		{"budgets", "", false, "names of budgets of the document"},
		{"use_commands", "", false, "names of groups of commands of the document"},
		{"use_skills", "", false, "names of groups of skills of the document"},
		{"inject_memories", "", false, "memories are part of each request"},
		{"max_inject_memories", "", false, "a bound on these memories"},
		{"inject_memories_strategy", "", false, "how these memories are chosen"},
		{"max_old_tool_call_tokens", "", false, "a bound on older tool calls in requests"},
		{"max_tool_result_tokens", "", false, "a bound on results of tools"},
		{"session_compaction", "", false, "see `compaction`"},
		{"compaction_threshold", "", false, "see `at` of `compaction`"},
		{"compaction_model", "", false, "see `model` of `compaction`"},
		{"todo", "", false, "written as a toolset of type `todo`"},
		{"think", "", false, "written as a toolset of type `think`"},
		{"memory", "", false, "written as a toolset of type `memory`"},
	}
}

// OfNodes returns the keys of agents that canvas nodes accept in addition to the canvas's own keys.
func OfNodes() []string {
	var out []string
	for _, name := range Names(true, true) {
		if !slices.Contains([]string{"id", "name", "model", "systemPrompt", "tools", "subAgents"}, name) {
			out = append(out, name)
		}
	}
	return out
}

// Names returns the supported keys (works) or the unsupported ones, in the spelling of lists (list)
// or of steps documents.
func Names(list, works bool) []string {
	var out []string
	for _, k := range Keys() {
		name := k.Steps
		if list {
			name = k.List
		}
		if name != "" && k.Works == works {
			out = append(out, name)
		}
	}
	return out
}

// ToolsetTypes returns the types of toolsets that documents may name: Hocket's own, and
// docker-agent's types that Hocket cannot open.
func ToolsetTypes() []string {
	return kinds.Names(kinds.All())
}

// UnknownToolset completes the warning about a type of toolset that the program cannot open. If it
// is a misspelling of a known type, the warning becomes an error.
func UnknownToolset(d *diag.Diagnostic, name string) {
	if slices.Contains(ToolsetTypes(), name) {
		d.Message = fmt.Sprintf("toolsets of type %q are not supported yet", name)
	} else {
		d.Message = fmt.Sprintf("unknown type of toolset %q", name)
		d.UnknownKey(name, ToolsetTypes())
	}
	if d.Hint == "" {
		d.Hint = "the agent runs without its tools"
	}
}

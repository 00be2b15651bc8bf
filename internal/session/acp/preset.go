package acp

import "slices"

// Preset describes a known agent: how to start it and what it can do. Agents change; a preset was
// correct for the versions it names.
type Preset struct {
	Name string
	// Command starts the agent; its program must be installed.
	Command []string
	// PassEnv lists the environment variables that hold the agent's keys and settings; those that
	// are set are passed to it.
	PassEnv []string
	// SummarizeCommand is the summarize command of agents that do not announce it.
	SummarizeCommand string
	// Install says how to install the agent.
	Install string
	// Notes describe what the agent can do.
	Notes string
}

var presets = []Preset{
	{
		Name:    "claude",
		Command: []string{"claude-agent-acp"},
		PassEnv: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL",
			"CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR"},
		Install: "npm i -g @agentclientprotocol/claude-agent-acp (needs Node 22)",
		Notes: "The adapter of Claude Code; tested with 0.100.0. Asks before commands and edits in its mode " +
			"`default` (others: acceptEdits, plan, auto), loads " +
			"sessions, reports its usage, offers /compact, takes a model as an option. Node 20 also works.",
	},
	{
		Name:    "copilot",
		Command: []string{"copilot", "--acp", "--stdio"},
		PassEnv: []string{"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"},
		Install: "npm i -g @github/copilot",
		Notes: "Needs a login or a custom provider (COPILOT_PROVIDER_ and others, to be listed in PassEnv). ACP is " +
			"a preview there. Not tested.",
	},
	{
		Name:    "gemini",
		Command: []string{"gemini", "--acp"},
		PassEnv: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION",
			"GOOGLE_GENAI_USE_VERTEXAI"},
		Install: "npm i -g @google/gemini-cli (before 0.33 the flag was --experimental-acp)",
		Notes:   "Not tested.",
	},
	{
		Name:    "opencode",
		Command: []string{"opencode", "acp"},
		PassEnv: []string{"OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"},
		Install: "npm i -g opencode-ai",
		Notes: "Tested with 1.18.33. Asks for permission only where its own config says so (`permission` in " +
			"opencode.json), loads sessions, reports its usage, has " +
			"/compact without offering it, takes a model as an option. Takes 4 to 10 s to start.",
		SummarizeCommand: "compact",
	},
}

// Presets returns the known agents, sorted by name.
func Presets() []Preset { return slices.Clone(presets) }

// PresetOf returns the preset with the given name; ok is false if there is none.
func PresetOf(name string) (p Preset, ok bool) {
	i := slices.IndexFunc(presets, func(p Preset) bool { return p.Name == name })
	if i < 0 {
		return Preset{}, false
	}
	return presets[i], true
}

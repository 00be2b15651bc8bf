package diag

// Names of remedies, the values of [Diagnostic.Remedy].
const (
	// DefineAgent means: define the missing agent.
	DefineAgent = "define-agent"
	// GiveAgentsFile means: the document is a list of agents; pass it along with a workflow.
	GiveAgentsFile = "give-agents-file"
	// DefineProvider means: define the model provider, or choose another model.
	DefineProvider = "define-provider"
	// DefineServer means: leave the operator's server unchanged, or define another one.
	DefineServer = "define-server"
	// GiveTools means: provide a toolset with the tool.
	GiveTools = "give-tools"
	// GiveID means: specify an id for the document.
	GiveID = "give-id"
	// SameID means: the document and the request specify different ids.
	SameID = "same-id"
)

// remedies holds the hint of each remedy, worded for every transport.
var remedies = map[string]string{
	DefineAgent:    "agents are defined under the key agents, in a file of agents, or in the catalog",
	GiveAgentsFile: "give it as the file of agents, together with a workflow",
	DefineProvider: "define it under `providers:` with a base_url, or choose a model of another provider",
	DefineServer:   "leave it out, or define a server of your own under `mcps:`",
	GiveTools:      "add a toolset that has it, or leave it out",
	GiveID:         "name an id",
	SameID:         "leave the id of the request out, or give the id of the document",
}

// Remedies returns the names of all remedies, each with the hint that [Diagnostic.Advise] sets.
func Remedies() map[string]string { return remedies }

// Advise sets the remedy of d and its hint.
func (d *Diagnostic) Advise(remedy string) {
	d.Remedy, d.Hint = remedy, remedies[remedy]
}

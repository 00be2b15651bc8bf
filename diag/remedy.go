package diag

// Names of remedies: the values of [Diagnostic.Remedy].
const (
	// DefineAgent: define the agent that is missing.
	DefineAgent = "define-agent"
	// GiveAgentsFile: the document is a list of agents, which is given beside a workflow.
	GiveAgentsFile = "give-agents-file"
	// DefineProvider: define the model provider, or choose another model.
	DefineProvider = "define-provider"
	// DefineServer: leave the operator's server as it is, or define another one.
	DefineServer = "define-server"
	// GiveTools: provide a toolset with the tool.
	GiveTools = "give-tools"
	// GiveID: name an id for the document.
	GiveID = "give-id"
	// SameID: the document and the request name different ids.
	SameID = "same-id"
)

// remedies are hints that hold for every transport, by remedy.
var remedies = map[string]string{
	DefineAgent:    "agents are defined under the key agents, in a file of agents, or in the catalog",
	GiveAgentsFile: "give it as the file of agents, together with a workflow",
	DefineProvider: "define it under `providers:` with a base_url, or choose a model of another provider",
	DefineServer:   "leave it out, or define a server of your own under `mcps:`",
	GiveTools:      "add a toolset that has it, or leave it out",
	GiveID:         "name an id",
	SameID:         "leave the id of the request out, or give the id of the document",
}

// Remedies returns the names of all remedies, each with the hint that [Diagnostic.Advise] gives it.
func Remedies() map[string]string { return remedies }

// Advise gives d a remedy and its hint.
func (d *Diagnostic) Advise(remedy string) {
	d.Remedy, d.Hint = remedy, remedies[remedy]
}

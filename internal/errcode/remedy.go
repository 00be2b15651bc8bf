package errcode

import (
	"slices"

	"github.com/hocket-run/hocket/diag"
)

// Remedies are the hints of diagnostics that differ by transport, by the name in
// [diag.Diagnostic.Remedy].
var Remedies = map[string][3]string{
	diag.DefineAgent: {
		"agents are defined under the key agents, in the file of --agents, or in the catalog (hocket agents apply)",
		"agents are defined under the key agents, in the catalog (`PUT /api/v1/agents/{id}`), or among the agents " +
			"that are sent with the document",
		listAgents,
	},
	diag.GiveAgentsFile: {"give it with --agents", "send it in the field agents, beside the documents",
		"create each of its agents with create_agent"},
	diag.DefineProvider: {
		"define it under `providers:` with a base_url, or run with --model",
		"define it under `providers:` with a base_url, or start the server with --model",
		"define it under `providers:` with a base_url, or name a model of another provider",
	},
	diag.DefineServer: {
		"leave it out, or define a server of your own under `mcps:` and allow it with --trust",
		"leave it out, or define a server of your own under `mcps:`, which runs only on the command line with --trust",
		"leave it out",
	},
	diag.GiveTools: {
		"give a tools file that has it with --tools, or leave it out",
		"add it to the toolsets of the server's hocket.yaml, or leave it out",
		"leave it out, or tell the user that the toolsets of the server's hocket.yaml do not have it",
	},
	diag.GiveID: {"name the id with --id", "give the id in the field id", "give the id in the argument id"},
	diag.SameID: {"leave --id out, or give the id of the document",
		"leave the field id out, or give the id of the document",
		"leave the argument id out, or give the id of the document"},
}

// Hinted returns the diagnostics with the hints of a transport in place of remedies. It does not
// modify list.
func Hinted(list diag.List, t Transport) diag.List {
	if !slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Remedy != "" }) {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		if hints, ok := Remedies[list[i].Remedy]; ok {
			list[i].Hint = hints[t]
		}
	}
	return list
}

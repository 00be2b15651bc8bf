package docschema

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/docschema/part"
	"github.com/hocket-run/hocket/internal/tool"
)

func agentsFile() part.Object {
	all := part.AgentList()
	return part.Object{
		"description": "Agents that documents name by id: a map with the key agents, or the list alone.",
		"anyOf": []any{
			part.Entry("", part.Object{part.KeySchema: part.Word("the address of this schema, for editors"),
				"agents": part.Needed(all)}, "agents"), all,
		},
		"$defs": part.AgentDefs(),
	}
}

func toolsFile() part.Object {
	var rules []any
	types := []any{}
	for typ := range tool.Keys() {
		types = append(types, typ)
	}
	sortAny(types)
	for _, typ := range types {
		rules = append(rules, part.Object{
			"if": part.Object{"properties": part.Object{"type": part.Object{"const": typ}},
				"required": []string{"type"}},
			"then": part.Object{"propertyNames": part.Object{"enum": append(tool.Keys()[typ.(string)], "type")}},
		})
	}
	set := part.Toolset()
	set["properties"].(part.Object)["type"] = part.With(part.Object{"type": "string", "examples": types},
		"what the toolset is")
	set["allOf"] = rules
	return part.Entry("The toolsets that an operator offers to all workflows.", part.Object{
		part.KeySchema: part.Word("the address of this schema, for editors"),
		"toolsets":     part.List("toolsets; agents list them, or tools of them, by name", set),
		"mcps":         part.MapOf("MCP servers by name, which toolsets name by ref", part.Object{"type": "object"}),
	}, "toolsets")
}

func configFile() part.Object {
	var s part.Object
	if err := json.Unmarshal(config.Schema(), &s); err != nil {
		panic(err) // the schema is built from a table of the program
	}
	s["properties"].(part.Object)[part.KeySchema] = part.Word("the address of this schema, for editors")
	return s
}

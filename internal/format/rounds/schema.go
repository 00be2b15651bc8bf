package rounds

import (
	"slices"

	"github.com/hocket-run/hocket/internal/docschema/part"
	"github.com/hocket-run/hocket/internal/format/inputs"
	"github.com/hocket-run/hocket/internal/format/nodes"
)

// Schema returns the body of the JSON Schema of rounds documents.
func Schema() part.Object {
	text := part.Scalar
	settings := part.Typed("what the node says", "object")
	works, keep := Keys("node")
	node := part.Entry("", part.Properties(works, keep, part.Object{
		"id": part.ID("the id of the node"), "type": part.Needed(part.OneOf("what the node does", types()...)),
		"name": part.Word("the name that people see; that of the agent without it"), "config": settings,
		"parameters": settings,
	}), "id", "type")
	inner := func(key string) part.Object {
		return part.Object{"required": []string{key},
			"properties": part.Object{key: part.Object{"type": "object", "required": []string{"agentId"},
				"properties": part.Object{"agentId": part.Object{"type": []string{"string", "number", "boolean"},
					"minLength": 1}}}}}
	}
	rules := []any{part.Object{
		"if": part.Object{"properties": part.Object{"type": part.Object{"const": typeAgent}},
			"required": []string{"type"}}, "then": part.Object{"anyOf": []any{inner("config"), inner("parameters")}},
	}}
	for _, typ := range nodes.Types() {
		named := part.Section("", part.Properties(nodes.Keys(typ), nil, nodes.Forms(typ)), nodes.Needs(typ)...)
		then := part.Object{"properties": part.Object{"config": named, "parameters": named}}
		if nodes.Needs(typ) != nil {
			then["anyOf"] = []any{part.Present("config"), part.Present("parameters")}
		}
		rules = append(rules,
			part.Object{"if": part.Object{"properties": part.Object{"type": part.Object{"const": typ}},
				"required": []string{"type"}}, "then": then})
	}
	node["allOf"] = rules
	works, keep = Keys("edge")
	edge := part.Entry("", part.Properties(works, keep, part.Object{
		"id": text(""), "label": text("a text for pictures"), "from": text("the node that it leaves"),
		"to": text("the node that it leads to"), "source": text("another name of from"),
		"target": text("another name of to"),
		"sourceHandle": text("the way out of a node that is no agent: error; approve and reject of an approval; " +
			"timeout of an approval or a question"),
	}))
	edge["allOf"] = []any{part.Object{"anyOf": []any{part.Present("from"), part.Present("source")}},
		part.Object{"anyOf": []any{part.Present("to"), part.Present("target")}}}
	forms := part.Object{
		"id": text(""), "name": text("the name of the workflow"), "description": text("what it is for"),
		"nodes": part.List("the nodes; a run begins with the first or, if edges lead to it, with the only one to "+
			"which none does", part.Ref("node")),
		"context": part.OneOf("what an agent is sent: turns, the recent turns and the previous output (default), or "+
			"previous, the previous output alone", contextTurns, contextPrevious),
		"edges":         part.List("the edges", part.Ref("edge")),
		"maxRounds":     part.Typed("how many full rounds a cycle runs", "integer"),
		"executionMode": part.OneOf("when it runs by itself", "one_time", "interval", "continuous", ""),
		"schedule":      text("when it runs: a duration or a cron line"), "schedules": planKeys.Form(),
		"timeZone": text("the time zone of the schedules, such as Europe/Lisbon"),
		"labels":   inputs.LabelsForm(),
		"turnInstruction": part.Expressions(
			part.Word("the text before the recent turns in each message; with {{ … }} where there are inputs"),
			part.ExpressionTurn),
	}
	forms = part.Join(forms, nodes.DocumentForms())
	works, keep = Keys("graph")
	s := part.Entry("Agents that speak in turn.", part.Join(part.Properties(works, keep, forms), part.Object{
		"agents": part.AgentList(), "concurrency": inputs.ConcurrencyForm(), "toolsets": forms["toolsets"],
		"permissions": forms["permissions"],
		"branches":    part.List("graphs in addition to the main one", part.Ref("branch")),
	}))
	s["anyOf"] = []any{part.Present("nodes"), part.Present("branches")}
	named := part.Join(forms, part.Object{"name": text("the name of the branch that people see; the id without it")})
	branch := part.Entry("", part.Properties(works, keep, named), "id")
	branch["allOf"] = []any{part.Present("nodes")}
	s[part.KeyWords] = inputs.Words()
	s["$defs"] = part.Join(part.AgentDefs(), part.Object{"node": node, "edge": edge, "branch": branch})
	return s
}

// Keys returns the keys of a part of rounds documents that have a meaning, and those that editors
// write for themselves. Parts are "graph" (the document and its branches), "node" and "edge".
func Keys(part string) (works, kept []string) {
	switch part {
	case "graph":
		return slices.Concat(graphKeys, nodes.DocumentKeys()), slices.Clone(rootExtras)
	case "node":
		return []string{"id", "type", "name", "config", "parameters"},
			append([]string{"label", "description"}, nodeExtras...)
	case "edge":
		return []string{"id", "label", "from", "to", "source", "target", keySourceHandle},
			append([]string{"data"}, edgeExtras...)
	}
	return nil, nil
}

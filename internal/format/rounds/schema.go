package rounds

import (
	"github.com/hocket-run/hocket/internal/docschema/part"
)

// Schema gives the body of the JSON Schema of rounds documents.
func Schema() part.Object {
	text := part.Scalar
	settings := part.Section("", part.Object{"agentId": part.Scalar("the id of the agent")})
	works, keep := Keys("node")
	node := part.Entry("", part.Properties(works, keep, part.Object{
		"id": part.ID("the id of the node"), "type": part.Object{"const": "agent"}, "name": part.Word("the name that people see; that of the agent without it"), "config": settings, "parameters": settings,
	}), "id", "type")
	inner := func(key string) part.Object {
		return part.Object{"required": []string{key}, "properties": part.Object{key: part.Object{"type": "object", "required": []string{"agentId"}, "properties": part.Object{"agentId": part.Object{"type": []string{"string", "number", "boolean"}, "minLength": 1}}}}}
	}
	node["anyOf"] = []any{inner("config"), inner("parameters")}
	works, keep = Keys("edge")
	edge := part.Entry("", part.Properties(works, keep, part.Object{
		"id": text(""), "label": text("a text for pictures"), "from": text("the node that it leaves"), "to": text("the node that it leads to"), "source": text("another name of from"), "target": text("another name of to"),
	}))
	edge["allOf"] = []any{part.Object{"anyOf": []any{part.Present("from"), part.Present("source")}}, part.Object{"anyOf": []any{part.Present("to"), part.Present("target")}}}
	forms := part.Object{
		"id": text(""), "name": text("the name of the workflow"), "description": text("what it is for"), "nodes": part.List("the nodes; the first one begins", part.Ref("node")), "edges": part.List("the edges", part.Ref("edge")),
		"maxRounds": part.Typed("how many full rounds a cycle runs", "integer"), "executionMode": part.OneOf("when it runs by itself", "one_time", "interval", "continuous", ""),
		"schedule": text("when it runs: a duration or a cron line"), "timeZone": text("the time zone of the schedule, such as Europe/Lisbon"),
		"turnInstruction": part.Word("the text before the recent turns in each message"),
	}
	works, keep = Keys("graph")
	s := part.Entry("Agents that speak in turn.", part.Join(part.Properties(works, keep, forms), part.Object{
		"agents": part.AgentList(), "branches": part.List("graphs beside the main one", part.Ref("branch")),
	}))
	s["anyOf"] = []any{part.Present("nodes"), part.Present("branches")}
	branch := part.Entry("", part.Properties(works, keep, forms), "id")
	branch["allOf"] = []any{part.Present("nodes")}
	s["$defs"] = part.Join(part.AgentDefs(), part.Object{"node": node, "edge": edge, "branch": branch})
	return s
}

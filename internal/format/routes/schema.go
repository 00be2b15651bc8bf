package routes

import (
	"github.com/hocket-run/hocket/internal/docschema/part"
)

// Schema returns the body of the JSON Schema of routes documents, which are built from tables: each
// key may also be written in snake_case, and the workflow's own keys may be under workflow.
func Schema() part.Object {
	extras := part.Kept("description", "metadata", "position", "createdAt", "updatedAt")
	agent := part.Typed("the id of the agent; null for other nodes", "string", "number", "boolean")
	node := part.Entry("a row of nodes", withSnakeCase(part.Join(extras, part.Object{
		"id": part.ID("the id of the node"), "workflowId": part.Scalar(""),
		"nodeType": part.Needed(part.OneOf("what the node does", "AGENT", "TOOL_EXECUTOR", "HUMAN")),
		"nodeName": part.Scalar("the name by which agents choose it"), "agentId": agent,
		"prompt": part.Word("the question of a HUMAN node"),
	})), "id")
	node["allOf"] = []any{eitherSpelling("nodeType")}
	for _, key := range []string{"nodeType", "node_type"} { // other nodes have no agent
		null := part.Object{"properties": part.Object{"agentId": part.Object{"type": "null"},
			"agent_id": part.Object{"type": "null"}}}
		other := part.Object{"properties": part.Object{key: part.Object{"enum": []any{"TOOL_EXECUTOR", "HUMAN"}}},
			"required": []string{key}}
		node["allOf"] = append(node["allOf"].([]any), part.Object{"if": other, "then": null})
	}
	edge := part.Entry("a row of edges", withSnakeCase(part.Join(extras, part.Object{
		"id": part.Scalar(""), "workflowId": part.Scalar(""), "sourceNodeId": part.ID("the node that it leaves"),
		"targetNodeId":   part.Scalar("the node that it leads to; null ends the run"),
		"conditionType":  part.Needed(part.OneOf("when it is taken", "CONDITIONAL", "ALWAYS", "ON_COMPLETE")),
		"conditionValue": part.Scalar("what the agent says to take it"),
	})))
	edge["allOf"] = []any{eitherSpelling("sourceNodeId"), eitherSpelling("targetNodeId"),
		eitherSpelling("conditionType")}
	own := withSnakeCase(part.Join(part.Kept("$schema", "version", "metadata", "createdAt", "updatedAt"), part.Object{
		"id": part.Scalar(""), "name": part.Scalar("the name of the workflow"),
		"description":      part.Word("what it is for"),
		"isConversational": part.Flag("whether the run ends only where an agent ends the conversation"),
		"entrypointNodeId": part.ID("the node that begins"),
		"routing": part.OneOf("how an agent names the next node: by the tool route_to, by next in its own output, or "+
			"both (default)", routings...),
		"humanHandoff": part.Scalar("the node that is entered at a limit"),
		"maxSteps":     most(part.Whole("the most steps; 15 by default", 0), 1<<31-1),
		"timeoutMs": most(part.Typed("the most time in milliseconds; 90000 by default", "integer"),
			9_223_372_036_854),
		"nodes": part.List("", part.Ref("node")), "edges": part.List("", part.Ref("edge")),
		"agents": part.AgentList(),
	}))
	s := part.Entry("Agents of one conversation, and the edges by which they choose who is next.",
		part.Join(own, part.Object{"workflow": part.Section("the workflow's own keys", own)}))
	entrypoint := part.Object{"anyOf": []any{part.Present("entrypointNodeId"), part.Present("entrypoint_node_id")}}
	s["allOf"] = []any{inWorkflow(part.Present("nodes")), inWorkflow(entrypoint)}
	s["$defs"] = part.Join(part.AgentDefs(), part.Object{"node": node, "edge": edge})
	return s
}

// inWorkflow returns a schema that applies s to the document or to the value of its key workflow.
func inWorkflow(s part.Object) part.Object {
	return part.Object{
		"anyOf": []any{s, part.Object{"required": []string{"workflow"}, "properties": part.Object{"workflow": s}}},
	}
}

func most(s part.Object, maximum int64) part.Object {
	s["maximum"] = maximum
	return s
}

// withSnakeCase adds the snake_case spelling of each key.
func withSnakeCase(properties part.Object) part.Object {
	out := part.Join(properties)
	for key, form := range properties {
		out[snake(key)] = form
	}
	return out
}

func eitherSpelling(key string) part.Object {
	return part.Object{"anyOf": []any{part.Object{"required": []string{key}},
		part.Object{"required": []string{snake(key)}}}}
}

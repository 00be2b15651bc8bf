package docschema

import (
	"strings"

	"github.com/hocket-run/hocket/internal/format/canvas"
	"github.com/hocket-run/hocket/internal/format/rounds"
)

// properties takes the keys of a part from its reader: those that mean something in their forms, those of editors as they are.
func properties(works, keep []string, forms object) object {
	out := kept(keep...)
	for _, key := range works {
		out[key] = object{}
		if form, ok := forms[key]; ok {
			out[key] = form
		}
	}
	return out
}

// present says that a key must be there and not be null.
func present(key string) object {
	return object{"required": []string{key}, "properties": object{key: object{"not": object{"type": "null"}}}}
}

func canvasForms() object {
	duration := word("a time such as 90s, 1h30m or 2d")
	duration["pattern"] = `^([0-9]+d|\+?([0-9]*\.?[0-9]+(ns|us|µs|ms|s|m|h))+)?$`
	agent := agentProperties(false)
	out := object{
		"initialInput": anything("the input of runs that are given none"), "agentName": word("the name that people see; Agent by default"),
		"systemPrompt": word("the system prompt, sent as written"),
		"userPrompt":   word("the user message, with {{PREVIOUS_OUTPUT}}; the previous output without it"),
		"context":      oneOf("all: the user message is the outputs of all steps before, and the input", "all", ""),
		"model":        word("provider/model"), "reasoningEffort": word("how long the model thinks: low by default; auto leaves it to the model"),
		"tools": either("names of tools that the agent may use, or a map of names to true", wordList(""), mapOf("", object{"type": []string{"boolean", "null"}})),
		"conditions": list("conditions in order; the first that is true continues at its handle condition-0, condition-1, …, else false", entry("", object{
			"id": object{}, "operator": word("equal or contains"), "value": scalar("the text that the previous output is compared with"),
		})),
		"condition": scalar("the older form of one condition: a text that the previous output contains"),
		"prompt":    word("the question to the person"), "message": word("the older name of prompt"),
		"deadline": duration, "remindAfter": duration,
		"join": anything("all: a node with several incoming connections waits for all that can still come"),
	}
	for key, form := range agent {
		if _, ok := out[key]; !ok {
			out[key] = form
		}
	}
	return out
}

func canvasDocument() object {
	forms := canvasForms()
	var rules []any
	types := []string{"start", "agent", "if", "approval"}
	for _, typ := range types {
		works, keep := canvas.Keys("data of " + typ)
		names := object{"enum": []any{typ}}
		if typ == "approval" {
			names = object{"enum": []any{typ, "input"}}
		}
		rules = append(rules, object{
			"if":   object{"properties": object{"type": names}, "required": []string{"type"}},
			"then": object{"properties": object{"data": section("", properties(works, keep, forms))}},
		})
	}
	works, keep := canvas.Keys("node")
	node := entry("", properties(works, keep, object{
		"id": id("the id of the node"), "type": needed(oneOf("what the node does", append(types, "input")...)), "data": typed("what the node says", "object"),
	}), "id", "type")
	node["allOf"] = rules
	works, keep = canvas.Keys("connection")
	connection := entry("", properties(works, keep, object{
		"id": scalar(""), "source": id("the node that it leaves"), "target": id("the node that it leads to"), "targetHandle": scalar(""), "label": scalar("a text for pictures"),
		"sourceHandle": scalar("the way out: condition-0, condition-1, …, false of an if node; approve, reject, timeout of an approval; subagent of an agent that may ask another"),
	}), "source", "target")
	works, keep = canvas.Keys("document")
	nodes := needed(list("the nodes, one of them of type start", ref("node")))
	nodes["contains"] = object{"properties": object{"type": object{"const": "start"}}, "required": []string{"type"}}
	nodes["maxContains"] = 1
	s := entry("Nodes, and the connections between them.", properties(works, keep, object{
		"id": scalar(""), "name": scalar("the name of the workflow"), "description": scalar("what it is for"),
		"nodes": nodes, "connections": needed(list("the connections", ref("connection"))),
	}), "nodes", "connections")
	s["$defs"] = join(agentDefs(), object{"node": node, "connection": connection})
	return s
}

func roundsDocument() object {
	text := scalar
	settings := section("", object{"agentId": scalar("the id of the agent")})
	works, keep := rounds.Keys("node")
	node := entry("", properties(works, keep, object{
		"id": id("the id of the node"), "type": object{"const": "agent"}, "name": word("the name that people see; that of the agent without it"), "config": settings, "parameters": settings,
	}), "id", "type")
	named := func(key string) object {
		return object{"required": []string{key}, "properties": object{key: object{"type": "object", "required": []string{"agentId"}, "properties": object{"agentId": object{"type": []string{"string", "number", "boolean"}, "minLength": 1}}}}}
	}
	node["anyOf"] = []any{named("config"), named("parameters")}
	works, keep = rounds.Keys("edge")
	edge := entry("", properties(works, keep, object{
		"id": text(""), "label": text("a text for pictures"), "from": text("the node that it leaves"), "to": text("the node that it leads to"), "source": text("another name of from"), "target": text("another name of to"),
	}))
	edge["allOf"] = []any{object{"anyOf": []any{present("from"), present("source")}}, object{"anyOf": []any{present("to"), present("target")}}}
	forms := object{
		"id": text(""), "name": text("the name of the workflow"), "description": text("what it is for"), "nodes": list("the nodes; the first one begins", ref("node")), "edges": list("the edges", ref("edge")),
		"maxRounds": typed("how many full rounds a cycle runs", "integer"), "executionMode": oneOf("when it runs by itself", "one_time", "interval", "continuous", ""),
		"schedule": text("when it runs: a duration or a cron line"), "timeZone": text("the time zone of the schedule, such as Europe/Lisbon"),
		"turnInstruction": word("the text before the recent turns in each message"),
	}
	works, keep = rounds.Keys("graph")
	s := entry("Agents that speak in turn.", join(properties(works, keep, forms), object{
		"agents": agentList(), "branches": list("graphs beside the main one", ref("branch")),
	}))
	s["anyOf"] = []any{present("nodes"), present("branches")}
	branch := entry("", properties(works, keep, forms), "id")
	branch["allOf"] = []any{present("nodes")}
	s["$defs"] = join(agentDefs(), object{"node": node, "edge": edge, "branch": branch})
	return s
}

// routesDocument is made of tables: each key may be written in snake_case too, and the workflow's own keys may stand under workflow.
func routesDocument() object {
	extras := kept("description", "metadata", "position", "createdAt", "updatedAt")
	agent := typed("the id of the agent; null for other nodes", "string", "number", "boolean")
	node := entry("a row of nodes", both(join(extras, object{
		"id": id("the id of the node"), "workflowId": scalar(""), "nodeType": needed(oneOf("what the node does", "AGENT", "TOOL_EXECUTOR", "HUMAN")),
		"nodeName": scalar("the name by which agents choose it"), "agentId": agent, "prompt": word("the question of a HUMAN node"),
	})), "id")
	node["allOf"] = []any{eitherSpelling("nodeType")}
	for _, key := range []string{"nodeType", "node_type"} { // other nodes have no agent
		null := object{"properties": object{"agentId": object{"type": "null"}, "agent_id": object{"type": "null"}}}
		other := object{"properties": object{key: object{"enum": []any{"TOOL_EXECUTOR", "HUMAN"}}}, "required": []string{key}}
		node["allOf"] = append(node["allOf"].([]any), object{"if": other, "then": null})
	}
	edge := entry("a row of edges", both(join(extras, object{
		"id": scalar(""), "workflowId": scalar(""), "sourceNodeId": id("the node that it leaves"), "targetNodeId": scalar("the node that it leads to; null ends the run"),
		"conditionType": needed(oneOf("when it is taken", "CONDITIONAL", "ALWAYS", "ON_COMPLETE")), "conditionValue": scalar("what the agent says to take it"),
	})))
	edge["allOf"] = []any{eitherSpelling("sourceNodeId"), eitherSpelling("targetNodeId"), eitherSpelling("conditionType")}
	own := both(join(kept("$schema", "version", "metadata", "createdAt", "updatedAt"), object{
		"id": scalar(""), "name": scalar("the name of the workflow"), "description": word("what it is for"), "isConversational": flag("whether the run ends only where an agent ends the conversation"),
		"entrypointNodeId": id("the node that begins"), "humanHandoff": scalar("the node that is entered at a limit"), "maxSteps": most(whole("the most steps; 15 by default", 0), 1<<31-1),
		"timeoutMs": most(typed("the most time in milliseconds; 90000 by default", "integer"), 9_223_372_036_854),
		"nodes":     list("", ref("node")), "edges": list("", ref("edge")), "agents": agentList(),
	}))
	s := entry("Agents of one conversation, and the edges by which they choose who is next.", join(own, object{"workflow": section("the workflow's own keys", own)}))
	entrypoint := object{"anyOf": []any{present("entrypointNodeId"), present("entrypoint_node_id")}}
	s["allOf"] = []any{here(present("nodes")), here(entrypoint)}
	s["$defs"] = join(agentDefs(), object{"node": node, "edge": edge})
	return s
}

// here says that something holds of the document or of what stands under its key workflow.
func here(s object) object {
	return object{"anyOf": []any{s, object{"required": []string{"workflow"}, "properties": object{"workflow": s}}}}
}

func most(s object, maximum int64) object {
	s["maximum"] = maximum
	return s
}

// both adds the spelling in snake_case of each key.
func both(properties object) object {
	out := join(properties)
	for key, form := range properties {
		out[snake(key)] = form
	}
	return out
}

func eitherSpelling(key string) object {
	return object{"anyOf": []any{object{"required": []string{key}}, object{"required": []string{snake(key)}}}}
}

func snake(key string) string {
	var b strings.Builder
	for _, c := range key {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

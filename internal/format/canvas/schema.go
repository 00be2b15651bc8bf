package canvas

import (
	"slices"

	"github.com/hocket-run/hocket/internal/docschema/part"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/format/inputs"
	"github.com/hocket-run/hocket/internal/format/nodes"
)

// canvasForms returns the forms of the keys of data for a type of node.
func canvasForms(typ string) part.Object {
	agent := part.AgentProperties(false)
	out := part.Object{
		"initialInput": part.Anything("the input of runs that are given none"),
		"agentName":    part.Word("the name that people see; Agent by default"),
		"systemPrompt": part.Expressions(
			part.Word("the system prompt, with {{PREVIOUS_OUTPUT}}, and where the document has inputs with "+
				"{{ $input.NAME }} and {{ $steps.ID.output }}"), part.ExpressionTemplate),
		"userPrompt": part.Expressions(
			part.Word("the user message, with {{PREVIOUS_OUTPUT}}, and any {{ … }} where the document has inputs; "+
				"the previous output without it"), part.ExpressionPrompt),
		"context": part.OneOf("all: the user message is the outputs of all steps before, and the input", "all",
			""),
		"model":           part.Word("provider/model"),
		"reasoningEffort": part.Word("how long the model thinks: low by default; auto leaves it to the model"),
		"tools": part.Either("names of tools that the agent may use, or a map of names to true", part.WordList(""),
			part.MapOf("", part.Object{"type": []string{"boolean", "null"}})),
		"conditions": part.List("conditions in order; the first that is true continues at its handle condition-0, "+
			"condition-1, …, else false", part.Entry("", part.Object{
			"id": part.Object{},
			"operator": part.OneOf("how the previous output is compared with value: as texts (equal by default), or "+
				"as numbers", append(expr.Operators(), "")...),
			"value": part.Scalar("the text or the number that the previous output is compared with"),
			"if": part.Expressions(part.Scalar("in place of operator and value: a condition as in steps documents, "+
				"such as $steps.ID.output.score >= 7"), part.ExpressionCondition),
		})),
		"condition":   part.Scalar("the older form of one condition: a text that the previous output contains"),
		"message":     part.Expressions(part.Word("the older name of prompt"), part.ExpressionPrompt),
		"remindAfter": nodes.Duration("another spelling of remind_after"),
		"join":        part.Anything("all: a node with several incoming connections waits for all that can still come"),
	}
	if typ == typeApproval {
		out["prompt"] = part.Expressions(
			part.Scalar("the question to the person, with {{PREVIOUS_OUTPUT}}, and any {{ … }} where the document "+
				"has inputs"), part.ExpressionPrompt)
	}
	for _, more := range []part.Object{agent, nodes.Forms(typ)} {
		for key, form := range more {
			if _, ok := out[key]; !ok {
				out[key] = form
			}
		}
	}
	return out
}

// Schema returns the body of the JSON Schema of canvas documents.
func Schema() part.Object {
	var rules []any
	for _, typ := range types {
		works, keep := Keys("data of " + typ)
		names := part.Object{"enum": []any{typ}}
		if typ == typeApproval {
			names = part.Object{"enum": []any{typ, typeInput}}
		}
		then := part.Object{"properties": part.Object{
			"data": part.Section("", part.Properties(works, keep, canvasForms(typ)), nodes.Needs(typ)...),
		}}
		if nodes.Needs(typ) != nil {
			then["required"] = []string{"data"}
		}
		rules = append(rules, part.Object{
			"if":   part.Object{"properties": part.Object{"type": names}, "required": []string{"type"}},
			"then": then,
		})
	}
	works, keep := Keys("node")
	node := part.Entry("", part.Properties(works, keep, part.Object{
		"id":   part.ID("the id of the node"),
		"type": part.Needed(part.OneOf("what the node does", slices.Concat(types, []string{"input"})...)),
		"data": part.Typed("what the node says", "object"),
	}), "id", "type")
	node["allOf"] = rules
	works, keep = Keys("connection")
	connection := part.Entry("", part.Properties(works, keep, part.Object{
		"id": part.Scalar(""), "source": part.ID("the node that it leaves"),
		"target": part.ID("the node that it leads to"), "targetHandle": part.Scalar(""),
		"label": part.Scalar("a text for pictures"),
		"sourceHandle": part.Scalar(
			"the way out: condition-0, condition-1, …, false of an if node; approve, reject, timeout of an " +
				"approval; error of a tool, workflow, set or ask node, and timeout of an ask node; subagent of an " +
				"agent that may ask another"),
	}), "source", "target")
	works, keep = Keys("document")
	list := part.Needed(part.List("the nodes, one of them of type start", part.Ref("node")))
	list["contains"] = part.Object{"properties": part.Object{"type": part.Object{"const": "start"}},
		"required": []string{"type"}}
	list["maxContains"] = 1
	s := part.Entry("Nodes, and the connections between them.",
		part.Properties(works, keep, part.Join(nodes.DocumentForms(), part.Object{
			"id": part.Scalar(""), "name": part.Scalar("the name of the workflow"),
			"description": part.Scalar("what it is for"),
			"schedule": part.Scalar(`when runs of the published workflow start by themselves: cron fields ("0 9 * * ` +
				`1-5"), @daily, @every 90s, seconds, daily@09:00 or weekly@1,3`),
			"schedules": planKeys.Form(), "labels": inputs.LabelsForm(), "concurrency": inputs.ConcurrencyForm(),
			"timeZone": part.Scalar(
				"the time zone of the schedule, such as Europe/Berlin; without it that of the process"),
			"nodes": list, "connections": part.Needed(part.List("the connections", part.Ref("connection"))),
		})), "nodes", "connections")
	s["dependentSchemas"] = part.Object{"timeZone": part.Object{
		"anyOf": []any{part.Object{"required": []string{"schedule"}}, part.Object{"required": []string{"schedules"}}},
	}}
	s[part.KeyWords] = inputs.Words()
	s["$defs"] = part.Join(part.AgentDefs(), part.Object{"node": node, "connection": connection})
	return s
}

// Keys returns the keys of a part of canvas documents that have a meaning, and those that editors
// write for themselves. Parts are "document", "node", "connection", and "data of " followed by a
// type of node.
func Keys(part string) (works, kept []string) {
	switch part {
	case "document":
		own := []string{"id", "name", "description", "labels", "concurrency", "schedule", "schedules", "timeZone",
			"nodes", "connections"}
		return slices.Concat(own, nodes.DocumentKeys(), nodes.SharedKeys()), slices.Clone(rootExtras)
	case "node":
		return []string{"id", "type", "data"}, slices.Clone(nodeExtras)
	case "connection":
		return []string{"id", "source", "target", "sourceHandle", "targetHandle", "label"},
			slices.Clone(connectionExtras)
	}
	for typ, keys := range dataKeys {
		if part == "data of "+typ {
			return slices.Clone(keys), slices.Clone(dataExtras)
		}
	}
	return nil, nil
}

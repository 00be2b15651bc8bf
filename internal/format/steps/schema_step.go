package steps

import (
	"github.com/hocket-run/hocket/internal/docschema/part"
	"github.com/hocket-run/hocket/workflow"
)

// stepForms returns the forms of the keys of steps.
func stepForms() part.Object {
	duration := func(doc string) part.Object {
		return part.With(part.Object{"type": []string{"string", "number"}},
			doc+", such as 90s, 1h30m or 2d; a number counts seconds")
	}
	value := func(doc string) part.Object { return part.Anything(doc + "; {{ … }} in its texts are expressions") }
	values := func(doc string) part.Object {
		return part.With(part.Object{"type": "object"}, doc+"; {{ … }} in texts are expressions")
	}
	one := func(key string, form part.Object) part.Object { return part.Entry("", part.Object{key: form}, key) }
	goTo := one(wordGoto, part.With(part.Object{"type": []string{"string", "number", "boolean"}, "minLength": 1},
		"the id of a step of a list around this one"))
	byDefault := one(wordDefault, value("the output"))
	return part.Object{
		"type": part.Needed(part.OneOf("what the step does", stepTypes()...)),
		"id": part.With(part.Object{"type": []string{"string", "number", "boolean"}, "minLength": 1,
			"pattern": "^[^/]*$"}, "the name under which others refer to it; without it that of the agent or the tool"),
		"name": part.Scalar("of an agent step: the agent"), "retry": part.Ref("retry"), "budget": part.Ref("budget"),
		"prompt": part.With(part.Object{"type": []string{"string", "number", "boolean", "null"}, "pattern": `\S`},
			"of an agent step the user message, with {{PREVIOUS_OUTPUT}}, and without it the outputs of all steps "+
				"before, and the input; of an approval or a question what a person reads, with {{ … }}"),
		"condition": part.Scalar("an expression that is true or false; {{ $steps.ID.output }} is the output of a step"),
		"true":      part.Ref("branch"), "false": part.Ref("branch"), "reject": part.Ref("branch"),
		"else": part.Ref("branch"),
		"cases": part.With(part.Object{"type": "array", "minItems": 1, "items": part.Entry(
			"a case: the first whose condition holds is taken", part.Object{
				"when":  part.Scalar("a condition"),
				"steps": part.Ref("branch"),
			}, "when")}, "the cases of a switch, in the order in which their conditions are evaluated"),
		"limit": part.Ref("branch"), "steps": part.Ref("steps"),
		"if":           part.Scalar("a condition; the step is skipped where it does not hold"),
		"timeout":      duration("how long the step may take, with all attempts and all that runs inside of it"),
		"call_timeout": duration("how long each call of the step may take"),
		"on_error": part.Either("what follows a failure; fail without it",
			part.OneOf("", wordFail, wordContinue), byDefault, goTo),
		"join": part.OneOf("for which branches the step waits", workflow.UntilAll, workflow.UntilAny,
			workflow.UntilRace, workflow.UntilQuorum),
		"quorum": part.Whole("with join: quorum, how many branches must complete", 1),
		"tool":   part.Scalar("the tool"),
		"workflow": part.Scalar(
			"the workflow: ID, ID@VERSION, or a path relative to the document that begins with ./ or ../"),
		"input":  value("the input of the workflow; without it the previous output"),
		"args":   values("the arguments of the tool"),
		"values": values("the output of the step"),
		"for": part.With(part.Object{"type": []string{"string", "number"}},
			"how long the step rests, such as 90s, 1h30m or 2d; a number counts seconds; {{ … }} are expressions"),
		"until":        part.Scalar("when it ends, such as 2026-05-01T09:00:00Z; {{ … }} are expressions"),
		"status":       part.OneOf("how the run ends", workflow.EndCompleted, workflow.EndFailed),
		"output":       value("the output of the run"),
		"message":      part.Scalar("why the run failed; {{ … }} are expressions"),
		"deadline":     duration("how long a person has, or until when a signal must come"),
		"remind_after": duration("when a person is reminded"),
		"roles": part.WordList("who may answer: run, edit and admin are roles of tokens, any other word " +
			"the name of a token or endpoint; all who may answer approvals or questions without it"),
		"on_deadline": part.Either("what follows the deadline; fail without it",
			part.OneOf("", wordFail, workflow.PortApprove, workflow.PortReject), byDefault, goTo),
		"on_reject": part.OneOf(
			"what follows a rejection where there is no reject: the step fails, or the path ends", wordFail, wordEnd),
		"over": value("the list, of 10,000 items at most"),
		"as": part.With(part.Object{"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$",
			"not": part.Object{"enum": []string{"steps", "input", "previous", "note", "signal"}}},
			"the name of the item in expressions of the steps; item without it"),
		"max_concurrency": part.Whole("how many items are worked on at a time; 10 without it", 1),
		"on_item_error": part.OneOf(
			"what the failure of an item does: fail_fast fails the map, skip gives null in the place of the item, "+
				"collect fails the map when all items have ended", workflow.FailFast, workflow.FailSkip,
			workflow.FailCollect),
		"options": part.Texts("the answers that can be given"),
		"schema": part.With(part.Object{"type": "object"},
			"the JSON Schema of the answer, or of the value of the signal"),
		"signal": part.With(part.Object{"type": []string{"string", "number"},
			"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"}, "the name of the signal for which the step waits"),
		"filter": part.Scalar("which signals of the name the step takes: an expression over $signal, the " +
			"value, such as {{ $signal.amount > 100 }}; all without it"),
	}
}

// stepNeeds lists the required keys of each type of step.
var stepNeeds = map[kind][]string{
	agentStep: {"name"}, conditionStep: {"condition"}, switchStep: {"cases"}, parallelStep: {"steps"},
	toolStep: {"tool"}, workflowStep: {"workflow"}, setStep: {"values"}, askStep: {"prompt"},
	mapStep: {"over", "steps"}, signalStep: {"signal"},
}

// stepSchema builds the schema of steps from the reader's keys for each type.
func stepSchema() part.Object {
	forms, all := stepForms(), part.Object{}
	var rules []any
	for k, typ := range stepTypes() {
		names := []any{}
		for _, key := range stepKeys[kind(k)] {
			names = append(names, key)
			all[key] = forms[key]
		}
		then := part.Object{"propertyNames": part.Object{"enum": names}}
		if need := stepNeeds[kind(k)]; need != nil {
			then["required"] = need
		}
		switch kind(k) {
		case agentStep:
			then["properties"] = part.Object{"name": part.ID("")}
		case toolStep:
			then["properties"] = part.Object{"tool": part.ID("")}
		case conditionStep:
			then["properties"] = part.Object{
				"condition": part.Object{"pattern": `\S`, "not": part.Object{"type": "null"}}, "retry": false,
			}
			then["anyOf"] = []any{part.Object{"required": []string{"true"}}, part.Object{"required": []string{"false"}}}
		case parallelStep:
			ports, _ := Keys("block ports") // ids of children are ports of the block
			then["properties"] = part.Object{"steps": part.Object{
				"items": part.Object{"properties": part.Object{"id": part.Object{"not": part.Object{"enum": ports}}}},
			}}
		}
		rules = append(rules,
			part.Object{"if": part.Object{"properties": part.Object{"type": part.Object{"const": typ}},
				"required": []string{"type"}}, "then": then})
	}
	s := part.Entry("one step; in a branch, a step with an id alone leads back to that step", all)
	s["allOf"] = rules
	s["anyOf"] = []any{part.Object{"required": []string{"type"}},
		part.Object{"required": []string{"id"}, "maxProperties": 1}}
	return s
}

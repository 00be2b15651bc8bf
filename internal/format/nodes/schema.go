package nodes

import (
	"github.com/hocket-run/hocket/internal/docschema/part"
	"github.com/hocket-run/hocket/internal/format/inputs"
	"github.com/hocket-run/hocket/workflow"
)

// Duration returns the form of a duration.
func Duration(doc string) part.Object {
	return part.With(part.Object{"type": []string{"string", "number"},
		"pattern": `^([0-9]+d?|\+?([0-9]*\.?[0-9]+(ns|us|µs|ms|s|m|h))+)?$`, "exclusiveMinimum": 0}, doc)
}

// Forms returns the forms of the settings keys of a type, for editors.
func Forms(typ string) part.Object {
	duration := func(doc string) part.Object {
		return Duration(doc + ", such as 90s, 1h30m or 2d; a number counts seconds")
	}
	holds := func(s part.Object) part.Object { return part.Expressions(s, part.ExpressionValue) }
	value := func(doc string) part.Object {
		return holds(part.Anything(doc + "; {{ … }} in its texts are expressions"))
	}
	object := func(doc string) part.Object { return part.Typed(doc, "object") }
	byDefault := part.Entry("", part.Object{wordDefault: value("the output")}, wordDefault)
	const late = "what follows the deadline; fail, or the connection timeout, without it"
	onDeadline := part.Either(late, part.OneOf("", wordFail), byDefault)
	if typ == Approval {
		onDeadline = part.OneOf(late, wordFail, workflow.PortApprove, workflow.PortReject)
	}
	return part.Object{
		"on_deadline": onDeadline,
		"tool":        part.Scalar("the tool"),
		"args":        holds(object("the arguments of the tool; {{ … }} in texts are expressions")),
		"values":      holds(object("the output of the node; {{ … }} in texts are expressions")),
		"workflow": part.Scalar(
			"the workflow: ID, ID@VERSION, or a path relative to the document that begins with ./ or ../"),
		"input":   value("the input of the workflow; without it the previous output"),
		"prompt":  holds(part.Scalar("the question to the person; {{ … }} are expressions")),
		"options": part.Texts("the answers that can be given"), "schema": object("the JSON Schema of the answer"),
		"deadline": duration("how long a person has"), "remind_after": duration("when a person is reminded"),
		"roles": part.WordList(
			"who may answer: run, edit and admin are roles of tokens, any other word the name of a token or endpoint"),
		"on_reject": part.OneOf("what follows a rejection where the node has no connection reject", wordFail,
			wordEnd),
		"if": part.Expressions(part.Scalar("a condition; the node is skipped where it does not hold"),
			part.ExpressionCondition),
		"timeout":      duration("how long the node may take, with all attempts"),
		"call_timeout": duration("how long each call of the node may take"),
		"on_error": part.Either("what follows a failure; fail, or the connection error, without it",
			part.OneOf("", wordFail, wordContinue), byDefault),
		"retry": part.Section("how a failed call is tried again", part.Object{
			"max_attempts": part.Whole("how often it is tried again", 0),
			"on":           part.Texts("codes or texts of errors that are tried again; all without it"),
			"backoff": part.Either("the time between attempts", part.OneOf("", backoffFixed, backoffExponential),
				part.Section("", part.Object{
					"type":                  part.OneOf("", backoffFixed, backoffExponential),
					"initial_delay_seconds": part.Number("the first time"),
				})),
		}),
	}
}

// DocumentForms returns the forms of [DocumentKeys] and [SharedKeys].
func DocumentForms() part.Object {
	return part.Object{
		"inputs": inputs.Form(),
		"output": part.Expressions(part.Anything("the output of runs; {{ … }} in its texts are expressions"),
			part.ExpressionOutput), "output_schema": part.Typed("the JSON Schema of the output", "object"),
		"toolsets": part.List("sets of tools for the nodes of type tool", part.Ref("toolset")),
		"permissions": part.Either("which tool calls are made, by the nodes of type tool and by the agents",
			part.Ref("permissions"), part.List("", part.Ref("permissions")), part.Object{"type": "null"}),
	}
}

package steps

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/docschema/part"
	"github.com/hocket-run/hocket/internal/format/inputs"
	"github.com/hocket-run/hocket/workflow"
)

// sectionOf builds a section of a steps document from the reader's table of keys. A key without a
// form accepts any value.
func sectionOf(name string, forms part.Object) part.Object {
	works, reported := Keys(name)
	out := part.Idle("Has no effect.", reported...)
	for _, key := range works {
		out[key] = part.Object{}
		if form, ok := forms[key]; ok {
			out[key] = form
		}
	}
	return out
}

func documentForms() part.Object {
	versions := []any{"", nil}
	for n := range newestVersion + 1 {
		versions = append(versions, n, strconv.Itoa(n))
	}
	return part.Object{
		"version": part.With(part.Object{"enum": versions},
			"the version of docker-agent's form; the newest without it"),
		"metadata": part.Section("for people", part.Object{"author": part.Scalar(""), "license": part.Scalar(""),
			"readme": part.Scalar(""), "description": part.Scalar("what the workflow is for"),
			"version": part.Scalar("")}),
		"providers": part.MapOf("model servers by name, in addition to those that Hocket knows",
			part.Section("", sectionOf("providers", part.Join(modelForms(), part.Object{
				"provider": part.Scalar("the provider whose protocol the server speaks; openai by default"),
				"api_type": part.Scalar("how a server of the protocol openai is spoken to"),
				"omit": part.Join(part.List("parameters that are never sent to the server",
					part.Object{"enum": workflow.OmitParameters()}), part.Object{"uniqueItems": true}),
			})))),
		"models": part.MapOf("models with parameters, by names that agents use",
			part.Either("", part.Object{"type": "string"}, part.Entry("", sectionOf("models", modelForms())))),
		"mcps": part.MapOf("MCP servers by name, which toolsets name by ref", part.Object{"type": "object"}),
		"toolsets": part.Either(
			"what tool steps may use, in the form of an agent's toolsets, or a map for use_toolsets",
			part.List("", part.Toolset()), part.MapOf("", part.Toolset())),
		"permissions": part.Either("permissions of every agent and of tool steps", part.Ref("permissions"),
			part.List("", part.Ref("permissions")), part.Object{"type": "null"}),
		"agents": part.Either("agents by name, or a list of agents with ids",
			part.MapOf("", part.Section("", part.AgentProperties(true))), part.AgentList()),
		"inputs": inputs.Form(),
		"output": part.Anything(
			"the output of a run, in place of that of its last step; {{ … }} in its texts are expressions"),
		"output_schema": part.With(part.Object{"type": "object"}, "the JSON Schema that the output of a run must fit"),
		"schedule": part.With(part.Object{"type": []string{"string", "number", "null"}},
			`when runs of the published workflow start by themselves: cron fields ("0 9 * * 1-5"), @daily, @every `+
				`90s, seconds, daily@09:00 or weekly@1,3`),
		"schedules":   planKeys.Form(),
		"labels":      inputs.LabelsForm(),
		"concurrency": inputs.ConcurrencyForm(),
		"time_zone": part.Scalar(
			"the time zone of the schedule, such as Europe/Berlin; without it that of the process"),
		"workflow": part.Either("the steps, or a map with the key steps and bounds", part.Ref("steps"),
			part.Ref("workflow")),
	}
}

func modelForms() part.Object {
	return part.Object{
		"provider": part.Scalar("the provider"), "model": part.Scalar("the name that the provider gives the model"),
		"temperature":       part.Number("how freely the model chooses words"),
		"max_tokens":        part.Whole("the most tokens of a reply", 0),
		"top_p":             part.Number("which share of the likeliest words it chooses from"),
		"frequency_penalty": part.Number(""), "presence_penalty": part.Number(""),
		"base_url":      part.Scalar("the address of the server"),
		"token_key":     part.Scalar("the variable that holds the key"),
		"provider_opts": part.MapOf("members of the request's JSON, set as they are", part.Object{}),
		"thinking_budget": part.Anything(
			"a number of tokens, 0 for none, -1 to let the model decide, or a word such as low"),
		"parallel_tool_calls": part.Anything("whether a reply may have several tool calls"),
		"track_usage":         part.Anything("usage is always recorded"),
	}
}

// Schema returns the body of the JSON Schema of steps documents.
func Schema() part.Object {
	s := part.Entry("Agents, and the steps in which they work. Keys that begin with x- are the author's own.",
		part.Join(sectionOf("document", documentForms()),
			part.Object{part.KeySchema: part.Word("the address of this schema, for editors")}))
	s["anyOf"] = []any{part.Object{"required": []string{"workflow"}},
		part.Object{"required": []string{"agents"}, "properties": part.Object{
			"agents": part.Object{"minProperties": 1, "minItems": 1, "not": part.Object{"type": "null"}},
		}}}
	s["dependentSchemas"] = part.Object{"time_zone": part.Object{
		"anyOf": []any{part.Object{"required": []string{"schedule"}}, part.Object{"required": []string{"schedules"}}},
	}}
	s["patternProperties"] = part.Object{"^x-": part.Object{}}
	budget := part.Object{
		"tokens": part.Whole("the most tokens, in and out", 0),
		"calls":  part.Whole("the most model calls and tool calls", 0),
		"cost_usd": part.With(part.Object{"type": []string{"number", "null"}, "minimum": 0},
			"the most money, in US dollars"),
	}
	loops := part.Typed("how often a step may run again because a condition leads back to it; 100 by default",
		"integer")
	s[part.KeyWords] = inputs.Words()
	s["$defs"] = part.Join(part.AgentDefs(), part.Object{
		"steps": part.With(part.Object{"type": "array", "items": part.Ref("step"), "minItems": 1},
			"steps, one after another"),
		"workflow": part.Entry("", part.Object{
			"steps": part.Ref("steps"), "max_loop_iterations": loops,
			"budget": part.Section("bounds of the run",
				part.Join(budget, part.Object{
					"on_reached": part.Needed(part.OneOf("whether the run ends or asks a person", "fail", "pause")),
				})),
			"overrides": part.Section("overrides the keys next to it", part.Object{"max_loop_iterations": loops}),
		}, "steps"),
		"step": stepSchema(),
		"branch": part.Either("steps, or the id or the number of a step of a list around it, to go back to",
			part.List("",
				part.Either("", part.Ref("step"), part.Object{"type": []string{"string", "integer"}, "minLength": 1})),
			part.Object{"type": []string{"string", "integer"}, "minLength": 1}),
		"retry": part.Entry("the step is tried again where it fails", part.Object{
			"max_attempts": part.Whole("maximum number of retries after the first attempt; 0 by default", 0),
			"backoff": part.Either("how long to wait before: fixed (1s), exponential (1s, 2s, 4s), or a map",
				part.Needed(part.OneOf("", "fixed", "exponential")), part.Entry("", part.Object{
					"type": part.Needed(part.OneOf("", "fixed", "exponential")), "initial_delay_seconds": part.With(
						part.Object{"type": []string{"number", "null"}, "minimum": 0, "maximum": 1e6},
						"the first pause"),
				})),
			"on": part.Texts("kinds of failures, or parts of their messages; any failure without it"),
		}),
		"budget": part.Section("bounds of the step", budget),
	})
	return s
}

// Keys returns the keys of a section of steps documents that have an effect, and the docker-agent
// keys that are only reported by name. Sections are "document", "models" (an entry), "providers"
// (an entry), "agent step" and so on for each type; "block ports" are ids that no child of a
// parallel step may have. The keys of agents are in package agents.
func Keys(section string) (works, reported []string) {
	switch section {
	case "document":
		works, reported = topKeys, idleTopKeys
	case "models":
		works, reported = modelKeys, idleModelKeys
	case "providers":
		works = providerKeys
	case "block ports":
		works = blockPorts
	}
	if word, ok := strings.CutSuffix(section, " step"); ok {
		if i := slices.Index(stepTypes(), word); i >= 0 {
			works = stepKeys[kind(i)]
		}
	}
	return slices.Clone(works), slices.Clone(reported)
}

package celexpr

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/expr"
)

var steps = []expr.Step{
	{ID: "gen"},
	{ID: "a"},
	{ID: "a-b"},
	{ID: "dot.ted"},
	{ID: "two words"},
	{ID: "qa"},
	{ID: "par", Children: []expr.Step{{ID: "gen_1"}, {ID: "gen-2"}, {ID: "output"}}},
	{ID: "outer",
		Children: []expr.Step{{ID: "g"}, {ID: "inner", Children: []expr.Step{{ID: "researcher"}, {ID: "sum.up"}}}}},
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// world holds the outputs of the steps used in the tests; "dot.ted" has not run, and neither has
// the child output of par.
var world = expr.EnvMap{
	"gen":       {Agent: "generator", Output: raw(`"A draft"`)},
	"a":         {Agent: "x", Output: raw(`"yes"`)},
	"a-b":       {Agent: "x", Output: raw(`" NO\n"`)},
	"two words": {Agent: "x", Output: raw(`{"x":"spaced"}`)},
	"qa": {
		Agent: "qa_agent",
		Output: raw(
			`{"ok":true, "score":0.9, "n":1, "lang":"en", "no":"false", "status":"200", "code":200, "tags":["a","b"],
		"nothing":null, "o":{"b":1,"a":2}, "mixed":["a",1], "x y":"quoted", "big":9007199254740993, "html":"<b>&"}`)},
	"par": {Children: []expr.Child{
		{ID: "gen_1", Entry: expr.Entry{Agent: "generator", Output: raw(`"one"`)}},
		{ID: "gen-2", Entry: expr.Entry{Agent: "generator", Output: raw(`{"k":[10,20]}`)}},
		{ID: "output", Entry: expr.Entry{Agent: "generator"}},
	}},
	"outer": {Children: []expr.Child{
		{ID: "g", Entry: expr.Entry{Agent: "generator", Output: raw(`"g"`)}},
		{ID: "inner", Entry: expr.Entry{Children: []expr.Child{
			{ID: "researcher", Entry: expr.Entry{Agent: "researcher", Output: raw(`"found"`)}},
			{ID: "sum.up", Entry: expr.Entry{Agent: "summarizer", Output: raw(`"short"`)}},
		}}},
	}},
}

// refused reports whether one of ps prevents a text from being used.
func refused(ps []expr.Problem) bool { return expr.Refusal(ps) != nil }

// refForm is the hint about a reference that cannot be parsed.
const refForm = "write $steps.<id>.output, $steps.<id>.output.<path> or $steps.<parallel id>.outputs.<child id>.output"

func texts(ps []expr.Problem) []string {
	var out []string
	for _, p := range ps {
		out = append(out, p.String())
	}
	return out
}

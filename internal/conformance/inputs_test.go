package conformance_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/service"
)

// forecast is a document with inputs.
const forecast = `
agents: {a: {instruction: "of {{ $input.city }}"}}
inputs:
  city: {title: City, description: where}
  days: {type: integer, title: Days, minimum: 1, maximum: 14, default: 3}
  unit: {enum: [metric, imperial], default: metric}
  when: {format: date, optional: true}
workflow: [{type: set, values: {all: "{{ $input }}", city: "{{ $input.city }}", next: "{{ $input.days + 1 }}", ` +
	`dated: "{{ has($input.when) }}"}}]
`

// runInputs runs a document with named inputs and returns the output, or, if the run does not
// start, the problems, one per line.
func runInputs(t *testing.T, doc, input, named string) string {
	t.Helper()
	w, _ := withTools(t)
	definition, _ := load(t, doc)
	id, err := w.Start(t.Context(), service.StartRequest{Workflow: definition, Input: input,
		Inputs: json.RawMessage(named)})
	if err != nil {
		w.noRuns()
		var invalid *service.InvalidError
		if !errors.As(err, &invalid) || len(invalid.Diagnostics) == 0 {
			return err.Error()
		}
		var lines []string
		for _, d := range invalid.Diagnostics {
			lines = append(lines, d.Path+" "+d.Code+" "+d.Hint)
		}
		return strings.Join(lines, "\n")
	}
	r := &run{w: w, id: id}
	r.waitSettled()
	return string(r.is(event.StatusCompleted).Output)
}

const forecastUlm = `{"all":{"city":"Ulm","days":3,"unit":"metric"},"city":"Ulm","dated":false,"next":4}`

var inputRules = []rule{
	{name: "X-50 declarations are checked", test: func(t *testing.T) {
		for decl, want := range map[string]int{
			`{a: {type: integer, default: x}}`: 1, `{a: {type: text}}`: 1, `{1a: string}`: 1, `{a: {minimun: 1}}`: 1,
			`{a: {type: file, maxBytes: 9999999}, b: {mediaTypes: [text/*]}}`: 2,
			`{a: {format: zip}}`: 1, `{a: {type: array, items: {type: 5}}}`: 1, `{a: {optional: true, default: x}}`: 1,
			`[a]`: 1, `{a: {type: number, default: "5"}}`: 1,
		} {
			same(t, decl, len(refused(t, "inputs: "+decl+"\n"+steps("a", "- {id: x, type: agent, name: a}\n"))), want)
		}
		same(t, "forms", runInputs(t, "inputs: {a: string, b: , c: {}, d: {enum: [1, 2]}}\n"+
			steps("a", "- {type: set, values: {v: \"{{ $input }}\"}}\n"), "", `{"a":"1","b":"2","c":"x","d":2}`),
			`{"v":{"a":"1","b":"2","c":"x","d":2}}`)
	}},
	{name: "X-51 $input is the object of all inputs", test: func(t *testing.T) {
		same(t, "object", runInputs(t, forecast, "", `{"city":"Ulm"}`), forecastUlm)
		same(t, "another name",
			len(refused(t, strings.Replace(forecast, "$input.city }}\", next", "$input.citi }}\", next", 1))), 1)
		same(t, "in an instruction",
			len(refused(t, strings.Replace(forecast, "of {{ $input.city", "of {{ $input.town", 1))), 1)
	}},
	{name: "X-52 what is given for the inputs", test: func(t *testing.T) {
		same(t, "an object as input", runInputs(t, forecast, `{"city": "Ulm"}`, ""), forecastUlm)
		same(t, "a text", runInputs(t, forecast, "Ulm", ""), forecastUlm)
		same(t, "a text beside others", runInputs(t, forecast, "Ulm", `{"unit":"metric","days":"3"}`), forecastUlm)
		same(t, "null", runInputs(t, forecast, "Ulm", `{"unit":null}`), forecastUlm)
		same(t, "all problems", runInputs(t, forecast, "", `{"days":"15","unti":1,"when":"tomorrow","unit":"kelvin"}`),
			"/unti unknown-input did you mean \"unit\"?\n/city missing-input where; a text\n/days bad-input \n/unit "+
				"bad-input \n/when bad-input ")
		same(t, "a text for none", runInputs(t, forecast, "Ulm", `{"city":"Bonn","when":"2026-05-01"}`),
			" bad-input name it; the inputs are city (a text), days (a whole number), unit (one of \"metric\", "+
				"\"imperial\"), when (a date)")
		same(t, "twice", runInputs(t, forecast, `{"city":"Ulm"}`, `{"city":"Bonn"}`),
			"/city bad-input leave one of them out")
		same(t, "lists", runInputs(t, "inputs: {n: {type: array, items: {type: integer}}, t: {type: array}}\n"+
			steps("a", "- {type: set, values: {v: \"{{ $input }}\"}}\n"), "", `{"n":["1","2"],"t":"x"}`),
			`{"v":{"n":[1,2],"t":["x"]}}`)
		same(t, "a document without inputs", runInputs(t, steps("a", "- {id: x, type: agent, name: a}\n"), "",
			`{"city":"Ulm"}`), "the workflow has no named inputs")
	}},
	{name: "X-53 defaults, and inputs that may be missing", test: func(t *testing.T) {
		out := runInputs(t, forecast, "", `{"city":"Ulm","when":"2026-05-01","days":1}`)
		same(t, "given", out,
			`{"all":{"city":"Ulm","days":1,"unit":"metric","when":"2026-05-01"},"city":"Ulm","dated":true,"next":2}`)
	}},
	{name: "X-54 files", test: func(t *testing.T) {
		doc := "inputs: {doc: {type: file, mediaTypes: [text/*, application/pdf], maxBytes: 10}}\n" +
			steps("a", "- {type: set, values: {v: \"{{ $input.doc }}\"}}\n")
		same(t, "a text file", runInputs(t, doc, "", `{"doc":{"name":"/tmp/a.md","text":"# Hi"}}`),
			`{"v":{"name":"a.md","mediaType":"text/markdown","size":4,"text":"# Hi"}}`)
		same(t, "text as base64", runInputs(t, doc, "", `{"doc":{"name":"a.txt","base64":"SGk="}}`),
			`{"v":{"name":"a.txt","mediaType":"text/plain","size":2,"text":"Hi"}}`)
		same(t, "another file", runInputs(t, doc, "", `{"doc":{"name":"a.pdf","base64":"/wA="}}`),
			`{"v":{"name":"a.pdf","mediaType":"application/pdf","size":2,"base64":"/wA="}}`)
		same(t, "a text alone", runInputs(t, doc, "", `{"doc":"Hi"}`),
			`{"v":{"mediaType":"text/plain","size":2,"text":"Hi"}}`)
		for _, bad := range []string{`{"name":"a.png","base64":"/wA="}`, `{"text":"12345678901"}`,
			`{"text":"a","base64":"/wA="}`, `{"name":"a.txt"}`, `{"base64":"%"}`, `{"text":"a","path":"/etc/passwd"}`,
			`{"text":"a","mediaType":"x"}`, `5`} {
			if out := runInputs(t, doc, "", `{"doc":`+bad+`}`); !strings.HasPrefix(out, "/doc bad-input") {
				t.Errorf("%s was taken: %s", bad, out)
			}
		}
	}},
	{name: "X-55 the output of a workflow", test: func(t *testing.T) {
		said := steps("a", "- {id: x, type: agent, name: a}\n")
		yields(t, "output: {text: \"{{ $steps.x.output }}\", in: \"{{ $input }}\", last: \"{{PREVIOUS_OUTPUT}}\"}\n"+
			said, `{"in":"go","last":"a said","text":"a said"}`)
		yields(t, "output: \"{{ $steps.x.output }}!\"\noutput_schema: {type: string}\n"+said, `"a said!"`)
		fails(t, "output: {n: \"{{ $steps.x.output }}\"}\noutput_schema: {properties: {n: {type: integer}}}\n"+said,
			event.CodeInvalidOutput, "/n: must be a whole number")
		fails(t, "output_schema: {type: object}\n"+said, event.CodeInvalidOutput, "must be an object")
		fails(t, "output: {n: \"{{ $steps.x.output.gone }}\"}\n"+said, event.CodeExpression, "has no value")
		yields(t, "output: 1\n"+steps("a", "- {type: end, output: 2}\n"), "2")
		same(t, "a schema that is none", len(refused(t, "output_schema: {type: 5}\n"+said)), 1)
		same(t, "a step that is none", len(refused(t, "output: \"{{ $steps.y.output }}\"\n"+said)), 1)
	}},
}

func TestInputs(t *testing.T) { check(t, inputRules) }

func TestInputsCovered(t *testing.T) {
	covered(t, inputRules, "X-50", "X-51", "X-52", "X-53", "X-54", "X-55")
}

package steps_test

import (
	"fmt"

	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/format/steps"
)

func ExampleRead() {
	root, _ := source.Parse("qa.yaml", []byte(`
agents:
  translator: {instruction: Translate.}
  judge:
    instruction: Judge the translation.
    structured_output: {name: verdict, schema: {type: object, properties: {ok: {type: boolean}}}}
workflow:
  - {id: trans, type: agent, name: translator}
  - type: condition
    id: check
    condition: "{{ $steps.qa.output.ok }}"
    false: trans
  - {id: qa, type: agent, name: judge}
`))
	w, diags := steps.Read(root, steps.Options{})
	fmt.Println("problems:", len(diags))
	for _, e := range w.Edges {
		fmt.Println(e.From, e.PortName(), "->", e.To, e.Loop)
	}
	// Output:
	// problems: 0
	// trans out -> qa false
	// qa out -> check false
	// check false -> trans true
}

func ExampleWrite() {
	root, _ := source.Parse("one.yaml", []byte("agents: {a: {model: openai/gpt-5-mini}}\n"))
	w, _ := steps.Read(root, steps.Options{})
	data, unsupported := steps.Write(w)
	fmt.Printf("%s%v\n", data, unsupported)
	// Output:
	// agents:
	//   a:
	//     model: openai/gpt-5-mini
	// workflow:
	//   - type: agent
	//     name: a
	// []
}

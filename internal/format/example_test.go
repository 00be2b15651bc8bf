package format_test

import (
	"fmt"

	"github.com/hocket-run/hocket/internal/format"
)

func ExampleRead() {
	w, diags := format.Read("shop.yaml", []byte(`
agents:
  writer: {model: openai/gpt-5-mini, instruction: Write a draft.}
workflow:
  - {type: agent, name: writer, retry: {max_attempts: 2}}
  - {type: agent, name: editr}
`), format.Options{})
	fmt.Println(diags.Err())
	fmt.Println(w.Format, w.Entry)
	// Output:
	// shop.yaml:6:25: error: workflow step[1]: agent "editr" not found in agents (unknown-agent)
	// steps writer
}

func ExampleWrite() {
	w, _ := format.Read("shop.yaml", []byte("agents: {writer: {}}\nworkflow: [{type: agent, name: writer}]\n"),
		format.Options{})
	w.Nodes[0].Recovery = true
	_, unsupported, err := format.Write(w, format.Steps)
	fmt.Println(unsupported, err)
	// Output: [node "writer": the error handler] <nil>
}

package agents_test

import (
	"fmt"

	"github.com/hocket-run/hocket/internal/format/agents"
)

func ExampleRead() {
	list, diags := agents.Read("agents.yaml",
		[]byte("agents:\n  - id: w\n    name: Writer\n    systemPrompt: You write.\n    modal: x\n"))
	fmt.Println(list[0].Title(), list[0].System)
	fmt.Println(diags)
	// Output:
	// Writer You write.
	// agents.yaml:5:5: error: the key "modal" is not known here (unknown-key); hint: did you mean "model"?
}

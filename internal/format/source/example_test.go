package source_test

import (
	"fmt"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
)

func ExampleParse() {
	root, diags := source.Parse("flow.yaml", []byte("workflow:\n  - id: gen\n    nam: generator\n    true: 1\n"))
	doc := root.Fields(&diags)
	for _, item := range doc.List("workflow") {
		step := item.Fields(&diags)
		fmt.Println(item.Path(), step.RequireStr("id"), step.RequireStr("name"), string(step.Get("true").JSON()))
		step.Unknown(diag.Error)
	}
	fmt.Println(diags.Error())
	// Output:
	// workflow[0] gen  1
	// flow.yaml:2:5: error: "name" is missing (missing-key)
	// flow.yaml:3:5: error: the key "nam" is not known here (unknown-key); hint: did you mean "name"?
}

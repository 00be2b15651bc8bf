package mcpserver

import (
	"encoding/json"
	"testing"
)

// TestTools_OptionalArguments checks, for each argument of each tool that may be omitted, that null
// counts as omitted, unless null has a meaning, and that a whole number may be written as 5.0.
func TestTools_OptionalArguments(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, tl := range table() {
		for _, p := range tl.takes {
			_, violations := tl.accepts.Fit(json.RawMessage(`{"` + p.name + `":null}`))
			for _, v := range violations {
				if v.Path != "" && !p.must {
					t.Errorf("%s of %s: %s", p.name, tl.name, v)
				}
			}
			types, _ := tl.accepts.PathType([]string{p.name})
			if len(types) == 1 && types[0] == "integer" {
				raw, _ := tl.accepts.Fit(json.RawMessage(`{"` + p.name + `":5.0}`))
				if string(raw) != `{"`+p.name+`":5}` {
					t.Errorf("%s of %s: got %s for 5.0", p.name, tl.name, raw)
				}
				checked++
			}
		}
	}
	if checked == 0 {
		t.Error("no tool takes an integer")
	}
}

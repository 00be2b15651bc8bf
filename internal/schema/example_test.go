package schema_test

import (
	"encoding/json"
	"fmt"

	"github.com/hocket-run/hocket/internal/schema"
)

func ExampleSchema_Validate() {
	s, err := schema.Compile(json.RawMessage(
		`{"type": "object", "properties": {"is_approved": {"type": "boolean"}}, "required": ["is_approved", "why"]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(schema.Describe(s.Validate(json.RawMessage(`{"is_approved": "false"}`))))
	fmt.Println(s.PathType([]string{"is_approved"}))
	// Output:
	// it does not fit the required JSON Schema:
	// - (root): lacks "why"
	// - /is_approved: must be a boolean, not a string
	// [boolean] true
}

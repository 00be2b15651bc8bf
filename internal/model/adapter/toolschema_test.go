package adapter

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/schema"
)

// TestToolSchema checks the forms that providers reject, each with arguments that the original
// accepts.
func TestToolSchema(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want, args string }{
		"good": {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`,
			`{"a":"x"}`},
		"nothing":       {``, `{"type":"object","properties":{}}`, `{}`},
		"null":          {`null`, `{"type":"object","properties":{}}`, `{}`},
		"true":          {`true`, `{"type":"object","properties":{}}`, `{}`},
		"no properties": {`{"type":"object"}`, `{"type":"object","properties":{}}`, `{}`},
		"null properties": {`{"type":"object","properties":null,"required":null}`, `{"type":"object","properties":{}}`,
			``},
		"no type":       {`{"properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}}}`, `{"a":1}`},
		"list of types": {`{"type":["object","null"]}`, `{"type":"object","properties":{}}`, `{}`},
		"anyOf of objects": {
			`{"anyOf":[{"type":"object","properties":{"a":{"type":"string"},"k":{"const":1}},"required":["a","k"]},
				{"type":"object","properties":{"b":{"type":"string"},"k":{"const":2}},"required":["b","k"]}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},
				"k":{"anyOf":[{"const":1},{"const":2}]}},"required":["k"]}`, `{"b":"x","k":2}`},
		"anyOf of required": {
			`{"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
			`{"type":"object","properties":{"a":{},"b":{}}}`, `{"b":1}`},
		"oneOf with null": {`{"oneOf":[{"type":"null"},{"type":"object","properties":{"a":{}},"required":["a"]}]}`,
			`{"type":"object","properties":{"a":{}}}`, `{"a":1}`},
		"allOf": {
			`{"allOf":[{"$ref":"#/$defs/base"},{"properties":{"b":{"type":"integer"}},"required":["b"]}],
				"$defs":{"base":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a","b"],
				"$defs":{"base":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`,
			`{"a":"x","b":1}`},
		"$ref at the top": {
			`{"$ref":"#/definitions/A~1b",
				"definitions":{"A/b":{"type":"object","properties":{"a":{}},"required":["a"]}}}`,
			`{"type":"object","properties":{"a":{}},"required":["a"],
				"definitions":{"A/b":{"type":"object","properties":{"a":{}},"required":["a"]}}}`, `{"a":1}`},
		"$ref to itself":     {`{"type":"object","$ref":"#"}`, `{"type":"object","properties":{}}`, ``},
		"$ref to a document": {`{"$ref":"https://x.invalid/s"}`, `{"type":"object","properties":{}}`, ``},
		"enum, not, if": {`{"type":"object","enum":[{}],"not":{"required":["a"]},"if":{},"then":{}}`,
			`{"type":"object","properties":{}}`, `{}`},
		"arrays": {`{"type":"object","properties":{"a":{"type":"array"},"b":{"type":["array","null"]},
				"c":{"type":"array","items":[{"type":"string"},{"type":"integer"}]},
				"d":{"type":"array","items":true}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{}},"b":{"type":["array","null"],"items":{}},
				"c":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"integer"}]}},
				"d":{"type":"array","items":{}}}}`,
			``},
		"objects inside": {`{"type":"object","properties":{
				"a":{"type":"object","additionalProperties":{"type":"array"}}}}`,
			`{"type":"object","properties":{"a":{"type":"object","properties":{},
				"additionalProperties":{"type":"array","items":{}}}}}`, `{"a":{"x":[1]}}`},
		"formats": {`{"type":"object","properties":{"u":{"type":"string","format":"uri","description":"Where."},
				"n":{"type":"integer","format":"int64"},"d":{"type":"string","format":"date-time"}}}`,
			`{"type":"object","properties":{"u":{"type":"string","description":"Where. (format: uri)"},
				"n":{"type":"integer","description":"(format: int64)"},"d":{"type":"string","format":"date-time"}}}`,
			`{"u":"http://x","n":1}`},
		"keywords of other drafts": {
			`{"$schema":"http://json-schema.org/draft-04/schema#","id":"x","type":"object","properties":{
				"a":{"type":"integer","minimum":1,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false},
				"b":{"type":"any","required":true},"c":{"enum":[]},"d":{"enum":["x","x"]},"e":true,
				"f":{"type":["file"]}}}`,
			`{"type":"object","properties":{"a":{"type":"integer","exclusiveMinimum":1,"maximum":9},"b":{},"c":{},
				"d":{"enum":["x"]},"e":{},"f":{}}}`, ``},
		"names of keywords": {`{"type":"object","properties":{"items":{"type":"string"},"type":{"enum":["a"]},
				"required":{"type":"boolean"}},"required":["type"]}`,
			`{"type":"object","properties":{"items":{"type":"string"},"type":{"enum":["a"]},
				"required":{"type":"boolean"}},"required":["type"]}`, `{"type":"a","items":"x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(ToolSchema(json.RawMessage(tc.in)))
			if err != nil {
				t.Fatal(err)
			}
			var have, want any
			if err := json.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			_ = json.Unmarshal(got, &have)
			if d := cmp.Diff(have, want); d != "" {
				t.Errorf("-got +want\n%s", d)
			}
			s, err := schema.Compile(got)
			if err != nil {
				t.Fatalf("%v: %s", err, got)
			}
			if tc.args == "" {
				return
			}
			if v := s.Validate(json.RawMessage(tc.args)); v != nil {
				t.Errorf("%s: %v", tc.args, v)
			}
		})
	}
}

// TestToolSchema_Hostile checks that schemas made to take long, or of wrong types everywhere, end
// in an object.
func TestToolSchema_Hostile(t *testing.T) {
	t.Parallel()
	refs := strings.Repeat(`{"$ref":"#"},`, 5000)
	var numbers, names, same strings.Builder
	for i := range 20_000 { // compared with each other, they would take minutes
		fmt.Fprintf(&numbers, "%d,", i)
		fmt.Fprintf(&names, `"n%d",`, i)
	}
	for i := range 900 {
		fmt.Fprintf(&same, `{"properties":{"a":{"const":[%d%s]}}},`, i, strings.Repeat(",0", 500))
	}
	for _, in := range []string{
		`{"allOf":[` + refs + `{}]}`, `{"anyOf":[` + refs + `{"oneOf":[` + refs + `{}]}]}`,
		`{"properties":7,"required":{},"anyOf":{},"allOf":3,"$ref":[],"type":{},"items":[[]],"enum":1,"format":2}`,
		`{"type":"object","properties":{"a":{"properties":[],"items":[],"type":[7],"required":[1],"enum":{},` +
			`"anyOf":[],"exclusiveMinimum":true,"description":[]},"b":7,"c":null,"d":[]}}`,
		`{"properties":{"a":{"enum":[` + numbers.String() + `0]}}}`,
		`{"required":[` + names.String() + `"n0"],"anyOf":[{"required":[` + names.String() + `"n0"]},{"required":[` +
			names.String() + `"n0"]}]}`,
		`{"properties":{"a":{"required":[` + names.String() + `"n0"]}}}`, `{"anyOf":[` + same.String() + `{}]}`,
		`{"$ref":"#/a/b"}`, `{"$ref":"#/%zz/~"}`, strings.Repeat(`{"items":`, 500) + "{}" + strings.Repeat("}", 500),
	} {
		got := ToolSchema(json.RawMessage(in))
		if _, ok := got["properties"].(map[string]any); !ok || got["type"] != "object" {
			t.Errorf("%.60s: got %v", in, got)
		}
		raw, err := json.Marshal(got)
		if err != nil {
			t.Errorf("%.60s: %v", in, err)
		}
		if _, err := schema.Compile(raw); err != nil && !strings.Contains(err.Error(), "limit") {
			t.Errorf("%.60s: %v in %.300s", in, err, raw)
		}
	}
}

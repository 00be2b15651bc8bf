package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func compile(t testing.TB, raw string) *Schema {
	t.Helper()
	s, err := Compile(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func lines(vs []Violation) []string {
	var out []string
	for _, v := range vs {
		out = append(out, v.String())
	}
	return out
}

func TestValidate(t *testing.T) {
	t.Parallel()
	const review = `{
		"type": "object",
		"properties": {
			"is_approved": {"type": "boolean"},
			"score": {"type": "number", "minimum": 0, "maximum": 1},
			"count": {"type": "integer"},
			"lang": {"enum": ["en", "de"]},
			"notes": {"type": "array", "items": {"type": "string", "minLength": 2}, "maxItems": 3},
			"a/b~c": {"type": ["string", "null"]}
		},
		"required": ["is_approved", "score"],
		"additionalProperties": false
	}`
	for _, test := range []struct {
		name, schema, value string
		want                []string
	}{
		{"fits", review,
			`{"is_approved": true, "score": 0.5, "count": 2.0, "lang": "en", "notes": ["ok"], "a/b~c": null}`, nil},
		{"P25 text for a boolean", review, `{"is_approved": "false", "score": 1}`,
			[]string{"/is_approved: must be a boolean, not a string"}},
		{"every violation, sorted", review, `{"score": 2, "count": 1.5, "lang": "fr", "notes": ["x", 3, "ok", "ok"], ` +
			`"a/b~c": 1, "extra": 1, "more": 2}`, []string{
			`(root): lacks "is_approved"`,
			`(root): must not have "extra", "more"`,
			"/a~1b~0c: must be null or a string, not a number",
			"/count: must be a whole number, not a number",
			`/lang: must be "en" or "de"`,
			"/notes: must have at most 3 items, has 4",
			"/notes/0: must have at least 2 characters, has 1",
			"/notes/1: must be a string, not a number",
			"/score: must be at most 1",
		}},
		{"wrong root", review, `[]`, []string{"(root): must be an object, not a list"}},
		{"not JSON", review, `{"is_approved": tru}`,
			[]string{"(root): cannot be read: it is not JSON: invalid character '}' in literal true (expecting 'e') " +
				"at byte 20"}},
		{"empty", review, ``,
			[]string{"(root): cannot be read: it is not JSON: unexpected end of JSON input at byte 0"}},
		{"two values", `{}`, `1 2`,
			[]string{"(root): cannot be read: it is not JSON: invalid character '2' after top-level value at byte 3"}},
		{"number beyond reason", `{"type": "number", "multipleOf": 3}`, `1e999999`,
			[]string{"(root): cannot be read: the number 1e999999… is out of range"}},
		{"tiny number", `{"type": "number", "multipleOf": 3}`, `[{"x": 1e-999999}]`,
			[]string{"(root): cannot be read: the number 1e-999999… is out of range"}},
		{"const", `{"const": {"a": 1}}`, `{"a": 2}`, []string{`(root): must be {"a":1}`}},
		{"bounds", `{"items": {"exclusiveMinimum": 1, "exclusiveMaximum": 2.5, "multipleOf": 0.5}}`, `[1, 2.5, 1.7]`,
			[]string{"/0: must be more than 1", "/1: must be less than 2.5", "/2: must be a multiple of 0.5"}},
		{"pattern", `{"pattern": "^a+$"}`, `"b"`, []string{"(root): must match the pattern ^a+$"}},
		{"lists", `{"uniqueItems": true, "minItems": 4, "contains": {"const": 3}}`, `[1, 2, 1]`,
			[]string{"(root): has too few items of the required form", "(root): must have at least 4 items, has 3",
				"(root): must not have equal items; items 0 and 2 are"}},
		{"prefix", `{"prefixItems": [{"type": "string"}], "items": false}`, `[1, 2]`,
			[]string{"/0: must be a string, not a number", "/1: must not be there"}},
		{"keys", `{"minProperties": 3, "propertyNames": {"maxLength": 1}, "dependentRequired": {"a": ["b"]}}`,
			`{"a": 1, "cc": 2}`, []string{
				`(root): has "a" and so lacks "b"`,
				`(root): has the key "cc", which must have at most 1 characters, has 2`,
				"(root): must have at least 3 keys, has 2",
			}},
		{"not", `{"not": {"type": "string"}}`, `"x"`, []string{"(root): must not be of this form"}},
		{"anyOf", `{"properties": {"v": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["k"], ` +
			`"properties": {"k": {"type": "boolean"}}}]}}}`, `{"v": {"k": 1}}`, []string{
			"/v: must fit any of these, but: must be a string, not an object; or /k must be a boolean, not a number",
		}},
		{"oneOf, none", `{"oneOf": [{"minimum": 5}, {"type": "string"}]}`, `1`,
			[]string{"(root): must fit one of these, but: must be at least 5; or must be a string, not a number"}},
		{"oneOf, two", `{"oneOf": [{"minimum": 5}, {"type": "number"}]}`, `7`,
			[]string{"(root): matches more than one of the alternatives"}},
		{"references", `{"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {"next": ` +
			`{"$ref": "#/$defs/node"}, "v": {"type": "integer"}}}}}`, `{"next": {"next": {"v": "x"}}}`, []string{
			"/next/next/v: must be a whole number, not a string",
		}},
		{"allOf", `{"allOf": [{"required": ["a"]}, {"required": ["b"]}]}`, `{}`,
			[]string{`(root): lacks "a"`, `(root): lacks "b"`}},
		{"format is an annotation", `{"format": "email"}`, `"missing"`, nil},
		{"format of draft 7", `{"$schema": "http://json-schema.org/draft-07/schema#", "format": "email"}`, `"missing"`,
			[]string{"(root): must be a valid email"}},
		{"false", `false`, `1`, []string{"(root): must not be there"}},
		{"true", `true`, `{"a": [1]}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := compile(t, test.schema)
			for range 5 { // the library walks objects in random order
				if diff := cmp.Diff(lines(s.Validate(json.RawMessage(test.value))), test.want); diff != "" {
					t.Fatalf("violations (-got +want):\n%s", diff)
				}
			}
		})
	}
}

func TestCompileErrors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(file, []byte(`{"type": "string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	chain := `{"$defs": {"d0": {"type": "string"}`
	for i := range 14 {
		chain += fmt.Sprintf(`, "d%d": {"anyOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]}`, i+1, i, i)
	}
	link := `{"$defs": {"c0": {"type": "string"}`
	for i := range 300 {
		link += fmt.Sprintf(`, "c%d": {"$ref": "#/$defs/c%d"}`, i+1, i)
	}
	for _, test := range []struct{ name, schema, want string }{
		{"not JSON", `{"type":`, "it is not JSON: unexpected end of JSON input at byte 8"},
		{"empty", ``, "it is not JSON: unexpected end of JSON input at byte 0"},
		{"not a schema", `[1]`, "(root): must be a boolean or an object, not a list"},
		{"unknown type", `{"properties": {"a": {"type": "bool"}}}`,
			"/properties/a/type: must fit any of these, but: must be \"array\", \"boolean\", \"integer\", \"null\", " +
				"\"number\", \"object\" or \"string\"; or must be a list, not a string"},
		{"bad bound", `{"minLength": -1}`, "/minLength: must be at least 0"},
		{"bad pattern", `{"pattern": "("}`, "/pattern: must be a valid regex"},
		{"SEC8 file", `{"$ref": "file://` + file + `"}`, "a schema cannot refer to another document"},
		{"SEC8 http", `{"$ref": "http://127.0.0.1:1/s.json"}`, "a schema cannot refer to another document"},
		{"relative", `{"$ref": "other.json"}`, "a schema cannot refer to another document"},
		{"metaschema elsewhere", `{"$schema": "https://example.com/meta"}`,
			"a schema cannot refer to another document"},
		{"missing definition", `{"$ref": "#/$defs/x"}`, "#/$defs/x"},
		{"too large", `{"description": "` + strings.Repeat("x", MaxSchemaBytes) + `"}`,
			"it has 262163 bytes; the limit is 262144"},
		{"too deep", strings.Repeat(`{"not":`, 101) + "{}" + strings.Repeat("}", 101),
			"maps and lists are nested more than 100 deep; that is the limit"},
		{"number beyond reason", `{"maximum": 1e999999999}`, "the number 1e999999999… is out of range"},
		{"long chain", link + `}, "$ref": "#/$defs/c300"}`,
			"its $ref, allOf, anyOf and oneOf form a chain of more than 200; that is the limit"},
		{"multiplying alternatives", chain + `}, "$ref": "#/$defs/d14"}`,
			"its allOf, anyOf, oneOf and $ref stand for more than 10000 subschemas at one place; that is the limit"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := Compile(json.RawMessage(test.schema))
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "schema.invalid") {
				t.Errorf("error %v shows the made-up address", err)
			}
		})
	}
}

// SEC17: a schema whose alternatives refer to itself doubles the work with every level; this is
// detected before the work is done.
func TestValidate_WorkLimit(t *testing.T) {
	t.Parallel()
	tree := compile(t, `{"oneOf": [
		{"properties": {"kind": {"const": "a"}, "child": {"$ref": "#"}}, "required": ["kind"]},
		{"properties": {"kind": {"const": "b"}, "child": {"$ref": "#"}}, "required": ["kind"]}]}`)
	nested := func(depth int) json.RawMessage {
		return json.RawMessage(strings.Repeat(`{"kind":"a","child":`, depth) + `{"kind":"b"}` +
			strings.Repeat("}", depth))
	}
	if vs := tree.Validate(nested(8)); len(vs) > 0 {
		t.Errorf("depth 8: %v", vs)
	}
	want := []string{"(root): takes more than 1000000 steps to check against this schema; that is the limit"}
	if diff := cmp.Diff(lines(tree.Validate(nested(60))), want); diff != "" {
		t.Errorf("depth 60 (-got +want):\n%s", diff)
	}
	list := func(n int, item func(i int) string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = item(i)
		}
		return strings.Join(items, ",")
	}
	name := func(i int) string { return fmt.Sprintf(`"name%d"`, i) }
	long := func(i int) string { return "[" + list(5_000, strconv.Itoa) + "," + strconv.Itoa(i) + "]" }
	for what, c := range map[string]struct{ schema, value string }{
		"enum": {`{"items": {"enum": [` + list(18_000, name) + `]}}`, `[` + list(18_000, name) + `]`},
		"enum of numbers": {`{"items": {"enum": [` + list(20_000, strconv.Itoa) + `]}}`,
			`[` + list(500, func(i int) string { return strconv.Itoa(i + 19_000) }) + `]`},
		"const of a list": {`{"items": {"const": ` + long(0) + `}}`, `[` + list(200,
			func(int) string { return long(1) }) + `]`},
		"patternProperties": {
			`{"patternProperties": {` + list(1000, func(i int) string { return fmt.Sprintf(`"^x%d$": true`, i) }) +
				`}}`,
			`{` + list(5_000, func(i int) string { return name(i) + `: 1` }) + `}`},
		"pattern of a long text": {`{"pattern": "(ab?){900}c"}`, `"` + strings.Repeat("a", 1<<20) + `"`},
		"pattern of keys": {`{"propertyNames": {"pattern": "(ab?){900}c"}}`, `{"` + strings.Repeat("a",
			1<<20) + `": 1}`},
		"length of a long text": {`{"allOf": [` + list(5_000, func(int) string { return `{"maxLength": 9999999}` }) +
			`]}`,
			`"` + strings.Repeat("a", 1<<20) + `"`},
		"required": {`{"items": {"required": [` + list(15_000, name) + `]}}`, `[` + list(10_000,
			func(int) string { return "{}" }) +
			`]`},
		"uniqueItems": {`{"uniqueItems": true}`, `[` + list(20, func(i int) string {
			return "[" + list(20_000, strconv.Itoa) + "," + strconv.Itoa(i) + "]"
		}) + `]`},
	} {
		s := compile(t, c.schema)
		if diff := cmp.Diff(lines(s.Validate(json.RawMessage(c.value))), want); diff != "" {
			t.Errorf("%s (-got +want):\n%.500s", what, diff)
		}
	}
	for what, c := range map[string]struct{ schema, value string }{
		"enum": {`{"items": {"enum": [` + list(250, name) + `]}}`,
			`[` + list(20_000, func(i int) string { return name(i % 250) }) + `]`},
		"patternProperties": {`{"patternProperties": {"^name[0-9]+$": true, "^x-": {"type": "string"}}, ` +
			`"maxProperties": 99999}`,
			`{` + list(50_000, func(i int) string { return name(i) + `: 1` }) + `}`},
		"pattern":     {`{"items": {"pattern": "^name[0-9]{1,6}$", "maxLength": 20}}`, `[` + list(20_000, name) + `]`},
		"uniqueItems": {`{"uniqueItems": true}`, `[` + list(50_000, strconv.Itoa) + `]`},
	} {
		if vs := compile(t, c.schema).Validate(json.RawMessage(c.value)); len(vs) > 0 {
			t.Errorf("%s within the limit: %v", what, vs[0])
		}
	}
	wide := compile(t, `{"items": {"type": "integer"}, "maxItems": 10}`)
	if vs := wide.Validate(json.RawMessage("[" + strings.Repeat("1,", 200_000) + "1]")); len(vs) != 1 {
		t.Errorf("wide: %v", vs)
	}
}

// S4-17: the types that a condition may expect at a path.
func TestPathType(t *testing.T) {
	t.Parallel()
	const open = `{"type": "object", "properties": {"ok": {"type": "boolean"}, "n": {"type": "integer"}, "f": ` +
		`{"type": "number"}, "any": {}, "never": false,
		"e": {"enum": ["a", 1, null]}, "c": {"const": true}, "list": {"type": "array", "items": {"type": "string"}}, ` +
		`"o": {"type": "object"},
		"opt": {"type": ["boolean", "null"]}, "tuple": {"prefixItems": [{"type": "null"}], "items": {"type": ` +
		`"boolean"}}}}`
	const anything = "null boolean number string array object"
	for _, test := range []struct{ schema, path, want string }{
		{open, "", "object"},
		{open, "ok", "boolean"},
		{open, "n", "integer"},
		{open, "f", "number"},
		{open, "any", anything},
		{open, "any.deeper", anything},
		{open, "never", ""},
		{open, "e", "null integer string"},
		{open, "c", "boolean"},
		{open, "opt", "null boolean"},
		{open, "list.0", "string"},
		{open, "list.x", "unknown"},
		{open, "tuple.0", "null"},
		{open, "tuple.7", "boolean"},
		{open, "gone", "unknown"},
		{open, "ok.deeper", "unknown"},
		{open, "o.x", "unknown"},
		{`{"type": "object", "additionalProperties": true}`, "x", anything},
		{`{"type": "object", "additionalProperties": {"type": "boolean"}}`, "x", "boolean"},
		{`{"properties": {"a": {"type": "string"}}, "additionalProperties": false}`, "x", "unknown"},
		{`{"patternProperties": {"^is_": {"type": "boolean"}}}`, "is_ok", "boolean"},
		{`{"allOf": [{"properties": {"a": {"type": ["string", "boolean"]}}}, {"properties": {"a": {"type": ` +
			`["boolean", "null"]}}}]}`, "a", "boolean"},
		{`{"anyOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"type": "boolean"}}}, {"type": ` +
			`"null"}]}`, "a", "boolean string"},
		{`{"oneOf": [{"type": "string"}, {"type": "integer"}]}`, "", "integer string"},
		{`{"type": "number", "oneOf": [{"type": "string"}, {"type": "integer"}]}`, "", "integer"},
		{`{"if": {"required": ["k"]}, "then": {"properties": {"a": {"type": "boolean"}}}}`, "a", anything},
		{`{"$ref": "#/$defs/t", "$defs": {"t": {"properties": {"ok": {"type": "boolean"}, "t": {"$ref": ` +
			`"#/$defs/t"}}}}}`, "t.t.t.ok", "boolean"},
		{`{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}], "additionalItems": ` +
			`{"type": "boolean"}}`, "3", "boolean"},
		{`{}`, "x", anything},
		{`true`, "x.y", anything},
		{`false`, "x", "unknown"},
	} {
		var path []string
		if test.path != "" {
			path = strings.Split(test.path, ".")
		}
		types, known := compile(t, test.schema).PathType(path)
		got := strings.Join(types, " ")
		if !known {
			got = "unknown"
		}
		if got != test.want {
			t.Errorf("%s of %s: got %q, want %q", test.path, test.schema, got, test.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok", "why"]}`)
	want := "it does not fit the required JSON Schema:\n- (root): lacks \"why\"\n- /ok: must be a boolean, not a string"
	if got := Describe(s.Validate(json.RawMessage(`{"ok": "yes"}`))); got != want {
		t.Errorf("got %q", got)
	}
	if got := Describe(nil); got != "" {
		t.Errorf("got %q for nothing", got)
	}
	many := compile(t, `{"items": {"type": "string"}}`).Validate(
		json.RawMessage("[" + strings.Repeat("1,", 500) + "1]"))
	if got := Describe(many); len(many) != MaxViolations || !strings.HasSuffix(got, "\n- and 90 more") {
		t.Errorf("%d violations, %q", len(many), got)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"minimum": 3, "type": `+
		`"number"}]}}, "patternProperties": {"^b": {"pattern": "^x"}}}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if vs := s.Validate(json.RawMessage(`{"a": 1, "b": "y"}`)); len(vs) != 2 {
					t.Errorf("violations: %v", vs)
				}
				s.PathType([]string{"a"})
			}
		})
	}
	wg.Wait()
}

func FuzzSchema(f *testing.F) {
	f.Add(`{"type": "object", "properties": {"a": {"type": "boolean"}}}`, `{"a": 1}`, "a")
	f.Add(`{"$ref": "#"}`, `[1, 1e5]`, "0")
	f.Add(`{"anyOf": [{"$ref": "#/$defs/x"}, {"minimum": 1.5}], "$defs": {"x": {"allOf": [{"$ref": "#"}]}}}`, `1`, "x")
	f.Add(`{"$schema": "http://json-schema.org/draft-04/schema#", "id": "x", "dependencies": {"a": ["b"]}}`,
		`{"a": null}`, "")
	f.Add(`{"$dynamicRef": "#m", "$dynamicAnchor": "m", "unevaluatedProperties": false}`, `{"a": {}}`, "a")
	f.Fuzz(func(t *testing.T, schema, value, key string) {
		s, err := Compile(json.RawMessage(schema))
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		first, again := s.Validate(json.RawMessage(value)), s.Validate(json.RawMessage(value))
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("%s on %s differs:\n%s", schema, value, diff)
		}
		if types, known := s.PathType([]string{key}); !known && types != nil {
			t.Fatal(types)
		}
	})
}

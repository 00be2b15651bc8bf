package mcpserver

import (
	"bytes"
	"encoding/json"
)

// prop is a property of a JSON Schema. Schema is a JSON object; about is its description.
type prop struct {
	name, schema, about string
	must                bool
}

func req(name, schema, about string) prop { return prop{name, schema, about, true} }
func opt(name, schema, about string) prop { return prop{name, schema, about, false} }

// Schemas of properties.
const (
	aText    = `{"type":"string"}`
	aFlag    = `{"type":"boolean"}`
	aNumber  = `{"type":"integer"}`
	aCount   = `{"type":"integer","minimum":0}`
	aMap     = `{"type":"object"}`
	texts    = `{"type":"array","items":{"type":"string"}}`
	anything = `{}`
)

// nullableType returns a schema that also allows null.
func nullableType(typ string) string { return `{"type":["` + typ + `","null"]}` }

// closedObject returns the schema of an object with these properties and no others.
func closedObject(props ...prop) json.RawMessage {
	return object(`,"additionalProperties":false`, props)
}

// extensible returns the schema of an object that may have other properties too.
func extensible(props ...prop) json.RawMessage { return object("", props) }

func object(rest string, props []prop) json.RawMessage {
	var b bytes.Buffer
	must := []string{}
	b.WriteString(`{"type":"object","properties":{`)
	for i, p := range props {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(encode(p.name))
		b.WriteByte(':')
		b.WriteString(p.schema[:len(p.schema)-1])
		if p.about != "" {
			if p.schema != anything {
				b.WriteByte(',')
			}
			b.WriteString(`"description":`)
			b.Write(encode(p.about))
		}
		b.WriteByte('}')
		if p.must {
			must = append(must, p.name)
		}
	}
	b.WriteByte('}')
	if len(must) > 0 {
		b.WriteString(`,"required":`)
		b.Write(encode(must))
	}
	b.WriteString(rest)
	b.WriteByte('}')
	return b.Bytes()
}

// list returns the schema of a list of items.
func list(item json.RawMessage) string { return `{"type":"array","items":` + string(item) + `}` }

// oneOf returns the schema of an enumeration of words.
func oneOf(words ...string) string { return `{"type":"string","enum":` + string(encode(words)) + `}` }

// encode returns JSON without HTML escapes. A value that cannot be encoded becomes null; no value
// here does.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

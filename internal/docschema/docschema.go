package docschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/hocket-run/hocket/internal/config"
)

// Base is where the schemas are published: in the repository itself, so that the address works without another service (ADR 51).
const Base = "https://raw.githubusercontent.com/hocket-run/hocket/main/docs/schema/"

// object is a part of a schema.
type object = map[string]any

// schemas gives for each kind of document its title, and the body of its schema.
func schemas() map[string]func() object {
	return map[string]func() object{
		"agents": agentsFile, "canvas": canvasDocument, "config": nil, "replies": replyScript, "rounds": roundsDocument, "routes": routesDocument,
		"steps": stepsDocument, "tools": toolsFile,
	}
}

// titles say what each kind of document is.
var titles = map[string]string{
	"agents":  "A list of agents: the file of --agents, and of hocket agents apply",
	"canvas":  "A workflow as a canvas: nodes and connections",
	"config":  "hocket.yaml: the configuration of the operator",
	"replies": "A reply script: the answers of models, for tests (--replies)",
	"rounds":  "A workflow as rounds: agents that speak in turn",
	"routes":  "A workflow as routes: agents that choose who is next",
	"steps":   "A workflow as steps: agents, and a list of steps",
	"tools":   "A tools file: the toolsets of the operator (--tools)",
}

// Names gives the kinds of documents, sorted.
func Names() []string { return slices.Sorted(maps.Keys(schemas())) }

// Title says in a line what a kind of document is; "" for one that there is not.
func Title(name string) string { return titles[name] }

// ID gives the address under which the schema of a kind of document is published.
func ID(name string) string { return Base + name + ".json" }

// Comment gives the first line by which editors find the schema of a YAML document, without a line break.
func Comment(name string) string { return "# yaml-language-server: $schema=" + ID(name) }

// Get gives the schema of a kind of document as indented JSON that ends with a line break. The error is that there is no such kind.
func Get(name string) (json.RawMessage, error) {
	body, ok := schemas()[name]
	if !ok {
		return nil, fmt.Errorf("unknown schema %q", name)
	}
	var s object
	if name == "config" {
		if err := json.Unmarshal(config.Schema(), &s); err != nil {
			return nil, fmt.Errorf("schema of hocket.yaml: %w", err)
		}
		s["properties"].(object)[keySchema] = word("the address of this schema, for editors")
	} else {
		s = body()
	}
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["$id"] = ID(name)
	s["title"] = titles[name]
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		return nil, fmt.Errorf("encode schema %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// keySchema is the key under which JSON documents name their schema. It says nothing about the run.
const keySchema = "$schema"

// Parts of schemas. A key whose value is null counts as absent in all documents, so that every type takes null.

// with adds a description.
func with(s object, doc string) object {
	if doc != "" {
		s["description"] = doc
	}
	return s
}

func typed(doc string, types ...string) object {
	return with(object{"type": append(types, "null")}, doc)
}

// word is a text that must be one; scalar may be left unquoted.
func word(doc string) object   { return typed(doc, "string") }
func scalar(doc string) object { return typed(doc, "string", "number", "boolean") }
func flag(doc string) object   { return typed(doc, "boolean") }
func number(doc string) object { return typed(doc, "number") }
func anything(doc string) object {
	return with(object{}, doc)
}

func whole(doc string, least int) object {
	s := typed(doc, "integer")
	s["minimum"] = least
	return s
}

// oneOf is a text out of a few; null too.
func oneOf(doc string, values ...string) object {
	all := make([]any, 0, len(values)+1)
	for _, v := range values {
		all = append(all, v)
	}
	return with(object{"enum": append(all, nil)}, doc)
}

func list(doc string, item object) object {
	s := typed(doc, "array")
	s["items"] = item
	return s
}

func texts(doc string) object {
	return list(doc, object{"type": []string{"string", "number", "boolean"}})
}

func wordList(doc string) object { return list(doc, object{"type": "string"}) }

// mapOf is a map of names that people choose.
func mapOf(doc string, item object) object {
	s := typed(doc, "object")
	s["additionalProperties"] = item
	return s
}

// section is a map of known keys. required ones must be there and not be null, where their type says so.
func section(doc string, properties object, required ...string) object {
	s := with(object{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}, doc)
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// entry is a section that must be a map.
func entry(doc string, properties object, required ...string) object {
	s := section(doc, properties, required...)
	s["type"] = "object"
	return s
}

// needed takes null from the types of a value.
func needed(s object) object {
	if types, ok := s["type"].([]string); ok {
		s["type"] = slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "null" })
	}
	if values, ok := s["enum"].([]any); ok {
		s["enum"] = slices.DeleteFunc(slices.Clone(values), func(v any) bool { return v == nil })
	}
	return s
}

// id is a text that must be there and not be empty.
func id(doc string) object {
	s := needed(scalar(doc))
	s["minLength"] = 1
	return s
}

// either takes one of several forms.
func either(doc string, forms ...object) object {
	all := make([]any, len(forms))
	for i, f := range forms {
		all[i] = f
	}
	return with(object{"anyOf": all}, doc)
}

// join puts maps of properties together; the last one wins.
func join(all ...object) object {
	out := object{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

// idle are keys that are read and have no effect.
func idle(doc string, names ...string) object {
	out := object{}
	for _, name := range names {
		out[name] = with(object{"deprecated": true}, doc)
	}
	return out
}

// kept are keys that editors and stores write for themselves.
func kept(names ...string) object {
	out := object{}
	for _, name := range names {
		out[name] = object{}
	}
	return out
}

// ref names a definition of the schema.
func ref(name string) object { return object{"$ref": "#/$defs/" + name} }

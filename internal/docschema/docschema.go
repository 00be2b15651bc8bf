package docschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/hocket-run/hocket/internal/docschema/part"
	"github.com/hocket-run/hocket/internal/format"
)

// Base is the URL under which the schemas are published: in the repository itself, so that the
// address works without another service (ADR 51).
const Base = "https://raw.githubusercontent.com/hocket-run/hocket/main/docs/schema/"

// document is a kind of document: its one-line title and the body of its schema.
type document struct {
	title  string
	schema func() part.Object
}

// documents returns the kinds of documents by name: workflows of each format, and the other files.
func documents() map[string]document {
	all := map[string]document{
		"agents":  {"A list of agents: the file of --agents, and of hocket agents apply", agentsFile},
		"config":  {"hocket.yaml: the configuration of the operator", configFile},
		"replies": {"A reply script: the answers of models, for tests (--replies)", replyScript},
		"tools":   {"A tools file: the toolsets of the operator (--tools)", toolsFile},
	}
	for _, f := range format.All() {
		all[f.Name] = document{f.Title, f.Schema}
	}
	return all
}

// Names returns the names of the kinds of documents, sorted.
func Names() []string { return slices.Sorted(maps.Keys(documents())) }

// Title returns a one-line description of a kind of document, or "" if the kind does not exist.
func Title(name string) string { return documents()[name].title }

// ID returns the address at which the schema of a kind of document is published.
func ID(name string) string { return Base + name + ".json" }

// Comment returns the first line with which editors find the schema of a YAML document, without a
// line break.
func Comment(name string) string { return "# yaml-language-server: $schema=" + ID(name) }

// Get returns the schema of a kind of document as indented JSON that ends with a line break. It
// returns an error if the kind does not exist.
func Get(name string) (json.RawMessage, error) {
	d, ok := documents()[name]
	if !ok {
		return nil, fmt.Errorf("unknown schema %q", name)
	}
	s := d.schema()
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["$id"] = ID(name)
	s["title"] = d.title
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		return nil, fmt.Errorf("encode schema %s: %w", name, err)
	}
	return b.Bytes(), nil
}

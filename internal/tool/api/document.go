package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// document is an OpenAPI document of version 3.0 or 3.1 as plain values: maps, lists, strings,
// json.Number, bool, nil.
type document struct {
	root map[string]any
	// v30 reports whether schemas are those of 3.0, which are not quite JSON Schema.
	v30 bool
}

// parseDocument parses JSON or YAML. It only checks the parts that contain the operations: parts
// that it does not use may be malformed.
func parseDocument(data []byte) (*document, error) {
	if len(data) > maxDocumentBytes {
		return nil, fmt.Errorf("the OpenAPI document has %d bytes, more than the limit of %d (max_document_bytes)",
			len(data), maxDocumentBytes)
	}
	root, err := parseValues(data)
	if err != nil {
		return nil, err
	}
	version, _ := root["openapi"].(string)
	switch {
	case strings.HasPrefix(version, "3.0"), strings.HasPrefix(version, "3.1"), strings.HasPrefix(version, "3.2"):
	case root["swagger"] != nil:
		return nil, errors.New("the document is Swagger 2.0; only OpenAPI 3.0 and 3.1 are supported")
	default:
		return nil, fmt.Errorf("not an OpenAPI 3 document (openapi: %q)", version)
	}
	if _, ok := root["paths"].(map[string]any); !ok {
		return nil, errors.New("the OpenAPI document has no paths")
	}
	return &document{root: root, v30: strings.HasPrefix(version, "3.0")}, nil
}

func parseValues(data []byte) (map[string]any, error) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		var root map[string]any
		if err := dec.Decode(&root); err == nil {
			if _, err := dec.Token(); errors.Is(err, io.EOF) {
				return root, nil
			}
		}
	}
	var n yaml.Node
	if err := yaml.Load(data, &n); err != nil {
		return nil, fmt.Errorf("the OpenAPI document cannot be read: %w", err)
	}
	left := maxDocumentNodes
	v, err := values(&n, &left, 0)
	if err != nil {
		return nil, err
	}
	root, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the OpenAPI document is not a map")
	}
	return root, nil
}

// values converts YAML to plain values. Aliases count as often as they are used.
func values(n *yaml.Node, left *int, depth int) (any, error) {
	if *left--; *left < 0 {
		return nil, fmt.Errorf("the OpenAPI document holds more than %d values (max_document_nodes)", maxDocumentNodes)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("the OpenAPI document is nested deeper than %d (max_depth)", maxDepth)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil, nil
		}
		return values(n.Content[0], left, depth)
	case yaml.AliasNode:
		return values(n.Alias, left, depth+1)
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := values(n.Content[i+1], left, depth+1)
			if err != nil {
				return nil, err
			}
			out[n.Content[i].Value] = v
		}
		return out, nil
	case yaml.SequenceNode:
		out := []any{}
		for _, c := range n.Content {
			v, err := values(c, left, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	}
	switch n.Tag {
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value), nil
		}
	case "!!bool":
		return strings.EqualFold(n.Value, "true"), nil
	case "!!null":
		return nil, nil
	}
	return n.Value, nil
}

// deref follows references, within the document only.
func (d *document) deref(v any) (map[string]any, error) {
	for range 32 {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, errors.New("expected an object")
		}
		ref, ok := m["$ref"].(string)
		if !ok {
			return m, nil
		}
		var err error
		if v, err = d.find(ref); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("circular reference")
}

// find looks up a JSON pointer.
func (d *document) find(ref string) (any, error) {
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, fmt.Errorf("$ref %q refers to another document, which is not supported", truncate(ref, 100))
	}
	var v any = d.root
	for token := range strings.SplitSeq(pointer, "/") {
		if plain, err := url.PathUnescape(token); err == nil {
			token = plain
		}
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch at := v.(type) {
		case map[string]any:
			if v, ok = at[token]; !ok {
				return nil, fmt.Errorf("$ref %q cannot be resolved", truncate(ref, 100))
			}
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(at) {
				return nil, fmt.Errorf("$ref %q cannot be resolved", truncate(ref, 100))
			}
			v = at[i]
		default:
			return nil, fmt.Errorf("$ref %q cannot be resolved", truncate(ref, 100))
		}
	}
	return v, nil
}

// truncate shortens text from an untrusted document.
func truncate(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "..."
}

func text(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

func flag(m map[string]any, key string) bool {
	b, _ := m[key].(bool)
	return b
}

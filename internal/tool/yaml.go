package tool

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/hocket-run/hocket/diag"
	"go.yaml.in/yaml/v4"
)

// maxNodes is the maximum number of free-form values that one entry may expand to, because an alias
// may expand to many (SEC17).
const maxNodes = 20_000

// parser reads YAML nodes and collects the errors found in them.
type parser struct {
	file  string
	list  *diag.List
	nodes int
}

// entry is one key of a map. value is never an alias.
type entry struct {
	key   string
	path  string
	node  *yaml.Node
	value *yaml.Node
}

func (p *parser) span(n *yaml.Node) diag.Span {
	s := diag.Span{File: p.file}
	if n != nil {
		s.Start = diag.Pos{Line: n.Line, Column: n.Column}
	}
	return s
}

// entries returns the entries of a map in order, those merged in with `<<` last; a duplicate key is
// an error and counts once.
func (p *parser) entries(n *yaml.Node, path string) []entry {
	n = follow(n)
	if n == nil || isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		p.list.Errorf(p.span(n), path, "wrong-type", "must be a map, got %s", nodeKind(n))
		return nil
	}
	var out []entry
	var merged []*yaml.Node
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], follow(n.Content[i+1])
		if k.Tag == "!!merge" || k.Value == "<<" && k.Style == 0 {
			merged = append(merged, v)
			continue
		}
		if first, ok := seen[k.Value]; ok {
			d := p.list.Errorf(p.span(k), join(path, k.Value), "duplicate-key", "duplicate key %q", k.Value)
			d.Related = []diag.Related{{Span: p.span(first), Message: "the first one"}}
			continue
		}
		seen[k.Value] = k
		out = append(out, entry{key: k.Value, path: join(path, k.Value), node: k, value: v})
	}
	for _, m := range merged {
		maps := []*yaml.Node{m}
		if m.Kind == yaml.SequenceNode {
			maps = m.Content
		}
		for _, m := range maps {
			if m = follow(m); m == nil || m.Kind != yaml.MappingNode || m == n {
				continue
			}
			for i := 0; i+1 < len(m.Content); i += 2 {
				k := m.Content[i]
				if _, ok := seen[k.Value]; ok || k.Value == "<<" {
					continue
				}
				seen[k.Value] = k
				out = append(out, entry{key: k.Value, path: join(path, k.Value), node: k,
					value: follow(m.Content[i+1])})
			}
		}
	}
	return out
}

func (p *parser) text(e entry) string {
	if e.value.Kind != yaml.ScalarNode || isNull(e.value) {
		if !isNull(e.value) {
			p.list.Errorf(p.span(e.value), e.path, "wrong-type", "%s must be text, got %s", e.key, nodeKind(e.value))
		}
		return ""
	}
	return e.value.Value
}

func (p *parser) flag(e entry) bool {
	var v bool
	if e.value.Decode(&v) != nil {
		p.list.Errorf(p.span(e.value), e.path, "wrong-type", "%s must be true or false, got %s", e.key,
			nodeKind(e.value))
	}
	return v
}

func (p *parser) texts(e entry) []string {
	if isNull(e.value) {
		return nil
	}
	if e.value.Kind != yaml.SequenceNode {
		p.list.Errorf(p.span(e.value), e.path, "wrong-type", "%s must be a list, got %s", e.key, nodeKind(e.value))
		return nil
	}
	var out []string
	for i, item := range e.value.Content {
		item = follow(item)
		path := e.path + "[" + strconv.Itoa(i) + "]"
		if item.Kind != yaml.ScalarNode || isNull(item) {
			p.list.Errorf(p.span(item), path, "wrong-type", "an item of %s must be text, got %s", e.key, nodeKind(item))
			continue
		}
		out = append(out, item.Value)
	}
	return out
}

func (p *parser) textMap(e entry) map[string]string {
	out := map[string]string{}
	for _, k := range p.entries(e.value, e.path) {
		out[k.key] = p.text(k)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// any converts a node into a value that JSON can represent. All map keys become strings.
func (p *parser) any(n *yaml.Node) any {
	if p.nodes++; p.nodes > maxNodes {
		if p.nodes == maxNodes+1 {
			p.list.Errorf(p.span(n), "", "too-large", "a toolset may not hold more than %d values", maxNodes)
		}
		return nil
	}
	n = follow(n)
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.MappingNode:
		out := map[string]any{}
		for _, e := range p.entries(n, "") {
			out[e.key] = p.any(e.value)
		}
		return out
	case n.Kind == yaml.SequenceNode:
		out := []any{}
		for _, c := range n.Content {
			out = append(out, p.any(c))
		}
		return out
	}
	switch n.ShortTag() {
	case "!!timestamp":
		return n.Value
	case "!!int", "!!float": // leading zeros make it text, as in package source
		if d := strings.TrimLeft(n.Value, "+-"); len(d) > 1 && d[0] == '0' && strings.IndexByte("0123456789_",
			d[1]) >= 0 {
			return n.Value
		}
	}
	var v any
	if n.Decode(&v) != nil {
		return n.Value
	}
	if _, err := json.Marshal(v); err != nil {
		return n.Value // .inf, .nan
	}
	return v
}

func marshalOptions(options map[string]any) json.RawMessage {
	if len(options) == 0 {
		return nil
	}
	b, err := json.Marshal(options)
	if err != nil {
		return nil // built by any, so it can be marshaled
	}
	return b
}

// follow resolves document and alias nodes.
func follow(n *yaml.Node) *yaml.Node {
	for range 32 {
		switch {
		case n == nil:
			return nil
		case n.Kind == yaml.AliasNode:
			n = n.Alias
		case n.Kind == yaml.DocumentNode:
			if len(n.Content) == 0 {
				return nil
			}
			n = n.Content[0]
		default:
			return n
		}
	}
	return nil
}

func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null"
}

func nodeKind(n *yaml.Node) string {
	switch {
	case isNull(n):
		return "nothing"
	case n.Kind == yaml.MappingNode:
		return "a map"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	}
	return strconv.Quote(n.Value)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// joinSurrogates replaces the pairs of \u escapes that JSON uses for characters beyond 16 bits by
// the characters themselves; this is the only respect in which JSON is not YAML. A byte order mark
// is removed; other input is returned unchanged.
func joinSurrogates(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if !bytes.Contains(data, []byte(`\ud`)) && !bytes.Contains(data, []byte(`\uD`)) || !json.Valid(data) {
		return data
	}
	var out []byte
	for i := 0; i < len(data); {
		if data[i] != '\\' || i+1 >= len(data) {
			out = append(out, data[i])
			i++
			continue
		}
		if hi, ok := unicodeEscape(data[i:]); ok {
			if lo, ok := unicodeEscape(data[i+6:]); ok && utf16.IsSurrogate(hi) {
				if r := utf16.DecodeRune(hi, lo); r != '\uFFFD' {
					out = append(out, string(r)...)
					i += 12
					continue
				}
			}
			if utf16.IsSurrogate(hi) {
				out = append(out, string('\uFFFD')...)
				i += 6
				continue
			}
		}
		out = append(out, data[i], data[i+1])
		i += 2
	}
	return out
}

func unicodeEscape(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}

package steps

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"go.yaml.in/yaml/v4"
)

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

func put(m *yaml.Node, key string, v *yaml.Node) {
	m.Content = append(m.Content, text(key), v)
}

// text returns a string node, over several lines if the string has several.
func text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	return n
}

func texts(ss []string) *yaml.Node {
	seq := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, s := range ss {
		seq.Content = append(seq.Content, text(s))
	}
	return seq
}

// plain returns a scalar that needs no quotes.
func plain(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }

func number(f float64) *yaml.Node {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return plain(strconv.FormatFloat(f, 'f', 0, 64))
	}
	return plain(strconv.FormatFloat(f, 'g', -1, 64))
}

// fromJSON converts a JSON value to a node, keeping the order of keys.
func fromJSON(raw json.RawMessage) (*yaml.Node, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return jsonValue(dec)
}

func jsonValue(dec *json.Decoder) (*yaml.Node, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	switch v := tok.(type) {
	case json.Delim:
		n := mapping()
		if v == '[' {
			n = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		}
		for dec.More() {
			child, err := jsonValue(dec)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		if len(n.Content) == 0 {
			n.Style = yaml.FlowStyle
		}
		_, err := dec.Token()
		return n, err
	case string:
		return text(v), nil
	case json.Number:
		return plain(v.String()), nil
	case bool:
		return plain(strconv.FormatBool(v)), nil
	}
	return plain("null"), nil
}

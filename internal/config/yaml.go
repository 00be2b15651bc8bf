package config

import (
	"github.com/hocket-run/hocket/internal/format/source"
	"go.yaml.in/yaml/v4"
)

// yamlNode converts a value to the form that package tool reads, with its position.
func yamlNode(n *source.Node) *yaml.Node {
	out := &yaml.Node{Kind: yaml.ScalarNode, Value: n.Text, Line: n.Span.Start.Line, Column: n.Span.Start.Column}
	switch n.Kind {
	case source.Null:
		out.Tag = "!!null"
	case source.Bool:
		out.Tag = "!!bool"
	case source.Int:
		out.Tag = "!!int"
	case source.Float:
		out.Tag = "!!float"
	case source.String:
		out.Tag, out.Style = "!!str", yaml.DoubleQuotedStyle
	case source.List:
		out.Kind, out.Tag = yaml.SequenceNode, "!!seq"
		for _, item := range n.Items {
			out.Content = append(out.Content, yamlNode(item))
		}
	case source.Map:
		out.Kind, out.Tag = yaml.MappingNode, "!!map"
		for _, e := range n.Entries {
			key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: e.Key,
				Line: e.KeySpan.Start.Line, Column: e.KeySpan.Start.Column}
			out.Content = append(out.Content, key, yamlNode(e.Value))
		}
	}
	return out
}

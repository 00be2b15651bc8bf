package cassette

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
	"github.com/hocket-run/hocket/internal/model/script"
)

// entry is an entry of a reply script as written, with keys in this order.
type entry struct {
	Agent      string           `json:"agent,omitempty"`
	Contains   string           `json:"contains,omitempty"`
	Reasoning  string           `json:"reasoning,omitempty"`
	Text       *string          `json:"text,omitempty"`
	JSON       json.RawMessage  `json:"json,omitempty"`
	ToolCalls  []toolCall       `json:"toolCalls,omitempty"`
	StopReason model.StopReason `json:"stopReason,omitempty"`
	Error      *failure         `json:"error,omitempty"`
	Usage      *chat.Usage      `json:"usage,omitempty"`
}

type toolCall struct {
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

type failure struct {
	Code         model.ErrorKind `json:"code"`
	Message      string          `json:"message,omitempty"`
	RetryAfterMs int64           `json:"retryAfterMs,omitempty"`
}

// entryOf returns the entry for the outcome of a call.
func entryOf(req model.Request, reply model.Reply, err error) entry {
	if failed, ok := errors.AsType[*model.Error](err); ok {
		return entry{Error: &failure{Code: failed.Kind, Message: failed.Message,
			RetryAfterMs: failed.RetryAfter.Milliseconds()}, Usage: failed.Usage}
	}
	m := reply.Message
	e := entry{Reasoning: reply.Reasoning, Usage: reply.Usage}
	for _, c := range m.ToolCalls {
		e.ToolCalls = append(e.ToolCalls, toolCall{ID: c.ID, Name: c.Name, Arguments: arguments(c.Arguments)})
	}
	switch {
	case req.Schema != nil && isCompactJSON(m.Text.String()):
		e.JSON = json.RawMessage(m.Text.String())
	case !m.Text.IsZero() || len(m.ToolCalls) == 0:
		e.Text = new(m.Text.String())
	}
	usual := model.StopEnd
	if len(m.ToolCalls) > 0 {
		usual = model.StopToolCalls
	}
	if reply.StopReason != usual {
		e.StopReason = reply.StopReason
	}
	return e
}

// arguments returns the form that a reply script accepts: an object, or a string if the model wrote
// something else.
func arguments(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || (json.Valid(raw) && (raw[0] == '{' || raw[0] == '"')) {
		return raw
	}
	return adapter.Quote(string(raw))
}

// isCompactJSON reports whether a string would be read back unchanged from a `json:` key.
func isCompactJSON(text string) bool {
	if text == "" || (text[0] != '{' && text[0] != '[') {
		return false
	}
	node, diags := source.Parse("", []byte(text))
	return node != nil && len(diags) == 0 && string(node.JSON()) == text
}

// format is the layout of the file.
type format interface {
	// head returns the string before the entries and the one that closes the document.
	head() (head, closing string)
	// entry returns an entry, and the string that closes the document after it.
	entry(e entry, first bool) (text, closing string, err error)
}

// jsonFormat is one JSON document with one entry per line.
type jsonFormat struct{}

func (jsonFormat) head() (string, string) { return `{"replies": [`, "\n]}\n" }

func (f jsonFormat) entry(e entry, first bool) (string, string, error) {
	line, err := encode(e)
	if err != nil {
		return "", "", err
	}
	comma := ","
	if first {
		comma = ""
	}
	_, closing := f.head()
	return comma + "\n  " + line, closing, nil
}

// encode returns an entry as JSON on one line, without HTML escaping.
func encode(e entry) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}

// yamlFormat is a list of block entries, for people to read and edit.
type yamlFormat struct{}

func (yamlFormat) head() (string, string) {
	return "# Recorded by hocket. Each entry answers one model call; see --replies.\nreplies:\n", ""
}

// entry returns block YAML if it reads back as the same entry, otherwise JSON, which is also YAML.
func (yamlFormat) entry(e entry, _ bool) (string, string, error) {
	line, err := encode(e)
	if err != nil {
		return "", "", err
	}
	plain := "- " + escapeForYAML(line) + "\n"
	if block, err := blockText(line); err == nil && sameEntry(block, line) {
		return block, "", nil
	}
	return plain, "", nil
}

// escapeForYAML escapes the characters that JSON accepts verbatim and YAML does not. In JSON they
// occur only inside strings.
func escapeForYAML(line string) string {
	var b strings.Builder
	for _, r := range line {
		if (r >= 0x7f && r <= 0x9f) || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// blockText converts an entry in JSON to block YAML: multi-line strings verbatim, tool calls and
// usage on one line each.
func blockText(line string) (string, error) {
	node, diags := source.Parse("", []byte(line))
	if err := diags.Err(); err != nil {
		return "", err
	}
	entry := toYAML(node)
	entry.Style = 0
	for i := 1; i < len(entry.Content); i += 2 {
		if v := entry.Content[i]; v.Kind == yaml.ScalarNode && strings.Contains(strings.TrimSpace(v.Value), "\n") {
			v.Style = yaml.LiteralStyle
		}
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{entry}}
	out, err := yaml.Dump(list, yaml.WithIndent(2), yaml.WithLineWidth(-1))
	return string(out), err
}

// toYAML returns a value in flow style, with strings quoted if necessary.
func toYAML(n *source.Node) *yaml.Node {
	switch n.Kind {
	case source.Map:
		out := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		for _, e := range n.Entries {
			out.Content = append(out.Content, toYAML(&source.Node{Kind: source.String, Text: e.Key}), toYAML(e.Value))
		}
		return out
	case source.List:
		out := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, item := range n.Items {
			out.Content = append(out.Content, toYAML(item))
		}
		return out
	case source.String:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: n.Text}
	case source.Null:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	case source.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: n.Text}
	case source.Int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: n.Text}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: n.Text}
}

// sameEntry reports whether both forms read back as the same entry.
func sameEntry(block, line string) bool {
	a, problems := script.Parse("", []byte("replies:\n"+block))
	b, others := script.Parse("", []byte(fmt.Sprintf(`{"replies":[%s]}`, line)))
	if problems.HasErrors() || others.HasErrors() || len(a.Entries) != 1 || len(b.Entries) != 1 {
		return false
	}
	a.Entries[0].Span = b.Entries[0].Span
	return reflect.DeepEqual(a.Entries[0], b.Entries[0])
}

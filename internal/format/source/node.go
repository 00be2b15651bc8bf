package source

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/diag"
)

// Kind is the kind of a value.
type Kind int

// The kinds of values.
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	List
	Map
)

var kindNames = []string{"null", "a boolean", "a number", "a number", "a string", "a list", "a map"}

// String returns the kind as messages name it: "a string".
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return "nothing"
	}
	return kindNames[k]
}

// Node is a value of a document. The fields are read-only; a nil Node is an absent value, and its
// methods handle it as such.
//
// Text is the decoded text of a String, `true` or `false`, the JSON number of an Int or a Float (an
// Int of any length), and empty otherwise. Items are the items of a List, Entries the entries of a
// Map, in the order of the document with merged entries last; keys are unique.
type Node struct {
	Kind    Kind
	Span    diag.Span
	Text    string
	Items   []*Node
	Entries []Entry

	file   *file
	parent *Node
	key    string // in a parent that is a map
	index  int    // in a parent that is a list
}

// Entry is one key of a map with its value. Key is the key's source text without quotes: `true`,
// `on`, `1` (S4-33).
type Entry struct {
	Key     string
	KeySpan diag.Span
	Value   *Node
}

// Get returns the value of a key, or nil if the node is not a map or has no such key.
func (n *Node) Get(key string) *Node {
	if e := n.Entry(key); e != nil {
		return e.Value
	}
	return nil
}

// Entry returns a key with its value, or nil like Get.
func (n *Node) Entry(key string) *Entry {
	if n == nil {
		return nil
	}
	for i := range n.Entries {
		if n.Entries[i].Key == key {
			return &n.Entries[i]
		}
	}
	return nil
}

// IsNull reports whether the value is absent or null.
func (n *Node) IsNull() bool { return n == nil || n.Kind == Null }

// IsScalar reports whether the value is present and neither a list nor a map.
func (n *Node) IsScalar() bool { return n != nil && n.Kind != List && n.Kind != Map }

// Int returns the number of an Int that fits in 64 bits.
func (n *Node) Int() (int64, bool) {
	if n == nil || n.Kind != Int {
		return 0, false
	}
	i, err := strconv.ParseInt(n.Text, 10, 64)
	return i, err == nil
}

// Float returns the number of an Int or a Float, rounded if necessary.
func (n *Node) Float() (float64, bool) {
	if n == nil || n.Kind != Int && n.Kind != Float {
		return 0, false
	}
	f, err := strconv.ParseFloat(n.Text, 64)
	return f, err == nil
}

// Bool returns the value of a Bool.
func (n *Node) Bool() (value, ok bool) {
	if n == nil || n.Kind != Bool {
		return false, false
	}
	return n.Text == "true", true
}

// Path returns the path of the value: `nodes[2].data.model`, with keys that are not plain words as
// `["two words"]`. The root's path is empty.
func (n *Node) Path() string {
	if n == nil || n.parent == nil {
		return ""
	}
	var chain []*Node
	for at := n; at.parent != nil; at = at.parent {
		chain = append(chain, at)
	}
	var b strings.Builder
	for _, c := range slices.Backward(chain) {
		if c.parent.Kind == List {
			b.WriteString("[" + strconv.Itoa(c.index) + "]")
			continue
		}
		b.WriteString(joinPath(b.Len() > 0, c.key))
	}
	return b.String()
}

func joinPath(inner bool, key string) string {
	if !isWord(key) {
		return "[" + strconv.Quote(key) + "]"
	}
	if inner {
		return "." + key
	}
	return key
}

func isWord(s string) bool {
	for _, r := range s {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return s != ""
}

// JSON returns the value as compact JSON: keys in the order of the document, numbers with their
// digits, no HTML escapes. A nil Node is null.
func (n *Node) JSON() json.RawMessage {
	var b bytes.Buffer
	n.write(&b)
	return b.Bytes()
}

func (n *Node) write(b *bytes.Buffer) {
	if n == nil {
		b.WriteString("null")
		return
	}
	switch n.Kind {
	case Null:
		b.WriteString("null")
	case Bool, Int, Float:
		b.WriteString(n.Text)
	case String:
		writeString(b, n.Text)
	case List:
		b.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.write(b)
		}
		b.WriteByte(']')
	case Map:
		b.WriteByte('{')
		for i, e := range n.Entries {
			if i > 0 {
				b.WriteByte(',')
			}
			writeString(b, e.Key)
			b.WriteByte(':')
			e.Value.write(b)
		}
		b.WriteByte('}')
	}
}

func writeString(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)       //nolint:errchkjson // a string into a Buffer: neither can fail
	b.Truncate(b.Len() - 1) // the encoder's newline
}

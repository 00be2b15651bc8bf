package text

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"math"
	"strings"
	"sync/atomic"
)

// Text is an immutable text: a string, or a rope of strings that other texts may share. The zero
// Text is empty. A Text is two words and a pointer and is passed by value. It is safe for
// concurrent use.
//
// Texts are compared with [Text.Equal], not with ==.
//
// Operations that need the bytes of a text panic with a *[LoadError] if a part of it is [Stored]
// and cannot be loaded; those that return errors return it. Callers with such texts call [Text.Pin]
// first, or recover with [Recover]. Len, IsZero and Append need no bytes.
type Text struct {
	s string // the text if n is nil
	n *node
}

// node is a text that ends with its own content: lit, or that of sub or stored. left is what comes
// before, nil for nothing.
type node struct {
	left   *node
	sub    *node
	lit    string
	stored *Stored
	size   int64 // of the whole text
	loads  bool  // a part of it is stored
	// mark is the hash state at the end of the node, once it was needed.
	mark atomic.Pointer[state]
}

// Of returns s as a Text.
func Of(s string) Text { return Text{s: s} }

// Append returns the text t followed by u, in constant time: it shares both.
func (t Text) Append(u Text) Text {
	switch {
	case u.IsZero():
		return t
	case t.IsZero():
		return u
	}
	n := &node{left: t.rope(), sub: u.n, lit: u.s, size: sum(t.Len(), u.Len())}
	n.loads = n.left.loads || u.n != nil && u.n.loads
	return Text{n: n}
}

// AppendString is equivalent to Append(Of(s)).
func (t Text) AppendString(s string) Text { return t.Append(Of(s)) }

func (t Text) rope() *node {
	if t.n == nil {
		return &node{lit: t.s, size: int64(len(t.s))}
	}
	return t.n
}

// sum adds two lengths, saturating at the maximum of int64.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Len returns the length in bytes, in constant time. If int64 cannot hold it, Len returns
// math.MaxInt64.
func (t Text) Len() int64 {
	if t.n == nil {
		return int64(len(t.s))
	}
	return t.n.size
}

// IsZero reports whether the text is empty.
func (t Text) IsZero() bool { return t.n == nil && t.s == "" }

// Chunks returns an iterator over the bytes of the text, piece by piece and in order. Pieces are
// not empty.
func (t Text) Chunks() iter.Seq[string] {
	return func(yield func(string) bool) {
		if t.n == nil {
			if t.s != "" {
				yield(t.s)
			}
			return
		}
		for n := range t.n.leaves() {
			s := n.lit
			if n.stored != nil {
				s = n.stored.bytes()
			}
			if s != "" && !yield(s) {
				return
			}
		}
	}
}

// leaves returns an iterator over the nodes whose own content is not another node, in order.
func (n *node) leaves() iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for stack := spine(nil, n); len(stack) > 0; {
			n := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if n.sub != nil {
				stack = spine(stack, n.sub)
			} else if !yield(n) {
				return
			}
		}
	}
}

// spine appends n and all nodes before it to stack: the first one is on top.
func spine(stack []*node, n *node) []*node {
	for ; n != nil; n = n.left {
		stack = append(stack, n)
	}
	return stack
}

// String returns the text as a string. It copies the bytes of a rope; code that only passes them on
// should use WriteTo.
func (t Text) String() string {
	if t.n == nil {
		return t.s
	}
	var b strings.Builder
	b.Grow(int(t.Len()))
	for s := range t.Chunks() {
		b.WriteString(s)
	}
	return b.String()
}

// AppendTo appends the bytes of the text to b.
func (t Text) AppendTo(b []byte) []byte {
	for s := range t.Chunks() {
		b = append(b, s...)
	}
	return b
}

// WriteTo implements io.WriterTo.
func (t Text) WriteTo(w io.Writer) (total int64, err error) {
	defer Recover(&err)
	for s := range t.Chunks() {
		n, err := io.WriteString(w, s)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// Head returns the first n bytes of the text, or all of it if it is shorter.
func (t Text) Head(n int) string {
	if t.n == nil {
		return t.s[:min(n, len(t.s))]
	}
	b := make([]byte, 0, min(int64(n), t.Len()))
	for s := range t.Chunks() {
		if b = append(b, s[:min(len(s), n-len(b))]...); len(b) == n {
			break
		}
	}
	return string(b)
}

// Contains reports whether sub is in the text.
func (t Text) Contains(sub string) bool {
	if t.n == nil {
		return strings.Contains(t.s, sub)
	}
	if sub == "" {
		return true
	}
	var edge []byte // the last bytes before a chunk, fewer than len(sub)
	for s := range t.Chunks() {
		if strings.Contains(s, sub) {
			return true
		}
		edge = append(edge, s[:min(len(s), len(sub)-1)]...)
		if bytes.Contains(edge, []byte(sub)) {
			return true
		}
		if len(s) >= len(sub) {
			edge = append(edge[:0], s[len(s)-len(sub)+1:]...)
		} else if more := len(edge) - (len(sub) - 1); more > 0 {
			edge = append(edge[:0], edge[more:]...)
		}
	}
	return false
}

// IsBlank reports whether the text consists only of white space, as defined by strings.TrimSpace.
func (t Text) IsBlank() bool {
	if t.n != nil && t.n.stored != nil {
		return t.n.stored.isBlank()
	}
	for s := range t.Chunks() {
		if strings.TrimSpace(s) != "" {
			return strings.TrimSpace(t.String()) == "" // a character may span chunks
		}
	}
	return true
}

// Equal reports whether t and u have the same bytes.
func (t Text) Equal(u Text) bool {
	switch {
	case t.Len() != u.Len():
		return false
	case t.n == u.n:
		return t.s == u.s
	}
	next, stop := iter.Pull(u.Chunks())
	defer stop()
	var have string
	for s := range t.Chunks() {
		for s != "" {
			if have == "" {
				have, _ = next()
			}
			n := min(len(s), len(have))
			if n == 0 || s[:n] != have[:n] {
				return false
			}
			s, have = s[n:], have[n:]
		}
	}
	return true
}

// MarshalJSON implements json.Marshaler. It encodes the text as a JSON string.
func (t Text) MarshalJSON() (data []byte, err error) {
	defer Recover(&err)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(t.String()); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// UnmarshalJSON implements json.Unmarshaler. It decodes a JSON string.
func (t *Text) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	*t = Of(s)
	return nil
}

package view

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/text"
)

const (
	// shortBytes is the length up to which a value of an event is kept inline.
	shortBytes = 1 << 10
	// keepBytes is the number of bytes of the most recent longer values in records that a table
	// keeps in addition to their tokens, unless Reader.Room sets more.
	keepBytes = 1 << 20
)

// Table maps the tokens of one reading to values. It is not safe for concurrent use.
type Table struct {
	prefix string
	refs   []*Ref
	index  map[journal.Long]*Ref
	made   map[string]*Ref                 // by their parts
	latest []*Ref                          // refs whose content was kept, oldest first
	fields map[*Ref]map[string]event.Value // of the input of a Go graph, if the input is a token
	kept   int
	room   int
}

// Ref is a string or value that a token represents.
type Ref struct {
	journal.Long
	// Bytes is the size of the content; -1 means that it has not been determined yet.
	Bytes int64
	// Href is where a server has the content; it is empty for content that is read from a store.
	Href string

	token string
	from  origin
	head  []byte
	// always is set if the value is shown as a reference, however short it is.
	always bool
	// seq is the number of an event that contains the value, and content is the value itself; nil
	// means that it was not kept.
	seq     uint64
	content []byte
	// parts is JSON or text with tokens, from which the content is composed; of is the value that
	// is escaped or edited, or the text from which JSON is taken.
	parts string
	of    *Ref
	// rope is the text from which the content is assembled; tokens in it represent their values.
	rope text.Text
	edit *typed.Edit
	// start and end are the range of a part in the content of another value.
	start, end int64
	// isReplaced is set if the value was edited, and the edited value is shown instead.
	isReplaced bool
}

// origin is where the content of a Ref comes from.
type origin uint8

const (
	stored     origin = iota // stored separately from the records
	inline                   // in an event
	made                     // several places: package project made it from values of events
	escaped                  // another value's, escaped as in a JSON string
	fromRecipe               // many places: the text of a recipe
	fromText                 // JSON in the text of another value
	edited                   // another value, or parts if there is none, with an edit
	part                     // part of another value
	quoted                   // another value that is a string, as JSON
)

// tokenBytes is the length of a token after its prefix.
const tokenBytes = 9

// NewTable returns a table without tokens.
func NewTable() *Table {
	var nonce [16]byte
	_, _ = rand.Read(nonce[:]) // never fails
	return &Table{prefix: "hocket-" + hex.EncodeToString(nonce[:]) + "-", index: map[journal.Long]*Ref{},
		made: map[string]*Ref{}, room: keepBytes}
}

// Refer returns the token of a value that is stored separately from the records.
func (t *Table) Refer(l journal.Long) string { return t.ref(l, stored).token }

// Remote returns the token of a value that a server has.
func (t *Table) Remote(l journal.Long, size int64, head, href string) string {
	r := t.ref(l, stored)
	r.Bytes, r.head, r.Href, r.always = size, []byte(head), href, size <= Limit
	return r.token
}

func (t *Table) ref(l journal.Long, from origin) *Ref {
	if r := t.index[l]; r != nil {
		return r
	}
	r := t.add(&Ref{Long: l, Bytes: -1, from: from})
	t.index[l] = r
	return r
}

func (t *Table) add(r *Ref) *Ref {
	r.token = fmt.Sprintf("%s%08x.", t.prefix, len(t.refs))
	t.refs = append(t.refs, r)
	return r
}

// quoted returns the token as a value.
func (r *Ref) quoted() event.Value { return event.Value(`"` + r.token + `"`) }

// shorten replaces long values in an event with tokens. It modifies the event.
func (t *Table) shorten(e event.Event, isGraph bool) error {
	created, ok := e.Data.(*event.RunCreated)
	var input json.RawMessage
	if ok && isGraph { // the fields of its state are read from it
		input, created.Input = created.Input, nil
		defer func() { created.Input = input }()
	}
	return journal.Rewrite(e, func(l journal.Leaf) (journal.Leaf, bool) {
		if l.Value == nil {
			if len(l.Text) <= shortBytes || strings.Contains(l.Text, t.prefix) {
				return l, false
			}
			return journal.Leaf{Text: t.inline(l, e.Seq).token}, true
		}
		always := isReserved(l.Value)
		if len(l.Value) <= shortBytes && !always || bytes.Contains(l.Value, []byte(t.prefix)) {
			return l, false
		}
		r := t.inline(l, e.Seq)
		r.always = always
		return journal.Leaf{Value: r.quoted()}, true
	})
}

func (t *Table) inline(l journal.Leaf, seq uint64) *Ref {
	content, isText := l.Content()
	r := t.ref(journal.Long{Hash: journal.HashOf(content), IsText: isText}, inline)
	if r.Bytes < 0 {
		r.Bytes, r.head = int64(len(content)), bytes.Clone(content[:min(len(content), headBytes)])
	}
	switch {
	case seq == 0: // in no event: left as is
		r.content = content
	case r.content == nil:
		r.content = content
		t.kept += len(content)
		t.latest = append(t.latest, r)
		for t.kept > t.room {
			t.kept -= int(t.latest[0].Bytes)
			t.latest[0].content = nil
			t.latest = t.latest[1:]
		}
	}
	if r.seq == 0 {
		r.seq = seq
	}
	return r
}

// assemble returns the token of the text of a recipe: rope, in which tokens represent long parts.
func (t *Table) assemble(r *prompt.Recipe, rope text.Text) *Ref {
	l := journal.Long{Hash: r.SHA256, IsText: true}
	one := t.index[l]
	if one == nil {
		one = t.add(&Ref{Long: l, Bytes: r.Bytes, from: fromRecipe, rope: rope})
		t.index[l] = one
	}
	return one
}

// compose returns the token of JSON, or of a string, that contains tokens.
func (t *Table) compose(parts string, isText bool) *Ref {
	key := strconv.FormatBool(isText) + parts
	if r := t.made[key]; r != nil {
		return r
	}
	r := t.add(&Ref{Long: journal.Long{IsText: isText}, Bytes: -1, from: made, parts: parts})
	t.made[key] = r
	return r
}

// escape replaces each token in text, which is JSON, with a token for the same content escaped as
// in a JSON string.
func (t *Table) escape(text string) string {
	var b strings.Builder
	for i := 0; ; {
		at, v := t.next(text, i)
		if v == nil {
			return b.String() + text[i:]
		}
		b.WriteString(text[i:at])
		b.WriteString(t.add(&Ref{Long: journal.Long{IsText: true}, Bytes: -1, from: escaped, of: v}).token)
		i = at + len(v.token)
	}
}

// next returns the first token in text at or after i. There is no error: text that only begins like
// a token is not one.
func (t *Table) next(text string, i int) (at int, r *Ref) {
	for {
		n := strings.Index(text[i:], t.prefix)
		if n < 0 || i+n+len(t.prefix)+tokenBytes > len(text) {
			return -1, nil
		}
		at = i + n
		number := text[at+len(t.prefix):][:tokenBytes]
		if k, err := strconv.ParseUint(number[:tokenBytes-1], 16, 32); err == nil && number[tokenBytes-1] == '.' &&
			int(k) < len(t.refs) {
			return at, t.refs[k]
		}
		i = at + len(t.prefix)
	}
}

// lone returns the value that v represents if v is a token and nothing else.
func (t *Table) lone(v event.Value) *Ref {
	if len(v) != len(t.prefix)+tokenBytes+2 || v[0] != '"' {
		return nil
	}
	at, r := t.next(string(v), 0)
	if at != 1 {
		return nil
	}
	return r
}

// unquoted removes the quotes around the first token in a text if that token represents a value
// that is not a string: within a string its content is JSON.
func (t *Table) unquoted(text string) string {
	at, r := t.next(text, 0)
	if r == nil || r.IsText || at < 1 || text[at-1] != '"' {
		return text
	}
	end := at + len(r.token)
	if end >= len(text) || text[end] != '"' {
		return text
	}
	return text[:at-1] + r.token + text[end+1:]
}

// isReserved reports whether v contains an object whose only key is "$value".
func isReserved(v []byte) bool {
	if !bytes.Contains(v, []byte(`value"`)) && !bytes.Contains(v, []byte(`\u`)) || bytes.IndexByte(v, '{') < 0 {
		return false
	}
	var tree any
	return json.Unmarshal(v, &tree) == nil && hasReserved(tree)
}

func hasReserved(tree any) bool {
	switch v := tree.(type) {
	case []any:
		return slices.ContainsFunc(v, hasReserved)
	case map[string]any:
		if _, ok := v[key]; ok && len(v) == 1 {
			return true
		}
		for _, one := range v {
			if hasReserved(one) {
				return true
			}
		}
	}
	return false
}

// key is the only key of a reference.
const key = "$value"

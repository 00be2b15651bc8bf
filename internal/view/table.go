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

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/text"
)

const (
	// shortBytes is up to which length a value of an event is kept as it is.
	shortBytes = 1 << 10
	// keepBytes is how much of longer values, which are part of records, a table keeps beside their tokens, the latest of them, where
	// Reader.Room does not say more.
	keepBytes = 1 << 20
)

// Table knows the tokens of one reading. Not safe for concurrent use.
type Table struct {
	prefix string
	refs   []*Ref
	index  map[journal.Long]*Ref
	made   map[string]*Ref                  // by what they are made of
	latest []*Ref                           // those whose content was kept, oldest first
	fields map[*Ref]map[string]engine.Value // of the input of a Go graph that has a token
	kept   int
	room   int
}

// Ref is a text or value that a token stands for.
type Ref struct {
	journal.Long
	// Bytes is the size of the content; -1: it was not asked for yet.
	Bytes int64
	// Href is where a server has the content; empty for what is read from a store.
	Href string

	token string
	from  origin
	head  []byte
	// always: it is shown as a reference, however short it is.
	always bool
	// seq is an event that has it, content what it is; nil: it was not kept.
	seq     uint64
	content []byte
	// parts is JSON or a text with tokens, of which the content is made; of is the value that is escaped, edited, or the text that JSON is taken from.
	parts string
	of    *Ref
	// rope is a text of which the content is assembled: tokens in it stand for theirs.
	rope text.Text
	edit *engine.Edit
	// start and end are the place of a part in the content of another value.
	start, end int64
	// isOld: it was edited, and what it became is shown in its place.
	isOld bool
}

// origin says where the content of a Ref is.
type origin uint8

const (
	stored  origin = iota // beside the records
	inline                // in an event
	made                  // in several places: package project made it of values of events
	escaped               // another value's, as it is written within a JSON string
	roped                 // in many places: the text of a recipe
	taken                 // the JSON in another value's text
	edited                // that of another value, or of parts where there is none, with an edit
	part                  // a part of another value's
	quoted                // another value's, which is a text, as JSON
)

// tokenBytes is the length of what follows the prefix of a token.
const tokenBytes = 9

// NewTable makes a table without tokens.
func NewTable() *Table {
	var nonce [16]byte
	_, _ = rand.Read(nonce[:]) // it does not fail
	return &Table{prefix: "hocket-" + hex.EncodeToString(nonce[:]) + "-", index: map[journal.Long]*Ref{}, made: map[string]*Ref{}, room: keepBytes}
}

// Refer gives the token of a value that is stored beside the records.
func (t *Table) Refer(l journal.Long) string { return t.ref(l, stored).token }

// Remote gives the token of a value that a server has.
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

// quoted is the token as a value.
func (r *Ref) quoted() engine.Value { return engine.Value(`"` + r.token + `"`) }

// shorten puts tokens in the place of what is long in an event, which it changes.
func (t *Table) shorten(e engine.Event, isGraph bool) error {
	created, ok := e.Data.(*engine.RunCreated)
	var input json.RawMessage
	if ok && isGraph { // the fields of its state are taken from it
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
	case seq == 0: // in no event: it stays
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

// assemble gives the token of the text of a recipe: rope, in which tokens stand for long parts.
func (t *Table) assemble(r *prompt.Recipe, rope text.Text) *Ref {
	l := journal.Long{Hash: r.SHA256, IsText: true}
	one := t.index[l]
	if one == nil {
		one = t.add(&Ref{Long: l, Bytes: r.Bytes, from: roped, rope: rope})
		t.index[l] = one
	}
	return one
}

// compose gives the token of JSON, or of a text, that has tokens in it.
func (t *Table) compose(parts string, isText bool) *Ref {
	key := strconv.FormatBool(isText) + parts
	if r := t.made[key]; r != nil {
		return r
	}
	r := t.add(&Ref{Long: journal.Long{IsText: isText}, Bytes: -1, from: made, parts: parts})
	t.made[key] = r
	return r
}

// escape gives a token for the content of each in text, which is JSON, as that content is written within a JSON string.
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

// next finds the first token in text, from i on. Errors do not occur: a text that only begins as a token is none.
func (t *Table) next(text string, i int) (at int, r *Ref) {
	for {
		n := strings.Index(text[i:], t.prefix)
		if n < 0 || i+n+len(t.prefix)+tokenBytes > len(text) {
			return -1, nil
		}
		at = i + n
		number := text[at+len(t.prefix):][:tokenBytes]
		if k, err := strconv.ParseUint(number[:tokenBytes-1], 16, 32); err == nil && number[tokenBytes-1] == '.' && int(k) < len(t.refs) {
			return at, t.refs[k]
		}
		i = at + len(t.prefix)
	}
}

// lone gives what v stands for where it is a token and nothing else.
func (t *Table) lone(v engine.Value) *Ref {
	if len(v) != len(t.prefix)+tokenBytes+2 || v[0] != '"' {
		return nil
	}
	at, r := t.next(string(v), 0)
	if at != 1 {
		return nil
	}
	return r
}

// unquoted takes the quotes away that stand around the first token in a text where that token is of a value and no text: within a text its content is JSON.
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

// isReserved tells whether v has an object in it whose only key is "$value".
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

// key is the single key of a reference.
const key = "$value"

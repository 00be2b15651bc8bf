package journal

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/jsontext"
	"github.com/hocket-run/hocket/internal/text"
)

// Long identifies the content of a string or of a value in the data of an event.
type Long struct {
	// Hash is the SHA-256 of the content in lower-case hexadecimal: of a string's bytes, or of a
	// value's JSON. A value that is a JSON string written as Encode writes it counts as a string.
	Hash string
	// IsText reports whether the content is a string rather than JSON.
	IsText bool
}

// DecodeReferences is Decode without reading blobs. Each value stored as a blob is replaced by the
// result of refer, a token of ASCII letters, digits, dots and hyphens: as a string, or as a JSON
// string if the position holds a value.
//
// The errors are those of Decode, except those that only reading a blob reveals.
func DecodeReferences(data []byte, refer func(Long) string) ([]event.Event, error) {
	events, refs, err := decode(data)
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if err := ref.place(events, refer); err != nil {
			return nil, err
		}
	}
	return events, nil
}

func (ref blobRef) place(events []event.Event, refer func(Long) string) error {
	if ref.event < 0 || ref.event >= len(events) {
		return &CorruptError{Seq: events[0].Seq, Reason: "out-of-line value belongs to no event"}
	}
	e := &events[ref.event]
	if _, err := ParseHash(ref.hash); err != nil {
		return &CorruptError{Seq: e.Seq, Reason: "out-of-line value has no hash"}
	}
	token := refer(Long{Hash: ref.hash, IsText: ref.form == asideText})
	if ref.form == asideJSON {
		token = `"` + token + `"`
	}
	p, v, err := dataPlan(e.Data)
	if err == nil {
		err = p.restore(v, ref, func(p *plan, v reflect.Value) error { return p.fill(v, ref.form, []byte(token)) })
	}
	if err != nil {
		return &CorruptError{Seq: e.Seq, Reason: fmt.Sprintf("out-of-line value at %q: %v", ref.path, err)}
	}
	return nil
}

// Leaf is a string, or a value as JSON, in the data of an event: exactly one of the two fields is
// set.
type Leaf struct {
	Text  string
	Value json.RawMessage
}

// Content returns the content of the leaf that is stored and referenced: a string's bytes, or JSON.
func (l Leaf) Content() (content []byte, isText bool) {
	if l.Value == nil {
		return []byte(l.Text), true
	}
	if content, isText = textOf(l.Value); isText {
		return content, true
	}
	return l.Value, false
}

// textOf returns the content of a JSON string that Encode would write the same way again.
func textOf(v json.RawMessage) ([]byte, bool) {
	text, ok := jsontext.Unquote(v)
	if !ok {
		return nil, false
	}
	again, ok := jsontext.AppendString(make([]byte, 0, len(v)), text)
	return []byte(text), ok && string(again) == string(v)
}

// Rewrite calls change with each string and value in the data of e, and replaces it with the result
// if change returns true. It modifies the data itself, which must belong to the caller. It returns
// an error if the data is not that of an event.
func Rewrite(e event.Event, change func(Leaf) (Leaf, bool)) error {
	p, v, err := dataPlan(e.Data)
	if err != nil {
		return err
	}
	p.rewrite(v, change)
	return nil
}

func (p *plan) rewrite(v reflect.Value, change func(Leaf) (Leaf, bool)) {
	switch p.op {
	case opString:
		if l, ok := change(Leaf{Text: v.String()}); ok {
			v.SetString(l.Text)
		}
	case opRope:
		if l, ok := change(Leaf{Text: textValue(v).String()}); ok {
			v.Set(reflect.ValueOf(text.Of(l.Text)))
		}
	case opValue:
		if v.Len() == 0 {
			return
		}
		if l, ok := change(Leaf{Value: v.Bytes()}); ok {
			v.SetBytes(l.Value)
		}
	case opStruct:
		for i := range p.fields {
			p.fields[i].plan.rewrite(v.Field(p.fields[i].index), change)
		}
	case opSlice:
		for i := range v.Len() {
			p.elem.rewrite(v.Index(i), change)
		}
	case opMap:
		for it := v.MapRange(); it.Next(); {
			leaf := reflect.New(p.elem.typ).Elem()
			leaf.Set(it.Value())
			p.elem.rewrite(leaf, change)
			v.SetMapIndex(it.Key(), leaf)
		}
	case opPointer:
		if !v.IsNil() {
			p.elem.rewrite(v.Elem(), change)
		}
	default: // numbers, times and names are short
	}
}

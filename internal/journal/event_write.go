package journal

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/jsontext"
)

// timeLayout is RFC 3339 with exactly six fractional digits (µs).
const timeLayout = "2006-01-02T15:04:05.000000Z07:00"

var (
	errNoLocation   = errors.New("no such location")
	pointerEscape   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// blobRef identifies a value stored as a blob: see the stored form.
type blobRef struct {
	event int
	path  string
	hash  string
	form  string
}

// writer appends JSON, and stores values of more than limit bytes as blobs; limit 0 means it stores
// none.
type writer struct {
	buf   []byte
	limit int

	event int
	path  []pathStep
	refs  []blobRef
	blobs []Blob
}

// pathStep is an index, or a name if the index is negative. No pointer is built before a value is
// stored as a blob.
type pathStep struct {
	name  string
	index int
}

func (w *writer) value(p *plan, v reflect.Value) error {
	switch p.op {
	case opString:
		w.text(v.String())
	case opRope:
		w.text(textValue(v).String())
	case opBool:
		w.buf = strconv.AppendBool(w.buf, v.Bool())
	case opInt:
		w.buf = strconv.AppendInt(w.buf, v.Int(), 10)
	case opUint:
		w.buf = strconv.AppendUint(w.buf, v.Uint(), 10)
	case opFloat:
		return w.float(v.Float())
	case opValue:
		return w.json(v.Bytes())
	case opTime:
		w.buf = appendTime(w.buf, v.Interface().(time.Time))
	case opText:
		b, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		if err != nil {
			return err
		}
		return w.name(string(b))
	case opStruct:
		return w.fields(p, v)
	case opSlice:
		return w.slice(p, v)
	case opMap:
		return w.mapping(p, v)
	case opPointer:
		if v.IsNil() {
			w.buf = append(w.buf, `null`...)
			return nil
		}
		return w.value(p.elem, v.Elem())
	}
	return nil
}

func (w *writer) fields(p *plan, v reflect.Value) error {
	w.buf = append(w.buf, '{')
	n := len(w.path)
	w.path = append(w.path, pathStep{})
	empty := true
	for i := range p.fields {
		f := &p.fields[i]
		fv := v.Field(f.index)
		if f.omit && f.plan.empty(fv) {
			continue
		}
		if !empty {
			w.buf = append(w.buf, ',')
		}
		empty = false
		w.buf = append(w.buf, f.key...)
		w.path[n] = pathStep{name: f.name, index: -1}
		if err := w.value(f.plan, fv); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	w.path = w.path[:n]
	w.buf = append(w.buf, '}')
	return nil
}

func (w *writer) slice(p *plan, v reflect.Value) error {
	if v.IsNil() {
		w.buf = append(w.buf, `null`...)
		return nil
	}
	w.buf = append(w.buf, '[')
	n := len(w.path)
	w.path = append(w.path, pathStep{})
	for i := range v.Len() {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.path[n].index = i
		if err := w.value(p.elem, v.Index(i)); err != nil {
			return fmt.Errorf("%d: %w", i, err)
		}
	}
	w.path = w.path[:n]
	w.buf = append(w.buf, ']')
	return nil
}

func (w *writer) mapping(p *plan, v reflect.Value) error {
	if v.IsNil() {
		w.buf = append(w.buf, `null`...)
		return nil
	}
	if m, ok := reflect.TypeAssert[map[string]json.RawMessage](v); ok {
		return w.values(m)
	}
	keys := make([]string, 0, v.Len())
	for it := v.MapRange(); it.Next(); {
		keys = append(keys, it.Key().String())
	}
	return w.members(keys, func(key string) error {
		return w.value(p.elem, v.MapIndex(reflect.ValueOf(key).Convert(p.typ.Key())))
	})
}

// values is mapping for the fields of a state.
func (w *writer) values(m map[string]json.RawMessage) error {
	var space [16]string
	keys := space[:0]
	for key := range m {
		keys = append(keys, key)
	}
	return w.members(keys, func(key string) error { return w.json(m[key]) })
}

// members writes an object whose keys may be in any order; write appends the value of one key.
func (w *writer) members(keys []string, write func(key string) error) error {
	slices.Sort(keys)
	w.buf = append(w.buf, '{')
	n := len(w.path)
	w.path = append(w.path, pathStep{})
	for i, key := range keys {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		if err := w.name(key); err != nil {
			return err
		}
		w.buf = append(w.buf, ':')
		w.path[n] = pathStep{name: key, index: -1}
		if err := write(key); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	w.path = w.path[:n]
	w.buf = append(w.buf, '}')
	return nil
}

// name appends a string that cannot be stored as a blob: a key, an id.
func (w *writer) name(s string) error {
	var ok bool
	if w.buf, ok = jsontext.AppendString(w.buf, s); !ok {
		return fmt.Errorf("%q is not UTF-8", s)
	}
	return nil
}

// text appends a string, or stores it as a blob.
func (w *writer) text(s string) {
	if w.limit > 0 && len(s) > w.limit {
		w.putAside([]byte(s), asideText)
		w.buf = append(w.buf, `""`...)
		return
	}
	n := len(w.buf)
	var ok bool
	if w.buf, ok = jsontext.AppendString(w.buf, s); ok || w.limit == 0 {
		return
	}
	w.putAside([]byte(s), asideText)
	w.buf = append(w.buf[:n], `""`...)
}

// json appends a Value verbatim, or stores it as a blob.
func (w *writer) json(v json.RawMessage) error {
	if len(v) == 0 {
		w.buf = append(w.buf, `null`...)
		return nil
	}
	if !jsontext.Valid(v) {
		return fmt.Errorf("value is not JSON: %.40q", v)
	}
	if w.limit == 0 || len(v) <= w.limit {
		w.buf = append(w.buf, v...)
		return nil
	}
	// Some events hold a string as a string, others as a value: both use one blob if the value can
	// be rebuilt from it.
	if text, ok := jsontext.Unquote(v); ok {
		if again, ok := jsontext.AppendString(make([]byte, 0, len(v)), text); ok && string(again) == string(v) {
			w.putAside([]byte(text), asideText)
			w.buf = append(w.buf, `null`...)
			return nil
		}
	}
	w.putAside(v, asideJSON)
	w.buf = append(w.buf, `null`...)
	return nil
}

func (w *writer) putAside(data []byte, form string) {
	b := NewBlob(data)
	var path strings.Builder
	for _, s := range w.path {
		path.WriteByte('/')
		if s.index >= 0 {
			path.WriteString(strconv.Itoa(s.index))
		} else {
			path.WriteString(pointerEscape.Replace(s.name))
		}
	}
	w.refs = append(w.refs, blobRef{event: w.event, path: path.String(), hash: b.Hash, form: form})
	if !slices.ContainsFunc(w.blobs, func(o Blob) bool { return o.Hash == b.Hash }) {
		w.blobs = append(w.blobs, b)
	}
}

func (w *writer) float(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("number %v has no stored form", f)
	}
	w.buf = strconv.AppendFloat(w.buf, f, 'g', -1, 64)
	return nil
}

func appendTime(b []byte, t time.Time) []byte {
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, timeLayout)
	return append(b, '"')
}

// typeNumbers are the event types that records identify by a number, starting at 1: the types that
// are in most journals. A number is never reassigned to another type; a new type is added at the
// end, with a new RecordVersion.
var typeNumbers = []event.Type{
	1: "run.created", "run.started", "run.completed", "run.paused", "run.resumed", "step.started", "step.completed",
	"edge.taken", "condition.checked",
	"model.called", "model.replied", "tool.called", "tool.returned", "func.called", "func.returned", "func.noted",
	"wait.opened", "wait.answered", "wait.closed",
	"signal.raised", "timer.fired", "child.started", "call.used",
}

// numberOf is the inverse of typeNumbers.
var numberOf = func() map[event.Type]int {
	m := make(map[event.Type]int, len(typeNumbers))
	for n, t := range typeNumbers {
		if n > 0 {
			m[t] = n
		}
	}
	return m
}()

package journal

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/jsontext"
	"github.com/hocket-run/hocket/internal/text"
)

// reader reads the output of writer. It is strict: input that writer cannot have written is an
// error. After the first error it reads nothing further.
type reader struct {
	data []byte
	pos  int
	err  error
}

func (r *reader) fail(reason string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s (at byte %d)", reason, r.pos)
	}
}

func (r *reader) corrupt(seq uint64) error {
	return &CorruptError{Seq: seq, Reason: r.err.Error()}
}

// expect reads exactly s.
func (r *reader) expect(s string) {
	if r.err == nil && !r.has(s) {
		r.fail(fmt.Sprintf("%q is missing", s))
	}
}

// has consumes s if it comes next, and reports whether it did.
func (r *reader) has(s string) bool {
	if r.err != nil || len(r.data)-r.pos < len(s) || string(r.data[r.pos:r.pos+len(s)]) != s {
		return false
	}
	r.pos += len(s)
	return true
}

// next consumes c if it comes next, and reports whether it did.
func (r *reader) next(c byte) bool {
	if r.err != nil || r.pos >= len(r.data) || r.data[r.pos] != c {
		return false
	}
	r.pos++
	return true
}

func (r *reader) value(p *plan, v reflect.Value) {
	if r.err != nil {
		return
	}
	switch p.op {
	case opString:
		v.SetString(r.string())
	case opRope:
		v.Set(reflect.ValueOf(text.Of(r.string())))
	case opBool:
		switch {
		case r.has("true"):
			v.SetBool(true)
		case !r.has("false"):
			r.fail("neither true nor false")
		}
	case opInt:
		n := r.int()
		if v.OverflowInt(n) {
			r.fail("number is too large")
			return
		}
		v.SetInt(n)
	case opUint:
		n := r.uint()
		if v.OverflowUint(n) {
			r.fail("number is too large")
			return
		}
		v.SetUint(n)
	case opFloat:
		f, err := strconv.ParseFloat(string(r.number()), 64)
		if err != nil {
			r.fail("not a number")
		}
		v.SetFloat(f)
	case opValue:
		if raw := r.raw(); r.err == nil {
			v.SetBytes(append([]byte(nil), raw...))
		}
	case opTime:
		s := r.string()
		t, err := time.Parse(timeLayout, s)
		// time.Parse accepts other spellings too.
		if t = t.UTC(); err != nil || t.Format(timeLayout) != s {
			r.fail("not a time")
			return
		}
		v.Set(reflect.ValueOf(t))
	case opText:
		if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(r.string())); err != nil {
			r.fail(err.Error())
		}
	case opStruct:
		r.fields(p, v)
	case opSlice:
		r.slice(p, v)
	case opMap:
		r.mapping(p, v)
	case opPointer:
		if r.has("null") {
			return
		}
		e := reflect.New(p.elem.typ)
		r.value(p.elem, e.Elem())
		v.Set(e)
	}
}

func (r *reader) fields(p *plan, v reflect.Value) {
	r.expect(`{`)
	if r.next('}') {
		return
	}
	hint := 0
	var seen uint64
	for r.err == nil {
		i := r.fieldName(p, hint)
		if r.err != nil {
			return
		}
		if seen&(1<<i) != 0 {
			r.fail(fmt.Sprintf("duplicate field %q", p.fields[i].name))
			return
		}
		seen |= 1 << i
		r.value(p.fields[i].plan, v.Field(p.fields[i].index))
		if hint = i + 1; hint == len(p.fields) {
			hint = 0
		}
		if !r.next(',') {
			break
		}
	}
	r.expect(`}`)
}

// fieldName reads a name with its colon and returns the index of the field.
func (r *reader) fieldName(p *plan, hint int) int {
	for i := hint; i < len(p.fields); i++ {
		if r.has(p.fields[i].key) {
			return i
		}
	}
	name := r.string()
	r.expect(`:`)
	i := p.find(name, 0)
	if i < 0 {
		r.fail(fmt.Sprintf("unknown field %q", name))
		return 0
	}
	return i
}

func (r *reader) slice(p *plan, v reflect.Value) {
	if r.has("null") {
		return
	}
	r.expect(`[`)
	if r.next(']') {
		v.Set(reflect.MakeSlice(p.typ, 0, 0))
		return
	}
	for r.err == nil {
		n := v.Len()
		if n == v.Cap() {
			v.Grow(1)
		}
		v.SetLen(n + 1)
		v.Index(n).SetZero()
		r.value(p.elem, v.Index(n))
		if !r.next(',') {
			break
		}
	}
	r.expect(`]`)
}

func (r *reader) mapping(p *plan, v reflect.Value) {
	if r.has("null") {
		return
	}
	r.expect(`{`)
	if m, ok := reflect.TypeAssert[*map[string]json.RawMessage](v.Addr()); ok {
		*m = r.values()
		return
	}
	v.Set(reflect.MakeMap(p.typ))
	if r.next('}') {
		return
	}
	for r.err == nil {
		key := reflect.ValueOf(r.string()).Convert(p.typ.Key())
		r.expect(`:`)
		if v.MapIndex(key).IsValid() {
			r.fail(fmt.Sprintf("duplicate key %q", key))
			return
		}
		e := reflect.New(p.elem.typ).Elem()
		r.value(p.elem, e)
		v.SetMapIndex(key, e)
		if !r.next(',') {
			break
		}
	}
	r.expect(`}`)
}

func (r *reader) int() int64 {
	n, err := strconv.ParseInt(string(r.number()), 10, 64)
	if err != nil {
		r.fail("not an integer")
	}
	return n
}

func (r *reader) uint() uint64 {
	n, err := strconv.ParseUint(string(r.number()), 10, 64)
	if err != nil {
		r.fail("not an integer")
	}
	return n
}

func (r *reader) number() []byte {
	if r.err != nil {
		return nil
	}
	end := jsontext.SkipNumber(r.data, r.pos)
	if end < 0 {
		r.fail("not a number")
		return nil
	}
	b := r.data[r.pos:end]
	r.pos = end
	return b
}

func (r *reader) raw() []byte {
	if r.err != nil {
		return nil
	}
	end := jsontext.Skip(r.data, r.pos)
	if end < 0 {
		r.fail("not a JSON value")
		return nil
	}
	b := r.data[r.pos:end]
	r.pos = end
	return b
}

func (r *reader) string() string {
	if r.err != nil {
		return ""
	}
	s, end := jsontext.ReadString(r.data, r.pos)
	if end < 0 {
		r.fail("not a string")
		return ""
	}
	r.pos = end
	return s
}

// values is mapping for the fields of a state, after the opening brace.
func (r *reader) values() map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	if r.next('}') {
		return m
	}
	for r.err == nil {
		key := r.string()
		r.expect(`:`)
		if _, twice := m[key]; twice {
			r.fail(fmt.Sprintf("duplicate key %q", key))
			return m
		}
		if raw := r.raw(); r.err == nil {
			m[key] = bytes.Clone(raw)
		}
		if !r.next(',') {
			break
		}
	}
	r.expect(`}`)
	return m
}

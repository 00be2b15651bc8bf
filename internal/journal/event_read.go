package journal

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/text"
)

// maxDepth bounds how deep a Value may be nested; encoding/json has the same bound.
const maxDepth = 10000

// reader reads what writer wrote. It is strict: what writer cannot have written is an error. After the first error nothing is read any more.
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

// has reads s if it comes next.
func (r *reader) has(s string) bool {
	if r.err != nil || len(r.data)-r.pos < len(s) || string(r.data[r.pos:r.pos+len(s)]) != s {
		return false
	}
	r.pos += len(s)
	return true
}

// next reads c if it comes next.
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
		// time.Parse takes other spellings too.
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

// fieldName reads a name with its colon and gives the index of the field.
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
	end := skipNumber(r.data, r.pos)
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
	end := skipValue(r.data, r.pos, 0)
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
	s, end := readString(r.data, r.pos)
	if end < 0 {
		r.fail("not a string")
		return ""
	}
	r.pos = end
	return s
}

// readString gives the text of the JSON string at i and the place after it; -1 where there is none that stands for a UTF-8 text.
func readString(d []byte, i int) (string, int) {
	if i >= len(d) || d[i] != '"' {
		return "", -1
	}
	i++
	start, ascii := i, true
	for ; i < len(d) && d[i] != '"' && d[i] != '\\'; i++ {
		if d[i] < ' ' {
			return "", -1
		}
		ascii = ascii && d[i] < utf8.RuneSelf
	}
	if i >= len(d) {
		return "", -1
	}
	if d[i] == '"' {
		if !ascii && !utf8.Valid(d[start:i]) {
			return "", -1
		}
		return string(d[start:i]), i + 1
	}
	buf := append(make([]byte, 0, 2*(i-start)+16), d[start:i]...)
	for i < len(d) && d[i] != '"' {
		switch c := d[i]; {
		case c < ' ':
			return "", -1
		case c != '\\':
			buf = append(buf, c)
			i++
		default:
			if buf, i = appendEscape(buf, d, i); i < 0 {
				return "", -1
			}
		}
	}
	if i >= len(d) || !utf8.Valid(buf) {
		return "", -1
	}
	return string(buf), i + 1
}

// appendEscape appends what the escape at i stands for and gives the place after it, -1 where it stands for nothing.
func appendEscape(b, d []byte, i int) ([]byte, int) {
	if i+1 >= len(d) {
		return b, -1
	}
	switch c := d[i+1]; c {
	case '"', '\\', '/':
		return append(b, c), i + 2
	case 'n':
		return append(b, '\n'), i + 2
	case 'r':
		return append(b, '\r'), i + 2
	case 't':
		return append(b, '\t'), i + 2
	case 'b':
		return append(b, '\b'), i + 2
	case 'f':
		return append(b, '\f'), i + 2
	case 'u':
		r := hex4(d, i+2)
		i += 6
		if utf16.IsSurrogate(r) {
			if i+1 >= len(d) || d[i] != '\\' || d[i+1] != 'u' {
				return b, -1
			}
			if r = utf16.DecodeRune(r, hex4(d, i+2)); r == utf8.RuneError {
				return b, -1
			}
			i += 6
		}
		if r < 0 {
			return b, -1
		}
		return utf8.AppendRune(b, r), i
	}
	return b, -1
}

// hex4 reads four hexadecimal digits at i; -1 where there are none.
func hex4(d []byte, i int) rune {
	if i+4 > len(d) {
		return -1
	}
	var r rune
	for _, c := range d[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return -1
		}
	}
	return r
}

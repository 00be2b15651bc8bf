package journal

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/jsontext"
	"github.com/hocket-run/hocket/internal/text"
)

// op is a way to write and read a Go value.
type op uint8

const (
	opString op = iota + 1
	opBool
	opInt
	opUint
	opFloat
	opValue   // json.RawMessage
	opTime    // time.Time, as a string
	opText    // encoding.TextMarshaler with the pointer's TextUnmarshaler
	opStruct  // fields by their JSON names
	opSlice   // of anything
	opMap     // string keys; strings or values
	opPointer // to anything; null is nil
	opRope    // text.Text, as a string
)

// plan describes how values of one Go type are stored: as encoding/json would, except that every
// type, field and number must fit.
//
// It is derived from the type once, so that no event type needs its own code and a field added to
// one cannot be forgotten.
type plan struct {
	op     op
	typ    reflect.Type
	elem   *plan
	fields []field
}

type field struct {
	name  string
	key   string // `"name":`
	index int
	omit  bool // omitted if empty
	plan  *plan
}

// plans caches a *plan by reflect.Type. A plan is a function of its type.
var plans sync.Map

var (
	typeValue = reflect.TypeFor[json.RawMessage]()
	typeRope  = reflect.TypeFor[text.Text]()
	typeTime  = reflect.TypeFor[time.Time]()
	typeText  = reflect.TypeFor[encoding.TextMarshaler]()
	typeParse = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func planOf(t reflect.Type) (*plan, error) {
	if p, ok := plans.Load(t); ok {
		return p.(*plan), nil
	}
	p, err := newPlan(t)
	if err != nil {
		return nil, err
	}
	plans.Store(t, p)
	return p, nil
}

func newPlan(t reflect.Type) (*plan, error) {
	p := &plan{typ: t}
	switch {
	case t == typeValue:
		p.op = opValue
		return p, nil
	case t == typeRope:
		p.op = opRope
		return p, nil
	case t == typeTime:
		p.op = opTime
		return p, nil
	case t.Implements(typeText) && reflect.PointerTo(t).Implements(typeParse):
		p.op = opText
		return p, nil
	}
	var err error
	switch t.Kind() {
	case reflect.String:
		p.op = opString
	case reflect.Bool:
		p.op = opBool
	case reflect.Int, reflect.Int64, reflect.Int32:
		p.op = opInt
	case reflect.Uint, reflect.Uint64, reflect.Uint32:
		p.op = opUint
	case reflect.Float64:
		p.op = opFloat
	case reflect.Struct:
		p.op = opStruct
		err = p.addFields()
	case reflect.Slice:
		p.op = opSlice
		p.elem, err = newPlan(t.Elem())
	case reflect.Pointer:
		p.op = opPointer
		p.elem, err = newPlan(t.Elem())
	case reflect.Map:
		p.op = opMap
		if p.elem, err = newPlan(t.Elem()); err == nil && (t.Key().Kind() != reflect.String || p.elem.op != opString &&
			p.elem.op != opValue) {
			err = fmt.Errorf("map %s has no stored form", t)
		}
	default:
		err = fmt.Errorf("type %s has no stored form", t)
	}
	return p, err
}

func (p *plan) addFields() error {
	if p.typ.NumField() > 64 {
		return fmt.Errorf("type %s has more than 64 fields", p.typ)
	}
	for i := range p.typ.NumField() {
		sf := p.typ.Field(i)
		name, opts, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if sf.Tag.Get("json") == "-" {
			continue // declared to have no stored form
		}
		if !sf.IsExported() || sf.Anonymous || name == "" {
			return fmt.Errorf("field %s.%s has no stored form", p.typ, sf.Name)
		}
		fp, err := newPlan(sf.Type)
		if err != nil {
			return err
		}
		f := field{name: name, key: strconv.Quote(name) + ":", index: i, omit: opts != "", plan: fp}
		switch {
		case opts == "" || opts == "omitzero":
		case opts == "omitempty" && fp.op != opTime && fp.op != opStruct && fp.op != opRope:
		default:
			return fmt.Errorf("field %s.%s: option %q has no stored form", p.typ, sf.Name, opts)
		}
		p.fields = append(p.fields, f)
	}
	return nil
}

// empty reports whether a field with the value v is omitted if it is optional.
func (p *plan) empty(v reflect.Value) bool {
	switch p.op {
	case opString, opValue, opSlice, opMap:
		return v.Len() == 0
	case opPointer:
		return v.IsNil()
	case opRope:
		return textValue(v).IsZero()
	case opTime:
		return v.Interface().(time.Time).IsZero()
	}
	return v.IsZero()
}

// restore calls fill to put a value stored as a blob into its position in v. The position must
// exist; fill checks that it is empty.
func (p *plan) restore(v reflect.Value, ref blobRef, fill func(*plan, reflect.Value) error) error {
	rest := ref.path
	for rest != "" {
		var token string
		token, rest, _ = strings.Cut(strings.TrimPrefix(rest, "/"), "/")
		if rest != "" {
			rest = "/" + rest
		}
		token = pointerUnescape.Replace(token)
		for p.op == opPointer && !v.IsNil() {
			p, v = p.elem, v.Elem()
		}
		switch p.op {
		case opStruct:
			i := p.find(token, 0)
			if i < 0 {
				return errNoLocation
			}
			f := p.fields[i]
			p, v = f.plan, v.Field(f.index)
		case opSlice:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= v.Len() {
				return errNoLocation
			}
			p, v = p.elem, v.Index(i)
		case opMap:
			key := reflect.ValueOf(token).Convert(p.typ.Key())
			old := v.MapIndex(key)
			if !old.IsValid() || rest != "" {
				return errNoLocation
			}
			// Map entries cannot be set in place.
			leaf := reflect.New(p.elem.typ).Elem()
			leaf.Set(old)
			if err := fill(p.elem, leaf); err != nil {
				return err
			}
			v.SetMapIndex(key, leaf)
			return nil
		default:
			return errNoLocation
		}
	}
	return fill(p, v)
}

func (p *plan) fill(v reflect.Value, form string, data []byte) error {
	switch {
	case p.op == opString && form == asideText:
		if v.Len() != 0 {
			return errNoLocation
		}
		v.SetString(string(data))
	case p.op == opRope && form == asideText:
		if !textValue(v).IsZero() {
			return errNoLocation
		}
		v.Set(reflect.ValueOf(text.Of(string(data))))
	case p.op == opValue && (form == asideText || form == asideJSON):
		if string(v.Bytes()) != "null" {
			return errNoLocation
		}
		if form == asideText {
			quoted, ok := jsontext.AppendString(make([]byte, 0, len(data)+len(data)/8), string(data))
			if !ok {
				return errors.New("text is not UTF-8")
			}
			v.SetBytes(quoted)
			return nil
		}
		if !jsontext.Valid(data) {
			return errors.New("value is not JSON")
		}
		v.SetBytes(append([]byte(nil), data...))
	default:
		return errNoLocation
	}
	return nil
}

// textValue returns the value of v, which has type text.Text.
func textValue(v reflect.Value) text.Text {
	t, _ := reflect.TypeAssert[text.Text](v)
	return t
}

// find returns the index of the field with that name, or -1 if there is none. Fields arrive in
// order, so the search starts at hint.
func (p *plan) find(name string, hint int) int {
	for i := range p.fields {
		j := hint + i
		if j >= len(p.fields) {
			j -= len(p.fields)
		}
		if p.fields[j].name == name {
			return j
		}
	}
	return -1
}

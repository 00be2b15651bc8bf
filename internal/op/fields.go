package op

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/service"
)

// FieldError is returned when a field of an input is invalid.
type FieldError struct {
	// Location is path, query, header or body, then a dot and the field.
	Location string
	// Problem says what is wrong there.
	Problem string
}

func (e *FieldError) Error() string {
	code, fields := e.Coded()
	return errcode.New(code, fields, nil).Error()
}

// Coded implements errcode.Coded.
func (e *FieldError) Coded() (errcode.Code, errcode.Fields) {
	return errcode.InvalidArgument, errcode.Fields{"argument": e.Location, "problem": e.Problem}
}

// Argument is an argument of a tool, or a field of its result.
type Argument struct {
	// Name and About are its name and description, and Schema its JSON Schema without the
	// description.
	Name, About, Schema string
	// Required means that it must be present.
	Required bool

	alias string
	index [][]int // of the field: a list of indexes for each pointer on the way
}

// Arguments returns the arguments of the tool.
func (o *Operation) Arguments() []Argument { return arguments(o.in, o.Tool.Args) }

// Results returns the fields of the result of the tool.
func (o *Operation) Results() []Argument { return arguments(o.out, o.Tool.Results) }

// arguments returns the fields of a type that the texts name. A text without a field is a bug that
// the first test finds.
func arguments(t reflect.Type, texts []Text) []Argument {
	byName := map[string]Argument{}
	walk(t, nil, func(a Argument) { byName[a.Name] = a })
	out := make([]Argument, 0, len(texts)+1)
	for _, text := range texts {
		a, ok := byName[cmp.Or(text.Of, text.Name)]
		if !ok {
			panic(fmt.Sprintf("%v has no field %s", t, cmp.Or(text.Of, text.Name)))
		}
		a.Name, a.About, a.alias = text.Name, text.About, text.Alias
		a.Required = a.Required && a.alias == ""
		out = append(out, a)
		if a.alias != "" {
			out = append(out, Argument{Name: a.alias, About: "Alias of " + a.Name + ".", Schema: a.Schema})
		}
	}
	return out
}

// walk calls take for each field of a type that has a name, also for those of nested structs.
func walk(t reflect.Type, above [][]int, take func(Argument)) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(append([][]int{}, above...), []int{i})
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		name, options := "", ""
		for _, key := range []string{"tool", "path", "query", "header", "json"} {
			if tag := f.Tag.Get(key); name == "" {
				name, options, _ = strings.Cut(tag, ",")
				options = key + "," + options
			}
		}
		switch {
		case inner.Kind() == reflect.Struct && inner != reflect.TypeFor[time.Time]():
			walk(inner, index, take)
		case name != "" && name != "-":
			isRequired := options == "path," || options == "json,"
			take(Argument{Name: name, Schema: schemaOf(inner, f.Tag), Required: isRequired, index: index})
		}
	}
}

// schemaOf returns the JSON Schema of a field.
func schemaOf(t reflect.Type, tag reflect.StructTag) string {
	if t == reflect.TypeFor[json.RawMessage]() {
		return `{}`
	}
	var b strings.Builder
	switch t.Kind() {
	case reflect.Bool:
		b.WriteString(`{"type":"boolean"`)
	case reflect.Int, reflect.Int64:
		b.WriteString(`{"type":"integer"`)
	default:
		b.WriteString(`{"type":"string"`)
	}
	for _, key := range []string{"minimum", "maximum"} {
		if n := tag.Get(key); n != "" {
			b.WriteString(`,"` + key + `":` + n)
		}
	}
	if words := tag.Get("enum"); words != "" {
		list, _ := json.Marshal(strings.Split(words, ","))
		b.WriteString(`,"enum":` + string(list))
	}
	return b.String() + "}"
}

// Decode returns the input with the arguments of a tool, a JSON object that conforms to the schema
// of the tool. The result is a pointer, for Operation.Call. The error is a *service.InvalidError.
func (o *Operation) Decode(raw json.RawMessage) (any, error) {
	var given map[string]json.RawMessage
	err := json.Unmarshal(raw, &given)
	in := reflect.New(o.in)
	for _, a := range o.Arguments() {
		text := given[a.Name]
		if a.alias != "" && err == nil {
			text, err = resolve(a, given)
		}
		if len(text) > 0 && len(a.index) > 0 && err == nil {
			err = json.Unmarshal(text, field(in.Elem(), a.index).Addr().Interface())
		}
	}
	if err != nil && !errors.As(err, new(*service.InvalidError)) {
		err = service.Refuse(errcode.InvalidArguments, errcode.Fields{"problems": "arguments: " + err.Error()}, err)
	}
	return in.Interface(), err
}

// resolve returns the value of a text that may be given under two names.
func resolve(a Argument, given map[string]json.RawMessage) (json.RawMessage, error) {
	var value, other string
	for name, to := range map[string]*string{a.Name: &value, a.alias: &other} {
		if text := given[name]; len(text) > 0 {
			if err := json.Unmarshal(text, to); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	value, err := ResolveAlias(a.Name, value, a.alias, other)
	text, _ := json.Marshal(value)
	return text, err
}

// ResolveAlias returns a value that may be given under two names (S1-40). The error is a
// *service.InvalidError if it is missing or the names say different things.
func ResolveAlias(name, value, alias, other string) (string, error) {
	switch {
	case value == "" && other == "":
		return "", service.Refuse(errcode.InvalidArgument, errcode.Fields{"argument": name,
			"problem": fmt.Sprintf("missing or empty (%s is an alias of it)", alias)}, nil)
	case value != "" && other != "" && value != other:
		return "", service.Refuse(errcode.InvalidArgument, errcode.Fields{"argument": name,
			"problem": fmt.Sprintf("%q, but %s says %q; both name the same thing", value, alias, other)}, nil)
	case value == "":
		return other, nil
	}
	return value, nil
}

// field returns a field of a struct; it allocates structs behind pointers.
func field(v reflect.Value, index [][]int) reflect.Value {
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.FieldByIndex(i)
	}
	return v
}

// Result returns a result of Operation.Call as the result of the tool.
func (o *Operation) Result(out any) (json.RawMessage, error) {
	var b bytes.Buffer
	write := func(name string, value any) error {
		text, err := json.Marshal(value)
		if b.Len() > 0 {
			b.WriteByte(',')
		} else {
			b.WriteByte('{')
		}
		fmt.Fprintf(&b, "%q:%s", name, text)
		return err
	}
	v := reflect.New(o.out).Elem()
	v.Set(reflect.ValueOf(out))
	for _, a := range o.Results() {
		if f := field(v, a.index); a.Required || !f.IsZero() {
			if err := write(a.Name, f.Interface()); err != nil {
				return nil, fmt.Errorf("encode result: %w", err)
			}
		}
	}
	if o.Tool.Next != nil {
		if err := write("next", o.Tool.Next(out)); err != nil {
			return nil, fmt.Errorf("encode result: %w", err)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

package journal

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/text"
)

// eventTypes returns every event type that package event declares, read from its source, so that a
// type missing from NewData fails here too.
func eventTypes(t testing.TB) []event.Type {
	t.Helper()
	files, err := filepath.Glob("../engine/event/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var types []event.Type
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != "Type" {
				continue
			}
			lit := fn.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.BasicLit)
			typ, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			types = append(types, event.Type(typ))
		}
	}
	slices.Sort(types)
	if len(types) < 33 {
		t.Fatalf("found %d event types in package engine", len(types))
	}
	for _, typ := range types {
		if _, ok := engine.NewData(typ); !ok {
			t.Fatalf("engine.NewData does not know %q", typ)
		}
	}
	return types
}

// source provides the values of a filled event.
type source interface {
	text(name string) string
	value(name string) json.RawMessage
	time() time.Time
	number() int64
	float() float64
	bool() bool
	// some decides whether an optional field is set, and how many entries a list has.
	some() bool
	length() int
}

// fill sets every field of v. It fails on unknown kinds of fields, so that no new kind goes
// untested.
func fill(t testing.TB, s source, v reflect.Value, name string, optional bool) {
	t.Helper()
	if optional && !s.some() {
		return
	}
	switch x := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*x = s.value(name)
		return
	case *time.Time:
		*x = s.time()
		return
	case *text.Text:
		*x = text.Of(s.text(name))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(s.text(name))
	case reflect.Bool:
		v.SetBool(s.bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(s.number())
	case reflect.Float64:
		v.SetFloat(s.float())
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			tag, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
			if tag == "-" {
				continue // no stored form
			}
			fill(t, s, v.Field(i), tag, opts != "")
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, s, v.Elem(), name, false)
	case reflect.Slice:
		n := max(1, s.length())
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, s, v.Index(i), name, false)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for i := range max(1, s.length()) {
			e := reflect.New(v.Type().Elem()).Elem()
			fill(t, s, e, name, false)
			v.SetMapIndex(reflect.ValueOf(fmt.Sprintf("~%s/%d", name, i)), e)
		}
	default:
		t.Fatalf("field %s of kind %s: teach the generator", name, v.Kind())
	}
}

func filled(t testing.TB, s source, typ event.Type) event.Data {
	t.Helper()
	d, ok := engine.NewData(typ)
	if !ok {
		t.Fatalf("unknown type %q", typ)
	}
	fill(t, s, reflect.ValueOf(d).Elem(), string(typ), false)
	return d
}

// sample fills in the same values each time; rich sets every optional field.
type sample struct {
	n    int64
	rich bool
}

func (s *sample) text(name string) string {
	return fmt.Sprintf("%s \"%d\"\n\u00e9\u2028", name, s.number())
}
func (s *sample) value(name string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"%s":[%d,null,"<&>"]}`, name, s.number()))
}
func (s *sample) time() time.Time {
	return time.UnixMicro(1767225600000000 + s.number()*1001).UTC()
}
func (s *sample) number() int64  { s.n++; return s.n }
func (s *sample) float() float64 { return float64(s.number()) / 8 }
func (s *sample) bool() bool     { return true }
func (s *sample) some() bool     { return s.rich }
func (s *sample) length() int    { return 2 }

// testLimit replaces AsideBytes for randomly generated events, so that they stay readable.
const testLimit = 24

// random generates values, favoring those that an encoding is likely to lose.
type random struct{ t *rapid.T }

var (
	genText = rapid.OneOf(
		rapid.SampledFrom([]string{"", "a", "null", `"`, `{"aside":[[0,"/output","x","text"]]}`, "\x00\x1f\u2028\\",
			"é\U0001F600", "\xff\xfe", "a\xc3"}),
		rapid.String(),
		rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bytes")) }),
		rapid.Custom(func(t *rapid.T) string {
			unit := rapid.SampledFrom([]string{"x", "é", "\"\n", "\xff"}).Draw(t, "unit")
			return strings.Repeat(unit, testLimit/len(unit)+rapid.IntRange(-2, 2).Draw(t, "more"))
		}),
	)
	genValue = rapid.Custom(func(t *rapid.T) json.RawMessage {
		if rapid.Bool().Draw(t, "fixed") {
			return json.RawMessage(rapid.SampledFrom([]string{`null`, `""`, `"null"`, `0`, `-0`, `1e400`,
				`12345678901234567890`, `[]`, `{}`, `{"a":1,"a":2}`,
				`[[[]]]`, `"\u00e9\/\ud800"`, `[0,"/output","00","text"]`, "[1,\n2]"}).Draw(t, "value"))
		}
		b, err := json.Marshal(genText.Draw(t, "text"))
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "wrapped") {
			b = fmt.Appendf(nil, `{"x":%s}`, b)
		}
		return b
	})
)

func (r random) text(name string) string           { return genText.Draw(r.t, name) }
func (r random) value(name string) json.RawMessage { return genValue.Draw(r.t, name) }
func (r random) time() time.Time {
	return time.UnixMicro(rapid.Int64Range(-62135596800000000, 253402300799999999).Draw(r.t, "time")).UTC()
}
func (r random) number() int64  { return rapid.Int64().Draw(r.t, "number") }
func (r random) float() float64 { return rapid.Float64().Draw(r.t, "float") }
func (r random) bool() bool     { return rapid.Bool().Draw(r.t, "bool") }
func (r random) some() bool     { return rapid.Bool().Draw(r.t, "some") }
func (r random) length() int    { return rapid.IntRange(1, 3).Draw(r.t, "length") }

func drawEvents(rt *rapid.T, t testing.TB, types []event.Type) []event.Event {
	first := rapid.Uint64Range(1, 1<<40).Draw(rt, "first")
	events := make([]event.Event, rapid.IntRange(1, 4).Draw(rt, "events"))
	for i := range events {
		events[i] = event.Event{
			Seq:  first + uint64(i),
			At:   random{rt}.time(),
			Node: rapid.SampledFrom([]string{"", "a", "outer/inner", "é\"\n"}).Draw(rt, "node"),
			Step: rapid.IntRange(0, 1000).Draw(rt, "step"),
			Data: filled(t, random{rt}, rapid.SampledFrom(types).Draw(rt, "type")),
		}
	}
	return events
}

// blobsOf returns a lookup function for the blobs by hash, as a store would provide. It fails the
// test if a blob does not match its hash.
func blobsOf(t testing.TB, blobs []Blob) func(string) ([]byte, error) {
	t.Helper()
	byHash := map[string][]byte{}
	for _, b := range blobs {
		if b.Hash != HashOf(b.Data) {
			t.Fatalf("blob %s has another hash", b.Hash)
		}
		byHash[b.Hash] = b.Data
	}
	return func(hash string) ([]byte, error) {
		b, ok := byHash[hash]
		if !ok {
			return nil, ErrNotFound
		}
		return b, nil
	}
}

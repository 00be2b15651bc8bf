package graph

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/program"
)

// Shapes of states: those that people write, and those that take special paths in encoding/json.
type (
	flatShape struct {
		N     int      `json:"n"`
		Text  string   `json:"text,omitempty"`
		Flag  bool     `json:"flag"`
		Notes []string `json:"notes"`
		Score float64
		Small float32 `json:"small,omitempty"`
		Tiny  int8    `json:"tiny"`
		U     uint16  `json:"u,omitzero"`
	}
	turnShape struct {
		Role  string   `json:"role"`
		Text  string   `json:"text,omitempty"`
		Tools []string `json:"tools,omitempty"`
		At    *int     `json:"at,omitempty"`
	}
	listShape struct {
		Turns []turnShape          `json:"turns"`
		Last  *turnShape           `json:"last"`
		Named map[string]turnShape `json:"named,omitempty"`
		Grid  [][]int              `json:"grid"`
		One   turnShape            `json:"one,omitzero"`
		Names map[string][]string  `json:"names"`
		Ptr   **string             `json:"ptr"`
	}
	baseShape   struct{ ID, Owner string }
	hiddenShape struct {
		Hidden string `json:"hidden"`
	}
	embeddedShape struct {
		baseShape
		hiddenShape
		N int
	}
	pointedShape struct {
		*turnShape
		N int `json:"n"`
	}
	shadowShape struct {
		turnShape
		Text []string `json:"text"`
	}
	ownShape struct {
		At    time.Time         `json:"at"`
		Later time.Time         `json:"later,omitzero"`
		Word  textual           `json:"word"`
		Loud  shouted           `json:"loud"`
		Quiet *shouted          `json:"quiet,omitempty"`
		Many  []shouted         `json:"many"`
		Raw   json.RawMessage   `json:"raw,omitempty"`
		Count json.Number       `json:"count,omitempty"`
		Keyed map[textual]int   `json:"keyed"`
		Bytes []byte            `json:"bytes"`
		Three [3]string         `json:"three"`
		Ints  map[int]string    `json:"ints"`
		Times map[string]shaded `json:"times"`
	}
	timesShape struct {
		At    time.Time            `json:"at"`
		Zero  time.Time            `json:"zero,omitzero"`
		Said  []said               `json:"said"`
		Ptr   *time.Time           `json:"ptr"`
		Named map[string]time.Time `json:"named,omitempty"`
	}
	said struct {
		Text string    `json:"text"`
		At   time.Time `json:"at,omitzero"`
	}
	looseShape struct {
		Any  any            `json:"any"`
		Map  map[string]any `json:"map,omitempty"`
		List []any          `json:"list"`
	}
	treeShape struct {
		Value    string       `json:"value"`
		Children []*treeShape `json:"children,omitempty"`
	}
	foldShape struct {
		Lower string `json:"name"`
		Upper string `json:"NAME"`
	}
	optionShape struct {
		N     int    `json:"n,string"`
		Other string `json:"other"`
	}
	oddShape struct {
		Dash string `json:"a-b.c"`
		Odd  string `json:"with space"`
		Html string `json:"a<b"`
		K    string `json:"k"`
	}
	noShape struct{}
)

type shaded struct {
	Shade string `json:"shade"`
	Deep  []struct {
		X, Y float64
	} `json:"deep,omitempty"`
}

// textual has its own text form in JSON; that of shouted requires a pointer.
type textual struct{ W string }

func (x textual) MarshalText() ([]byte, error)  { return []byte("<" + strings.ToUpper(x.W)), nil }
func (x *textual) UnmarshalText(b []byte) error { x.W = strings.TrimPrefix(string(b), "<"); return nil }
func (x *shouted) MarshalJSON() ([]byte, error) { return json.Marshal(x.V + "!") }
func (x *shouted) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &x.V) }
func (x shouted) String() string                { return x.V }

type shouted struct{ V string }

// TestCodec_MatchesEncodingJSON checks that the codec behaves like encoding/json: the same state
// from the same fields, the same changes, the same errors (D27).
func TestCodec_MatchesEncodingJSON(t *testing.T) {
	t.Parallel()
	t.Run("flat", sameAsPlain[flatShape](false))
	t.Run("lists", sameAsPlain[listShape](false))
	t.Run("embedded", sameAsPlain[embeddedShape](false))
	t.Run("embedded pointer", sameAsPlain[pointedShape](true))
	t.Run("shadowed", sameAsPlain[shadowShape](true))
	t.Run("own forms", sameAsPlain[ownShape](false))
	t.Run("times", sameAsPlain[timesShape](false))
	t.Run("loose", sameAsPlain[looseShape](false))
	t.Run("tree", sameAsPlain[treeShape](false))
	t.Run("names that fold", sameAsPlain[foldShape](true))
	t.Run("options", sameAsPlain[optionShape](true))
	t.Run("odd names", sameAsPlain[oddShape](true))
	t.Run("no fields", sameAsPlain[noShape](false))
}

// sameAsPlain checks one shape; plain reports whether the codec must take the slow path for it.
func sameAsPlain[S any](plain bool) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		c := newCodec[S]()
		if c.slowPath != plain {
			t.Errorf("takes the plain way: %v", c.slowPath)
		}
		rapid.Check(t, func(t *rapid.T) {
			var first S
			fill(t, reflect.ValueOf(&first).Elem(), 3)
			fields, err := encode(first)
			if err != nil { // no run can have such a state, but a node can produce it: see mutate
				fields, err = encode(*new(S))
			}
			if err != nil {
				t.Fatal(err)
			}
			disturb(t, fields)
			kept := map[string]string{}
			for name, raw := range fields {
				kept[name] = string(raw)
			}

			want, wantErr := decode[S](fields)
			got, gotErr := c.decode(program.StateOf(fields))
			if text(gotErr) != text(wantErr) || gotErr == nil && !reflect.DeepEqual(got, want) {
				t.Fatalf("decode %s\ngot  %+v, %v\nwant %+v, %v", show(fields), got, gotErr, want, wantErr)
			}
			mutate := func(s *S) error { return nil }
			if v := reflect.ValueOf(&first).Elem(); rapid.Bool().Draw(t, "changes") {
				fill(t, v, 3)
				var takes []bool
				for range v.NumField() {
					takes = append(takes, rapid.Bool().Draw(t, "takes"))
				}
				mutate = func(s *S) error {
					for i, take := range takes {
						if at := reflect.ValueOf(s).Elem().Field(i); take && at.CanSet() {
							at.Set(v.Field(i))
						}
					}
					return nil
				}
			}
			wantUp, wantErr := changedPlain(fields, mutate)
			gotUp, gotErr := c.changed(program.StateOf(fields), mutate)
			if text(gotErr) != text(wantErr) || show(gotUp) != show(wantUp) {
				t.Fatalf("changes of %s\ngot  %s, %v\nwant %s, %v", show(fields), show(gotUp), gotErr, show(wantUp),
					wantErr)
			}
			for name, raw := range fields {
				if kept[name] != string(raw) {
					t.Fatalf("field %s was %s and is %s", name, kept[name], raw)
				}
			}
		})
	}
}

// changedPlain is the slow equivalent of codec.changed.
func changedPlain[S any](fields program.Fields, fn func(*S) error) (program.Fields, error) {
	s, err := decode[S](fields)
	if err != nil {
		return nil, err
	}
	before, err := encode(s)
	if err != nil {
		return nil, err
	}
	if err := fn(&s); err != nil {
		return nil, err
	}
	after, err := encode(s)
	if err != nil {
		return nil, err
	}
	return changes(before, after), nil
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func show(f program.Fields) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(&b, "%q: %s\n", name, f[name])
	}
	return b.String()
}

var words = []string{"", "a", "plain text", "\"", "\\", "a\nb\tc\r", "\x00\x1f\x7f", "<&>", "\u2028", "x\u2029",
	"\ufffd", "é😀", "\xff", "a\xc3", "\b\f", strings.Repeat("long ", 300)}

// spellings holds values that the initial state of a run may have: of any type, and spelled
// differently from encoding/json.
var spellings = []string{
	"null", `"x"`, "1", "1e3", "1.50", "-0", "300", "[]", "{}", "[null]", "[ ]", "true", "[1, 2]", `["a", "b"]`,
	`[[1],[2 ]]`, `"\u0061\/"`, "\"\u2028\"",
	`{"a": 1}`, `{"b":{"role":"x"},"a":{"role":"y"}}`, `{"a":{"role":"y"},"a":{"role":"x"}}`, `{"role":"a","role":"b"}`,
	`{"text":"t","role":"a"}`, `{"at":1}`,
	`{"role":"a","text":""}`, `{"role":"a","at":null}`, `{"role":"a","tools":[]}`, `{"role" :"a"}`,
	`[{"ROLE":"b"},{"role":"c"}]`, `{"role":"","extra":[{}]}`,
	`"2026-01-02T03:04:05Z"`, `"2026-01-02T03:04:05.000Z"`, `"2026-01-02T03:04:05+01:00"`, `"2026-01-02t03:04:05z"`,
	`"\u00302026-01-02T03:04:05Z"`, ` "0001-01-01T00:00:00Z"`,
	`{"a":["x"],"b":null}`, `{"b":[],"a":[]}`,
}

// TestCodec_FieldNameSpellings checks that an unchanged field is not written, however it was
// spelled (D27).
func TestCodec_FieldNameSpellings(t *testing.T) {
	t.Parallel()
	t.Run("flat", everySpelling[flatShape])
	t.Run("lists", everySpelling[listShape])
	t.Run("embedded", everySpelling[embeddedShape])
	t.Run("loose", everySpelling[looseShape])
	t.Run("tree", everySpelling[treeShape])
	t.Run("times", everySpelling[timesShape])
}

func everySpelling[S any](t *testing.T) {
	t.Parallel()
	c := newCodec[S]()
	nothing := func(*S) error { return nil }
	for _, f := range c.fields {
		for _, raw := range spellings {
			fields := program.Fields{f.name: json.RawMessage(raw)}
			want, wantErr := changedPlain(fields, nothing)
			got, gotErr := c.changed(program.StateOf(fields), nothing)
			if text(gotErr) != text(wantErr) || show(got) != show(want) || len(got) > 0 {
				t.Errorf("%s: %s: got %s, %v; want %s, %v", f.name, raw, show(got), gotErr, show(want), wantErr)
			}
			first, err := decode[S](fields)
			if err != nil {
				continue
			}
			zero := func(s *S) error {
				*s = *new(S)
				return nil
			}
			want, wantErr = changedPlain(fields, zero)
			if got, gotErr = c.changed(program.StateOf(fields), zero); text(gotErr) != text(wantErr) ||
				show(got) != show(want) {
				t.Errorf("%s: %s of %+v: got %s, %v; want %s, %v", f.name, raw, first, show(got), gotErr, show(want),
					wantErr)
			}
		}
	}
}

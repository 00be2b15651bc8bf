package typed_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine/typed"
	_ "github.com/hocket-run/hocket/internal/randtest"
)

// word draws a string as it appears in JSON, long enough for edits to pay off.
func word(t *rapid.T, label string) string {
	s := rapid.SampledFrom([]string{"a", "é", "漢", `\"`, `\\`, `\ud83d\ude00`, "]", "}", ",", `\n`}).Draw(t, label)
	return strings.Repeat(s, rapid.SampledFrom([]int{1, 3, 60, 200}).Draw(t, label+" times"))
}

// value draws a JSON value.
func value(t *rapid.T, label string) string {
	switch rapid.IntRange(0, 3).Draw(t, label+" kind") {
	case 0:
		return `"` + word(t, label) + `"`
	case 1:
		return "[" +
			strings.Join(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return `"` + word(t, "e") + `"` }), 0,
				4).Draw(t, label), ",") + "]"
	case 2:
		m := rapid.MapOfN(rapid.StringMatching("[a-z]{1,3}"),
			rapid.Custom(func(t *rapid.T) string { return word(t, "m") }), 0, 4).Draw(t, label)
		return object(m)
	}
	return rapid.SampledFrom([]string{"null", "17", "[ ]", "{}", `[ "` + strings.Repeat("x", 200) + `" ]`, "-1.5e3",
		"true"}).Draw(t, label)
}

func object(m map[string]string) string {
	raw := map[string]json.RawMessage{}
	for k, v := range m {
		raw[k] = json.RawMessage(`"` + v + `"`)
	}
	b, _ := json.Marshal(raw)
	return string(b)
}

// next draws a value that a step derives from v: it has grown, shrunk, changed inside, or is
// unrelated.
func next(t *rapid.T, v string) string {
	add := word(t, "added")
	switch op := rapid.IntRange(0, 5).Draw(t, "change"); {
	case op < 3 && len(v) > 2 && v[0] == '[' && v != "[ ]":
		return strings.TrimSuffix(v, "]") + `,"` + add + `"]`
	case op < 3 && v[0] == '"':
		return strings.TrimSuffix(v, `"`) + add + `"`
	case op < 3 && len(v) > 2 && v[0] == '{':
		return strings.TrimSuffix(v, "}") + `,"` + rapid.StringMatching("[a-z]{1,3}").Draw(t, "key") + `":"` + add +
			`"}`
	case op == 3:
		return strings.Replace(v, "aa", "a", 1)
	case op == 4 && len(v) > 2 && v[0] == '[':
		return "[" + strings.TrimPrefix(strings.TrimPrefix(v, `["`+add+`"`), "[")
	}
	return value(t, "other")
}

// TestEdit_RoundTrip checks that applying edits reproduces the original values byte for
// byte, whatever was derived from earlier values, and that no value changes once it was returned.
func TestEdit_RoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type made struct {
			value *typed.Value
			want  string
		}
		first := value(t, "first")
		all := []made{{typed.Of(json.RawMessage(first), 0), first}}
		for step := 1; step <= 12; step++ {
			base := all[len(all)-1]
			if rapid.IntRange(0, 4).Draw(t, "branch") == 0 {
				base = rapid.SampledFrom(all).Draw(t, "base")
			}
			want := next(t, base.want)
			if !json.Valid([]byte(want)) {
				continue
			}
			v := typed.Of(json.RawMessage(want), step)
			if e, ok := typed.Between("f", base.value, json.RawMessage(want)); ok {
				if err := e.Check(base.value); err != nil {
					t.Fatalf("%+v: %v", e, err)
				}
				if len(e.Text) > len(want)-64 {
					t.Fatalf("an edit of %d bytes for a value of %d", len(e.Text), len(want))
				}
				var err error
				if v, err = base.value.Edited(&e, step); err != nil {
					t.Fatal(err)
				}
			}
			all = append(all, made{v, want})
		}
		for i, m := range all {
			if string(m.value.JSON()) != m.want || m.value.Len() != len(m.want) {
				t.Fatalf("value %d is\n%s, want\n%s", i, m.value.JSON(), m.want)
			}
			for _, o := range all {
				if m.value.Equal(o.value) != (m.want == o.want) {
					t.Fatalf("%s and %s: equal is %v", m.want, o.want, m.value.Equal(o.value))
				}
			}
		}
	})
}

// TestEdit_Damaged checks that an edit from disk produces JSON from the value that it
// names, or is rejected.
func TestEdit_Damaged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := value(t, "value")
		v := typed.Of(json.RawMessage(raw), 3)
		if rapid.Bool().Draw(t, "grown") && raw[0] == '[' && len(raw) > 3 {
			after := strings.TrimSuffix(raw, "]") + `,"` + strings.Repeat("y", 30) + `"]`
			if e, ok := typed.Between("f", v, json.RawMessage(after)); ok {
				v, _ = v.Edited(&e, 3)
				raw = after
			}
		}
		at := rapid.IntRange(-1, len(raw)+1)
		e := typed.Edit{Field: "f", Base: 3, Size: len(raw), From: at.Draw(t, "from"), To: at.Draw(t, "to"),
			Text: rapid.SampledFrom([]string{
				"", ",", ",1", `,"a":1`, "]", `"`, `,1],[2`, "x", `\`, `,1]`, "\xff",
			}).Draw(t, "text")}
		if rapid.IntRange(0, 2).Draw(t, "tail") == 0 {
			e.From, e.To = len(raw)-1, len(raw)-1
		}
		other := e
		other.Size++
		if err := other.Check(v); !errors.Is(err, typed.ErrEdit) {
			t.Fatalf("an edit of another value: %v", err)
		}
		other = e
		other.Base++
		if err := other.Check(v); !errors.Is(err, typed.ErrEdit) {
			t.Fatalf("an edit of another step's value: %v", err)
		}
		if err := e.Check(v); err != nil {
			if !errors.Is(err, typed.ErrEdit) {
				t.Fatal(err)
			}
			return
		}
		got, err := v.Edited(&e, 4)
		if err != nil || !json.Valid(got.JSON()) {
			t.Fatalf("%+v of %s was taken and gives %s, %v", e, raw, got.JSON(), err)
		}
		if want := raw[:e.From] + e.Text + raw[e.To:]; string(got.JSON()) != want {
			t.Fatalf("got %s, want %s", got.JSON(), want)
		}
	})
}

// TestEdit_GrowthLinear checks that n elements that are added one by one take space proportional to
// n, stored and in memory (P6).
func TestEdit_GrowthLinear(t *testing.T) {
	t.Parallel()
	element := strings.Repeat("x", 1000)
	stored := func(n int) (stored int) {
		s, list := typed.State{}, `["`+element+`"]`
		s = s.With(s.ChangesOf(map[string]json.RawMessage{"list": json.RawMessage(list)}, nil, 1))
		var first *byte
		moved := 0
		for step := 2; step <= n; step++ {
			list = list[:len(list)-1] + `,"` + element + `"]`
			whole, edits := s.Shorten(map[string]json.RawMessage{"list": json.RawMessage(list),
				"n": json.RawMessage(fmt.Sprint(step))})
			if len(whole) != 1 || len(edits) != 1 || string(whole["n"]) != fmt.Sprint(step) {
				t.Fatalf("step %d: %v, %v", step, whole, edits)
			}
			stored += len(edits[0].Text)
			if err := s.Check(whole, edits); err != nil {
				t.Fatal(err)
			}
			s = s.With(s.ChangesOf(whole, edits, step))
			if head := typed.Memory(s.Value("list")); head != first {
				first = head
				moved++
			}
		}
		if got := s.Map(); string(got["list"]) != list {
			t.Fatal("the list is another one")
		}
		if moved > 3+2*len(fmt.Sprintf("%b", n)) {
			t.Errorf("%d elements were copied %d times", n, moved)
		}
		return stored
	}
	if one, two := stored(200), stored(400); float64(two) > 2.2*float64(one) {
		t.Errorf("200 elements take %d bytes, 400 %d", one, two)
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	fields := map[string]json.RawMessage{"b": raw("2"), "a": raw("1"), "": raw("0")}
	s := typed.StateOf(fields, 0)
	if got := s.Map(); !maps.EqualFunc(got, fields, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) ||
		s.Len() != 3 {
		t.Errorf("got %s", got)
	}
	var names []string
	for name := range s.All() {
		names = append(names, name)
	}
	if fmt.Sprint(names) != "[ a b]" || string(s.Get("b")) != "2" || s.Get("c") != nil || s.Value("c") != nil {
		t.Errorf("names %q, b %s", names, s.Get("b"))
	}
	after := s.With(s.ChangesOf(map[string]json.RawMessage{"c": raw("3"), "a": raw("4"), "A": raw("5")}, nil, 7))
	if string(after.Get("a")) != "4" || string(after.Get("c")) != "3" || string(after.Get("A")) != "5" ||
		after.Len() != 5 || string(s.Get("a")) != "1" || after.Value("c").Step() != 7 {
		t.Errorf("after %s, before %s", after.Map(), s.Map())
	}
	if typed.StateOf(nil, 0).Map() != nil || len(s.With(nil).Map()) != 3 {
		t.Error("no fields, no changes")
	}
	long := raw(`"` + strings.Repeat("x", 300) + `"`)
	s = typed.StateOf(map[string]json.RawMessage{"t": long}, 0)
	e, ok := typed.Between("t", s.Value("t"), raw(`"`+strings.Repeat("x", 310)+`"`))
	if !ok {
		t.Fatal("no edit")
	}
	for name, edits := range map[string][]typed.Edit{"unknown field": {{Field: "u", Size: 302}}, "twice": {e, e}} {
		if err := s.Check(nil, edits); !errors.Is(err, typed.ErrEdit) {
			t.Errorf("%s: %v", name, err)
		}
		s.ChangesOf(nil, edits, 1) // must not panic
	}
	if err := s.Check(map[string]json.RawMessage{"t": long}, []typed.Edit{e}); !errors.Is(err, typed.ErrEdit) {
		t.Errorf("whole and in part: %v", err)
	}
}

// TestEdit_AppendedFields checks that a field declared to have gained a tail is stored as the whole
// value would be, and that a field that would not be JSON is detected.
func TestEdit_AppendedFields(t *testing.T) {
	t.Parallel()
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	long := strings.Repeat("x", 100)
	s := typed.StateOf(map[string]json.RawMessage{"list": raw(`["` + long + `"]`), "text": raw(`"` + long + `"`),
		"short": raw(`["a"]`), "n": raw("1"), "blank": raw("[" + strings.Repeat(" ", 100) + "]")}, 0)
	for name, want := range map[string]bool{"list": true, "text": true, "short": false, "n": false, "blank": false,
		"none": false} {
		if s.CanGrow(name) != want {
			t.Errorf("%s can grow: %v", name, !want)
		}
	}
	list, text := s.Grown("list", `,"more"`), s.Grown("text", `\n`)
	whole, edits := s.Shorten(map[string]json.RawMessage{"n": raw("2")}, text, list)
	wantWhole, wantEdits := s.Shorten(typed.Whole(map[string]json.RawMessage{"n": raw("2")},
		[]typed.Growth{list, text}))
	if d := cmp.Diff(whole, wantWhole) + cmp.Diff(edits, wantEdits); d != "" || len(edits) != 2 {
		t.Errorf("got - want +\n%s", d)
	}
	other := typed.StateOf(s.Map(), 3)
	whole, edits = other.Shorten(nil, list, text)
	wantWhole, wantEdits = other.Shorten(typed.Whole(nil, []typed.Growth{list, text}))
	if d := cmp.Diff(whole, wantWhole) + cmp.Diff(edits, wantEdits); d != "" || len(edits) != 2 {
		t.Errorf("of another state: got - want +\n%s", d)
	}
	for name, g := range map[string]typed.Growth{"no comma": s.Grown("list", `"more"`),
		"end of text": s.Grown("text", `"`), "no field": s.Grown("none", "x")} {
		if err := g.Check(); !errors.Is(err, typed.ErrEdit) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list.Check() != nil || list.Field() != "list" {
		t.Errorf("%s: %v", list.Field(), list.Check())
	}
}

// TestNativeForms checks that the native form of a state stays with it until its first change.
func TestNativeForms(t *testing.T) {
	t.Parallel()
	s := typed.StateOf(map[string]json.RawMessage{"a": json.RawMessage("1")}, 0)
	native := s.WithNative("form")
	changes := s.ChangesOf(map[string]json.RawMessage{"a": json.RawMessage("2")}, nil, 1)
	if native.Native() != "form" || s.Native() != nil || native.With(nil).Native() != "form" ||
		native.With(changes).Native() != nil {
		t.Error("the native form is another one")
	}
	empty := s.WithNative(nil)
	other := empty
	other.KeepNative("kept")
	empty.KeepNative("late")
	if s.KeepNative("nowhere"); empty.Native() != "kept" || s.Native() != nil {
		t.Error("a native form was not kept, or where there is no place for it")
	}
	if native.KeepNative("other"); native.Native() != "form" {
		t.Error("a native form was replaced")
	}
	if !native.Same(s) || native.Same(native.With(changes)) || !(typed.State{}).Same(typed.StateOf(nil, 0)) {
		t.Error("states are the same that are not, or the other way round")
	}
}

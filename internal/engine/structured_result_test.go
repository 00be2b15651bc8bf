package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
)

// TestStructuredOutput_StoredOnce checks that the part of a structured result that is omitted
// because the text contains it is restored byte for byte.
func TestStructuredOutput_StoredOnce(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("out \"and\" <more>\n", 8)
	object := `{"a":1,"b":"` + strings.Repeat("x", 40) + `"}`
	for name, tc := range map[string]struct{ text, structured, kept string }{
		"a member is the text": {long, `{"stdout":` + string(expr.Quote(long)) + `,"exitCode":0}`,
			`{"stdout":null,"exitCode":0}`},
		"the first of two is": {long, `{"a":` + string(expr.Quote(long)) + `,"b":` + string(expr.Quote(long)) +
			`}`, `{"a":null,"b":` + string(expr.Quote(long)) + `}`},
		"all of it is the text": {object, object, ``},
		"with blanks":           {strings.Replace(object, ",", " ,\n ", 1), object, ``},
		"in a block":            {"Here:\n```json\n" + object + "\n```\n", object, ``},
		"in another order":      {`{"b":"` + strings.Repeat("x", 40) + `","a":1}`, object, object},
		"other escapes": {"<" + long, `{"stdout":` + strings.ReplaceAll(string(expr.Quote("<"+long)), "<",
			`\u003c`) + `}`, ""},
		"null is no text": {long, `{"stdout":null,"more":"` + strings.Repeat("y", 40) + `"}`,
			`{"stdout":null,"more":"` + strings.Repeat("y", 40) + `"}`},
		"much beside it": {long, `{"stdout":` + string(expr.Quote(long)) + `,"stderr":"` +
			strings.Repeat("y", 2000) + `"}`, ""},
		"a list":  {long, `[` + string(expr.Quote(long)) + `]`, `[` + string(expr.Quote(long)) + `]`},
		"nothing": {long, ``, ``},
		"a name with two values": {long, `{"stdout":1,"stdout":` + string(expr.Quote(long)) + `}`,
			`{"stdout":1,"stdout":` + string(expr.Quote(long)) + `}`},
		"short":                    {"hi", `{"stdout":"hi","n":1}`, `{"stdout":"hi","n":1}`},
		"the name needs an escape": {long, `{"a\"b":` + string(expr.Quote(long)) + `}`, `{"a\"b":null}`},
	} {
		d := &event.ToolReturned{Text: tc.text, Structured: event.Value(tc.structured)}
		if tc.structured == "" {
			d.Structured = nil
		}
		want := d.Structured
		d.Shorten()
		if tc.kept == "" && len(want) > 0 && !d.JSON { // unchanged
			tc.kept = tc.structured
		}
		if string(d.Structured) != tc.kept {
			t.Errorf("%s: stored as %s, want %s", name, d.Structured, tc.kept)
		}
		if got := d.Whole(event.JSONOf); string(got.Structured) != string(want) || got.JSON || got.Member != "" {
			t.Errorf("%s: %s comes back as %s", name, want, got.Structured)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.SampledFrom([]string{"x", `"`, "é", "\n", "<", "{", `\`}).Draw(t, "text"),
			rapid.IntRange(0, 80).Draw(t, "times"))
		fields := rapid.MapOfN(rapid.StringMatching(`[ab"]{0,2}`),
			rapid.SampledFrom([]any{text, "other", nil, 1.5, map[string]any{"a": text}}), 0, 3).Draw(t, "fields")
		raw, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "plain") {
			raw, _ = plainJSON(fields)
		}
		d := &event.ToolReturned{Text: text, Structured: raw}
		d.Shorten()
		if got := d.Whole(event.JSONOf).Structured; string(got) != string(raw) {
			t.Fatalf("%s comes back as %s", raw, got)
		}
	})
}

// TestStructuredOutput_DamagedResult checks that damaged results stay unchanged.
func TestStructuredOutput_DamagedResult(t *testing.T) {
	t.Parallel()
	for _, d := range []*event.ToolReturned{
		{Text: "no JSON", JSON: true}, {Text: "x", Member: "a"}, {Text: "x", Member: "a",
			Structured: event.Value(`{"a":1}`)},
		{Text: "x", Member: "a", Structured: event.Value(`[null]`)},
		{Text: "x", Member: "a", Structured: event.Value(`{"a"`)}, {Text: "x", Member: "a",
			Structured: event.Value(`{"b":null}`)},
	} {
		if got := d.Whole(event.JSONOf); got != d {
			t.Errorf("%+v became %+v", d, got)
		}
		_ = d.Value()
	}
}

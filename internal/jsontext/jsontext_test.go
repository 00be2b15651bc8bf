package jsontext_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/jsontext"
	_ "github.com/hocket-run/hocket/internal/randtest"
)

// plain returns s as encoding/json writes it, without HTML escaping.
func plain(t rapid.TB, s string) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// TestString_MatchesEncodingJSON checks that a string has the same form as in encoding/json, and is
// read back if it is UTF-8.
func TestString_MatchesEncodingJSON(t *testing.T) {
	t.Parallel()
	parts := rapid.SampledFrom([]string{"a", "\"", "\\", "<&>", "\n\r\t\b\f", "\x00\x1f\x7f", "é", "\u2028\u2029",
		"\U0001f600", "\xff", "\xed\xa0\x80", "\ufffd"})
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(parts, 0, 8).Draw(t, "parts"), "")
		got, isValid := jsontext.AppendString(nil, s)
		if want := plain(t, s); string(got) != want || isValid != utf8.ValidString(s) {
			t.Fatalf("%q: got %s, %v; encoding/json writes %s", s, got, isValid, want)
		}
		if !isValid {
			s = strings.ToValidUTF8(s, "\ufffd")
		}
		if back, ok := jsontext.Unquote(got); !ok || isValid && back != s {
			t.Fatalf("%s is read as %q, %v", got, back, ok)
		}
	})
}

// TestScanner_MatchesEncodingJSON checks that the value scanner accepts what encoding/json accepts.
func TestScanner_MatchesEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"{", "}", "[", "]", ",", ":", `"a"`, `"`, `\`, `\u00e9`,
			`\ud800`, "-", "0", "12", ".5", "e+1", "E",
			"true", "null", "nul", " ", "\n", "\x00", "\xff"}), 0, 12).Draw(rt, "parts")
		text := strings.Join(parts, "")
		if got, want := jsontext.Valid([]byte(text)), json.Valid([]byte(text)); got != want {
			rt.Fatalf("jsontext.Valid(%q) = %v", text, got)
		}
	})
	deep := strings.Repeat("[", jsontext.MaxDepth) + strings.Repeat("]", jsontext.MaxDepth)
	if !jsontext.Valid([]byte(deep)) || jsontext.Valid([]byte("["+deep+"]")) {
		t.Error("depth is not bounded as in encoding/json")
	}
}

// FuzzScan checks that the value scanner agrees with encoding/json on any bytes.
func FuzzScan(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e+3,"\u00e9"]}`, `"\ud83d\ude00"`, ` [ ] `, `01`, `"a`, `{"a"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		if got, want := jsontext.Valid(v), json.Valid(v); got != want {
			t.Fatalf("jsontext.Valid(%q) = %v, encoding/json says %v", v, got, want)
		}
		if s, ok := jsontext.Unquote(v); ok {
			var want string
			if err := json.Unmarshal(v, &want); err != nil || want != s {
				t.Fatalf("jsontext.Unquote(%q) = %q, encoding/json says %q, %v", v, s, want, err)
			}
		}
	})
}

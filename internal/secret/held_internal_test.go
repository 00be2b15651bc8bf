package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"maps"
	"net/url"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestAutomaton_Held checks that what is not searched holds no value: the result is the same if
// every decoded byte is searched.
func TestAutomaton_Held(t *testing.T) {
	t.Parallel()
	encoders := []func(string) string{
		func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		func(s string) string { return hex.EncodeToString([]byte(s)) },
		func(s string) string {
			b, err := json.Marshal(s)
			if err != nil {
				panic(err)
			}
			return string(b)
		},
		html.EscapeString, url.QueryEscape, utf16Text, quotedPrintable,
	}
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.StringMatching(`[a-z0-9+/=%\\&;!"]{6,40}`), rapid.StringN(6, 12, 40))
		values := map[string]string{}
		for _, v := range rapid.SliceOfN(value, 1, 3).Draw(t, "values") {
			values[v] = "K"
		}
		in := newAutomaton(patternsOf(values))
		every := *in
		every.least = MinLen
		for i := range every.held {
			every.held[i] = true
		}
		known := rapid.SampledFrom(slices.Sorted(maps.Keys(values)))
		other := rapid.OneOf(rapid.StringMatching(`[a-zA-Z0-9+/ :\n]{0,60}`),
			rapid.StringMatching(`[\\%&#;ux{}0-9a-f]{0,20}`),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 60), func(b []byte) string { return string(b) }))
		text := other.Draw(t, "before")
		for range rapid.IntRange(1, 3).Draw(t, "parts") {
			part := rapid.OneOf(known, rapid.Map(known, func(s string) string { return s[1:] }), other).Draw(t, "part")
			for range rapid.IntRange(0, 5).Draw(t, "levels") {
				part = other.Draw(t, "before") + part + other.Draw(t, "after")
				part = rapid.SampledFrom(encoders).Draw(t, "encoder")(part)
			}
			text += part + other.Draw(t, "between")
		}
		got, want := &Tail{scan: newScanner(in), rest: text}, &Tail{scan: newScanner(&every), rest: text}
		got.scan.write(text)
		want.scan.write(text)
		if g, w := got.Flush(), want.Flush(); g != w {
			t.Fatalf("%q: got %q, want %q", text, g, w)
		}
	})
}

// TestAutomaton_HeldEnd checks that a byte that ends the text also ends an escape: the value ends
// with a backslash, which the next byte, which no value holds, could escape.
func TestAutomaton_HeldEnd(t *testing.T) {
	t.Parallel()
	s := newScanner(newAutomaton(patternsOf(map[string]string{`!!!!"\`: "K"})))
	const text = "ISEhISYjMzQ7XAE=" // !!!!&#34;\ and the byte 1, in base64
	tail := &Tail{scan: s, rest: text}
	s.write(text)
	if got := tail.Flush(); got != text {
		t.Errorf("got %q, want %q, as if every byte were searched", got, text)
	}
}

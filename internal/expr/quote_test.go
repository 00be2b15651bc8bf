package expr_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/expr"
)

// TestQuote_RoundTrip checks that a quoted text decodes to the original, with HTML characters
// unescaped.
func TestQuote_RoundTrip(t *testing.T) {
	t.Parallel()
	texts := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z<&>"\\ \n]*`))
	rapid.Check(t, func(t *rapid.T) {
		s := texts.Draw(t, "text")
		var got string
		if err := json.Unmarshal(expr.Quote(s), &got); err != nil || got != s {
			t.Fatalf("%q became %s, which reads as %q: %v", s, expr.Quote(s), got, err)
		}
	})
	for s, want := range map[string]string{"": `""`, "<&>": `"<&>"`, `"\`: `"\"\\"`, "é": `"é"`,
		"a\n\x00": `"a\n\u0000"`, "\u2028": `"\u2028"`, "\xff": `"\ufffd"`} {
		if got := string(expr.Quote(s)); got != want {
			t.Errorf("%q became %s, want %s", s, got, want)
		}
	}
}

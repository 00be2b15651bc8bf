package expr

import (
	"slices"
	"testing"
)

// TestKeywords checks that the words are those that the parsers know.
func TestKeywords(t *testing.T) {
	t.Parallel()
	words := WordsOf("item", "item_index")
	var fields, known []string
	for _, w := range words.Fields {
		fields = append(fields, w.Name)
	}
	known = append(known, fieldNames...)
	for name := range moreFields {
		known = append(known, name)
	}
	slices.Sort(fields)
	slices.Sort(known)
	if !slices.Equal(fields, known) {
		t.Errorf("fields %v, want %v", fields, known)
	}
	if len(words.Tokens) != len(tokens) {
		t.Errorf("tokens %v, want %v", words.Tokens, tokens)
	}
	for _, w := range words.Tokens {
		if text, problems := ParseInterpolation(w.Name, Options{}); len(problems) > 0 || text.parts[0].ref == nil {
			t.Errorf("%s: %v", w.Name, problems)
		}
	}
}

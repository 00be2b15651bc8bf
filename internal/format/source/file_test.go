package source

import (
	"fmt"
	"testing"
)

// TestNotUTF8 checks that the first byte that is not UTF-8 is reported by line, character and
// offset, including after a byte order mark.
func TestNotUTF8(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "0:0 0 false", "ä\n€": "0:0 0 false", "\uFFFD": "0:0 0 false", "\xff": "1:1 0 true",
		"a\n{\"ä\": \"\xc3\"}": "2:8 10 true", "\n\n\x80": "3:1 2 true",
		"\ufeffa\xe2\x82": "1:2 4 true", "a\r\xff": "2:1 2 true",
	} {
		at, found := NotUTF8([]byte(text))
		if got := fmt.Sprintf("%d:%d %d %t", at.Line, at.Column, at.Offset, found); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

package journal

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// Words are split here and not by the databases, so that a search returns the same results on all
// of them: an index receives words made of the letters a to z alone, separated by single spaces,
// which every tokenizer leaves unchanged (ADR 98).
//
// A word is a sequence of letters, digits and marks, in lower case, without accents. In scripts
// without spaces, each character is a word.

const (
	// maxWord is the number of significant runes in a word; the rest of a longer word is ignored.
	maxWord = 64
	// maxRepeats is the maximum number of times a word is indexed for one run: PostgreSQL keeps no
	// more positions.
	maxRepeats = 255
	// gap replaces a word that is not indexed, and separates two texts, so that no phrase spans it.
	// No word is encoded this way.
	gap = "zl"
)

// spaceless are scripts that do not separate words with spaces.
var spaceless = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
	unicode.Khmer, unicode.Myanmar}

// IndexWords returns the words of t in the form indexes receive, or "" if there are none.
func (t *Texts) IndexWords() string {
	var b strings.Builder
	counts := map[string]int{}
	for _, text := range [...]string{plain(t.Input, MaxText), plain(t.Output, MaxText), Cut(t.Error, MaxErrorText)} {
		isFirst := true
		for w := range words(text) {
			switch {
			case b.Len() > 0 && isFirst:
				b.WriteString(" " + gap + " ")
			case b.Len() > 0:
				b.WriteByte(' ')
			}
			isFirst = false
			if counts[w]++; counts[w] > maxRepeats {
				w = gap
			}
			b.WriteString(w)
		}
	}
	return b.String()
}

// plain returns the start of a value as a string: the content inside and outside of JSON strings,
// with escapes decoded.
func plain(v event.Value, limit int) string {
	v = v[:min(len(v), 2*limit)]
	b := make([]byte, 0, min(len(v), limit))
	for i := 0; i < len(v) && len(b) < limit; i++ {
		if v[i] != '\\' || i+1 == len(v) {
			if v[i] != '"' {
				b = append(b, v[i])
			} else if i > 0 {
				b = append(b, ' ') // separates members and items
			}
			continue
		}
		i++
		switch v[i] {
		case '"', '\\', '/':
			b = append(b, v[i])
		case 'u':
			r, ok := hexRune(v, i+1)
			if !ok {
				return valid(b)
			}
			i += 4
			if low, ok := hexRune(v, i+3); utf16.IsSurrogate(r) && ok && i+2 < len(v) && v[i+1] == '\\' &&
				v[i+2] == 'u' {
				r = utf16.DecodeRune(r, low)
				i += 6
			}
			b = utf8.AppendRune(b, r)
		default:
			b = append(b, ' ')
		}
	}
	return valid(b)
}

// valid returns b without an incomplete rune at its end.
func valid(b []byte) string {
	for n := len(b) - 1; n >= 0 && n >= len(b)-utf8.UTFMax; n-- {
		if utf8.RuneStart(b[n]) {
			if !utf8.FullRune(b[n:]) {
				b = b[:n]
			}
			break
		}
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(b), " "))
}

func hexRune(v []byte, i int) (r rune, ok bool) {
	if i+4 > len(v) {
		return 0, false
	}
	for _, c := range v[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 + rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 + rune(c|0x20-'a') + 10
		default:
			return 0, false
		}
	}
	return r, true
}

// words yields the words of a string in order, encoded.
func words(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if !isASCII(text) {
			text = norm.NFKD.String(text)
		}
		var b []byte
		n := 0
		flush := func() bool {
			if n == 0 {
				return true
			}
			w := string(b)
			b, n = b[:0], 0
			return yield(w)
		}
		for _, r := range text {
			switch {
			case r >= 'a' && r <= 'z', r >= '0' && r <= '9': // the common case
				if n++; n <= maxWord {
					b = appendRune(b, r)
				}
				continue
			case r == ' ':
				if !flush() {
					return
				}
				continue
			case unicode.Is(unicode.Mn, r) && !unicode.In(r, spaceless...):
				continue // an accent
			case !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r):
				if !flush() {
					return
				}
				continue
			case r > unicode.MaxASCII && unicode.In(r, spaceless...):
				if !flush() {
					return
				}
				b, n = appendRune(b, r), 1
				if !flush() {
					return
				}
				continue
			}
			if n++; n <= maxWord {
				b = appendRune(b, unicode.ToLower(unicode.ToUpper(r)))
			}
		}
		flush()
	}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// appendRune appends a rune encoded as letters: a to y are themselves, z is za, digits are zb to
// zk, and all others are a z, one of m to y and three letters. No code is a prefix of another, so
// one word is a prefix of another if their codes are.
func appendRune(b []byte, r rune) []byte {
	switch {
	case r >= 'a' && r < 'z':
		return append(b, byte(r))
	case r == 'z':
		return append(b, 'z', 'a')
	case r >= '0' && r <= '9':
		return append(b, 'z', 'b'+byte(r-'0'))
	}
	const third = 26 * 26 * 26
	return append(b, 'z', 'm'+byte(r/third%13), 'a'+byte(r/(26*26)%26), 'a'+byte(r/26%26), 'a'+byte(r%26))
}

// Limits of a search string.
const (
	maxSearch = 1000 // bytes
	maxTerms  = 32
)

// Term is a sequence of consecutive words that a text must contain. If Prefix is set, the last word
// need only match as a prefix.
type Term struct {
	Words  []string // encoded
	Prefix bool
}

// ParseSearch parses a search string: words, phrases in double quotes, and word prefixes followed
// by a star. A run matches if its texts contain all of them; a phrase must be within one text.
// Characters other than letters and digits separate words, so any string is valid. It returns an
// error if there are no words, or too many.
func ParseSearch(text string) ([]Term, error) {
	if len(text) > maxSearch {
		return nil, fmt.Errorf("a search has %d bytes, at most %d are possible", len(text), maxSearch)
	}
	var terms []Term
	for i, part := range strings.Split(text, `"`) {
		pieces := []string{part}
		if i%2 == 0 {
			pieces = strings.Fields(part)
		}
		for _, p := range pieces {
			var t Term
			for w := range words(p) {
				t.Words = append(t.Words, w)
			}
			if t.Prefix = i%2 == 0 && strings.HasSuffix(p, "*"); len(t.Words) > 0 {
				terms = append(terms, t)
			}
		}
	}
	switch n := len(terms); {
	case n == 0:
		return nil, errors.New("a search needs a letter or digit")
	case n > maxTerms:
		return nil, fmt.Errorf("a search has %d words and phrases, at most %d are possible", n, maxTerms)
	}
	return terms, nil
}

// matchesWords reports whether the indexed words contain the term.
func (t Term) matchesWords(indexed []string) bool {
	for i := 0; i+len(t.Words) <= len(indexed); i++ {
		if t.matchesAt(indexed[i:]) {
			return true
		}
	}
	return false
}

func (t Term) matchesAt(indexed []string) bool {
	for j, w := range t.Words {
		isPrefix := t.Prefix && j == len(t.Words)-1 && strings.HasPrefix(indexed[j], w)
		if indexed[j] != w && !isPrefix {
			return false
		}
	}
	return true
}

// FTS returns terms as a query for SQLite's FTS5. It contains only the letters of encoded words.
func FTS(terms []Term) string {
	var b strings.Builder
	for i, t := range terms {
		if i > 0 {
			b.WriteString(" AND ")
		}
		b.WriteString(`"` + strings.Join(t.Words, " ") + `"`)
		if t.Prefix {
			b.WriteString("*")
		}
	}
	return b.String()
}

// TSQuery returns terms as a PostgreSQL tsquery.
func TSQuery(terms []Term) string {
	var b strings.Builder
	for i, t := range terms {
		if i > 0 {
			b.WriteString(" & ")
		}
		b.WriteString("(" + strings.Join(t.Words, " <-> "))
		if t.Prefix {
			b.WriteString(":*")
		}
		b.WriteString(")")
	}
	return b.String()
}

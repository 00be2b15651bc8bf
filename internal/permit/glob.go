package permit

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/permit/shellcmd"
)

// fold returns a string in which upper and lower case, and all other forms of a letter that Unicode
// folds, are equal.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, s)
}

// glob reports whether the whole of s matches the pattern g. Its running time is at most
// proportional to the product of both lengths.
func glob(g, s string) bool {
	// Only the last star, and the position where its match started, need to be retried.
	star, mark, i, j := -1, 0, 0, 0
	for j < len(s) {
		if i < len(g) && g[i] == '*' {
			star, mark = i, j
			i++
			continue
		}
		if gi, sj, ok := matchOne(g, s, i, j); ok {
			i, j = gi, sj
			continue
		}
		if star < 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(s[mark:])
		mark += size
		i, j = star+1, mark
	}
	for i < len(g) && g[i] == '*' {
		i++
	}
	return i == len(g)
}

// literal returns the only text that the pattern g matches; ok is false if it matches others too.
func literal(g string) (text string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(g); i++ {
		switch {
		case g[i] == '*' || g[i] == '?':
			return "", false
		case g[i] == '[' && strings.HasPrefix(g[i:], quotedColon):
			b.WriteByte(':')
			i += len(quotedColon) - 1
			continue
		case g[i] == '[':
			return "", false
		case g[i] == '\\' && i+1 < len(g):
			i++
		}
		b.WriteByte(g[i])
	}
	return b.String(), true
}

// quotedColon is a colon that does not begin an argument of a pattern.
const quotedColon = "[:]"

// quote returns the pattern that matches only text.
func quote(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, ":", quotedColon).Replace(text)
}

// matchOne matches the character of s at j with the part of g at i, and returns the positions after
// both.
func matchOne(g, s string, i, j int) (int, int, bool) {
	if i >= len(g) {
		return 0, 0, false
	}
	c, size := utf8.DecodeRuneInString(s[j:])
	if c == 0 {
		return 0, 0, false // unknown text: only a star is sure to match it
	}
	switch g[i] {
	case '?':
		return i + 1, j + size, true
	case '[':
		end := classEnd(g, i)
		if end < 0 {
			return 0, 0, false
		}
		// path.Match handles classes; none of them can match a slash.
		if ok, err := path.Match(g[i:end+1], string(c)); err != nil || !ok {
			return 0, 0, false
		}
		return end + 1, j + size, true
	case '\\':
		if i++; i >= len(g) {
			return 0, 0, false
		}
	}
	w, n := utf8.DecodeRuneInString(g[i:])
	return i + n, j + size, w == c
}

// classEnd returns the index of the end of a class.
func classEnd(g string, i int) int {
	for k := i + 1; k < len(g); k++ {
		switch {
		case g[k] == '\\':
			k++
		case g[k] == ']' && k > i+1 && (k != i+2 || g[i+1] != '^'):
			return k
		}
	}
	return -1
}

// mayMatch reports whether some string that s stands for matches the pattern g. Each
// [shellcmd.Unknown] in s stands for any string. Its running time is proportional to the product of
// both lengths.
func mayMatch(g, s string) bool {
	if !strings.Contains(s, shellcmd.Unknown) {
		return glob(g, s)
	}
	// at[i] reports whether the part of s read so far may match g[:i].
	at := make([]bool, len(g)+1)
	at[0] = true
	next := make([]bool, len(g)+1)
	for j := 0; j < len(s); {
		c, size := utf8.DecodeRuneInString(s[j:])
		clear(next)
		before := false
		for i := range len(g) + 1 {
			if i > 0 && at[i-1] && g[i-1] == '*' {
				at[i] = true // a star matches nothing
			}
			before = before || at[i]
			switch {
			case c == 0:
				next[i] = before
			case !at[i] || i == len(g):
			case g[i] == '*':
				next[i] = true
			default:
				if to, _, ok := matchOne(g, s, i, j); ok {
					next[to] = true
				}
			}
		}
		at, next = next, at
		j += size
	}
	for i := range len(g) {
		if at[i] && g[i] == '*' {
			at[i+1] = true
		}
	}
	return at[len(g)]
}

package files

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// maxPattern is the maximum length of a pattern in bytes; the time that a match takes grows with
// it.
const maxPattern = 1000

// glob is a pattern for names or paths with the syntax of git: `*` and `?` do not match a slash,
// `**` between slashes matches any folders, and `[…]` matches one character of a set.
type glob struct {
	text  string // doublestar pattern; the name itself if literal
	exact bool   // no special characters
	whole bool   // matches paths, not names
	bytes bool   // characters are bytes, as in .gitignore; otherwise UTF-8
}

var (
	errPatternLength = fmt.Errorf("a pattern has at most %d bytes", maxPattern)
	errPattern       = errors.New("it has a bracket that is not closed, or ends with a backslash")
)

// newGlob parses a pattern; a pattern with a slash matches whole paths. It returns errPatternLength
// or errPattern.
func newGlob(p string, bytes bool) (glob, error) {
	g := glob{whole: strings.Contains(p, "/"), bytes: bytes, exact: !strings.ContainsAny(p, `*?[\`)}
	if len(p) > maxPattern {
		return glob{}, errPatternLength
	}
	p = strings.TrimPrefix(p, "/")
	if g.exact {
		g.text = p
		return g, nil
	}
	if bytes {
		p = latin(p)
	}
	var b strings.Builder
	for i := 0; i < len(p); {
		switch c := p[i]; c {
		case '*':
			n := len(p[i:]) - len(strings.TrimLeft(p[i:], "*"))
			// Two or more stars match folders if they are a whole element of the path; at its end
			// they match everything in a folder.
			part := n >= 2 && (i == 0 || p[i-1] == '/') &&
				(i+n == len(p) || p[i+n] == '/' || strings.HasPrefix(p[i+n:], `\/`))
			switch {
			case part && i > 0 && i+n == len(p):
				b.WriteString("**/*")
			case part && i+n < len(p) && p[i+n] == '\\':
				b.WriteString("*/**") // one or more folders if the slash is escaped
			case part:
				b.WriteString("**")
			default:
				b.WriteByte('*')
			}
			i += n
		case '[':
			class, n, err := globClass(p[i:])
			if err != nil {
				return glob{}, err
			}
			b.WriteString(class)
			i += n
		case '?':
			b.WriteByte(c)
			i++
		default:
			if c == '\\' {
				i++
			}
			if i == len(p) {
				return glob{}, errPattern
			}
			_, n := utf8.DecodeRuneInString(p[i:])
			b.WriteString(literal(p[i : i+n]))
			i += n
		}
	}
	g.text = b.String()
	return g, nil
}

// match reports whether the pattern matches the path.
func (g glob) match(name string) bool {
	if !g.whole {
		name = path.Base(name)
	}
	if g.exact {
		return g.text == name
	}
	if g.bytes {
		name = latin(name)
	}
	return doublestar.MatchUnvalidated(g.text, name)
}

// latin returns a string whose characters are the bytes of s.
func latin(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return s
	}
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}

// literal returns a pattern that matches only the character c.
func literal(c string) string {
	if strings.ContainsAny(c, `*?[]{}\-!^,`) {
		return `\` + c
	}
	return c
}

// posix maps the named ASCII classes to pairs of first and last character.
var posix = map[string]string{
	"alpha": "AZaz", "digit": "09", "alnum": "AZaz09", "upper": "AZ", "lower": "az", "xdigit": "09AFaf",
	"blank": "  \t\t", "space": "  \t\r",
	"cntrl": "\x00\x1f\x7f\x7f", "print": " ~", "graph": "!~", "punct": "!/:@[`{~",
}

// set holds the characters of a class as pairs of first and last character.
type set []rune

func (s *set) add(first, last rune) { *s = append(*s, first, last) }

// text returns the class in the syntax of doublestar, whose classes must not match a slash.
func (s set) text(not bool) string {
	var b strings.Builder
	put := func(first, last rune) {
		if first <= last {
			b.WriteString(`\` + string(first) + `-\` + string(last))
		}
	}
	for i := 0; i < len(s); i += 2 {
		if first, last := s[i], s[i+1]; not || first > '/' || last < '/' {
			put(first, last)
		} else {
			put(first, '/'-1)
			put('/'+1, last)
		}
	}
	if not {
		return "[^" + b.String() + `\/]`
	}
	if b.Len() == 0 {
		put('\uFFFE', '\uFFFE') // not a character
	}
	return "[" + b.String() + "]"
}

// globClass parses the class at the start of p and returns it with its length in p. It returns
// errPattern for an invalid class.
func globClass(p string) (class string, n int, err error) {
	i, not := 1, false
	if i < len(p) && (p[i] == '!' || p[i] == '^') {
		i, not = i+1, true
	}
	// next returns the next character, which a backslash may precede.
	next := func() (rune, bool) {
		if i < len(p) && p[i] == '\\' {
			i++
		}
		c, size := utf8.DecodeRuneInString(p[i:])
		i += size
		return c, size > 0
	}
	var chars set
	for first := true; i < len(p); first = false {
		if p[i] == ']' && !first {
			return chars.text(not), i + 1, nil
		}
		if strings.HasPrefix(p[i:], "[:") {
			name, rest, ok := strings.Cut(p[i+2:], ":]")
			pairs, known := posix[name]
			switch end := strings.IndexByte(p[i+2:], ']'); {
			case ok && known:
				for j := 0; j < len(pairs); j += 2 {
					chars.add(rune(pairs[j]), rune(pairs[j+1]))
				}
				i = len(p) - len(rest)
				continue
			case end >= 0 && strings.HasSuffix(p[i+2:i+2+end], ":"):
				return "", 0, errPattern // unknown name
			}
		}
		from, ok := next()
		chars.add(from, from) // even if it starts a range that ends before it
		to := from
		if ok && i+1 < len(p) && p[i] == '-' && p[i+1] != ']' {
			i++
			to, ok = next()
		}
		if !ok {
			break
		}
		chars.add(from, to)
	}
	return "", 0, errPattern
}

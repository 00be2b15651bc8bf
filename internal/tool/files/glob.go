package files

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxPattern bounds a pattern; it is compiled to a regular expression of a few times its length.
const maxPattern = 1000

// globPattern compiles a pattern as shells and git have them: `*` and `?` do not match a slash, `**` does, `[…]` is one character of several.
func globPattern(p string) (*regexp.Regexp, error) {
	if len(p) > maxPattern {
		return nil, fmt.Errorf("a pattern has at most %d bytes", maxPattern)
	}
	return regexp.Compile("^" + globText(p) + "$")
}

func globText(p string) string {
	var b strings.Builder
	for i := 0; i < len(p); {
		rest := p[i:]
		switch {
		case strings.HasPrefix(rest, "**/") && (i == 0 || p[i-1] == '/'):
			b.WriteString("(?:.*/)?")
			i += 3
		case strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			i += 2
		case p[i] == '*':
			b.WriteString("[^/]*")
			i++
		case p[i] == '?':
			b.WriteString("[^/]")
			i++
		case p[i] == '[':
			class, n := globClass(rest)
			b.WriteString(class)
			i += n
		case p[i] == '\\' && i+1 < len(p):
			_, n := utf8.DecodeRuneInString(rest[1:])
			b.WriteString(regexp.QuoteMeta(rest[1 : 1+n]))
			i += 1 + n
		default:
			_, n := utf8.DecodeRuneInString(rest)
			b.WriteString(regexp.QuoteMeta(rest[:n]))
			i += n
		}
	}
	return b.String()
}

// globClass compiles the class at the beginning of p and gives its length there. A bracket that is never closed stands for itself.
func globClass(p string) (string, int) {
	end := strings.IndexByte(p[min(2, len(p)):], ']')
	if end < 0 {
		return `\[`, 1
	}
	inner := p[1 : 2+end]
	not := ""
	if inner != "" && (inner[0] == '!' || inner[0] == '^') {
		not, inner = "^", inner[1:]
	}
	if inner == "" {
		return `\[`, 1
	}
	var b strings.Builder
	for _, r := range inner {
		if strings.ContainsRune(`[]\^&~|`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return "[" + not + b.String() + "]", 3 + end
}

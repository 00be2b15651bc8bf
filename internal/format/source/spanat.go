package source

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hocket-run/hocket/diag"
)

// SpanAt returns the position in the document of the bytes from offset to offset+length of a
// String's Text, for problems found inside a text.
//
// It is exact for JSON text, for quoted and plain YAML text on one line, and for literal blocks
// (`|`). Otherwise (folded blocks, text over several lines, a value that is not a String) it
// returns the span of the whole value.
func (n *Node) SpanAt(offset, length int) diag.Span {
	if n == nil {
		return diag.Span{}
	}
	if n.Kind != String || n.file == nil || offset < 0 || length < 0 || offset+length > len(n.Text) {
		return n.Span
	}
	start, ok := n.sourceOffset(offset)
	if !ok {
		return n.Span
	}
	if length == 0 {
		return n.file.span(start, start)
	}
	end, ok := n.sourceOffset(offset + length)
	if !ok {
		end = start
	}
	return n.file.span(start, end)
}

// sourceOffset finds the offset in the file of a byte of the text. It reads the source again in
// parallel with the text and fails where the two diverge.
func (n *Node) sourceOffset(offset int) (int, bool) {
	at := n.Span.Start.Offset
	rest := n.file.data[at:]
	switch {
	case len(rest) == 0:
		return 0, false
	case rest[0] == '"':
		i, ok := doubleQuoted(rest[1:], n.Text, offset)
		return at + 1 + i, ok
	case rest[0] == '\'':
		i, ok := singleQuoted(rest[1:], n.Text, offset)
		return at + 1 + i, ok
	case rest[0] == '|':
		i, ok := literal(rest, n.Text, offset)
		return at + i, ok
	case bytes.HasPrefix(rest, []byte(n.Text)):
		return at + offset, true
	}
	return 0, false
}

// doubleQuoted walks double-quoted source in parallel with its text.
func doubleQuoted(src []byte, text string, offset int) (int, bool) {
	i, t := 0, 0
	for t < offset {
		if i >= len(src) {
			return 0, false
		}
		if src[i] != '\\' {
			_, size := utf8.DecodeRune(src[i:])
			if src[i] != text[t] {
				return 0, false // a folded line
			}
			i, t = i+size, t+size
			continue
		}
		r, size := escape(src[i:])
		if size == 0 || !strings.HasPrefix(text[t:], string(r)) {
			return 0, false
		}
		i, t = i+size, t+utf8.RuneLen(r)
	}
	return i, true
}

// escape reads one escape sequence of JSON or YAML; it returns size 0 if there is none or it ends a
// line.
func escape(src []byte) (r rune, size int) {
	if len(src) < 2 {
		return 0, 0
	}
	hex := func(digits int) (rune, bool) {
		if len(src) < 2+digits {
			return 0, false
		}
		v, err := strconv.ParseUint(string(src[2:2+digits]), 16, 32)
		return rune(v), err == nil
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[src[1]]
	if digits == 0 {
		r, ok := map[byte]rune{
			'0': 0, 'a': '\a', 'b': '\b', 't': '\t', '\t': '\t', 'n': '\n', 'v': '\v', 'f': '\f', 'r': '\r', 'e': 0x1b,
			' ': ' ',
			'"': '"', '/': '/', '\\': '\\', 'N': 0x85, '_': 0xa0, 'L': 0x2028, 'P': 0x2029,
		}[src[1]]
		if !ok {
			return 0, 0
		}
		return r, 2
	}
	r, ok := hex(digits)
	if !ok {
		return 0, 0
	}
	size = 2 + digits
	if utf16.IsSurrogate(r) {
		first := r
		r = utf8.RuneError
		if len(src) >= 12 && src[6] == '\\' && src[7] == 'u' {
			if v, err := strconv.ParseUint(string(src[8:12]), 16, 32); err == nil {
				if both := utf16.DecodeRune(first, rune(v)); both != utf8.RuneError {
					return both, 12
				}
			}
		}
	}
	return r, size
}

// singleQuoted walks single-quoted source, where a doubled quote stands for one, in parallel with
// its text.
func singleQuoted(src []byte, text string, offset int) (int, bool) {
	i := 0
	for t := range offset {
		if i >= len(src) || src[i] != text[t] {
			return 0, false
		}
		if src[i] == '\'' {
			i++
		}
		i++
	}
	return i, true
}

// literal walks a `|` block: its lines are the text's lines after a common indentation.
func literal(src []byte, text string, offset int) (int, bool) {
	line := strings.Count(text[:offset], "\n")
	column := offset - (strings.LastIndexByte(text[:offset], '\n') + 1)
	lines := bytes.SplitAfter(src, []byte("\n"))[1:] // without the header
	textLines := strings.SplitAfter(text, "\n")
	indent := -1
	for i := range min(len(lines), len(textLines)) {
		if want := strings.TrimRight(textLines[i], "\n"); want != "" {
			indent = bytes.Index(lines[i], []byte(want))
			break
		}
	}
	if indent < 0 || line > len(lines) {
		return 0, false
	}
	at := len(src) - len(bytes.Join(lines, nil)) // after the header
	for i := range line {
		at += len(lines[i])
	}
	if line == len(lines) {
		return at, column == 0
	}
	want := strings.TrimRight(textLines[line], "\n")
	switch {
	case want == "":
		return at, true
	case len(lines[line]) < indent || !bytes.HasPrefix(lines[line][indent:], []byte(want)):
		return 0, false
	}
	return at + indent + column, true
}

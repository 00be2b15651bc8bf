// Package jsontext reads and writes JSON where encoding/json is too slow or not strict enough: it
// finds the ends of values, and reads and writes strings. All JSON strings that Hocket writes
// itself have the form of encoding/json without HTML escaping, so each string has exactly one form.
package jsontext

import "unicode/utf8"

const hex = "0123456789abcdef"

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD, and isValid is
// false.
func AppendString(b []byte, s string) (_ []byte, isValid bool) {
	b, isValid = AppendEscaped(append(b, '"'), s)
	return append(b, '"'), isValid
}

// AppendEscaped is AppendString without quotation marks.
func AppendEscaped(b []byte, s string) (_ []byte, isValid bool) {
	start := 0
	isValid = true
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\b':
				b = append(b, '\\', 'b')
			case '\f':
				b = append(b, '\\', 'f')
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
			}
			i++
			start = i
			continue
		}
		x, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case x == utf8.RuneError && size == 1:
			b = append(append(b, s[start:i]...), `\ufffd`...)
			start, isValid = i+size, false
		case x == '\u2028' || x == '\u2029':
			b = append(append(b, s[start:i]...), '\\', 'u', '2', '0', '2', hex[x&0xf])
			start = i + size
		}
		i += size
	}
	return append(b, s[start:]...), isValid
}

package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// minLine is the minimum length at which a line of a multi-line value is a separate secret.
const minLine = 16

// parts returns a value and its long lines.
func parts(value string) []string {
	out := []string{value}
	lines := strings.Split(value, "\n")
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if len(lines) > 1 && len(line) >= minLine && !strings.HasPrefix(line, "-----") {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// decodedForms returns the forms of a part in a text whose escapes were decoded: unchanged, and
// with its own escapes decoded along with the text's; a space may be a plus sign.
func decodedForms(part string) []string {
	out := []string{part, strings.ReplaceAll(part, " ", "+"), latin1(part)}
	v := view{text: []byte(part)}
	for range maxLevels {
		next, more, _ := v.decoded(true)
		if !more {
			break
		}
		v = next
		if len(v.text) >= MinLen {
			out = append(out, string(v.text))
		}
	}
	return out
}

// latin1 returns a text with one byte for each Latin-1 character, which is what \xe4 and %E4 mean
// if they represent characters.
func latin1(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r >= utf8.RuneSelf && r <= 0xff {
			b.WriteByte(byte(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// asciiJSON returns a JSON string without its quotes, in pure ASCII.
func asciiJSON(quoted string) string {
	var b strings.Builder
	for _, r := range quoted {
		switch high, low := utf16.EncodeRune(r); {
		case r < utf8.RuneSelf:
			b.WriteByte(byte(r))
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String()
}

// quotedForms returns a part as a JSON string, with and without HTML escapes: data that is encoded
// further is often JSON.
func quotedForms(part string) []string {
	out := []string{part}
	if text, err := json.Marshal(part); err == nil {
		out = append(out, string(text[1:len(text)-1]))
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(part) == nil {
		plain := strings.TrimSuffix(strings.TrimSpace(b.String()), `"`)[1:]
		out = append(out, plain, asciiJSON(plain))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// base64Forms returns the base64 encodings of a text at any offset in a longer text, such as
// user:password, limited to the characters that depend only on the text, in the standard alphabet.
func base64Forms(text string) []string {
	var out []string
	for shift := range 3 {
		made := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), text...))
		first := (shift*8 + 5) / 6          // characters that share a bit with the preceding text
		last := (shift + len(text)) * 8 / 6 // characters without a bit of the following text
		if last-first >= minBase64 {
			out = append(out, made[first:last])
		}
	}
	return out
}

// utf16Text returns a text in little-endian UTF-16, which PowerShell encodes further.
func utf16Text(text string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// quotedPrintable returns a text in the quoted-printable encoding of mail, on one line.
func quotedPrintable(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c == '=' || c >= utf8.RuneSelf || c < ' ' && c != '\t' {
			fmt.Fprintf(&b, "=%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// minBase64 is the minimum length at which the middle of base64 text is attributed to a value. It
// is one less than the number of characters that depend only on a value of MinLen bytes.
const minBase64 = 7

// patterns are the strings searched for: in plain text, in text read as base64, and in text read as
// hexadecimal digits.
type patterns struct{ plain, base64, hex map[string]string }

func patternsOf(values map[string]string) patterns {
	p := patterns{map[string]string{}, map[string]string{}, map[string]string{}}
	for value, name := range values {
		mark := marker(name)
		add := func(to map[string]string, text string) {
			if was, ok := to[text]; !ok || mark < was {
				to[text] = mark
			}
		}
		for _, part := range parts(value) {
			for _, text := range decodedForms(part) {
				add(p.plain, text)
			}
			add(p.plain, quotedPrintable(part))
			for _, text := range append(quotedForms(part), utf16Text(part)) {
				add(p.hex, hex.EncodeToString([]byte(text)))
				for _, once := range base64Forms(text) {
					add(p.base64, once)
				}
			}
			for shift := range 3 { // base64 of base64, as in container registry files
				for _, once := range base64Whole(part, shift) {
					for _, twice := range base64Forms(once) {
						add(p.base64, twice)
					}
				}
			}
		}
	}
	return p
}

// maxDoubleBase64 is the maximum size, in bytes, of values searched for as base64 of base64.
const maxDoubleBase64 = 256

// base64Whole returns the characters that depend only on the text, in both alphabets.
func base64Whole(text string, shift int) []string {
	all := base64Forms(text)
	if len(text) > maxDoubleBase64 || shift >= len(all) || len(all[shift]) < 2*minBase64 {
		return nil
	}
	once := all[shift]
	other := strings.NewReplacer("+", "-", "/", "_").Replace(once)
	if other == once {
		return []string{once}
	}
	return []string{once, other}
}

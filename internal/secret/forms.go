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

// minLine is the length from which a line of a value of several lines is a secret of its own.
const minLine = 16

// parts gives a value and its long lines.
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

// decodedForms gives a part as it reads in a text whose escapes were decoded: as it is, and as its own escapes are decoded with the text's; a space may be a plus sign.
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

// latin1 gives a text with one byte for each character that Latin-1 has: what \xe4 and %E4 say where they stand for characters.
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

// asciiJSON gives a text in JSON without the quotes, in ASCII alone.
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

// quotedForms gives a part as JSON has it, with and without escapes for HTML: what is encoded further is often JSON.
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

// base64Forms gives what base64 makes of a text wherever it begins in a longer text, such as user:password: the characters that only the text tells, in the standard
// alphabet.
func base64Forms(text string) []string {
	var out []string
	for shift := range 3 {
		made := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), text...))
		first := (shift*8 + 5) / 6          // characters that hold a bit of what is before
		last := (shift + len(text)) * 8 / 6 // characters without a bit of what follows
		if last-first >= minBase64 {
			out = append(out, made[first:last])
		}
	}
	return out
}

// utf16Text gives a text in UTF-16, little-endian: what PowerShell encodes further.
func utf16Text(text string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// quotedPrintable gives a text as mails have it, on one line.
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

// minBase64 is the length from which the middle of a base64 text is taken for a value's. A value of MinLen bytes has so many characters that no other byte tells, less
// one.
const minBase64 = 7

// patterns are what is looked for: in texts, in those read as base64, and in those read as hexadecimal digits.
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
			for shift := range 3 { // base64 of base64, as in the file of a container registry
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

// maxTwice bounds the values that are looked for as base64 of base64, in bytes.
const maxTwice = 256

// base64Whole gives what only the text tells, in both alphabets.
func base64Whole(text string, shift int) []string {
	all := base64Forms(text)
	if len(text) > maxTwice || shift >= len(all) || len(all[shift]) < 2*minBase64 {
		return nil
	}
	once := all[shift]
	other := strings.NewReplacer("+", "-", "/", "_").Replace(once)
	if other == once {
		return []string{once}
	}
	return []string{once, other}
}

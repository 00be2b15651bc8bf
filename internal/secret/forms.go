package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// minLine is the length from which a line of a value of several lines is a secret of its own.
const minLine = 16

// forms gives the ways in which a value is commonly written: as it is, in JSON and Go quotes, in addresses, in base64 at any place of a longer text,
// and line by line.
func forms(value string) []string {
	out := written(value)
	lines := strings.Split(value, "\n")
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if len(lines) > 1 && len(line) >= minLine && !strings.HasPrefix(line, "-----") {
			out = append(out, written(line)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func written(value string) []string {
	out := []string{value}
	add := func(text string) {
		if len(text) >= MinLen && text != value {
			out = append(out, text)
		}
	}
	for _, quoted := range jsonForms(value) {
		add(quoted)
		for _, twice := range jsonForms(quoted) { // JSON inside JSON: arguments of tool calls on the wire
			add(twice)
		}
	}
	q := strconv.Quote(value)
	add(q[1 : len(q)-1])
	add(url.QueryEscape(value))
	add(url.PathEscape(value))
	for _, b := range base64Forms(value) {
		add(b)
	}
	return out
}

// jsonForms gives the ways in which encoders write a text in JSON, without the quotes: with and without escapes for HTML and of slashes.
func jsonForms(text string) []string {
	var out []string
	for _, html := range []bool{true, false} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(html)
		if e.Encode(text) != nil {
			continue // a text into a Buffer: it does not fail
		}
		quoted := string(bytes.TrimSuffix(bytes.TrimSpace(b.Bytes()), []byte{'"'})[1:])
		out = append(out, quoted, strings.ReplaceAll(quoted, "/", `\/`))
	}
	return out
}

// minBase64 is the length from which the middle of a base64 text is taken for a value's.
const minBase64 = 8

// base64Forms gives what base64 makes of a value wherever it begins in a longer text, such as user:password: the characters that only the value tells.
func base64Forms(value string) []string {
	var out []string
	for shift := range 3 {
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := enc.EncodeToString(append(make([]byte, shift), value...))
			first := (shift*8 + 5) / 6           // characters that hold a bit of what stands before
			last := (shift + len(value)) * 8 / 6 // characters without a bit of what follows
			if last-first >= minBase64 {
				out = append(out, text[first:last])
			}
		}
	}
	return out
}

package secret_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/secret"
)

// each returns an encoder of a text character by character.
func each(format string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for _, u := range utf16.Encode([]rune(s)) {
			fmt.Fprintf(&b, format, u)
		}
		return b.String()
	}
}

// eachByte does the same byte by byte.
func eachByte(format string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for _, c := range []byte(s) {
			fmt.Fprintf(&b, format, c)
		}
		return b.String()
	}
}

func inJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func base64Of(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) }
func hexOf(s string) string    { return hex.EncodeToString([]byte(s)) }

// nest applies encoders, the innermost first.
func nest(text string, encoders ...func(string) string) string {
	for _, encode := range encoders {
		text = encode(text)
	}
	return text
}

// SEC11: a value is found in every nesting of six encodings, up to four levels deep; all of it is
// replaced and nothing else.
func TestRedact_Nestings(t *testing.T) {
	t.Parallel()
	const value = `sk-Nest/ed+7"q`
	k := keeper(t, map[string]string{"K": value})
	names := []string{"base64", "hex", "json", "html", "percent", "octal"}
	encoders := []func(string) string{
		base64Of, hexOf, each(`\u%04x`), each("&#%d;"), eachByte("%%%02X"), eachByte(`\%03o`),
	}
	nestings, shown := 0, 0
	var try func(text string, path []string)
	try = func(text string, path []string) {
		nestings++
		if got := k.Redact("before " + text + " after"); got != "before [secret K] after" {
			if shown++; shown <= 10 {
				t.Errorf("%s: %.200q", strings.Join(path, " in "), got)
			}
		}
		if len(path) < 4 {
			for i, encode := range encoders {
				try(encode(text), append(slices.Clip(path), names[i]))
			}
		}
	}
	try(value, nil)
	if shown > 0 {
		t.Errorf("%d of %d nestings are shown", shown, nestings)
	}
}

// SEC11: the same with text around each level, more encoders, values of all characters, and in
// pieces.
func TestRedact_NestingsInText(t *testing.T) {
	t.Parallel()
	lines := func(s string) string {
		var b strings.Builder
		for s = base64.StdEncoding.EncodeToString([]byte(s)); len(s) > 20; s = s[20:] {
			b.WriteString(s[:20] + "\r\n")
		}
		return b.String() + s
	}
	encoders := []func(string) string{
		base64Of, hexOf, inJSON, html.EscapeString, url.QueryEscape, url.PathEscape, lines,
		each(`\u%04X`), each("&#%d;"), each("&#x%x;"), eachByte("%%%02x"), eachByte(`\x%02x`), eachByte("%02X:"),
		func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
		func(s string) string { return fmt.Sprintf("% x", s) }, func(s string) string {
			return fmt.Sprintf("%+q",
				s)
		},
	}
	around := rapid.SampledFrom([]string{"", " ", "a", "u:", "key=", `{"k": `, "</b>", "\n", "ab/cd", "% ", `\ `,
		"&# ", "€"})
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[a-zA-Z0-9+/_=.:€-]{6,20}`).Draw(t, "value")
		k := &secret.Keeper{}
		if err := k.Add("K", value); err != nil {
			t.Fatal(err)
		}
		text := around.Draw(t, "before") + value
		for range rapid.IntRange(0, 4).Draw(t, "levels") {
			text = around.Draw(t, "before") + rapid.SampledFrom(encoders).Draw(t,
				"encoder")(text) + around.Draw(t, "after")
		}
		got := k.Redact(text)
		if !strings.Contains(got, "[secret K]") {
			t.Fatalf("%q became %q", text, got)
		}
		if pieces := inPieces(k, text, rapid.IntRange(1, 9).Draw(t, "size")); pieces != got {
			t.Fatalf("%q in pieces %q, at once %q", text, pieces, got)
		}
	})
}

// SEC11: what programs send and print that nests encodings, each with text of its own.
func TestRedact_NestingsOfPrograms(t *testing.T) {
	t.Parallel()
	const value = "pa55\u00e9&w\"ord/+=<x>"
	k := keeper(t, map[string]string{"K": value})
	std := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	raw := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	wide := func(s string) string { // UTF-16, as PowerShell encodes commands
		var b strings.Builder
		for _, u := range utf16.Encode([]rune(s)) {
			b.Write([]byte{byte(u), byte(u >> 8)})
		}
		return b.String()
	}
	in := func(format string) func(string) string {
		return func(s string) string { return fmt.Sprintf(format, s) }
	}
	mail := func(s string) string {
		var b strings.Builder
		for s = std(s); len(s) > 76; s = s[76:] {
			b.WriteString(s[:76] + "\r\n")
		}
		return b.String() + s
	}
	x, u, colons := eachByte(`\x%02x`), each(`\u%04x`), eachByte("%02x:")
	dec, hexRef, esc, css := each("&#%d;"), each("&#x%X;"), url.QueryEscape, each(`\u{%x}`)
	basic := func(s string) string { return "Basic " + std("user:"+s) }
	object, secretOf := in(`{"auths":{"r.io":{"auth":"%s"}}}`), in(`{"data":{"config":"%s"},"kind":"Secret"}`)
	type steps = []func(string) string
	for name, encoders := range map[string]steps{
		"docker": {basic, object}, "docker in a secret": {basic, object, std, secretOf},
		"secret in an answer": {std, secretOf, inJSON}, "secret twice": {std, secretOf, std, secretOf, inJSON},
		"token":             {inJSON, in(`{"sub":%s}`), raw, in("eyJhbGciOiJub25lIn0.%s.c2ln")},
		"token in a cookie": {inJSON, in(`{"sub":%s}`), raw, in("h.%s.s"), esc, in("Set-Cookie: t=%s; Path=/")},
		"token in a link":   {inJSON, raw, in("https://a.example/?state=%s&x=1"), html.EscapeString},
		"basic in JSON":     {basic, inJSON}, "basic in JSON twice": {basic, inJSON, inJSON},
		"basic in hex": {basic, hexOf}, "basic in a dump": {basic, colons}, "basic in a query": {basic, esc},
		"basic in a query twice": {basic, esc, esc}, "basic in HTML": {basic, dec}, "basic in a page": {basic, u,
			in("<script>s='%s'</script>")},
		"PowerShell":         {in("curl -u u:%s"), wide, std, in("powershell -enc %s")},
		"PowerShell in JSON": {in("curl -u u:%s"), wide, std, inJSON, inJSON}, "PowerShell in hex": {wide, std,
			hexOf},
		"PowerShell in a mail": {wide, std, mail}, "wide digits": {wide, hexOf, std, std},
		"mail": {in("Dear\n%s\n"), mail}, "mail in JSON": {in("Dear\n%s\n"), mail, inJSON, inJSON},
		"mail in a mail": {in("a\n%s"), mail, in("b\n%s"), mail}, "mail of HTML": {dec, in("<p>%s</p>"), mail,
			inJSON},
		"picture": {html.EscapeString, in("<svg><text>%s</text></svg>"), std,
			in("url(data:image/svg+xml;base64,%s)")},
		"picture in a style": {hexRef, in("<svg>%s</svg>"), url.PathEscape, in("url('data:image/svg+xml,%s')"),
			inJSON},
		"form": {esc, in("a=1&p=%s&b=2")}, "form in JSON": {esc, in("p=%s&b=2"), inJSON},
		"form in base64": {esc, in("p=%s&b"), std},
		"form in a form": {esc, in("p=%s&b"), esc, in("q=%s")}, "form in hex in JSON": {esc, hexOf, inJSON},
		"JSON in a form": {inJSON, in(`{"p":%s}`), esc, in("payload=%s")}, "JSON in a form in base64": {inJSON,
			esc, std},
		"JSON in base64 in a form": {inJSON, std, esc}, "JSON four times": {inJSON, inJSON, inJSON, inJSON},
		"script": {x, inJSON}, "script in base64": {x, in("eval('%s')"), std}, "script in script": {x, x},
		"braces":         {css, u},
		"braces in HTML": {css, dec}, "HTML in HTML": {html.EscapeString, html.EscapeString, html.EscapeString},
		"references in references": {hexRef, dec}, "references in hex": {hexRef, hexOf},
		"digits in digits":           {hexOf, hexOf, hexOf},
		"digits in base64 in digits": {hexOf, std, hexOf}, "database": {hexOf, in(`\x%s`)},
		"database in JSON":        {hexOf, in(`\x%s`), inJSON, std},
		"percent in base64 twice": {url.PathEscape, std, std}, "percent in percent in hex": {url.PathEscape, esc,
			hexOf},
		"URL-safe in URL-safe": {raw, raw, raw, raw}, "event": {basic, inJSON, in("data: %s\n\n"), inJSON},
		"log": {inJSON, in("level=info msg=%s"), in("%q"), std}, "patch": {in("+key: %s\n"), std,
			in("content: %s"), inJSON},
	} {
		text := nest(value, encoders...)
		got := k.Redact(text)
		if !strings.Contains(got, "[secret K]") {
			t.Errorf("%s: %q is shown", name, text)
		}
		if pieces := inPieces(k, text, 5); pieces != got {
			t.Errorf("%s: in pieces %q, at once %q", name, pieces, got)
		}
	}
}

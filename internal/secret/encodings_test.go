package secret_test

import (
	"bufio"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"html/template"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/secret"
)

// spelled is a text that contains a value, with the number of bytes around it that belong to
// something else.
type spelled struct {
	Encoder, Text string
	Around        int
}

// spellings returns the corpus; testdata/spellings describes how it was created.
func spellings(t *testing.T) (values []string, all map[string][]spelled) {
	t.Helper()
	text, err := os.ReadFile("testdata/spellings/values.txt")
	if err != nil {
		t.Fatal(err)
	}
	values = strings.Split(strings.TrimSpace(string(text)), "\n")
	all = map[string][]spelled{"go": ofGo(values)}
	files, err := filepath.Glob("testdata/spellings/*.jsonl")
	if err != nil || len(files) != 5 {
		t.Fatalf("%v: %v", files, err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		language := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var one spelled
			if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
				t.Fatalf("%s: %v: %s", file, err, lines.Text())
			}
			all[language] = append(all[language], one)
		}
	}
	return values, all
}

func ofGo(values []string) (out []spelled) {
	for name, encode := range map[string]func(string) string{
		"json": func(s string) string { b, _ := json.Marshal(s); return string(b) }, "quote": strconv.Quote,
		"ascii": strconv.QuoteToASCII,
		"%+q": func(s string) string {
			return fmt.Sprintf("%+q", s)
		}, "%x": func(s string) string { return fmt.Sprintf("%x", s) }, "% X": func(s string) string {
			return fmt.Sprintf("% X", s)
		},
		"query": url.QueryEscape, "path": url.PathEscape, "html": html.EscapeString, "js": template.JSEscapeString,
		"template": template.HTMLEscapeString,
		"xml": func(s string) string {
			var b strings.Builder
			_ = xml.EscapeText(&b, []byte(s))
			return b.String()
		},
		"hex": func(s string) string { return hex.EncodeToString([]byte(s)) }, "base64": func(s string) string {
			return base64.StdEncoding.EncodeToString([]byte(s))
		},
		"raw base64 for addresses": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"json of a query": func(s string) string {
			b, _ := json.Marshal("?k=" + url.QueryEscape(s))
			return string(b)
		},
	} {
		for _, v := range values {
			for _, around := range [][2]string{{"", ""}, {"u:", ""}, {"key", ", end"}} {
				n := 0
				if around[0]+around[1] != "" {
					n = len(encode(around[0] + around[1]))
				}
				out = append(out, spelled{name, encode(around[0] + v + around[1]), n})
			}
		}
	}
	return out
}

// SEC11: a value is found in every spelling produced by the encoders of six languages, at any
// position in a longer text, whole and in pieces. Nothing of it is left.
func TestSpellings(t *testing.T) {
	t.Parallel()
	values, all := spellings(t)
	k := &secret.Keeper{}
	for _, v := range values {
		if err := k.Add("K", v); err != nil {
			t.Fatal(err)
		}
	}
	total, missed := 0, map[string]int{}
	for language, list := range all {
		for _, one := range list {
			total++
			whole := "before " + one.Text + " after"
			got := k.Redact(whole)
			left := strings.TrimSuffix(strings.TrimPrefix(strings.ReplaceAll(got, "[secret K]", ""), "before "),
				" after")
			// Quotation marks, padding, line ends and a base64 character that holds bits of its
			// neighbors may be left.
			if !strings.Contains(got, "[secret K]") || len(left) > one.Around+14 {
				if missed[language+" "+one.Encoder]++; missed[language+" "+one.Encoder] == 1 {
					t.Errorf("%s, %s: %q became %q", language, one.Encoder, one.Text, got)
				}
			}
			for _, size := range []int{1, 3, 7} {
				if pieces := inPieces(k, whole, size); pieces != got {
					t.Errorf("%s, %s: %q in pieces of %d became %q, at once %q", language, one.Encoder, whole, size,
						pieces, got)
				}
			}
		}
	}
	t.Logf("%d spellings of %d values by %d languages, %d encoders missed", total, len(values), len(all), len(missed))
	if total < 700 {
		t.Errorf("%d spellings are too few", total)
	}
}

func inPieces(k *secret.Keeper, text string, size int) string {
	var b strings.Builder
	tail := k.Tail()
	for ; text != ""; text = text[min(size, len(text)):] {
		b.WriteString(tail.Write(text[:min(size, len(text))]))
	}
	b.WriteString(tail.Flush())
	return b.String()
}

// SEC11: pieces produce the same as the whole wherever they are cut, even in text full of escapes
// that are complete, broken, nested or truncated; and a text without a value is returned unchanged.
func TestRedact_SplitEscapes(t *testing.T) {
	t.Parallel()
	values := []string{`a=b+c/d"e`, "a\\nb%3Dc&amp;d", "0a0b0c0d", "ba ba ba"}
	rapid.Check(t, func(t *rapid.T) {
		k := &secret.Keeper{}
		for _, v := range rapid.SliceOfNDistinct(rapid.SampledFrom(values), 0, 4, rapid.ID[string]).Draw(t, "values") {
			if err := k.Add("N", v); err != nil {
				t.Fatal(err)
			}
		}
		encoders := []func(string) string{
			func(s string) string { return s }, url.QueryEscape, html.EscapeString, func(s string) string {
				b, _ := json.Marshal(s)
				return string(b)
			},
			func(s string) string { return hex.EncodeToString([]byte(s)) }, func(s string) string {
				return base64.StdEncoding.EncodeToString([]byte("x" + s))
			},
			func(s string) string { return s[:len(s)/2] }, strconv.QuoteToASCII,
		}
		one := rapid.OneOf(rapid.SampledFrom(values), rapid.StringMatching(`[\\%&#;ux0-9a-fA-F="+\n :ADd{}]{0,12}`))
		var b strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			part := one.Draw(t, "part")
			for range rapid.IntRange(0, 3).Draw(t, "levels") {
				part = rapid.SampledFrom(encoders).Draw(t, "encoder")(part)
			}
			b.WriteString(part)
		}
		whole := b.String()
		want := k.Redact(whole)
		if strings.Count(want, "[secret N]") == 0 && want != whole {
			t.Fatalf("%q became %q", whole, want)
		}
		tail := k.Tail()
		var got strings.Builder
		for rest := whole; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			got.WriteString(tail.Write(rest[:n]))
			rest = rest[n:]
		}
		got.WriteString(tail.Flush())
		if got.String() != want {
			t.Fatalf("%q in pieces %q, at once %q", whole, got.String(), want)
		}
	})
}

// SEC11: the spellings of a value produced by PowerShell and mail programs.
func TestSpellings_PowerShellAndMail(t *testing.T) {
	k := &secret.Keeper{}
	if err := k.Add("KEY", "sk-Ab+c/d=e\u00e4 x"); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		// [Convert]::ToBase64String([Text.Encoding]::Unicode.GetBytes($v))
		"cwBrAC0AQQBiACsAYwAvAGQAPQBlAOQAIAB4AA==",
		"73006b002d00410062002b0063002f0064003d006500e40020007800", // the same bytes as digits
		"dQA6AHMAawAtAEEAYgArAGMALwBkAD0AZQDkACAAeAA=",             // preceded by u:
		"sk-Ab+c/d=3De=C3=A4 x",                                    // quoted-printable
	} {
		if got := k.Redact("a " + text + " z"); !strings.Contains(got, "[secret KEY]") {
			t.Errorf("%q is shown", got)
		}
	}
}

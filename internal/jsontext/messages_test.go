package jsontext_test

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/jsontext"
	_ "github.com/hocket-run/hocket/internal/randtest"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in, out string
		lines   []string
	}{
		"messages":       {"{\"a\":1}\n{\"b\":\"}\\\"{\"}\n", "{\"a\":1}\n{\"b\":\"}\\\"{\"}\n", nil},
		"greeting":       {"Welcome to v1!\n{\"a\":1}\n", "{\"a\":1}\n", []string{"Welcome to v1!"}},
		"between":        {"{\"a\":1}\nDEBUG {x}\r\n{\"b\":2}\n", "{\"a\":1}\n{\"b\":2}\n", []string{"DEBUG {x}"}},
		"level":          {"[INFO] up\n{\"a\":1}\n", "{\"a\":1}\n", []string{"[INFO] up"}},
		"bracket alone":  {"[\n{\"a\":1}\n", "{\"a\":1}\n", []string{"["}},
		"bracket, blank": {"[ \n{\"a\":1}\n", "{\"a\":1}\n", []string{"["}},
		"batch, blank":   {"[ {\"a\":1}]\n", "[{\"a\":1}]\n", nil},
		"batch":          {"[{\"a\":1},{\"b\":[2]}]\n", "[{\"a\":1},{\"b\":[2]}]\n", nil},
		"several lines":  {"{\n  \"a\": [\n 1]\n}\nhi\n", "{\n  \"a\": [\n 1]\n}\n", []string{"hi"}},
		"without an end": {"{\"a\":1}\nbye", "{\"a\":1}\n", []string{"bye"}},
		"long":           {strings.Repeat("x", 5000) + "\n{}", "{}\n", []string{strings.Repeat("x", 1<<10)}},
		"no text":        {"\xff\n{}", "{}\n", []string{"\uFFFD"}},
		"nothing":        {"", "", nil},
		"CRLF, blanks":   {"\r\n \n{\"a\":1} \r\n\t\r\n{}", "{\"a\":1}\n{}\n", nil},
		"one line":       {"{\"a\":1}{\"b\":2} bye\n{}", "{\"a\":1}\n{\"b\":2}\n{}\n", []string{"bye"}},
		"mark":           {"\uFEFF{\"a\":1}\n\uFEFF\uFEFF{}\n", "{\"a\":1}\n{}\n", nil},
		"half a mark":    {"\xef\xbb{}\n{}\n", "{}\n", []string{"\uFFFD{}"}},
		"no JSON":        {"{ host: 'x\n{'a': 1}\n{}\n", "{}\n", []string{"{ host: 'x", "{'a': 1}"}},
		"open string":    {"{\"msg\":\"{ cut o\n{}\n", "{}\n", []string{"{\"msg\":\"{ cut o"}},
		"open object":    {"{\"a\":[1,\n{\"jsonrpc\":1}\n", "{\"jsonrpc\":1}\n", []string{"{\"a\":[1,"}},
		"line of a message": {"{ \"a\": 1\n{\"result\":{},\"jsonrpc\":\"2.0\"}\n{\"id\":1,\"jsonrpc\":\"2.0\"}\n",
			"{\"result\":{},\"jsonrpc\":\"2.0\"}\n{\"id\":1,\"jsonrpc\":\"2.0\"}\n", []string{"{ \"a\": 1"}},
		"line of a log": {"{ \"a\": [\n{\"level\":1}\n]}\n", "{ \"a\": [\n{\"level\":1}\n]}\n", nil},
		"batch on lines": {"[{\"id\":1},\n{\"id\":2,\"jsonrpc\":\"2.0\"}\n]\n",
			"[{\"id\":1},\n{\"id\":2,\"jsonrpc\":\"2.0\"}\n]\n", nil},
		"large batch": {"[" + strings.Repeat(`{"id":1,"jsonrpc":"2.0","method":"0123456789abcdef0123456789abcd"},`,
			1500) +
			"{}]\n{}\n", "[" + strings.Repeat(`{"id":1,"jsonrpc":"2.0","method":"0123456789abcdef0123456789abcd"},`,
			1500) +
			"{}]\n{}\n", nil},
		"many members": {"{" + strings.Repeat(`"member":1,`, 8000) + "\"id\":1}\n{}\n",
			"{" + strings.Repeat(`"member":1,`, 8000) + "\"id\":1}\n{}\n", nil},
		"open at end": {"{}\n{\"a\":", "{}\n", []string{"{\"a\":"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for size, r := range map[string]io.Reader{"whole": strings.NewReader(c.in),
				"byte by byte": iotest.OneByteReader(strings.NewReader(c.in))} {
				var lines []string
				got, err := io.ReadAll(jsontext.Messages(io.NopCloser(r), jsontext.Filter{Line: func(s string) {
					lines = append(lines, s)
				}}))
				if err != nil {
					t.Fatal(err)
				}
				if string(got) != c.out {
					t.Errorf("%s: passed %q, want %q", size, got, c.out)
				}
				if !slices.Equal(lines, c.lines) {
					t.Errorf("%s: took out %q, want %q", size, lines, c.lines)
				}
			}
		})
	}
}

func TestMessages_Errors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	got, err := io.ReadAll(
		jsontext.Messages(io.NopCloser(io.MultiReader(strings.NewReader("{}\n{\"a\""),
			iotest.ErrReader(broken))), jsontext.Filter{}))
	if !errors.Is(err, broken) || string(got) != "{}\n" {
		t.Errorf("%q, %v; want the whole message, then the reader's error", got, err)
	}
}

// TestMessages_Max checks that of a message that is too large only the outline is kept, and that
// the messages around it pass.
func TestMessages_Max(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(`x\"{`, 2000)
	for name, c := range map[string]struct{ in, outline string }{
		"result": {`{"id":1,"result":{"content":["` + long + `",{}]},"n":[1]}`, `{"id":1,"result":{},` +
			`"n":[]}`},
		"result first": {`{"result":{"a":"` + long + `"},"jsonrpc":"2.0","id":"a\"{"}`, `{"result":{},` +
			`"jsonrpc":"2.0","id":"a\"{"}`},
		"text":            {`{"result":"` + long + `","id":7}`, `{"result":"","id":7}`},
		"several lines":   {"{\n\"a\": \"" + long + "\",\n \"id\": 7\n}", "{\n\"a\": \"\",\n \"id\": 7\n}"},
		"batch":           {`[{"id":1,"result":["` + long + `"]},{"id":2}]`, `[{"id":1,"result":[]},{"id":2}]`},
		"not too large":   {`{"id":1}`, ""},
		"an endless name": {`{"` + long + `":{"id":1}}`, `{"":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var outlines []string
			got,
				err := io.ReadAll(jsontext.Messages(io.NopCloser(strings.NewReader("{}\n"+c.in+"\n{\"b\":2}\n")),
				jsontext.Filter{
					Max: 100, Message: func(m []byte, size int64) []byte {
						if size <= 100 {
							return m
						}
						if size != int64(len(c.in)) {
							t.Errorf("size %d, want %d", size, len(c.in))
						}
						outlines = append(outlines, string(m))
						return nil
					}}))
			want := "{}\n{\"b\":2}\n"
			if c.outline == "" {
				want = "{}\n" + c.in + "\n{\"b\":2}\n"
			}
			if err != nil || string(got) != want || strings.Join(outlines, "") != c.outline {
				t.Errorf("passed %q with outlines %q, %v; want %q and %q", got, outlines, err, want, c.outline)
			}
		})
	}
}

// TestMessages_MaxOutline checks that an outline has a limited size and is JSON, and that members
// that the protocol needs are in it, wherever they are.
func TestMessages_MaxOutline(t *testing.T) {
	t.Parallel()
	const n = 50_000
	for name, c := range map[string]struct {
		in string
		id string // the id in the outline
	}{
		"late id":           {`{` + strings.Repeat(`"member":1,`, n) + `"jsonrpc":"2.0","id":7}`, "7"},
		"first members":     {`{"id":7,` + strings.Repeat(`"a,}":{"id":1},`, n) + `"a":1}`, "7"},
		"long number":       {`{"a":` + strings.Repeat("1", n*10) + `,"id":7}`, "7"},
		"long number first": {`{"id":7, "a":` + strings.Repeat("1", n*10) + `}`, "7"},
		"blanks":            {`{` + strings.Repeat(" \n", n*10) + `"id":7}`, "7"},
		"many ids":          {`{` + strings.Repeat(`"id":1,`, n) + `"id":7}`, "1"},
		"many objects":      {`[{"id":7}` + strings.Repeat(`,{"id":1, "member":1}`, n) + `]`, "7"},
		"first object":      {`[{` + strings.Repeat(`"id":1,`, n) + `"id":1},{"id":7}]`, "1"},
		"batch of texts":    {`[{"id":7}` + strings.Repeat(`,"text"`, n) + `]`, "7"},
		"batch of numbers":  {`[{"id":7},` + strings.Repeat("1", n*10) + `]`, "7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var outline string
			got, err := io.ReadAll(jsontext.Messages(io.NopCloser(strings.NewReader(c.in+"\n{\"b\":2}\n")),
				jsontext.Filter{Max: 100, Message: func(m []byte, size int64) []byte {
					if size > 100 {
						outline = string(m)
						return nil
					}
					return m
				}}))
			if err != nil || string(got) != "{\"b\":2}\n" {
				t.Errorf("passed %q, %v", got, err)
			}
			var e struct{ ID json.RawMessage }
			var all []json.RawMessage
			if json.Unmarshal([]byte(outline), &all) == nil && len(all) > 0 {
				_ = json.Unmarshal(all[0], &e)
			}
			if all == nil {
				_ = json.Unmarshal([]byte(outline), &e)
			}
			if !json.Valid([]byte(outline)) || len(outline) > 256<<10 || string(e.ID) != c.id {
				t.Errorf("the outline has %d bytes and the id %s: %.100q … %q", len(outline), e.ID, outline,
					outline[max(0, len(outline)-100):])
			}
		})
	}
}

// TestMessages_OneLine checks that a message that is cut off does not take the next one with it.
func TestMessages_OneLine(t *testing.T) {
	t.Parallel()
	var lines []string
	got, err := io.ReadAll(jsontext.Messages(io.NopCloser(strings.NewReader("{\"a\":\n{\"b\":{}}\n[{\"c\"\n{}\n")),
		jsontext.Filter{OneLine: true, Line: func(s string) { lines = append(lines, s) }}))
	if want := []string{`{"a":`,
		`[{"c"`}; err != nil || string(got) != "{\"b\":{}}\n{}\n" || !slices.Equal(lines, want) {
		t.Errorf("passed %q and %q, %v", got, lines, err)
	}
}

// TestMessages_Unchanged checks that whatever messages contain and whatever is between
// them, the same messages arrive, byte for byte.
func TestMessages_Unchanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var in, want strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "lines") {
			if rapid.Bool().Draw(t, "noise") {
				in.WriteString(rapid.StringMatching(`[a-zA-Z#"\[][a-z {}\[\]"\\]{0,20}`).Filter(func(s string) bool {
					return !strings.HasPrefix(strings.ReplaceAll(s, " ", ""), "[{")
				}).Draw(t, "line") + "\n")
				continue
			}
			m, err := json.Marshal(
				map[string]any{rapid.String().Draw(t, "key"): []string{rapid.String().Draw(t, "value")}})
			if err != nil {
				t.Fatal(err)
			}
			in.Write(append(m, '\n'))
			want.Write(append(m, '\n'))
		}
		got, err := io.ReadAll(jsontext.Messages(io.NopCloser(strings.NewReader(in.String())),
			jsontext.Filter{Line: func(string) {}}))
		if err != nil || string(got) != want.String() {
			t.Fatalf("of %q passed %q, want %q", in.String(), got, want.String())
		}
	})
}

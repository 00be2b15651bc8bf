package process

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	_ "github.com/hocket-run/hocket/internal/randtest"
)

func TestMessageFilter(t *testing.T) {
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
		"long":           {strings.Repeat("x", 5000) + "\n{}", "{}", []string{strings.Repeat("x", maxLastBytes)}},
		"no text":        {"\xff\n{}", "{}", []string{"\uFFFD"}},
		"nothing":        {"", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for size, r := range map[string]io.Reader{"whole": strings.NewReader(c.in),
				"byte by byte": iotest.OneByteReader(strings.NewReader(c.in))} {
				var lines []string
				got, err := io.ReadAll(&messageFilter{r: io.NopCloser(r), onLine: func(s string) {
					lines = append(lines, s)
				}})
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

func TestMessageFilter_Errors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	got, err := io.ReadAll(
		&messageFilter{r: io.NopCloser(io.MultiReader(strings.NewReader(`{"a"`), iotest.ErrReader(broken)))})
	if !errors.Is(err, broken) || string(got) != `{"a"` {
		t.Errorf("%q, %v; want what came, then the reader's error", got, err)
	}
}

// TestMessageFilter_MessagesUnchanged checks that whatever messages contain and whatever is between
// them, the same messages arrive, byte for byte.
func TestMessageFilter_MessagesUnchanged(t *testing.T) {
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
		got, err := io.ReadAll(&messageFilter{r: io.NopCloser(strings.NewReader(in.String())), onLine: func(string) {}})
		if err != nil || string(got) != want.String() {
			t.Fatalf("of %q passed %q, want %q", in.String(), got, want.String())
		}
	})
}

package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/secret"
)

const canary = `ca/na+ry"<42>\canary`

func keeper(t testing.TB, values map[string]string) *secret.Keeper {
	t.Helper()
	k := &secret.Keeper{}
	for name, v := range values {
		if err := k.Add(name, v); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// TestCheck (SEC11) checks which strings are references and which are literal secrets.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, ref := range []string{"${env.A}", "${A_1}", "${ env.A }", "$A", "file:/run/a", "file:a b"} {
		if err := secret.Check(ref); err != nil {
			t.Errorf("%s: %v", ref, err)
		}
	}
	for _, text := range []string{"", "sk-123456", "$", "${}", "${env.A}x", "x$A", "${1}", "$A-b", "env.A"} {
		if err := secret.Check(text); err == nil || text != "" && strings.Contains(err.Error(), text) && text != "$" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestValue (SEC11) checks where values come from, who may read their files, and that no error
// shows one.
func TestValue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return "file:" + path
	}
	k := &secret.Keeper{}
	r := secret.Resolver{Env: func(n string) string { return map[string]string{"KEY": " from-env ", "BLANK": " "}[n] },
		Keeper: k}
	for _, tt := range []struct {
		name, ref, want string
		err             string
		missing         bool
	}{
		{name: "variable", ref: "${env.KEY}", want: "from-env"},
		{name: "short form", ref: "$KEY", want: "from-env"},
		{name: "blank variable", ref: "${BLANK}", err: "BLANK", missing: true},
		{name: "variable that is not set", ref: "${NONE}", err: "NONE", missing: true},
		{name: "file", ref: write("good", " from-file \r\n", 0o600), want: " from-file "},
		{name: "stricter file", ref: write("strict", "from-strict", 0o400), want: "from-strict"},
		{name: "empty file", ref: write("empty", "\n", 0o600), err: "empty", missing: true},
		{name: "large file", ref: write("large", strings.Repeat("canary", 20_000), 0o600), err: "max_secret_bytes"},
		{name: "no file", ref: "file:" + filepath.Join(dir, "no"), err: "no such file", missing: true},
		{name: "folder", ref: "file:" + dir, err: "is not a regular file"},
		{name: "written out", ref: "canary-123", err: "not a reference"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := r.Value(tt.ref)
			if got != tt.want || (err != nil) != (tt.err != "") {
				t.Fatalf("got %q, %v", got, err)
			}
			if err != nil && (!strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "canary") ||
				errors.Is(err, secret.ErrMissing) != tt.missing) {
				t.Errorf("error %v", err)
			}
			if got != "" && strings.Contains(k.Redact("x"+got+"x"), got) {
				t.Error("the value is not kept")
			}
		})
	}
}

// TestRedact_Encodings (SEC11) checks the forms in which a value is found.
func TestRedact_Encodings(t *testing.T) {
	t.Parallel()
	k := keeper(t, map[string]string{"K": canary})
	inner, err := json.Marshal(map[string]string{"a": canary})
	if err != nil {
		t.Fatal(err)
	}
	twice, err := json.Marshal(string(inner))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"as it is": "Bearer " + canary, "json": string(inner), "json in json": string(twice),
		"quoted": fmt.Sprintf("%q", canary), "query": "?k=" + url.QueryEscape(canary),
		"path": "/" + url.PathEscape(canary) + "/", "base64": base64.StdEncoding.EncodeToString([]byte(canary)),
		"base64 after one":     base64.StdEncoding.EncodeToString([]byte("u:" + canary + "rest")),
		"base64 for addresses": base64.URLEncoding.EncodeToString([]byte("usr:" + canary)),
		"slashes escaped":      `"` + strings.ReplaceAll(strings.Trim(string(inner), "{}"), "/", `\/`) + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := k.Redact("before " + text + " after")
			if !strings.Contains(got, "[secret K]") || !strings.HasPrefix(got, "before ") ||
				!strings.HasSuffix(got, " after") {
				t.Errorf("%q became %q", text, got)
			}
			for _, part := range []string{"canary", "na+ry", "42"} {
				if strings.Contains(got, part) {
					t.Errorf("%q shows %q", got, part)
				}
			}
		})
	}
	if got := keeper(t, map[string]string{"S": "12345"}).Redact("12345"); got != "12345" {
		t.Errorf("a short value was looked for: %q", got)
	}
	pem := "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END KEY-----"
	if got := keeper(t, map[string]string{"file:/a b": pem}).Redact(
		"x MIIEvQIBADANBgkqhkiG9w0B y"); got != "x [secret file:/a_b] y" {
		t.Errorf("a line of a key: %q", got)
	}
}

// TestRedactLaws checks that no kept value is output, that other text is unchanged, and that pieces
// produce the same as the whole, wherever the text is cut.
func TestRedactLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[ab$ "/]{6,12}`)
		values := rapid.SliceOfN(value, 1, 4).Draw(t, "values")
		k := &secret.Keeper{}
		for _, v := range values {
			if err := k.Add("N", v); err != nil {
				t.Fatal(err)
			}
		}
		part := rapid.OneOf(rapid.StringMatching(`[ab$ "/]{0,8}`), rapid.SampledFrom(values), rapid.String())
		parts := rapid.SliceOfN(part, 0, 8).Draw(t, "parts")
		whole := strings.Join(parts, "")
		want := k.Redact(whole)
		left := strings.ReplaceAll(want, "[secret N]", "\x00")
		found := false
		for _, v := range values {
			found = found || strings.Contains(whole, v)
			if strings.Contains(left, v) {
				t.Fatalf("%q is in %q", v, want)
			}
		}
		if !found && !strings.Contains(want, "[secret N]") && want != whole {
			t.Fatalf("%q became %q", whole, want)
		}
		tail := k.Tail()
		var got strings.Builder
		for rest := whole; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			got.WriteString(tail.Write(rest[:n]))
			rest = rest[n:]
			for _, v := range values {
				if strings.Contains(strings.ReplaceAll(got.String(), "[secret N]", "\x00"), v) {
					t.Fatalf("%q leaked", v)
				}
			}
		}
		got.WriteString(tail.Flush())
		if got.String() != want {
			t.Fatalf("in pieces %q, at once %q", got.String(), want)
		}
	})
}

func TestRedactJSON(t *testing.T) {
	t.Parallel()
	k := keeper(t, map[string]string{"T": canary, "N": "123456"})
	value, err := json.Marshal(map[string]any{"a": []string{canary}, "b": 1})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(k.RedactJSON(value)); got != `{"a":["[secret T]"],"b":1}` {
		t.Errorf("got %s", got)
	}
	if got := k.RedactJSON(json.RawMessage(`{"n":1234567}`)); !json.Valid(got) ||
		strings.Contains(string(got), "123456") {
		t.Errorf("a number: %s", got)
	}
	if got := k.RedactJSON(nil); got != nil {
		t.Errorf("no value: %q", got)
	}
	if got := string(k.RedactJSON(json.RawMessage(`{"n":12345}`))); got != `{"n":12345}` {
		t.Errorf("another value: %s", got)
	}
}

func TestKeeperBounds(t *testing.T) {
	t.Parallel()
	var none *secret.Keeper
	if err := none.Add("A", "value-of-a"); err != nil || none.Redact("value-of-a") != "value-of-a" {
		t.Error("a nil Keeper keeps")
	}
	k := &secret.Keeper{}
	for i := range 64 {
		if err := k.Add("A", fmt.Sprintf("value-%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	base := errors.New("no")
	err := k.Error(fmt.Errorf("sent value-7: %w", base))
	if err.Error() != "sent [secret A]: no" || !errors.Is(err, base) {
		t.Errorf("error %v", err)
	}
	if got := k.Error(base); got.Error() != base.Error() || !errors.Is(got, base) || k.Error(nil) != nil {
		t.Error("an error without a secret was changed")
	}
}

type printed struct{ Inner string }

// TestHandler (SEC11) checks that logs contain no secret in any part of a record.
func TestHandler(t *testing.T) {
	t.Parallel()
	k := keeper(t, map[string]string{"K": canary})
	for name, open := range map[string]func(*bytes.Buffer) slog.Handler{
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		"json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			log := slog.New(k.Handler(open(&b))).With("with", canary).WithGroup("g").With("again", canary)
			log.Warn("told "+canary, "s", canary, "e", errors.New(canary), "v", printed{canary}, "b", []byte(canary),
				"j", json.RawMessage(`"x"`),
				slog.Group("in", "deep", canary), "n", 7, "p", &printed{canary})
			if n := strings.Count(b.String(), "[secret K]"); n != 9 {
				t.Errorf("%d of 9 places: %s", n, b.String())
			}
			if strings.Contains(b.String(), "canary") || !strings.Contains(b.String(), "7") {
				t.Errorf("log: %s", b.String())
			}
		})
	}
}

// BenchmarkRedact shows that the time is linear in the length of the text, without secrets and for
// text designed to be slow.
func BenchmarkRedact(b *testing.B) {
	k := &secret.Keeper{}
	for i := range 200 {
		if err := k.Add("K", fmt.Sprintf("sk-proj-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa%d",
			i)); err != nil {
			b.Fatal(err)
		}
	}
	image := make([]byte, 3<<18)
	_, _ = rand.NewChaCha8([32]byte{}).Read(image)
	blob := base64.StdEncoding.EncodeToString(image)
	words := "The quick brown fox asks for a task at the desk, and tomorrow for an encoding.\n"
	for name, text := range map[string]string{
		"words": words, "json": inJSON(`{"name": "x", "text": ` + inJSON(words) + `, "n": 12}`), "image": blob,
		"bytes":      string(image),
		"beginnings": "sk-proj-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "escapes": `\u0073\\u006b%2525`,
		"references": "&#0000000115&amp;amp;", "gaps": "a\n \n \n ", "digits": "736b2d70",
		"values": "sk-proj-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa7",
		"phases": "VVVVVVVV", "hex phases": "33333333",
		"nested":      nest(blob[:1<<17], base64Of, base64Of, base64Of),
		"mixed":       nest(blob[:1<<14], hexOf, base64Of, each(`\u%04x`), hexOf),
		"backslashes": nest(strings.Repeat(`sk-proj-\`, 1<<14), base64Of, base64Of),
	} {
		for _, n := range []int{1 << 18, 1 << 19} {
			text := strings.Repeat(text, n/len(text)+1)[:n]
			b.Run(fmt.Sprintf("%s/%dKiB", name, n>>10), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					k.Redact(text)
				}
			})
		}
	}
}

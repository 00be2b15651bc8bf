package api

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/hocket-run/hocket/internal/randtest"
)

func TestTemplateRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "absolute http", "ftp://x/": "absolute http", "/relative": "absolute http", "https://": "has no host",
		"https://{host}/x": "the host must not", "https://a.${env}.example/": "the host must not",
		"https://user:pw@x.example/": "password", "https://x.example/#{a}": "not sent",
		"https://x.example/?{a}=1": "name of a query", "https://x.example/{}": "placeholder with an invalid name",
		"https://x.example/{a": "placeholder with an invalid name", "https://x.example/a}": "without a matching {",
		"https://x.example:port/": "has no host", "https://x.example/{a b}": "placeholder with an invalid name",
	} {
		if _, err := parseTemplate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestTemplateFill(t *testing.T) {
	t.Parallel()
	const tmpl = "https://api.example:8443/v1/${owner}/x-{repo}/raw%20file?q={q}&page=${page}&fixed=a b&both={a}:{b}"
	for name, tc := range map[string]struct {
		args map[string]any
		want string // "" means an error
	}{
		"plain": {map[string]any{"owner": "me", "repo": "r", "q": "x", "page": 2.0},
			"https://api.example:8443/v1/me/x-r/raw%20file?q=x&page=2&fixed=a%20b"},
		"mixed present": {map[string]any{"owner": "me", "repo": "r", "a": "1"},
			"https://api.example:8443/v1/me/x-r/raw%20file?fixed=a%20b&both=1:"},
		"slash": {map[string]any{"owner": "a/b", "repo": "r"},
			"https://api.example:8443/v1/a%2Fb/x-r/raw%20file?fixed=a%20b"},
		"query marks": {map[string]any{"owner": "a?b=c&d#e", "repo": "r", "q": "1&page=9#x"},
			"https://api.example:8443/v1/a%3Fb%3Dc%26d%23e/x-r/raw%20file?q=1%26page%3D9%23x&fixed=a%20b"},
		"at and colon": {map[string]any{"owner": "@evil.example:80", "repo": "r"},
			"https://api.example:8443/v1/%40evil.example%3A80/x-r/raw%20file?fixed=a%20b"},
		"line breaks": {map[string]any{"owner": "a\r\nHost: evil", "repo": "r"},
			"https://api.example:8443/v1/a%0D%0AHost%3A%20evil/x-r/raw%20file?fixed=a%20b"},
		"unicode": {map[string]any{"owner": "müller", "repo": "日", "q": "ß"},
			"https://api.example:8443/v1/m%C3%BCller/x-%E6%97%A5/raw%20file?q=%C3%9F&fixed=a%20b"},
		"percent": {map[string]any{"owner": "%2e%2e", "repo": "r"},
			"https://api.example:8443/v1/%252e%252e/x-r/raw%20file?fixed=a%20b"},
		"list and bool": {map[string]any{"owner": []any{"a", true}, "repo": "r"},
			"https://api.example:8443/v1/a%2Ctrue/x-r/raw%20file?fixed=a%20b"},
		"a step up":      {map[string]any{"owner": "..", "repo": "r"}, ""},
		"steps up":       {map[string]any{"owner": "../../admin", "repo": "r"}, ""},
		"backslashes up": {map[string]any{"owner": `a\..\b`, "repo": "r"}, ""},
		"here":           {map[string]any{"owner": ".", "repo": "r"}, ""},
		"empty":          {map[string]any{"owner": "", "repo": "r"}, ""},
		"missing":        {map[string]any{"repo": "r"}, ""},
		"null":           {map[string]any{"owner": nil, "repo": "r"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tm, err := parseTemplate(tmpl)
			if err != nil {
				t.Fatal(err)
			}
			u, err := tm.fill(tc.args)
			if (err != nil) != (tc.want == "") || err == nil && u.String() != tc.want {
				t.Errorf("got %v, %v; want %q", u, err, tc.want)
			}
		})
	}
}

// TestTemplateLaw checks that whatever the value of an argument, the host, the number of path
// segments, the names of the query and everything else in the address are unchanged, and the value
// arrives intact (SEC8).
func TestTemplateLaw(t *testing.T) {
	t.Parallel()
	tm, err := parseTemplate("https://api.example/v1/{a}/mid/x{b}y?one={c}&two=2&three={d}")
	if err != nil {
		t.Fatal(err)
	}
	piece := rapid.SampledFrom([]string{"..", ".", "/", `\`, "?", "#", "&", "=", "@", ":", "%", "%2f", "%2e", "\r\n",
		"\x00", "{c}", "${env.HOME}", " ", "+", ";", "ü", "a", "//evil.example"})
	value := rapid.OneOf(rapid.String(), rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), "")
	}))
	rapid.Check(t, func(t *rapid.T) {
		args := map[string]any{}
		for _, name := range []string{"a", "b", "c", "d"} {
			args[name] = value.Draw(t, name)
		}
		u, err := tm.fill(args)
		if err != nil {
			return
		}
		holds(t, u, args)
	})
}

type failer interface{ Fatalf(string, ...any) }

func holds(t failer, u *url.URL, args map[string]any) {
	got, err := url.Parse(u.String())
	if err != nil {
		t.Fatalf("%s: %v", u, err)
	}
	segments := strings.Split(got.EscapedPath(), "/")
	if got.Scheme != "https" || got.Host != "api.example" || got.User != nil || got.Fragment != "" ||
		len(segments) != 5 || segments[1] != "v1" || segments[3] != "mid" {
		t.Fatalf("the address changed: %s", got)
	}
	for i, want := range map[int]string{2: args["a"].(string), 4: "x" + args["b"].(string) + "y"} {
		if plain, err := url.PathUnescape(segments[i]); err != nil || plain != want || plain == ".." || plain == "." ||
			plain == "" {
			t.Fatalf("segment %d: %q (%v), want %q", i, plain, err, want)
		}
	}
	query, err := url.ParseQuery(got.RawQuery)
	if err != nil || len(query) != 3 || query.Get("one") != args["c"] || query.Get("two") != "2" ||
		query.Get("three") != args["d"] {
		t.Fatalf("the query changed: %s (%v)", got.RawQuery, err)
	}
	if strings.ContainsAny(u.String(), "\r\n\x00 ") {
		t.Fatalf("raw bytes in %q", u)
	}
}

// FuzzTemplate checks that no template and no value crashes the process, and that a filled template
// can be requested.
func FuzzTemplate(f *testing.F) {
	f.Add("https://api.example/v1/{a}?b={a}", "../x")
	f.Add("http://h/${a}/%zz?%zz={a}&=&a", "\r\n")
	f.Add("https://[::1]:80/{a}{a}", ".")
	f.Fuzz(func(t *testing.T, tmpl, value string) {
		tm, err := parseTemplate(tmpl)
		if err != nil {
			return
		}
		args := map[string]any{}
		for name := range tm.names() {
			args[name] = value
		}
		u, err := tm.fill(args)
		if err != nil {
			return
		}
		again, err := url.Parse(u.String())
		if err != nil || again.Host != tm.host || again.Fragment != "" ||
			strings.Count(again.EscapedPath(), "/") != len(tm.path) {
			t.Errorf("%q with %q: %q (%v)", tmpl, value, u, err)
		}
	})
}

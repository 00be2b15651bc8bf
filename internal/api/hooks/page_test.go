package hooks

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

// shape returns the elements of a page with the names of their attributes, and the text that
// follows them, except for spans of escapes.
func shape(t *testing.T, page string) (tags []string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.CommentNode {
			t.Errorf("a comment: %q", n.Data)
		}
		if n.Type != html.ElementNode || n.Data == "span" && len(n.Attr) == 1 && n.Attr[0].Val == "esc" {
			continue
		}
		tag := n.Data
		for _, a := range n.Attr {
			tag += " " + a.Key
		}
		tags = append(tags, tag)
	}
	return tags
}

// FuzzPage checks that whatever a view contains, the page has the same elements with the same
// attributes, and that the entered answer is shown again unchanged (SEC15).
func FuzzPage(f *testing.F) {
	f.Add(`"><script>alert(1)</script>`)
	f.Add("</textarea></pre></title></form><!-- ' onload=x\x00\xff")
	f.Add("\nfirst line is empty")
	f.Add("&lt;&#34;&amp;")
	full := func(s string) view {
		return view{Title: s, Ask: &openWait{
			Token: s, Run: s, Workflow: s, Node: s, Kind: s, Prompt: s, Tool: s, Arguments: s, Schema: s, About: s,
			Changed: true,
			Options: []choice{{s, s, s}}, Text: true, Since: time.Unix(1, 0), Expires: time.Unix(2, 0),
			Deadline: time.Unix(3, 0), Problem: s, Answer: s, Note: s,
		}}
	}
	ended := func(s string) view { return view{Title: s, Message: s, Detail: s} }
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" || text == "approval" {
			return
		}
		for _, made := range []func(string) view{full, ended} {
			if diff := cmp.Diff(shape(t, render(made("x"))), shape(t, render(made(text)))); diff != "" {
				t.Errorf("%q changes the page:\n%s", text, diff)
			}
		}
		root, err := html.Parse(strings.NewReader(render(full(text))))
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			if n.Data != "textarea" {
				continue
			}
			want := strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
			want = strings.ReplaceAll(strings.ReplaceAll(want, "\r\n", "\n"), "\r", "\n") // like parsers
			if got := n.FirstChild.Data; got != want {
				t.Errorf("the answer %q comes back as %q", want, got)
			}
		}
	})
}

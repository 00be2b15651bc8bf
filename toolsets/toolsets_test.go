package toolsets_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/toolsets"
)

const replies = `replies:
  - {agent: a, toolCalls: [{name: fetch, arguments: {urls: ["%s"]}}]}
  - {agent: a, contains: "not shown", text: it was reached}
  - {agent: a, contains: "address refused", text: it is private}
  - {agent: a, text: there is no such tool}
`

// TestAll runs the same document with and without the option. It also checks that a private address
// that was not allowed is not reached (SEC8).
func TestAll(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	for name, tc := range map[string]struct {
		options []hocket.Option
		want    string
	}{"with": {[]hocket.Option{toolsets.All()}, "it is private"}, "without": {nil, "there is no such tool"}} {
		t.Run(name, func(t *testing.T) {
			e, err := hocket.Open(t.Context(), hocket.Config{Env: func(string) string { return "" }},
				append([]hocket.Option{documents.All()}, tc.options...)...)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			w, err := e.Parse("w.yaml",
				[]byte("agents:\n  a: {model: openai/m, instruction: Read., toolsets: [{type: fetch}]}\nworkflow:\n  "+
					"- {type: agent, name: a}\n"))
			if err != nil {
				t.Fatal(err)
			}
			r, err := e.Run(t.Context(), w,
				hocket.StartOptions{Input: "x", Replies: []byte(fmt.Sprintf(replies, srv.URL))})
			if err != nil || r.Text() != tc.want {
				t.Errorf("%+v, %v; want %q", r, err, tc.want)
			}
		})
	}
}

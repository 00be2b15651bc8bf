package hocket_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/toolsets"
)

const waiting = "agents:\n  a: {model: own/m}\nworkflow:\n  steps:\n    - {id: ask, type: ask, prompt: \"{{ 1 + 1 " +
	"}}?\"}\n"

// TestLacking checks that using something that the program does not link is an error that names the
// package and the option, at the point of use.
func TestLacking(t *testing.T) {
	t.Parallel()
	const option = "import github.com/hocket-run/hocket/documents and give documents.All() to hocket.Open"
	db := filepath.Join(t.TempDir(), "app.db")
	e, err := hocket.Open(t.Context(), hocket.Config{DB: db})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Parse("w.yaml", []byte(waiting)); err == nil || !strings.Contains(err.Error(), option) {
		t.Errorf("Parse gives %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}

	whole, err := hocket.Open(t.Context(), hocket.Config{DB: db}, documents.All(), hocket.WithModel("own",
		hocket.ModelFunc(func(context.Context, hocket.ModelRequest) (hocket.ModelReply, error) {
			return hocket.ModelReply{Text: "x"}, nil
		})))
	if err != nil {
		t.Fatal(err)
	}
	w, err := whole.Parse("w.yaml", []byte(waiting))
	if err != nil {
		t.Fatal(err)
	}
	r, err := whole.Run(t.Context(), w, hocket.StartOptions{ID: "r1"})
	if err != nil || r.Status != hocket.StatusPaused || r.Waiting[0].Prompt != "2?" {
		t.Fatalf("got %+v, %v", r, err)
	}
	if err := whole.Close(); err != nil {
		t.Fatal(err)
	}

	again, err := hocket.Open(t.Context(), hocket.Config{DB: db})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if r, err := again.Get(t.Context(), "r1"); err != nil || r.Status != hocket.StatusPaused {
		t.Errorf("a run of a document is shown as %+v, %v", r, err)
	}
	if err := again.Resume(t.Context(), "r1"); err == nil || !strings.Contains(err.Error(), "documents.All()") {
		t.Errorf("Resume gives %v", err)
	}
	if err := again.Answer(t.Context(), "r1", hocket.Answer{Value: "yes"}); err == nil ||
		!strings.Contains(err.Error(), "documents.All()") {
		t.Errorf("Answer gives %v", err)
	}
}

// TestLackingMCP checks that an MCP server needs its client, which two packages provide.
func TestLackingMCP(t *testing.T) {
	t.Parallel()
	agent := hocket.WithAgent(hocket.Agent{Name: "a", Toolsets: []hocket.Toolset{{"type": "mcp", "command": "x"}}})
	for name, tc := range map[string]struct {
		options []hocket.Option
		want    string
	}{
		"alone": {[]hocket.Option{agent},
			`agent "a": this program has no client of MCP: import github.com/hocket-run/hocket/toolsets and give ` +
				`toolsets.All() to hocket.Open`},
		"with toolsets":  {[]hocket.Option{agent, toolsets.All()}, ""},
		"with documents": {[]hocket.Option{documents.All(), agent}, ""},
		"both":           {[]hocket.Option{toolsets.All(), documents.All(), agent}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := hocket.Open(t.Context(), hocket.Config{}, tc.options...)
			if err == nil {
				defer e.Close()
			}
			if err != nil {
				if got := err.Error(); got != tc.want {
					t.Errorf("got %s, want %s", got, tc.want)
				}
			} else if tc.want != "" {
				t.Errorf("opened, want %s", tc.want)
			}
		})
	}
}

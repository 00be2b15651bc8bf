package main

import (
	"strings"
	"testing"
)

func TestAffected(t *testing.T) {
	t.Parallel()
	pkgs := map[string][]string{".": {"internal/text"}, "docs": nil, "internal/text": nil,
		"internal/chat": {"internal/text"}, "internal/cli": {"internal/text"}, "web": nil}
	for name, c := range map[string]struct{ files, own, users, left string }{
		"a leaf":         {"internal/text/rope.go", "./internal/text", "./. ./internal/chat", "internal/cli"},
		"data of a test": {"internal/chat/testdata/x/y.json", "./internal/chat", "", ""},
		"a slow one":     {"internal/cli/run.go", "./internal/cli", "", ""},
		"a page":         {"README.md", "./docs", "", ""},
		"a folder below": {"docs/adr/1.md", "./docs", "", ""},
		"no package":     {"deploy/x.yaml", "./.", "", ""},
		"the page's":     {"web/src/a.ts", "", "", ""},
		"another module": {"temporal/go.mod", "", "", ""},
		"several, one use": {"internal/text/a.go internal/chat/b.go", "./internal/chat ./internal/text", "./.",
			"internal/cli"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own, users, left := affected(strings.Fields(c.files), pkgs)
			if got, want := strings.Join(own, " "), c.own; got != want {
				t.Errorf("own: got %q, want %q", got, want)
			}
			if got, want := strings.Join(users, " "), c.users; got != want {
				t.Errorf("users: got %q, want %q", got, want)
			}
			if got, want := strings.Join(left, " "), c.left; got != want {
				t.Errorf("left: got %q, want %q", got, want)
			}
		})
	}
}

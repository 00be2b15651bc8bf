package permit_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/permit"
)

// TestWeaker checks that rules that are not weaker permit no call that was held before.
func TestWeaker(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		was, now permit.Rules
		want     int
	}{
		"equal": {permit.Rules{Deny: []string{"a"}, Default: "ask"},
			permit.Rules{Deny: []string{"a"}, Default: "ask"}, 0},
		"nothing before": {permit.Rules{}, permit.Rules{Allow: []string{"a"}, Ask: []string{"b"},
			Deny: []string{"c"}, Default: "ask"}, 0},
		"a deny less":       {permit.Rules{Deny: []string{"a", "b"}}, permit.Rules{Deny: []string{"b"}}, 1},
		"asked, not denied": {permit.Rules{Deny: []string{"a"}}, permit.Rules{Ask: []string{"a"}}, 1},
		"denied, not asked": {permit.Rules{Ask: []string{"a"}}, permit.Rules{Deny: []string{"a"}}, 0},
		"nothing now": {permit.Rules{Deny: []string{"a"}, Ask: []string{"b"}, Default: "deny"}, permit.Rules{},
			3},
		"default":           {permit.Rules{Default: "deny"}, permit.Rules{Default: "ask"}, 1},
		"an allow more":     {permit.Rules{Default: "ask"}, permit.Rules{Default: "ask", Allow: []string{"a"}}, 1},
		"an allow less":     {permit.Rules{Default: "ask", Allow: []string{"a"}}, permit.Rules{Default: "ask"}, 0},
		"a list less":       {permit.Rules{Allow: []string{"a:x=1"}}, permit.Rules{}, 1},
		"another of a list": {permit.Rules{Allow: []string{"a:x=1"}}, permit.Rules{Allow: []string{"a:x=1", "a"}}, 1},
		"stricter otherwise": {permit.Rules{Ask: []string{"a"}}, permit.Rules{Ask: []string{"a", "b"}, Default: "ask"},
			0},
	} {
		if got := permit.Weaker(tc.was, tc.now); len(got) != tc.want {
			t.Errorf("%s: %q, want %d lines", name, got, tc.want)
		}
	}
	patterns := []string{"*", "shell", "shell:cmd=ls*", "shell:cmd=*x*", "other", "shell/*"}
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(label string) permit.Rules {
			list := func(name string) []string {
				return rapid.SliceOfN(rapid.SampledFrom(patterns), 0, 2).Draw(rt, label+name)
			}
			return permit.Rules{Allow: list("allow"), Ask: list("ask"), Deny: list("deny"),
				Default: rapid.SampledFrom([]string{"", "ask", "deny"}).Draw(rt, label+"default")}
		}
		was, now := draw("was"), draw("now")
		if permit.Weaker(was, now) != nil {
			return
		}
		c := shell(rapid.SampledFrom([]string{"ls", "ls x", "x", "make"}).Draw(rt, "cmd"))
		if before, after := decide(t, c, was), decide(t, c, now); after < before {
			rt.Fatalf("%+v decides %s and %+v %s, and is not called weaker", was, before, now, after)
		}
	})
}

package event_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// TestHasRole checks who has a role: the operators of the store, tokens by role and name, links by
// the name of their endpoint.
func TestHasRole(t *testing.T) {
	t.Parallel()
	token := func(name, role string) event.Actor {
		return event.Actor{Name: name, Token: "t1", Channel: event.ChannelHTTP, Role: role}
	}
	for name, tt := range map[string]struct {
		by    event.Actor
		roles []string
		want  bool
	}{
		"operator":                 {event.LocalBy(event.ChannelCLI), []string{"ann"}, true},
		"program":                  {event.LocalBy(event.ChannelProgram), []string{"admin"}, true},
		"name of a token":          {token("ann", "run"), []string{"ben", "ann"}, true},
		"another name":             {token("carl", "admin"), []string{"ben", "ann"}, false},
		"role":                     {token("carl", "edit"), []string{"edit"}, true},
		"higher role":              {token("carl", "admin"), []string{"edit"}, true},
		"lower role":               {token("carl", "run"), []string{"edit"}, false},
		"a token called as a role": {token("admin", "run"), []string{"admin"}, false},
		"a token without a role":   {token("x", ""), []string{"run"}, false},
		"link": {event.Actor{Name: "finance", Channel: event.ChannelLink}, []string{"finance"},
			true},
		"link of another endpoint": {event.Actor{Name: "ops", Channel: event.ChannelLink}, []string{"finance"}, false},
		"endpoint called as a role": {event.Actor{Name: "admin", Channel: event.ChannelLink, Role: "admin"},
			[]string{"admin"}, false},
		"local client of MCP": {event.LocalBy(event.ChannelMCP), []string{"local", "run"}, false},
		"approve all":         {event.LocalBy(event.ChannelApproveAll), []string{"local", "run"}, false},
		"clock":               {event.Actor{Channel: event.ChannelClock}, []string{"run"}, false},
		"command line with a token": {event.Actor{Name: "x", Token: "t", Channel: event.ChannelCLI, Role: "run"},
			[]string{"admin"}, false},
		"no actor, no role named": {event.Actor{}, []string{""}, false},
	} {
		if got := tt.by.HasRole(tt.roles); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	// Roles of tokens are those of package access, each with the permissions of those before it.
	for _, have := range access.Roles() {
		for _, need := range access.Roles() {
			if got, want := token("x", string(have)).HasRole([]string{string(need)}),
				(access.Principal{Role: have}).May(need); got != want {
				t.Errorf("%s for %s: %t", have, need, got)
			}
		}
	}
}

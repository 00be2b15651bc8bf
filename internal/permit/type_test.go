package permit_test

import (
	"encoding/json"
	"testing"

	"github.com/hocket-run/hocket/internal/permit"
)

// TestToolsetsByTheirType checks SEC13, issue 12 item 33: deny and ask rules about a type match a
// toolset that a document renames.
func TestToolsetsByTheirType(t *testing.T) {
	t.Parallel()
	call := permit.Call{Own: "exec", Offered: "exec", Toolset: "helpers", Type: "shell",
		Arguments: json.RawMessage(`{"argv":["rm","x"]}`)}
	for _, rule := range []string{"shell", "shell:cmd=rm *", "shell/*", "shell:*", "shell/exec", "SHELL", "helpers",
		"helpers/exec"} {
		for want, rules := range map[permit.Decision]permit.Rules{permit.Deny: {Deny: []string{rule}},
			permit.Ask: {Ask: []string{rule}}} {
			if got := decide(t, call, rules); got != want {
				t.Errorf("%s: %s, want %s", rule, got, want)
			}
		}
	}
	for _, rule := range []string{"shell/*", "shell:*", "shell"} {
		if got := decide(t, call, permit.Rules{Allow: []string{rule}, Default: "deny"}); got != permit.Deny {
			t.Errorf("allow %s: %s, want deny", rule, got)
		}
	}
}

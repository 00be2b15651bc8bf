package permit_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/permit"
)

// TestDearScripts checks SEC17: deliberately expensive scripts are judged in limited work, and
// never pass unread.
func TestDearScripts(t *testing.T) {
	t.Parallel()
	rules := permit.Rules{Deny: []string{"shell:cmd=rm *", "shell:cmd=*a*b*c*d*e*"}}
	for name, script := range map[string]string{
		"long": strings.Repeat("echo x;", 100_000), "words of env": "env" + strings.Repeat(" a", 8000) + " rm x",
		"env in env": strings.Repeat("env ", 4000) + "rm x", "braces": strings.Repeat("{a,b}", 2000) + " x",
		"deep substitutions": strings.Repeat("$(", 2000) + "rm x" + strings.Repeat(")", 2000),
		"deep subshells":     strings.Repeat("( ", 8000) + "rm x" + strings.Repeat(" )", 8000),
		"unknown":            strings.Repeat("$x ", 1000), "sequence": "echo {1..1000000000}; rm x",
		"evals": strings.Repeat("eval ", 400) + "rm x", "quotes": "sh -c '" + strings.Repeat("sh -c \"", 300) + "'",
		"long word": "env -" + strings.Repeat("x y", 5000),
	} {
		if got := decide(t, shell(script), rules); got == permit.Allow {
			t.Errorf("%s: allowed", name)
		}
	}
}

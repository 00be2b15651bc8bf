package permit

import "testing"

// TestRules_Unmatched checks that a pattern applies to no call if no tool that it names has its
// arguments, whichever of their names the rule uses.
func TestRules_Unmatched(t *testing.T) {
	t.Parallel()
	tools := []Call{
		{Own: "shell", Offered: "shell", Toolset: "shell", Type: "shell", Takes: []string{"cmd", "cwd", "timeout"}},
		{Own: "exec", Offered: "exec", Toolset: "shell", Type: "shell", Takes: []string{"argv", "cwd"}},
		{Own: "list", Offered: "list", Toolset: "shell", Type: "shell", Takes: []string{}},
		{Own: "ticket", Offered: "ticket", Toolset: "desk"}, // only its server knows the arguments
	}
	for text, want := range map[string]Unmatched{
		"shell:cmdd=touch *":             {Tool: "shell", Argument: "cmdd"},
		"shell/exec:cwdd=/":              {Tool: "exec", Argument: "cwdd"},
		"list:cmd=*":                     {Tool: "list", Argument: "cmd"},
		"shell/shell:cmd=*:argvv=x":      {Tool: "shell", Argument: "argvv"},
		"shell:cmd=touch *":              {},
		"shell/exec:cmd=touch *":         {}, // the words of a program are a command
		"shell:CMD=touch *":              {},
		"shell:path=private/*":           {}, // cwd is a path
		"ticket:anything=1":              {},
		"*:anything=1":                   {},
		"shell:cmd=ls*:cwd=.":            {},
		"shell":                          {},
		"shell:*":                        {},
		"shel:cmd=touch *":               {Tool: "shel"},
		"shell/shell:timeout.seconds=10": {Tool: "shell", Argument: "timeout.seconds"},
	} {
		want.List, want.Text = "deny", text
		got := Rules{Deny: []string{text}}.Unmatched(tools)
		if want.Tool == "" && want.Argument == "" {
			if len(got) > 0 {
				t.Errorf("%s: %+v", text, got)
			}
			continue
		}
		if len(got) != 1 || got[0].Argument != want.Argument {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

//go:build unix

package shell_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/command"
	"github.com/hocket-run/hocket/internal/tool/shell"
)

// TestRulesMeanARenamedShell checks that rules that forbid shell commands apply to a shell with
// another name (SEC13, issue 12 item 33).
func TestRulesMeanARenamedShell(t *testing.T) {
	t.Parallel()
	renamed := spec("{}")
	renamed.Name = "helpers"
	s, err := tool.NewSet(tool.Config{
		Agents:      map[string]tool.Grant{"a": {Toolsets: []tool.Spec{renamed}}},
		Types:       map[string]tool.Type{tool.TypeShell: shell.Type(command.Config{Dir: t.TempDir()})},
		Permissions: tool.Permissions{Deny: []string{"shell:cmd=touch *"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for name, args := range map[string]string{"exec": `{"argv":["touch","x"]}`,
		"run_background_job": `{"cmd":"touch x"}`, "shell": `{"cmd":"touch x"}`} {
		r, err := s.Call(t.Context(), tool.Call{Run: "r", Agent: "a", Key: "k", Name: name, Arguments: []byte(args)})
		if err != nil || !strings.Contains(r.Text, "forbid") {
			t.Errorf("%s: %+v, %v, want it refused", name, r, err)
		}
	}
}

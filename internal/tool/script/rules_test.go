package script_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/command"
	"github.com/hocket-run/hocket/internal/tool/script"
)

// TestRules_Files checks that rules about the arguments of a script apply to the file that a string
// could name in the script's folder.
func TestRules_Files(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "private"), 0o755), os.MkdirAll(filepath.Join(dir, "pub"),
		0o755), os.WriteFile(filepath.Join(dir, "private/x"), []byte("canary"), 0o600),
		os.WriteFile(filepath.Join(dir, "pub/x"), []byte("open"), 0o600),
		os.Symlink("../private", filepath.Join(dir, "pub/l"))); err != nil {
		t.Fatal(err)
	}
	s, err := tool.NewSet(tool.Config{
		Agents: map[string]tool.Grant{
			"a": {Toolsets: []tool.Spec{
				spec(`{"shell":{"show":{"cmd":"cat \"$file\"","args":{"file":{"type":"string"}}}}}`),
			}},
		},
		Types: map[string]tool.Type{tool.TypeScript: script.Type(command.Config{Dir: dir})},
		Permissions: tool.Permissions{Deny: []string{"show:file=private/*"}, Allow: []string{"show:file=pub/*"},
			Default: "ask"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for file, want := range map[string]string{
		"pub/x": "made", "private/x": "denied", "./private/x": "denied", dir + "/private/x": "denied",
		"pub/../private/x": "denied", "pub/l/x": "denied", dir + "/pub/l/x": "denied", "other": "asked",
		"pub/../pub/x": "asked",
	} {
		args, _ := json.Marshal(map[string]string{"file": file})
		r, err := s.Call(t.Context(), tool.Call{Run: "r", Agent: "a", Key: "k", Name: "show", Arguments: args})
		got := "made"
		switch {
		case errors.As(err, new(*tool.HoldError)):
			got = "asked"
		case err != nil:
			t.Fatal(err)
		case strings.Contains(r.Text, "the permissions of this run forbid it"):
			got = "denied"
		}
		if got != want || strings.Contains(r.Text, "canary") {
			t.Errorf("%s: %s, want %s: %+v", file, got, want, r)
		}
	}
}

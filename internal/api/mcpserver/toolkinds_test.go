package mcpserver

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/tool/kinds"
)

// TestToolsetTypes checks that the schema of agents lists each supported type once, and the types
// that need programs or files last.
func TestToolsetTypes(t *testing.T) {
	text := toolsetTypes()
	words := strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, " or ", ", "), "."), ", ")
	guarded := false
	for _, w := range words {
		k, ok := kinds.Of(w)
		if !ok || k.Unsupported || guarded && !k.Guarded {
			t.Errorf("%q is unknown, unsupported or out of order in %q", w, text)
		}
		guarded = k.Guarded
	}
	if len(words) != len(kinds.Supported()) {
		t.Errorf("%d types in %q, want %d", len(words), text, len(kinds.Supported()))
	}
	for _, p := range agentProps() {
		if p.name == "toolsets" && !strings.Contains(p.schema, text) {
			t.Errorf("the schema of toolsets is %s", p.schema)
		}
	}
}

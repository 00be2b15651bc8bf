package steps_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/format/steps"
)

// TestReadonly_Tools checks that readonly is refused where it could not be kept: the operator's
// tools are not in the document.
func TestReadonly_Tools(t *testing.T) {
	t.Parallel()
	for body, refused := range map[string]bool{
		"{readonly: true, tools: [delete_all]}":  true,
		"{tools: ['*'], readonly: true}":         true,
		"{readonly: false, tools: [delete_all]}": false,
		"{readonly: true, tools: []}":            false,
	} {
		_, diags := read(t, "agents: {root: "+body+"}\n", steps.Options{})
		if diags.HasErrors() != refused || refused && !strings.Contains(diags.Error(), "does not cover") {
			t.Errorf("%s: %v", body, diags)
		}
	}
}

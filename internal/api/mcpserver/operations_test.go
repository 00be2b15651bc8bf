package mcpserver_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/api/mcpserver"
	"github.com/hocket-run/hocket/internal/op"
)

// TestNames_Operations checks that each operation with a tool is among the tools.
func TestNames_Operations(t *testing.T) {
	t.Parallel()
	names := strings.Fields(mcpserver.Names())
	for _, o := range op.All() {
		if o.Tool.Name != "" && !slices.Contains(names, o.Tool.Name) {
			t.Errorf("%s has no tool %s", o.ID, o.Tool.Name)
		}
	}
}

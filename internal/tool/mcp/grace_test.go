//go:build unix

package mcp

import (
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/tool"
)

// TestGrace checks that a server that ignores every request to stop has ended 5 s after its toolset
// was closed (P11).
func TestGrace(t *testing.T) {
	t.Parallel()
	if ways := 3 * (Config{}).withDefaults(tool.Spec{}).CloseGrace; ways > 5*time.Second {
		t.Errorf("it may take %s", ways)
	}
}

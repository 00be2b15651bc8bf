package show

import (
	"testing"

	"github.com/hocket-run/hocket/workflow"
)

// TestNodeKinds_Symbols checks that each node kind has a symbol and a box, and that there are none
// for other kinds.
func TestNodeKinds_Symbols(t *testing.T) {
	t.Parallel()
	kinds := workflow.Kinds()
	if len(appearances) != len(kinds) {
		t.Errorf("%d appearances for %d kinds", len(appearances), len(kinds))
	}
	for _, k := range kinds {
		if l := appearances[k]; l.symbol == "" || l.style == "" {
			t.Errorf("nodes of kind %q have no look", k)
		}
	}
}

package show

import (
	"testing"

	"github.com/hocket-run/hocket/workflow"
)

// TestLooks: each kind of nodes has a symbol and a box, and no other kind has.
func TestLooks(t *testing.T) {
	t.Parallel()
	kinds := workflow.Kinds()
	if len(looks) != len(kinds) {
		t.Errorf("%d looks for %d kinds", len(looks), len(kinds))
	}
	for _, k := range kinds {
		if l := looks[k]; l.symbol == "" || l.style == "" {
			t.Errorf("nodes of kind %q have no look", k)
		}
	}
}

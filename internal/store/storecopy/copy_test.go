package storecopy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/store/storecopy"
)

// TestThereAndBack: a file that was copied into PostgreSQL and back is the same, with all that a store holds.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	first, last := file(t), file(t)
	between := server(t, first)
	fill(t, first)
	there := copied(t, first, between, storecopy.Config{})
	t.Logf("%+v", there)
	back := copied(t, between, last, storecopy.Config{})
	if diff := cmp.Diff(exports(t, first), exports(t, last)); diff != "" {
		t.Error("not the same (-before +after):\n", diff)
	}
	there.KeyFile, back.KeyFile = "", ""
	if diff := cmp.Diff(there, back); diff != "" {
		t.Error(diff)
	}
}

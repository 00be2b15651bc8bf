package storecopy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/storecopy"
)

// TestCopy_RoundTrip checks that a file that was copied into PostgreSQL and back is the same, with
// everything that a store can hold.
func TestCopy_RoundTrip(t *testing.T) {
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
	// Data derived from copied rows exists too.
	search, err := journal.ParseSearch("find me")
	do(t, err)
	labels, err := journal.ParseSelectors([]string{"team=ü"})
	do(t, err)
	for _, at := range []store.Locator{first, between, last} {
		h := open(t, at, access.DefaultNamespace)
		all, _, err := h.Journal.List(t.Context(), journal.Query{})
		do(t, err)
		for _, q := range []journal.Query{{Search: search}, {Labels: labels}} {
			if page, _, err := h.Journal.List(t.Context(), q); err != nil || len(page) == 0 || len(page) != len(all) {
				t.Errorf("%d runs found of %d, %v", len(page), len(all), err)
			}
		}
	}
	there.KeyFile, back.KeyFile = "", ""
	if diff := cmp.Diff(there, back); diff != "" {
		t.Error(diff)
	}
}

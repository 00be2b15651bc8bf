package catalog_test

import (
	"errors"
	"testing"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/catalog/catalogtest"
)

// TestCheckID checks the rule for ids.
func TestCheckID(t *testing.T) {
	t.Parallel()
	for _, id := range catalogtest.GoodIDs() {
		if err := catalog.CheckID(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range catalogtest.BadIDs() {
		err := catalog.CheckID(id)
		if _, ok := errors.AsType[*catalog.IDError](err); !ok || len(err.Error()) > 1000 {
			t.Errorf("%.40q: %v", id, err)
		}
	}
}

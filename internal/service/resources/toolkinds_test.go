package resources

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/kinds"
)

// TestTypesOfToolsets checks that the service opens exactly the toolset types that are registered
// as supported.
func TestTypesOfToolsets(t *testing.T) {
	opened := slices.Sorted(maps.Keys(newOpener(Config{Env: func(string) string { return "" }}).types(driver.Info{},
		tool.Type{})))
	if d := cmp.Diff(slices.Sorted(slices.Values(kinds.Names(kinds.Supported()))), opened); d != "" {
		t.Errorf("registered -, opened +\n%s", d)
	}
}

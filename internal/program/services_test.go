package program_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/program"
)

// S2-71: services come back as they were set, the last ones win, and without any there is nil.
func TestServices(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	if v := program.Services(ctx); v != nil {
		t.Errorf("services of a bare context: %v", v)
	}
	outer := program.WithServices(ctx, "outer")
	inner := program.WithServices(outer, "inner")
	if program.Services(inner) != "inner" || program.Services(outer) != "outer" {
		t.Errorf("services: %v inside, %v outside", program.Services(inner), program.Services(outer))
	}
}

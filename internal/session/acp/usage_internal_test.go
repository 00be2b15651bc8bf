//go:build unix

package acp

import (
	"math"
	"testing"
)

// TestPlausibleUsage checks that usage that an agent cannot have is treated as unknown.
func TestPlausibleUsage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		used, size int
		ok         bool
	}{{10, 1000, true}, {0, 0, true}, {-1000, 1000, false}, {10, -1, false}, {math.MaxInt, 1000, false},
		{10, math.MaxInt, false}, {math.MinInt, 0, false}} {
		if u := plausibleUsage(tc.used, tc.size); (u != nil) != tc.ok {
			t.Errorf("%d of %d: %+v", tc.used, tc.size, u)
		}
	}
}

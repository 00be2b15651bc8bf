package leaktest

import (
	"errors"
	"testing"
)

func TestMain(m *testing.M) { Main(m) }

// TestSettle checks P11: a goroutine that ends during the check is not a leak, one that stays is.
func TestSettle(t *testing.T) {
	t.Parallel()
	left := errors.New("one is left")
	for name, tt := range map[string]struct {
		ends int
		want error
	}{"nothing": {0, nil}, "ends late": {maxChecks - 1, nil}, "stays": {maxChecks, left}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			err := settle(func() error {
				if n++; n > tt.ends {
					return nil
				}
				return left
			})
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

package transport

import (
	"context"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/service"
)

// storeTimeout is how long a store that accepts no writes is retried: a run tries to claim its slot
// until the disk has room.
const storeTimeout = 20 * time.Second

// WithStoreTimeout calls do, which acts on a run and would block on a store that does not respond.
// It returns the error of do, or service.ErrUnavailable, after which the caller may retry the
// operation whether or not it took effect.
func WithStoreTimeout(ctx context.Context, do func(context.Context) error) error {
	bound, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := do(bound)
	if err != nil && bound.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", service.ErrUnavailable, err)
	}
	return err
}

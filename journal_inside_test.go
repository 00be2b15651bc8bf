package hocket

import (
	"context"

	"github.com/hocket-run/hocket/internal/engine"
)

// JournalOf gives tests the events of a run as the store has them.
func (e *Engine) JournalOf(ctx context.Context, run string) ([]engine.Event, error) {
	return e.service.Events(ctx, run, 0)
}

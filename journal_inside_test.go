package hocket

import (
	"context"

	"github.com/hocket-run/hocket/internal/engine"
)

// JournalOf returns the events of a run as stored, for tests.
func (e *Engine) JournalOf(ctx context.Context, run string) ([]engine.Event, error) {
	return e.service.Events(ctx, run, 0)
}

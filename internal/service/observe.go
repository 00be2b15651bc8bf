package service

import (
	"context"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/telemetry"
)

// journalSource reads for telemetry what it was not told.
type journalSource struct{ *Service }

var _ telemetry.Source = journalSource{}

// maxCounted bounds how many waiting runs are counted at a time.
const maxCounted = 10_000

// Waiting implements telemetry.Source.
func (s journalSource) Waiting(ctx context.Context) (int, error) {
	n := 0
	q := journal.Query{Statuses: []journal.Status{journal.StatusPaused}, Limit: 1000}
	for {
		heads, next, err := s.store.List(ctx, q)
		if err != nil {
			return 0, err
		}
		n += len(heads)
		if q.Cursor = next; next == "" || n >= maxCounted {
			return n, nil
		}
	}
}

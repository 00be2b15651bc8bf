package journaltest

import (
	"context"

	"github.com/hocket-run/hocket/internal/journal"
)

// Each implements journal.Log.
func (f *Faulty) Each(ctx context.Context, run string, after uint64, take func(journal.Record) error) error {
	if err := f.alive("read"); err != nil {
		return err
	}
	return f.Backend.Each(ctx, run, after, take)
}

// Part implements journal.Log.
func (f *Faulty) Part(ctx context.Context, hash string, offset int64, n int) ([]byte, int64, error) {
	if err := f.alive("read blob"); err != nil {
		return nil, 0, err
	}
	return f.Backend.Part(ctx, hash, offset, n)
}

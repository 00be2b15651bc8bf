package sim

import (
	"context"

	"github.com/hocket-run/hocket/internal/journal"
)

// Each implements journal.Log.
func (d *Disk) Each(ctx context.Context, run string, after uint64, take func(journal.Record) error) error {
	b, err := d.reader()
	if err != nil {
		return err
	}
	return b.Each(ctx, run, after, take)
}

// Part implements journal.Log.
func (d *Disk) Part(ctx context.Context, hash string, offset int64, n int) ([]byte, int64, error) {
	b, err := d.reader()
	if err != nil {
		return nil, 0, err
	}
	return b.Part(ctx, hash, offset, n)
}

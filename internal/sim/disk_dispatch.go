package sim

import (
	"context"

	"github.com/hocket-run/hocket/internal/journal"
)

// ClaimSome implements journal.Dispatch. It counts as a write only if there is something to claim;
// other calls depend on the clock alone.
func (d *Disk) ClaimSome(ctx context.Context, q journal.ClaimQuery) (heads []journal.Head, err error) {
	switch dead, fenced := d.state(); {
	case dead:
		return nil, journal.ErrClosed
	case fenced:
		return nil, journal.ErrFenced
	}
	if found, _, err := d.Backend.List(ctx, journal.Query{Kind: q.Kind, Interrupted: true, Limit: 1}); err != nil ||
		len(found) == 0 {
		return nil, err
	}
	err = d.write("claim", func() (err error) {
		heads, err = d.Backend.ClaimSome(ctx, q)
		return err
	})
	return heads, err
}

// Return implements journal.Dispatch.
func (d *Disk) Return(ctx context.Context, run string, epoch uint64) error {
	return d.write("release", func() error { return d.Backend.Return(ctx, run, epoch) })
}

// Processes implements journal.Dispatch.
func (d *Disk) Processes(ctx context.Context) ([]journal.Owner, error) {
	b, err := d.reader()
	if err != nil {
		return nil, err
	}
	return b.Processes(ctx)
}

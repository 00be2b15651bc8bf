package journaltest

import (
	"context"

	"github.com/hocket-run/hocket/internal/journal"
)

// ClaimSome implements journal.Dispatch. Like a Take that finds nothing, a call that finds nothing
// counts as a read: its timing depends only on the clock.
func (f *Faulty) ClaimSome(ctx context.Context, q journal.ClaimQuery) ([]journal.Head, error) {
	if err := f.alive("claim runs"); err != nil {
		return nil, err
	}
	heads, err := f.Backend.ClaimSome(ctx, q)
	if err != nil || len(heads) == 0 {
		return heads, err
	}
	if err := f.write("claim runs", func() error { return nil }); err != nil {
		return nil, err
	}
	return heads, nil
}

// Return implements journal.Dispatch.
func (f *Faulty) Return(ctx context.Context, run string, epoch uint64) error {
	return f.write("return run", func() error { return f.Backend.Return(ctx, run, epoch) })
}

// Move implements journal.Dispatch.
func (f *Faulty) Move(ctx context.Context, run, place string) error {
	return f.write("move run", func() error { return f.Backend.Move(ctx, run, place) })
}

// Processes implements journal.Dispatch.
func (f *Faulty) Processes(ctx context.Context) ([]journal.Owner, error) {
	if err := f.alive("list processes"); err != nil {
		return nil, err
	}
	return f.Backend.Processes(ctx)
}

package embedded

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/text"
)

// loader gives the text with a hash that the journal holds.
type loader func(hash string) (string, error)

// newRun gives a run without events. The functions of a Go program read outputs at any time, in goroutines of their own: its runs keep everything in memory. All others let large texts
// leave memory when the journal has them.
func newRun(c compiled, id string) *engine.Run {
	r := engine.New(c.plan, id)
	if c.program == nil {
		r.StoreTexts(engine.LargeBytes)
	}
	return r
}

// releases gives functions that let the texts that a run has made leave memory, where their hashes are among those that the journal holds beside its records.
func releases(run *engine.Run, load loader, stored func(hash string) bool) (out []func()) {
	for _, t := range run.TakeStored() {
		sum := t.Text().Sum()
		if hash := hex.EncodeToString(sum[:]); stored(hash) {
			out = append(out, func() { t.Release(func() (string, error) { return load(hash) }) })
		}
	}
	return out
}

// releaseStored lets large texts leave memory after an append that is durable: those of the append before it, since what follows from a text is mostly a call that needs it.
func (a *actor) releaseStored(ap journal.Append) {
	for _, fn := range a.releases {
		fn()
	}
	a.releases = nil
	if len(ap.Blobs) == 0 {
		return // nothing that could be loaded again
	}
	a.releases = releases(a.run, a.loadText, func(hash string) bool {
		return slices.ContainsFunc(ap.Blobs, func(b journal.Blob) bool { return b.Hash == hash })
	})
}

// loadText gives a text of the run that the journal holds. A store that does not answer is asked until it does, or the run is interrupted.
func (a *actor) loadText(hash string) (s string, err error) {
	err = a.persist("read value", func() error {
		s, err = a.d.loadText(a.d.root, a.id, hash)
		return err
	})
	return s, err
}

// loadText gives a text that the journal of a run holds. One that is gone is damage.
func (d *Driver) loadText(ctx context.Context, run, hash string) (string, error) {
	data, err := d.cfg.Store.Blob(ctx, hash)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return "", &journal.CorruptError{Run: run, Reason: "out-of-line value is missing: " + hash}
	case err != nil:
		return "", fmt.Errorf("read run %s: %w", run, journal.InRun(run, err))
	}
	return string(data), nil
}

// foldInto folds the stored events of a run. Large texts of its messages are not read.
func (d *Driver) foldInto(ctx context.Context, run *engine.Run, id string, load loader, after func(engine.Event)) error {
	stored := func(hash string, size int64) text.Text {
		return text.AtPlace(size, func() (string, error) { return load(hash) }).Text()
	}
	return journal.EachStored(ctx, d.cfg.Store, id, stored, func(events []engine.Event, aside []string) error {
		if err := applyAll(run, events, after); err != nil {
			return err
		}
		for _, fn := range releases(run, load, func(hash string) bool { return slices.Contains(aside, hash) }) {
			fn()
		}
		return nil
	})
}

// applyAll folds events. after, if not nil, is called with each of them before the next one is folded.
func applyAll(run *engine.Run, events []engine.Event, after func(engine.Event)) error {
	if after == nil {
		return run.Apply(events)
	}
	for i := range events {
		if err := run.Apply(events[i : i+1]); err != nil {
			return err
		}
		after(events[i])
	}
	return nil
}

// pinned keeps the texts of a model call in memory until unpin is called.
func pinned(cmd *engine.CallModel) (unpin func(), err error) {
	var pins []func()
	unpin = func() {
		for _, fn := range pins {
			fn()
		}
	}
	for i := range cmd.Messages {
		t := cmd.Messages[i].Text
		if t.IsLoaded() {
			continue
		}
		fn, err := t.Pin()
		if err != nil {
			unpin()
			return nil, err
		}
		pins = append(pins, fn)
	}
	return unpin, nil
}

// isLoadError tells whether a text could not be loaded. That was asked until there was no sense in asking: the run is in quarantine, or to be interrupted.
func isLoadError(err error) bool {
	_, ok := errors.AsType[*text.LoadError](err)
	return ok
}

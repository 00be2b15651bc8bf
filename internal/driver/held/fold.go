package held

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

// Loader gives the text with a hash that the journal holds.
type Loader func(hash string) (string, error)

// NewRun gives a run without events. The functions of a Go program read outputs at any time, in goroutines of their own: its runs keep everything in memory. All others let large texts
// leave memory when the journal has them.
func NewRun(c Compiled, id string) *engine.Run {
	r := engine.New(c.Plan, id)
	if c.Program == nil {
		r.StoreTexts(engine.LargeBytes)
	}
	return r
}

// Releases gives functions that let the texts that a run has made leave memory, where their hashes are among those that the journal holds beside its records.
func Releases(run *engine.Run, load Loader, stored func(hash string) bool) (out []func()) {
	for _, t := range run.TakeStored() {
		sum := t.Text().Sum()
		if hash := hex.EncodeToString(sum[:]); stored(hash) {
			out = append(out, func() { t.Release(func() (string, error) { return load(hash) }) })
		}
	}
	return out
}

// LoadText gives a text that the journal of a run holds. One that is gone is damage.
func LoadText(ctx context.Context, log journal.Log, run, hash string) (string, error) {
	data, err := log.Blob(ctx, hash)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return "", &journal.CorruptError{Run: run, Reason: "out-of-line value is missing: " + hash}
	case err != nil:
		return "", fmt.Errorf("read run %s: %w", run, journal.InRun(run, err))
	}
	return string(data), nil
}

// FoldInto folds the stored events of a run that come after those it has. each, if not nil, is called with each of them before the next one is folded. Large texts of its messages are not read.
func FoldInto(ctx context.Context, log journal.Log, run *engine.Run, id string, load Loader, each func(engine.Event)) error {
	stored := func(hash string, size int64) text.Text {
		return text.AtPlace(size, func() (string, error) { return load(hash) }).Text()
	}
	return journal.EachStored(ctx, log, id, run.Seq(), stored, func(events []engine.Event, aside []string) error {
		if err := applyAll(run, events, each); err != nil {
			return err
		}
		for _, fn := range Releases(run, load, func(hash string) bool { return slices.Contains(aside, hash) }) {
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

// Pin keeps the texts of a model call in memory until unpin is called.
func Pin(cmd *engine.CallModel) (unpin func(), err error) {
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

// IsLoadError tells whether a text could not be loaded. That was asked until there was no sense in asking: the run is in quarantine, or to be interrupted.
func IsLoadError(err error) bool {
	_, ok := errors.AsType[*text.LoadError](err)
	return ok
}

// Fold makes a run of its events. load gives its texts; nil: the store is asked once.
func Fold(ctx context.Context, log journal.Log, id string, c Compiled, load Loader) (run *engine.Run, err error) {
	defer Recovered(&err)
	if load == nil {
		load = func(hash string) (string, error) { return LoadText(ctx, log, id, hash) }
	}
	run = NewRun(c, id)
	if err := FoldInto(ctx, log, run, id, load, nil); err != nil {
		return nil, err
	}
	return run, nil
}

package held

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/text"
)

// Loader returns the string with the given hash from the journal.
type Loader func(hash string) (string, error)

// NewRun returns a run without events. The functions of a Go program read outputs at any time, in
// their own goroutines, so its runs keep everything in memory. All other runs free large strings
// once they are in the journal.
func NewRun(c Compiled, id string) *engine.Run {
	r := engine.New(c.Plan, id)
	if c.Program == nil {
		r.StoreTexts(engine.LargeBytes)
	}
	return r
}

// Releases returns functions that free the strings that a run has produced, if their hashes are
// among those that the journal stores separately from its records.
func Releases(run *engine.Run, load Loader, stored func(hash string) bool) (out []func()) {
	for _, t := range run.TakeStored() {
		sum := t.Text().Sum()
		if hash := hex.EncodeToString(sum[:]); stored(hash) {
			out = append(out, func() { t.Release(func() (string, error) { return load(hash) }) })
		}
	}
	return out
}

// LoadText returns a string from the journal of a run. A missing string counts as damage.
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

// FoldInto folds the stored events of a run that follow the ones it already has. each, if not nil,
// is called with each event before the next one is folded. Large strings of the run's messages are
// not read.
func FoldInto(ctx context.Context, log journal.Log, run *engine.Run, id string, load Loader,
	each func(event.Event)) error {
	stored := func(hash string, size int64) text.Text {
		return text.AtPlace(size, func() (string, error) { return load(hash) }).Text()
	}
	return journal.EachStored(ctx, log, id, run.Seq(), stored, func(events []event.Event, aside []string) error {
		if err := applyAll(run, events, each); err != nil {
			return err
		}
		for _, fn := range Releases(run, load, func(hash string) bool { return slices.Contains(aside, hash) }) {
			fn()
		}
		return nil
	})
}

// applyAll folds events. after, if not nil, is called with each event before the next one is
// folded.
func applyAll(run *engine.Run, events []event.Event, after func(event.Event)) error {
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

// Pin keeps the strings of a model call in memory until unpin is called.
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

// IsLoadError reports whether a string could not be loaded. Loading was retried for as long as that
// made sense: the run is quarantined or to be interrupted.
func IsLoadError(err error) bool {
	_, ok := errors.AsType[*text.LoadError](err)
	return ok
}

// Fold folds a run from its events. load returns its strings; if nil, the store is queried once.
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

package held

import (
	"context"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// Info returns the information about a run that its calls need; file reads one of its files.
func Info(run string, w *workflow.Workflow, n journal.NewRun,
	file func(context.Context, string) ([]byte, error)) driver.Info {
	return driver.Info{Run: run, Workflow: w, Model: n.Meta[driver.MetaModel], Meta: driver.UserMeta(n.Meta),
		File: file}
}

// Open opens the models and tools of a run. Its functions are those of program unless open provides
// others. open may be nil.
func Open(ctx context.Context, open driver.OpenFunc, info driver.Info, program driver.Program) (
	*driver.RunResources, error) {
	if open == nil {
		return &driver.RunResources{Program: program}, nil
	}
	info.Program = program
	k, err := open(ctx, info)
	if err != nil {
		if foreign, ok := errors.AsType[*driver.ForeignError](err); ok {
			return nil, foreign // nothing to open
		}
		return nil, fmt.Errorf("open models and tools: %w", err)
	}
	if k == nil {
		k = &driver.RunResources{}
	}
	if k.Program == nil {
		k.Program = program
	}
	return k, nil
}

// Equip is Open for a run with a history: stateful tools receive the calls made so far.
// info.History is called at most once.
func Equip(ctx context.Context, open driver.OpenFunc, info driver.Info, program driver.Program) (
	*driver.RunResources, error) {
	read := info.History
	var told *driver.History
	info.History = func(ctx context.Context) (h *driver.History, err error) {
		if told == nil {
			told, err = read(ctx)
		}
		return told, err
	}
	k, err := Open(ctx, open, info, program)
	if err != nil {
		return nil, err
	}
	if k.Tools == nil || k.Stateless {
		return k, nil
	}
	h, err := info.History(ctx)
	if err == nil && len(h.Tools) > 0 {
		err = k.Tools.Restore(ctx, h.Tools)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("restore tools: %w", err), k.Close())
	}
	return k, nil
}

// newFiles returns a function that reads the files with which a run is started.
func newFiles(run string, files map[string][]byte) func(context.Context, string) ([]byte, error) {
	return func(_ context.Context, name string) ([]byte, error) {
		if data, ok := files[name]; ok {
			return data, nil
		}
		return nil, fmt.Errorf("file %q of run %s: %w", name, run, journal.ErrNotFound)
	}
}

// noHistory is the history of a new run.
func noHistory(context.Context) (*driver.History, error) { return &driver.History{}, nil }

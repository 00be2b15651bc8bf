package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/workflow"
)

// Play starts a run of a workflow of [Generate] on a driver, answers what it asks by [Answer] and returns when it has ended. events reads its journal.
func Play(ctx context.Context, d driver.Driver, run string, seed uint64, w *workflow.Workflow, events func() []engine.Event) error {
	if _, err := d.Start(ctx, driver.Spec{Run: run, Workflow: w, Input: engine.Value(`"in"`)}); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	for {
		s, err := d.Wait(ctx, run)
		if err != nil || s.Status.Ended() {
			return err
		}
		waits := OpenWaits(events())
		for _, node := range slices.Sorted(maps.Keys(waits)) {
			if err := d.Answer(ctx, run, engine.Answer{Wait: waits[node].Wait, Value: Answer(seed, node, waits[node])}); err != nil {
				return fmt.Errorf("answer %s of %s: %w", waits[node].Wait, node, err)
			}
		}
	}
}

// Answer gives what a person answers a wait of a workflow of [Generate]: it follows from the question and the seed.
func Answer(seed uint64, node string, w *engine.WaitOpened) engine.Value {
	switch {
	case w.Call != "":
		return engine.Value(`"retry"`)
	case Hash(seed, "answer", node)%2 == 0:
		return engine.Value(`"approve"`)
	}
	return engine.Value(`"reject"`)
}

// OpenWaits gives the waits that are open at the end of a journal, by node and call.
func OpenWaits(events []engine.Event) map[string]*engine.WaitOpened {
	list := map[string]*engine.WaitOpened{}
	for _, e := range events {
		closed := ""
		switch d := e.Data.(type) {
		case *engine.WaitOpened:
			list[e.Node+" "+d.Call] = d
		case *engine.WaitAnswered:
			closed = d.Wait
		case *engine.WaitClosed:
			closed = d.Wait
		}
		if closed != "" {
			maps.DeleteFunc(list, func(_ string, w *engine.WaitOpened) bool { return w.Wait == closed })
		}
	}
	return list
}

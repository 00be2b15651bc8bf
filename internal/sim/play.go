package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

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
		for _, w := range OpenWaits(events()) {
			if err := d.Answer(ctx, run, engine.Answer{Wait: w.Wait, Value: Answer(seed, w)}); err != nil {
				return fmt.Errorf("answer %s of %s: %w", w.Wait, w.Node, err)
			}
		}
	}
}

// Answer gives what a person answers a wait of a workflow of [Generate]: it follows from the question and the seed.
func Answer(seed uint64, w OpenWait) engine.Value {
	switch {
	case w.Call != "":
		return engine.Value(`"retry"`)
	case Hash(seed, "answer", w.Node+" ")%2 == 0:
		return engine.Value(`"approve"`)
	}
	return engine.Value(`"reject"`)
}

// OpenWait is a wait that is open, and its node.
type OpenWait struct {
	Node string
	*engine.WaitOpened
}

// OpenWaits gives the waits that are open at the end of a journal, in the order of their nodes; those of a node, of which items of a map may have several, in the order in which they were opened.
func OpenWaits(events []engine.Event) (list []OpenWait) {
	for _, e := range events {
		closed := ""
		switch d := e.Data.(type) {
		case *engine.WaitOpened:
			list = append(list, OpenWait{e.Node, d})
		case *engine.WaitAnswered:
			closed = d.Wait
		case *engine.WaitClosed:
			closed = d.Wait
		}
		if closed != "" {
			list = slices.DeleteFunc(list, func(w OpenWait) bool { return w.Wait == closed })
		}
	}
	slices.SortStableFunc(list, func(a, b OpenWait) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.Call, b.Call))
	})
	return list
}

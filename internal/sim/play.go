package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// Play starts a run of a workflow of [Generate] on a driver, answers its waits with [Answer] and
// returns when it has ended. events reads its journal.
func Play(ctx context.Context, d driver.Driver, run string, seed uint64, w *workflow.Workflow,
	events func() []event.Event) error {
	if _, err := d.Start(ctx, driver.Spec{Run: run, Workflow: w, Input: event.Value(`"in"`)}); err != nil {
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

// Answer returns the answer of a person to a wait of a workflow of [Generate]; it depends on the
// question and the seed only.
func Answer(seed uint64, w OpenWait) event.Value {
	switch {
	case w.Call != "":
		return event.Value(`"retry"`)
	case Hash(seed, "answer", w.Node+" ")%2 == 0:
		return event.Value(`"approve"`)
	}
	return event.Value(`"reject"`)
}

// OpenWait is an open wait and its node.
type OpenWait struct {
	Node string
	*event.WaitOpened
}

// OpenWaits returns the waits that are open at the end of a journal, in the order of their nodes.
// Waits of the same node, of which items of a map may have several, are in the order in which they
// were opened.
func OpenWaits(events []event.Event) (list []OpenWait) {
	for _, e := range events {
		closed := ""
		switch d := e.Data.(type) {
		case *event.WaitOpened:
			list = append(list, OpenWait{e.Node, d})
		case *event.WaitAnswered:
			closed = d.Wait
		case *event.WaitClosed:
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

package run

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/stored"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
)

// A retry continues the calls that have no result, and with each call the child runs that it
// started: otherwise they would begin again, and repeat calls that must not be repeated without
// asking (P12). The new child runs are stored under the ids that the calls of the new run look for
// (driver.ChildRunID), before the new run itself.

// continuedChildren returns the child runs of the calls without a result in past, the past of a
// retry of run with the id as. It maps them to their ids in the retry. Child runs that cannot
// continue, as after a limit of their own, begin again.
func (s *Runner) continuedChildren(ctx context.Context, run, as string, past []event.Event) (map[string]string,
	error) {
	type call struct {
		key  string
		step int
	}
	open, retries := map[string]call{}, map[int]int{}
	settle := func(settled func(call) bool) {
		maps.DeleteFunc(open, func(_ string, c call) bool { return settled(c) })
	}
	for _, e := range past {
		key := ""
		switch d := e.Data.(type) {
		case *event.ChildStarted:
			open[d.Run] = call{d.Call, e.Step}
			continue
		case *event.ToolReturned:
			key = d.Call
		case *event.ToolFailed:
			if key = d.Call; d.Kept {
				continue
			}
		case *event.FuncReturned:
			if key = d.Call; d.Kept {
				continue
			}
		case *event.StepRetrying:
			if d.Model == "" {
				retries[e.Step]++
			}
			if d.Call != "" {
				continue
			}
		case *event.StepCompleted, *event.StepFailed, *event.StepCancelled, *event.StepSkipped:
		default:
			continue
		}
		settle(func(c call) bool { return c.step == e.Step && (key == "" || c.key == key) })
	}
	out := map[string]string{}
	for child, c := range open {
		to := sameChild(child, run, as, c.key, retries[c.step])
		if to == "" {
			continue
		}
		if ok, err := s.canContinue(ctx, child, run); err != nil {
			return nil, err
		} else if ok {
			out[child] = to
		}
	}
	return out, nil
}

// sameChild returns the id that a child run of a call of run has as a child run of the same call of
// another run, or "" if that is not known.
func sameChild(child, run, other, call string, retries int) string {
	for n := 0; n <= retries; n++ {
		if child == driver.ChildRunID(run, "", childKey(run+"/"+call, n)) {
			return driver.ChildRunID(other, "", childKey(other+"/"+call, n))
		}
	}
	name, ok := driver.ChildName(run, child)
	if !ok || len(other)+1+len(name) > driver.MaxRunID {
		return ""
	}
	return driver.ChildRunID(other, name, "")
}

// childKey returns the key of the child run of a call with the given key after a number of retries,
// each of which starts a new run instead of finding the failed one.
func childKey(key string, retries int) string {
	if retries > 0 {
		key += "#" + strconv.Itoa(retries)
	}
	return key
}

// canContinue reports whether a child run of run can continue as one of another run.
func (s *Runner) canContinue(ctx context.Context, child, run string) (bool, error) {
	head, err := s.store.Head(ctx, child)
	if err != nil || head.Parent != run {
		if errors.Is(err, journal.ErrNotFound) { // it was never stored
			err = nil
		}
		return false, err
	}
	var events []event.Event
	if err := s.EachEvent(ctx, child, 0, func(e event.Event) error {
		events = append(events, e)
		return nil
	}); err != nil {
		return false, err
	}
	q := RetryRequest{parent: run}
	past, reopen, err := q.past(child, events, true)
	return err == nil && reopen == nil && len(past) > 0, nil
}

// deriveChildren stores the child runs that calls of a retry continue.
func (s *Runner) deriveChildren(ctx context.Context, parent journal.Head, q RetryRequest, d *stored.Derived) error {
	for _, child := range slices.Sorted(maps.Keys(d.Children)) {
		head, w, err := s.RunDefinition(ctx, child)
		if err != nil {
			return err
		}
		below := stored.Derived{Run: d.Children[child], Model: q.Model, Parent: d.Run}
		if head.Meta[metaRoot] != "" {
			below.Meta = map[string]string{metaRoot: cmp.Or(d.Meta[metaRoot], parent.Meta[metaRoot], d.Run)}
		}
		again := RetryRequest{Model: q.Model, Files: q.Files, By: q.By, Rights: q.Rights, parent: d.Run}
		if _, err := s.derive(ctx, head, w, again, below); err != nil {
			return err
		}
	}
	return nil
}

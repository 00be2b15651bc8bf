package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/stored"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/internal/service/resources"
	"github.com/hocket-run/hocket/workflow"
)

// MetaConcurrency is the key of a run's meta that holds its concurrency limit, as JSON of Bound.
const MetaConcurrency = "concurrency"

// Bound limits how many runs run concurrently: the runs of the workflow whose key evaluates to the
// same string.
type Bound struct {
	Key    string `json:"key"`
	Max    int    `json:"max"`
	IfBusy string `json:"ifBusy"`
}

// setSlot evaluates the key of a workflow for the input of a run, and sets the requested slot in
// spec. It returns an *InvalidError.
func setSlot(c *workflow.Concurrency, spec *driver.Spec, expressions expr.Compiler) error {
	if c == nil {
		return nil
	}
	if err := c.Check(); err != nil {
		return refuseKey(err)
	}
	key, err := keyOf(c.Key, spec.Input, expressions)
	if err != nil {
		return refuseKey(err)
	}
	return setSlotForKey(c, key, spec)
}

// setSlotForKey sets in spec the slot that a run with this key requests. Graphs of programs have
// queues separate from stored workflows and from other programs.
func setSlotForKey(c *workflow.Concurrency, key string, spec *driver.Spec) error {
	note, err := json.Marshal(Bound{key, c.Runs(), c.Policy()})
	if err != nil {
		return fmt.Errorf("note what bounds the run: %w", err)
	}
	meta := map[string]string{MetaConcurrency: string(note)}
	maps.Copy(meta, spec.Meta)
	spec.Meta = meta
	spec.Run = cmp.Or(spec.Run, driver.NewRunID(time.Now()))
	of := cmp.Or(spec.WorkflowID, spec.WorkflowName, spec.Workflow.ID, spec.Workflow.Name)
	name := of + "\n" + key
	if isGraph(spec.Workflow) {
		// no workflow name has this prefix: ids are not empty
		name = "\n" + spec.Meta[resources.MetaProgram] + "\n" + name
	}
	if len(name) > journal.MaxSlotName {
		sum := sha256.Sum256([]byte(name))
		name = hex.EncodeToString(sum[:])
	}
	spec.Slot = &journal.Slot{Name: name, Run: spec.Run, Max: c.Runs()}
	return nil
}

func refuseKey(err error) error {
	return failure.Refuse(errcode.InvalidConcurrency, errcode.Fields{"cause": err.Error()}, err)
}

// keyOf evaluates a key for an input.
func keyOf(src string, input json.RawMessage, expressions expr.Compiler) (string, error) {
	t, problems := expr.ParseInputText(src, expressions)
	if p := expr.Refusal(problems); p != nil {
		return "", errors.New(p.Message)
	}
	value, err := t.Eval(expr.InputEnv(input))
	if err != nil {
		return "", err
	}
	key := expr.Text(value)
	if len(key) > workflow.MaxConcurrencyKey {
		return "", fmt.Errorf("the key of the run has %d bytes, at most %d are possible", len(key),
			workflow.MaxConcurrencyKey)
	}
	return key, nil
}

// boundOf returns the concurrency limit of a run, or false if it has none.
func boundOf(meta map[string]string) (b Bound, ok bool) {
	return b, json.Unmarshal([]byte(meta[MetaConcurrency]), &b) == nil && b.Max > 0
}

// launch starts a run when its key and its session allow it. caller is the run whose function
// starts it, or "": while the caller is active under the same key, the new run neither waits for it
// nor replaces it, or the function would wait for its own end. Waiting for other runs of the key
// also ends when abandoned is closed; nil never is.
func (s *Runner) launch(ctx context.Context, spec driver.Spec, policy IfBusy, caller string,
	abandoned <-chan struct{}) (run string, err error) {
	if spec.Slot == nil {
		return s.launchInSession(ctx, spec, policy)
	}
	if shares, err := s.sharesSlot(ctx, spec.ParentRun, spec.Slot.Name); err != nil {
		return "", err
	} else if shares {
		spec.Slot = nil
		return s.launchInSession(ctx, spec, policy)
	}
	own, err := s.sharesSlot(ctx, caller, spec.Slot.Name)
	if err != nil {
		return "", err
	}
	b, _ := boundOf(spec.Meta)
	if own {
		b.IfBusy = workflow.BusySkip
	}
	wait, stop := waitContext(ctx, abandoned)
	defer stop()
	turn, err := s.takeSlot(ctx, wait, *spec.Slot, b)
	if own && errors.Is(err, journal.ErrBusy) {
		return "", fmt.Errorf("run %s, which starts this one, has the same key, and there is no room beside it: %w",
			caller, err)
	}
	if err != nil {
		return "", err
	}
	spec.Queued = !turn.Admitted
	run, err = s.launchInSession(ctx, spec, policy)
	s.confirmSlot(spec.Run, err == nil)
	return run, err
}

// sharesSlot reports whether a run or one of its ancestors has a slot with this name. A child run
// continues along with that ancestor, or neither would.
func (s *Runner) sharesSlot(ctx context.Context, parent, name string) (bool, error) {
	for parent != "" {
		head, err := s.store.Head(ctx, parent)
		if errors.Is(err, journal.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if slot, ok := driver.SlotOf(parent, head.Meta); ok && slot.Name == name {
			return true, nil
		}
		parent = head.Parent
	}
	return false, nil
}

// waitContext returns a context that ends with ctx or when abandoned is closed. The caller must
// call stop.
func waitContext(ctx context.Context, abandoned <-chan struct{}) (wait context.Context, stop func()) {
	if abandoned == nil {
		return ctx, func() {}
	}
	wait, stop = context.WithCancel(ctx)
	go func() {
		select {
		case <-abandoned:
			stop()
		case <-wait.Done():
		}
	}()
	return wait, stop
}

// takeSlot requests a slot according to the policy of the workflow, and waits under wait for runs
// that it cancels. If it returns no error, the run has a slot or is in the queue. It returns
// concurrency-busy if the run must not wait.
func (s *Runner) takeSlot(ctx, wait context.Context, slot journal.Slot, b Bound) (journal.Turn, error) {
	slot.OnlyFree = b.IfBusy != workflow.BusyQueue
	for {
		turn, err := s.store.Queue(ctx, slot)
		switch {
		case err != nil || turn.Admitted || !slot.OnlyFree:
			return turn, err
		case b.IfBusy == workflow.BusyCancel:
			if err := s.makeRoom(wait, blockingRun(turn), "it was replaced by run "+slot.Run); err != nil {
				return turn, err
			}
		default:
			return turn, busyError(turn, b)
		}
	}
}

// blockingRun returns the name of a run that keeps another from getting a slot.
func blockingRun(t journal.Turn) string {
	if len(t.Busy) > 0 {
		return t.Busy[0]
	}
	return t.Behind
}

// busyError returns an error that names the run that keeps another from starting.
func busyError(t journal.Turn, b Bound) error {
	return errcode.New(errcode.ConcurrencyBusy, errcode.Fields{"key": b.Key, "max": b.Max, "run": blockingRun(t)},
		journal.ErrBusy)
}

// confirmSlot tells the store that a run has started, or that it has not and leaves its queue. If
// the store is unreachable it keeps trying: a leftover slot would be occupied as long as this
// process lives.
func (s *Runner) confirmSlot(run string, begun bool) {
	try := func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
		defer cancel()
		tell := s.store.Confirm
		if !begun {
			tell = s.store.Unqueue
		}
		err := tell(ctx, run)
		return err == nil || errors.Is(err, journal.ErrClosed)
	}
	if try() {
		return
	}
	go func() {
		for !try() {
			time.Sleep(leavePause)
		}
	}()
}

// reacquireSlot takes a slot for a run that has ended and continues, or for a run derived from
// another one; such a run does not wait. The caller must pass the outcome to done.
func (s *Runner) reacquireSlot(ctx context.Context, slot journal.Slot, meta map[string]string) (
	done func(error), err error) {
	b, ok := boundOf(meta)
	if !ok || slot.Name == "" {
		return func(error) {}, nil
	}
	if b.IfBusy == workflow.BusyQueue {
		b.IfBusy = workflow.BusySkip
	}
	_, err = s.takeSlot(ctx, ctx, slot, b)
	switch {
	case errors.Is(err, journal.ErrExists): // it has not ended
		return func(error) {}, nil
	case err != nil:
		return nil, err
	}
	return func(err error) { s.confirmSlot(slot.Run, err == nil) }, nil
}

// slotForReopened is reacquireSlot for a run that has ended.
func (s *Runner) slotForReopened(ctx context.Context, run string) (done func(error), err error) {
	head, err := s.store.Head(ctx, run)
	if err != nil || !head.Status.Ended() {
		return func(error) {}, err
	}
	slot, _ := driver.SlotOf(run, head.Meta)
	return s.reacquireSlot(ctx, slot, head.Meta)
}

// slotForDerived is reacquireSlot for a run that is derived from another one; its id is set in d.
func (s *Runner) slotForDerived(ctx context.Context, head journal.Head, d *stored.Derived) (
	done func(error), err error) {
	d.Run = cmp.Or(d.Run, NewRunID())
	if d.Spec == nil {
		slot, _ := driver.SlotOf(d.Run, head.Meta)
		return s.reacquireSlot(ctx, slot, head.Meta)
	}
	if d.Spec.Slot == nil {
		return func(error) {}, nil
	}
	d.Spec.Slot.Run = d.Run
	return s.reacquireSlot(ctx, *d.Spec.Slot, d.Spec.Meta)
}

// childDriver is the driver of child runs: a child run that has ended and continues takes its slot
// again.
type childDriver struct {
	driver.Driver
	s *Runner
}

// Extend implements child.Driver.
func (c childDriver) Extend(ctx context.Context, run string, parent *workflow.Budget) error {
	done, err := c.s.slotForReopened(ctx, run)
	if err != nil {
		return err
	}
	err = c.Driver.Extend(ctx, run, parent)
	done(err)
	return err
}

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

// MetaConcurrency is the key of a run's meta that holds what bounds it, as JSON: Bound.
const MetaConcurrency = "concurrency"

// Bound is how many runs run at once beside a run: those of its workflow for which the key has the same text.
type Bound struct {
	Key    string `json:"key"`
	Max    int    `json:"max"`
	IfBusy string `json:"ifBusy"`
}

// bound evaluates the key of a workflow over the input of a run, and says in spec what the run asks for. Errors: *InvalidError.
func bound(c *workflow.Concurrency, spec *driver.Spec, expressions expr.Compiler) error {
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
	return boundBy(c, key, spec)
}

// boundBy says in spec what a run with this key asks for. Graphs of programs have their lines apart from stored workflows and from those of other programs.
func boundBy(c *workflow.Concurrency, key string, spec *driver.Spec) error {
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
		name = "\n" + spec.Meta[resources.MetaProgram] + "\n" + name // no workflow's name begins like that: ids are not empty
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

// keyOf gives the text of a key for an input.
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
		return "", fmt.Errorf("the key of the run has %d bytes, at most %d are possible", len(key), workflow.MaxConcurrencyKey)
	}
	return key, nil
}

// boundOf gives what bounds a run; false where nothing does.
func boundOf(meta map[string]string) (b Bound, ok bool) {
	return b, json.Unmarshal([]byte(meta[MetaConcurrency]), &b) == nil && b.Max > 0
}

// launch begins a run when its key and its session let it. caller is the run whose function starts it, "" where none does: while that one goes on under the same key, the new run neither waits for it
// nor replaces it, or the function would wait for its own end. What waits for other runs of the key also ends where abandoned is closed; nil never is.
func (s *Runner) launch(ctx context.Context, spec driver.Spec, policy IfBusy, caller string, abandoned <-chan struct{}) (run string, err error) {
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
		return "", fmt.Errorf("run %s, which starts this one, has the same key, and there is no room beside it: %w", caller, err)
	}
	if err != nil {
		return "", err
	}
	spec.Queued = !turn.Admitted
	run, err = s.launchInSession(ctx, spec, policy)
	if errors.Is(err, driver.ErrNoQueue) {
		if err = s.untilAdmitted(wait, spec.Run); err == nil {
			spec.Queued = false
			run, err = s.launchInSession(ctx, spec, policy)
		}
	}
	s.keepSlot(spec.Run, err == nil)
	return run, err
}

// sharesSlot tells whether a run or one of those above it has a slot of this name. A run below goes on with that one, or neither would.
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

// waitContext gives a context that ends with ctx, and where abandoned is closed. The caller calls stop.
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

// takeSlot asks for a slot as the policy of the workflow says, and waits under wait for runs that it cancels. Without an error the run has one, or is in the line. Errors: concurrency-busy where it
// is not to wait.
func (s *Runner) takeSlot(ctx, wait context.Context, slot journal.Slot, b Bound) (journal.Turn, error) {
	slot.OnlyFree = b.IfBusy != workflow.BusyQueue
	for {
		turn, err := s.store.Queue(ctx, slot)
		switch {
		case err != nil || turn.Admitted || !slot.OnlyFree:
			return turn, err
		case b.IfBusy == workflow.BusyCancel:
			if err := s.makeRoom(wait, inTheWay(turn), "it was replaced by run "+slot.Run); err != nil {
				return turn, err
			}
		default:
			return turn, busyError(turn, b)
		}
	}
}

// inTheWay names a run that keeps another from having a slot.
func inTheWay(t journal.Turn) string {
	if len(t.Busy) > 0 {
		return t.Busy[0]
	}
	return t.Behind
}

// busyError says which run keeps another from beginning.
func busyError(t journal.Turn, b Bound) error {
	return errcode.New(errcode.ConcurrencyBusy, errcode.Fields{"key": b.Key, "max": b.Max, "run": inTheWay(t)}, journal.ErrBusy)
}

// untilAdmitted waits in this process until a run has a slot.
func (s *Runner) untilAdmitted(ctx context.Context, run string) error {
	for {
		turn, err := s.store.Admit(ctx, run)
		if err != nil || turn.Admitted {
			return err
		}
		changed := make(chan struct{}, 1)
		stop := s.store.Subscribe(changed, journal.OfRun(inTheWay(turn)))
		err = await(ctx, changed)
		stop()
		if err != nil {
			return err
		}
	}
}

// keepSlot tells the store that a run has begun, or has not and leaves its line. Where the store cannot be reached it goes on to try: a slot that stays would be taken for as long as this process lives.
func (s *Runner) keepSlot(run string, begun bool) {
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

// slotAgain takes a slot for a run that has ended and goes on, or for one that is made of another one: such a run does not wait. done is told what became of it.
func (s *Runner) slotAgain(ctx context.Context, slot journal.Slot, meta map[string]string) (done func(error), err error) {
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
	return func(err error) { s.keepSlot(slot.Run, err == nil) }, nil
}

// reopened is slotAgain for a run that has ended.
func (s *Runner) reopened(ctx context.Context, run string) (done func(error), err error) {
	head, err := s.store.Head(ctx, run)
	if err != nil || !head.Status.Ended() {
		return func(error) {}, err
	}
	slot, _ := driver.SlotOf(run, head.Meta)
	return s.slotAgain(ctx, slot, head.Meta)
}

// made is slotAgain for a run that is made of another one; d gets its id.
func (s *Runner) made(ctx context.Context, head journal.Head, d *stored.Derived) (done func(error), err error) {
	d.Run = cmp.Or(d.Run, NewRunID())
	if d.Spec == nil {
		slot, _ := driver.SlotOf(d.Run, head.Meta)
		return s.slotAgain(ctx, slot, head.Meta)
	}
	if d.Spec.Slot == nil {
		return func(error) {}, nil
	}
	d.Spec.Slot.Run = d.Run
	return s.slotAgain(ctx, *d.Spec.Slot, d.Spec.Meta)
}

// childDriver is the driver of runs below: one that ended and goes on takes its slot again.
type childDriver struct {
	driver.Driver
	s *Runner
}

// Extend implements child.Driver.
func (c childDriver) Extend(ctx context.Context, run string, parent *workflow.Budget) error {
	done, err := c.s.reopened(ctx, run)
	if err != nil {
		return err
	}
	err = c.Driver.Extend(ctx, run, parent)
	done(err)
	return err
}

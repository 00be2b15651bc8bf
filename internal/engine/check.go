package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
)

// check rejects inputs that this run cannot accept, before anything changes.
func (r *Run) check(in InputData) error {
	if d, ok := in.(Start); ok {
		if r.state.Created != nil {
			return ErrStarted
		}
		if err := checkCreated(&d.Created); err != nil {
			return err
		}
		if err := checkValues("input of the run", d.Created.Input); err != nil ||
			!r.state.plan.root.Workflow.Rules.InputIsState || isEmptyInput(d.Created.Input) {
			return err
		}
		if !isFields(d.Created.Input) {
			return ErrState
		}
		return nil
	}
	if r.state.Created == nil {
		return ErrNotStarted
	}
	switch d := in.(type) {
	case ModelResult:
		values := []event.Value{d.Message.Extra, d.Pins}
		for _, tc := range d.Message.ToolCalls {
			values = append(values, tc.Arguments, tc.Extra)
		}
		if err := checkValues(d.ID, values...); err != nil {
			return err
		}
		return r.state.checkCall(d.ID)
	case ToolResult:
		if err := checkValues(d.ID, d.Structured, d.Pins); err != nil {
			return err
		}
		return r.state.checkCall(d.ID)
	case ToolHeld:
		if err := checkHold(d); err != nil {
			return err
		}
		return r.state.checkCall(d.ID)
	case FuncResult:
		return r.state.checkCall(d.ID)
	case *FuncResult:
		return r.state.checkCall(d.ID)
	case FuncNote:
		return r.state.checkNote(d)
	case ChildStart:
		if err := r.state.checkCall(d.ID); err != nil {
			return err
		}
		return r.checkChild(d)
	case CallUse:
		if err := r.state.checkCall(d.ID); err != nil {
			return err
		}
		return r.checkUse(d)
	case CallReserve:
		if err := r.state.checkCall(d.ID); err != nil {
			return err
		}
		return r.checkReserve(d)
	case TimerDue:
		return nil // timers are always known: a stale one is ignored
	case Admitted:
		return nil // repeated if a process died in between
	case Continue:
		return nil
	case Answer:
		_, err := r.CheckAnswer(d)
		return err
	case Cancel:
		if r.state.Status.Ended() && r.state.Status != event.StatusCancelled {
			return ErrEnded
		}
	case Recovered:
		if r.state.Status.Ended() {
			return ErrEnded
		}
	case Reopen:
		if r.state.Status != event.StatusFailed || r.state.Limit == "" {
			return ErrNotReopenable
		}
		if r.state.Limit == event.CodeParentBudget && d.Above == nil {
			return ErrAbove
		}
	default:
		return fmt.Errorf("input %T: %w", in, ErrUnknownCommand)
	}
	return nil
}

// checkCreated rejects start parameters that no event can hold.
func checkCreated(c *event.RunCreated) error {
	if err := checkNames("meta of the run", c.Meta); err != nil {
		return err
	}
	if err := checkNames("facts of the run", c.Facts); err != nil {
		return err
	}
	if !isFinite(c.Limits.MaxCostUSD) || c.Above != nil && !isFinite(c.Above.MaxCostUSD) {
		return fmt.Errorf("limits of the run: the cost is not a finite number: %w", ErrInput)
	}
	return nil
}

func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// checkNames rejects names that no event can hold.
func checkNames[V any](where string, m map[string]V) error {
	for name := range m {
		if !utf8.ValidString(name) {
			return fmt.Errorf("%s: the name %q is not UTF-8 text: %w", where, name, ErrInput)
		}
	}
	return nil
}

// checkValues rejects values that no event can hold.
func checkValues(where string, values ...event.Value) error {
	for _, v := range values {
		if len(v) > 0 && !json.Valid(v) {
			return fmt.Errorf("%s: %w", where, ErrInput)
		}
	}
	return nil
}

// checkCall rejects ids that no command of this run ever had. Ids of settled calls are accepted:
// their results arrive late and are ignored.
func (s *state) checkCall(id string) error {
	key, attempt, ok := parseCommandID(id)
	if ok && attempt > 0 {
		if c := s.Loop.Call(key); c != nil && attempt <= c.Attempt {
			return nil
		}
		part := strings.Split(key, ".")
		if len(part) == 3 {
			step, err1 := strconv.Atoi(part[0])
			n, err2 := strconv.Atoi(part[2])
			if err1 == nil && err2 == nil && step >= 1 && step <= s.graph.Steps.Len() && n >= 1 &&
				n <= max(s.graph.Step(step).Calls, s.graph.Step(step).Loop.Numbered) && s.Loop.Call(key) == nil {
				return nil
			}
		}
	}
	return fmt.Errorf("%w: %q", ErrUnknownCommand, id)
}

// openCall returns the call that a result belongs to, or nil if the result is stale.
func (s *state) openCall(id string, kind loop.Kind) (string, *loop.Call) {
	key, attempt, _ := parseCommandID(id)
	c := s.Loop.Call(key)
	if c == nil || c.Attempt != attempt || c.Kind != kind || (c.State != loop.Open && c.State != loop.Cancelled) ||
		s.Status.Ended() {
		return "", nil
	}
	return key, c
}

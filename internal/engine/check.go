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
	"github.com/hocket-run/hocket/workflow"
)

func (d ModelResult) check(s *state) error {
	values := []event.Value{d.Message.Extra, d.Pins}
	for _, tc := range d.Message.ToolCalls {
		values = append(values, tc.Arguments, tc.Extra)
	}
	return s.checkCall(d.ID, values...)
}

func (d ToolResult) check(s *state) error { return s.checkCall(d.ID, d.Structured, d.Pins) }
func (d FuncResult) check(s *state) error { return s.checkCall(d.ID) }
func (TimerDue) check(*state) error       { return nil } // timers are always known: a stale one is ignored

// check also rejects a hold from which no wait can be opened.
func (d ToolHeld) check(s *state) error {
	h := d.Hold
	isKind := h.Kind == workflow.WaitApproval || h.Kind == workflow.WaitQuestion || h.Kind == workflow.WaitSignal &&
		h.Below != nil
	if !isKind || h.Binding == "" {
		return fmt.Errorf("%s: %w: a hold of kind %q", d.ID, ErrInput, h.Kind)
	}
	return s.checkCall(d.ID, h.Arguments, h.Schema, h.Input, d.Pins)
}

// checkCreated rejects start parameters that no event can hold, or with which no run of the plan
// can start.
func (s *state) checkCreated(c *event.RunCreated) error {
	err := checkParameters(c)
	if err == nil {
		err = checkValues("input of the run", c.Input)
	}
	if err == nil && s.plan.root.Workflow.Rules.InputIsState {
		_, err = initialState(c.Input)
	}
	return err
}

// checkParameters rejects start parameters, apart from the input, that no event can hold.
func checkParameters(c *event.RunCreated) error {
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

// checkCall rejects values of a result that no event can hold, and ids that no command of this run
// ever had. Ids of settled calls are accepted: their results arrive late and are ignored.
func (s *state) checkCall(id string, values ...event.Value) error {
	if err := checkValues(id, values...); err != nil {
		return err
	}
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

// openCall returns the call of a kind, or of any kind if kind is 0, that a command belongs to while
// it has no result, also if it was cancelled. It returns nil if the command is stale.
func (s *state) openCall(id string, kind loop.Kind) (string, *loop.Call) {
	key, attempt, _ := parseCommandID(id)
	c := s.Loop.Call(key)
	if c == nil || c.Attempt != attempt || kind != 0 && c.Kind != kind || s.Status.Ended() ||
		(c.State != loop.Open && c.State != loop.Cancelled) {
		return "", nil
	}
	return key, c
}

// openWork returns the tool or function call of a command while it is in flight; a cancelled call
// only if late is set. Errors: ErrUnknownCommand, ErrCallLate.
func (s *state) openWork(id string, late bool) (string, *loop.Call, error) {
	if err := s.checkCall(id); err != nil {
		return "", nil, err
	}
	key, c := s.openCall(id, 0)
	if c == nil || c.Kind == loop.Model || c.State != loop.Open && !late {
		return "", nil, fmt.Errorf("%w: %q", ErrCallLate, id)
	}
	return key, c, nil
}

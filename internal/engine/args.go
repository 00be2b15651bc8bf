package engine

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/jsontext"
	"github.com/hocket-run/hocket/workflow"
)

// toolArguments builds the arguments of a tool node.
func (s *state) toolArguments(n *plan.Node, t graph.Token, d *event.StepStarted) *event.Failure {
	input := s.graph.Value(t.From)
	switch {
	case n.Tool.ArgsFunc != "":
		v, err := s.plan.askValue(n.Tool.ArgsFunc, func(h Host) (event.Value, error) {
			return h.Value(n.Tool.ArgsFunc, s.before(n, t))
		})
		if err != nil {
			return &event.Failure{Code: event.CodeFunc, Message: err.Error()}
		}
		d.Input = v
	case n.Value != nil:
		v, f := s.evaluateWithin("arguments", prompt.MaxBytes, n.Value, s.envBefore(t))
		if f != nil {
			return f
		}
		d.Input = v
	case len(input) > 0 && input[0] != '{':
		d.Input = expr.Object([]expr.Member{{Name: "input", Value: expr.Quote(expr.Text(input))}})
	}
	return nil
}

// mapList builds the list of a map. It is part of the event only if it differs from the step's
// input.
func (s *state) mapList(n *plan.Node, t graph.Token, d *event.StepStarted) *event.Failure {
	var list event.Value
	switch {
	case n.Map.OverFunc != "":
		v, err := s.plan.askValue(n.Map.OverFunc, func(h Host) (event.Value, error) {
			return h.Value(n.Map.OverFunc, s.before(n, t))
		})
		if err != nil {
			return &event.Failure{Code: event.CodeFunc, Message: err.Error()}
		}
		list = v
	case n.Value != nil:
		v, f := s.evaluate("over", n.Value, s.envBefore(t))
		if f != nil {
			return f
		}
		list = event.Compact(v)
	default:
		list = s.graph.Value(t.From)
	}
	items, ok := jsontext.Items(list)
	switch {
	case !ok:
		return &event.Failure{Code: event.CodeExpression, Message: "over: a map needs a list, not " + loop.Brief(list)}
	case len(items) > workflow.MaxItems:
		return &event.Failure{Code: event.CodeMaxItems, Limit: "items", Max: workflow.MaxItems,
			Message: fmt.Sprintf("the list of the map has %d items; at most %d are allowed", len(items),
				workflow.MaxItems)}
	}
	if string(list) != string(s.graph.Value(t.From)) {
		d.Input = list
	}
	return nil
}

// sleepUntil computes when a sleep node that starts now ends.
func (s *state) sleepUntil(n *plan.Node, t graph.Token, now time.Time, d *event.StepStarted) *event.Failure {
	text, f := s.expand("sleep", n.Text, s.envBefore(t))
	if f != nil {
		return f
	}
	until := now
	if n.Sleep.For != "" {
		rest, err := workflow.ParseDuration(strings.TrimSpace(text))
		if err != nil {
			return &event.Failure{Code: event.CodeExpression, Message: "sleep: " + err.Error()}
		}
		until = now.Add(time.Duration(rest))
	} else if at, err := time.Parse(time.RFC3339, strings.TrimSpace(text)); err != nil ||
		at.After(now.Add(time.Duration(workflow.MaxDuration))) {
		return &event.Failure{Code: event.CodeExpression,
			Message: fmt.Sprintf("sleep: %q is not a time such as 2026-05-01T09:00:00Z, within the next ten years",
				text)}
	} else if at.After(now) {
		until = at
	}
	until = until.UTC().Truncate(time.Microsecond)
	d.Until = &until
	return nil
}

// runOutput builds and checks the output of a run that completes, if the workflow defines an output
// and the last step was not an end node with one.
func (s *state) runOutput(d *event.RunCompleted) *event.Failure {
	root, out := s.plan.root, s.graph.Value(d.OutputStep)
	if d.OutputStep == 0 {
		out = nil
	}
	if root.Output != nil && !s.endedWith(d.OutputStep) {
		v, f := s.evaluate("output", root.Output, viewEnv{state: s, from: d.OutputStep})
		if f != nil {
			return f
		}
		out, d.Output = v, v
	}
	if root.OutputSchema == nil {
		return nil
	}
	if len(out) == 0 {
		out = event.Value("null")
	}
	if problems := root.OutputSchema.Validate(out); len(problems) > 0 {
		texts := []string{"the output of the workflow does not match output_schema"}
		for _, p := range problems[:min(3, len(problems))] {
			texts = append(texts, p.String())
		}
		if n := len(problems) - 3; n > 0 {
			texts = append(texts, fmt.Sprintf("and %d more", n))
		}
		return &event.Failure{Code: event.CodeInvalidOutput, Message: strings.Join(texts, "; ")}
	}
	return nil
}

// endedWith reports whether a step belongs to an end node that defines the output; a skipped step
// does not.
func (s *state) endedWith(step int) bool {
	return step > 0 && s.graph.Step(step).Status == event.Completed &&
		s.graph.StepNode(step).Kind == workflow.KindEnd && s.graph.StepNode(step).Value != nil
}

// MaxValueBytes is the maximum size of an output, default or list that a run makes. Values that go
// into one call may be as large as a prompt.
const MaxValueBytes = 16 << 20

// evaluate evaluates a value of the definition, which may have at most MaxValueBytes bytes and must
// fit in the remaining bytes of the run.
func (s *state) evaluate(what string, v *expr.Value, seen viewEnv) (event.Value, *event.Failure) {
	return s.evaluateWithin(what, MaxValueBytes, v, seen)
}

// evaluateWithin is evaluate for a value of at most limit bytes.
func (s *state) evaluateWithin(what string, limit int64, v *expr.Value, seen viewEnv) (event.Value, *event.Failure) {
	out, err := v.Eval(seen, s.mostBytes(limit))
	return out, s.evaluationFailure(what, limit, err)
}

// expand expands a string of the definition, which may be at most as large as a prompt and must fit
// in the remaining bytes of the run.
func (s *state) expand(what string, t *expr.Interpolation, seen viewEnv) (string, *event.Failure) {
	if t == nil {
		return "", nil
	}
	most, memo, err := s.mostBytes(prompt.MaxBytes), expr.NewMemo(seen), expr.ErrTooLarge
	var v event.Value
	if t.Size(memo, most) <= most {
		v, err = t.EvalWithin(memo, most)
	}
	if f := s.evaluationFailure(what, prompt.MaxBytes, err); f != nil {
		return "", f
	}
	return expr.Text(v), nil
}

// mostBytes returns the maximum size of a value that the run makes: limit, or what the run may
// still use.
func (s *state) mostBytes(limit int64) int64 {
	if left, bounded := s.bytesLeft(); bounded {
		return min(limit, max(left, 0))
	}
	return limit
}

// evaluationFailure returns the failure for an error of an evaluation whose result may have limit
// bytes, or nil for none.
func (s *state) evaluationFailure(what string, limit int64, err error) *event.Failure {
	switch most := s.mostBytes(limit); {
	case err == nil:
		return nil
	case errors.Is(err, expr.ErrTooLarge) && most < limit:
		return s.checkSize(most + 1)
	case errors.Is(err, expr.ErrTooLarge):
		return &event.Failure{Code: event.CodeValueTooLarge,
			Message: fmt.Sprintf("%s: it would exceed the limit of %d MB for one assembled value", what, limit>>20)}
	}
	return &event.Failure{Code: event.CodeExpression, Message: what + ": " + err.Error()}
}

// holds reports whether the condition of a step that a token is about to start is true; it is true
// if the step has none.
func (s *state) holds(n *plan.Node, t graph.Token) (bool, error) {
	c := n.Node.If
	switch {
	case c == nil:
		return true, nil
	case c.Language == workflow.LangMatch:
		return expr.Match(c.Op, c.Text, s.graph.Value(t.From))
	case c.Language == workflow.LangExpr:
		return n.If.Eval(s.envBefore(t))
	}
	var ok bool
	err := s.plan.ask(c.Func, func(h Host) (err error) {
		ok, err = h.Condition(c.Func, s.before(n, t))
		return err
	})
	return ok, err
}

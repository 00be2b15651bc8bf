package engine

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// handled applies the node's error handler to a failure, or else its retry policy. f may be
// replaced. key is the call that failed, or "" if the whole step failed. The policy does not apply
// to codes of the class final. It returns false if the failure stands.
func (m *machine) handled(id int, key string, f *event.Failure, cause error, final event.Class) bool {
	if f.Node == "" {
		f.Node = m.graph.NodeID(id)
	}
	if m.handledByProgram(id, key, f, cause) {
		return true
	}
	delay, ok := m.retry(id, *f, cause)
	if ok = ok && !event.CodeIs(f.Code, final); ok {
		m.retryCall(id, key, delay, *f)
	}
	return ok
}

// retry asks the step's policy for another attempt and returns the delay before it.
func (m *machine) retry(id int, f event.Failure, cause error) (time.Duration, bool) {
	p := m.graph.StepNode(id).Retry
	done := m.graph.Step(id).Retries
	if p == nil || done >= p.MaxRetries || m.state.isFailing() || m.graph.Step(id).Expired || !matches(p.On, f) ||
		f.RetryAfter() > MaxRetryAfter ||
		len(p.On) == 0 && event.CodeIs(f.Code, event.Persistent) {
		return 0, false
	}
	if p.Func != "" {
		ok := false
		err := m.state.plan.ask(p.Func, func(h Host) (err error) {
			ok, err = h.RetryOn(p.Func, f, cause)
			return err
		})
		if err != nil || !ok {
			return 0, false
		}
	}
	return delay(p, done, f), true
}

// MaxRetryAfter is the longest delay that the remote side may request before the same call is made
// again. If it requests more, the call fails.
const MaxRetryAfter = 10 * time.Minute

// delay returns the delay before retry number done+1: that of the policy, or a longer one if the
// remote side requested it (P14).
func delay(p *workflow.Retry, done int, f event.Failure) time.Duration {
	wait := float64(p.Delay)
	if p.Multiplier > 1 {
		wait *= math.Pow(p.Multiplier, float64(done))
	}
	d := maxDelay
	if wait < float64(maxDelay) {
		d = time.Duration(wait)
	}
	return max(d, min(f.RetryAfter(), MaxRetryAfter))
}

// maxDelay is the maximum delay before a retry, whatever the policy or the remote side says.
const maxDelay = 24 * time.Hour

// matches reports whether a failure matches one of patterns: a part of its code or message,
// ignoring case and treating `_` as a space (S4-22).
func matches(patterns []string, f event.Failure) bool {
	if len(patterns) == 0 {
		return true
	}
	plain := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", " ") }
	code, msg := plain(f.Code), plain(f.Message)
	return slices.ContainsFunc(patterns, func(p string) bool {
		p = plain(p)
		return strings.Contains(code, p) || strings.Contains(msg, p)
	})
}

// handledByProgram calls the node's error handler and applies its decision (S2-42). f may be
// replaced. key is the call that failed, or "" if the whole step failed. It returns false if the
// retry policy decides.
func (m *machine) handledByProgram(id int, key string, f *event.Failure, cause error) bool {
	n := m.graph.StepNode(id)
	if n.OnError == "" {
		return false
	}
	var act ErrorAction
	err := m.state.plan.ask(n.OnError, func(h Host) (err error) {
		act, err = h.OnError(n.OnError, *f, cause, m.state.view(id, nil))
		return err
	})
	if err == nil {
		err = checkNames(fmt.Sprintf("function %q: field", n.OnError), act.Update)
	}
	for _, field := range sortedKeys(act.Update) {
		if err == nil {
			err = checkValues(fmt.Sprintf("function %q: field %q", n.OnError, field), act.Update[field])
		}
	}
	if err != nil {
		*f = event.Failure{Code: event.CodeFunc, Message: err.Error(), Node: f.Node}
		m.failForGood(id, *f)
		return true
	}
	switch act.Kind {
	case "skip":
		m.unwind(id, -1, *f)
		m.completeStep(id, &event.StepCompleted{Update: act.Update}, m.state.plan.out...)
	case "abort":
		if act.Failure != nil {
			*f = *act.Failure
		}
		m.failForGood(id, *f)
	case "goto":
		to := m.graph.FlowOf(id).Workflow.Node(act.Node)
		switch {
		case to == nil:
			m.failForGood(id, event.Failure{Code: event.CodeNodeNotFound,
				Message: fmt.Sprintf("onError goto target %q not found in graph", act.Node), Node: f.Node})
		case !to.Recovery:
			m.failForGood(id, event.Failure{Code: event.CodeNodeNotFound,
				Message: fmt.Sprintf("onError goto target %q must set isRecoveryNode: true", act.Node), Node: f.Node})
		default:
			m.unwind(id, -1, *f)
			m.completeStep(id, &event.StepCompleted{Goto: []string{act.Node}})
		}
	case "retry": // any failure is retried, as often as the policy allows, unless no attempt could fix it
		p, done := n.Retry, m.graph.Step(id).Retries
		switch {
		case p == nil || done >= p.MaxRetries || event.CodeIs(f.Code, event.Refused) || m.state.isFailing() ||
			m.graph.Step(id).Expired:
			m.failForGood(id, *f)
		case act.DelayMS != nil:
			m.retryCall(id, key, milliseconds(*act.DelayMS), *f)
		default:
			m.retryCall(id, key, delay(p, done, *f), *f)
		}
	default:
		return false
	}
	return true
}

// milliseconds returns n ms as a delay, clamped to the valid range.
func milliseconds(n int64) time.Duration {
	return time.Duration(min(max(0, n), maxDelay.Milliseconds()) * int64(time.Millisecond))
}

// retryCall makes a call again after a delay, or the whole step if key is empty (ADR 6).
func (m *machine) retryCall(id int, key string, delay time.Duration, f event.Failure) {
	if key == "" {
		m.unwind(id, -1, f)
	}
	m.emitStep(id, &event.StepRetrying{Attempt: m.graph.Step(id).Retries + 2, Call: key, Until: m.now.Add(delay),
		Error: f})
}

package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/workflow"
)

// stateOf gives the fields of an input that is the first state (Rules.TypedState); an empty one has none.
func stateOf(input Value) (map[string]Value, error) {
	if isEmptyInput(input) {
		return nil, nil
	}
	var fields map[string]Value
	if err := json.Unmarshal(input, &fields); err != nil {
		return nil, ErrState
	}
	return fields, nil
}

// State gives the typed state of the run itself, by top-level field: as it is now, without what open branches change. Nil where there is none. The map
// is the caller's, the values are not.
func (r *Run) State() map[string]Value {
	if len(r.s.Scopes) == 0 {
		return nil
	}
	return maps.Clone(r.stateAt(0))
}

// stateAt gives the typed state as a scope sees it: as it was at its fork, with the scope's own changes (D5). Nil where there is none. It is shared by
// all who ask before the next change; nobody may write it.
func (r *Run) stateAt(scopeID int) map[string]Value {
	sc := r.scope(scopeID)
	if len(sc.View) == 0 && len(sc.Writes) == 0 {
		return nil
	}
	if len(sc.Writes) == 0 {
		return sc.View
	}
	if sc.now == nil {
		if sc.now = maps.Clone(sc.View); sc.now == nil {
			sc.now = make(map[string]Value, len(sc.Writes))
		}
		for k, w := range sc.Writes {
			sc.now[k] = w.Value
		}
	}
	return sc.now
}

// overlaid gives a state with changes.
func overlaid(state, changes map[string]Value) map[string]Value {
	if len(changes) == 0 {
		return state
	}
	if state = maps.Clone(state); state == nil {
		state = make(map[string]Value, len(changes))
	}
	maps.Copy(state, changes)
	return state
}

// mergeBranches gives what the branches of a settled fork change in the state, merged in declared order (D5, D27).
func (r *Run) mergeBranches(id int) (map[string]Value, *Failure) {
	st, n := r.step(id), r.stepNode(id)
	out := map[string]Value{}
	by := map[string]string{}
	for _, s := range st.Block.Scopes {
		sc := r.scope(s)
		// A branch that ended before the join changed the state all the same, unless it lost.
		if o := r.outcome(s); o != branchArrived && (o != branchEnded || losers(n.Fork.Until)) {
			continue
		}
		for _, name := range sortedKeys(sc.Writes) {
			w := sc.Writes[name]
			if by[name] == "" {
				out[name], by[name] = w.Value, w.Node
				continue
			}
			reducer := r.flowOf(id).w.Rules.Reducers[name]
			if reducer == "" {
				return nil, &Failure{Code: CodeStateConflict, Message: fmt.Sprintf("nodes %q and %q both changed field %q at the same time; declare how it is merged", by[name], w.Node, name)}
			}
			v, err := r.reduce(reducer, st.Block.View[name], out[name], w.Value)
			if err != nil {
				return nil, &Failure{Code: CodeStateConflict, Message: fmt.Sprintf("merge field %q: %v", name, err)}
			}
			out[name] = v
		}
	}
	if name := n.Fork.Merge; name != "" {
		outputs := map[string]Value{}
		for _, s := range st.Block.Scopes {
			if sc := r.scope(s); r.outcome(s) == branchArrived && sc.Arrived > 0 {
				outputs[n.Fork.Branches[sc.Branch-1].ID] = r.step(sc.Arrived).Output
			}
		}
		v := r.view(id, nil)
		v.State = overlaid(v.State, out) // the function sees what the branches changed
		merged, err := r.plan.askUpdate(name, func(h Host) (map[string]Value, error) { return h.Merge(name, outputs, v) })
		if err != nil {
			return nil, &Failure{Code: CodeFunc, Message: err.Error()}
		}
		maps.Copy(out, merged)
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

// writer names the node that changed a field by step id: for a block, the last one inside it that did.
func (r *Run) writer(id int, field string) string {
	if b := r.step(id).Block; b != nil && r.stepNode(id).Kind == workflow.KindFork {
		for _, s := range slices.Backward(b.Scopes) {
			if w, ok := r.scope(s).Writes[field]; ok {
				return w.Node
			}
		}
	}
	return r.stepNode(id).ID
}

// reduce merges two changes of one field: base is what it was at the fork. Built in are append, sum, merge and last.
func (r *Run) reduce(name string, base, mine, theirs Value) (Value, error) {
	if f, ok := strings.CutPrefix(name, "func:"); ok {
		return r.plan.askValue(f, func(h Host) (Value, error) { return h.Reduce(f, base, mine, theirs) })
	}
	switch name {
	case "last":
		return theirs, nil
	case "append":
		return reduceAs(base, mine, theirs, func(b, m, t []json.RawMessage) ([]json.RawMessage, error) {
			for _, list := range [2][]json.RawMessage{m, t} {
				if len(list) < len(b) {
					return nil, errors.New("a branch made the list shorter")
				}
				if !slices.EqualFunc(b, list[:len(b)], sameValue) {
					return nil, errors.New("a branch changed what was in the list before")
				}
			}
			return append(slices.Clone(m), t[len(b):]...), nil
		})
	case "sum":
		if v, ok := sumWhole(base, mine, theirs); ok {
			return v, nil
		}
		return reduceAs(base, mine, theirs, func(b, m, t float64) (float64, error) {
			if sum := m + t - b; !math.IsInf(sum, 0) {
				return sum, nil
			}
			return 0, errors.New("the sum is too large")
		})
	case "merge":
		return reduceAs(base, mine, theirs, func(b, m, t map[string]json.RawMessage) (map[string]json.RawMessage, error) {
			out := maps.Clone(m)
			for k, v := range t {
				if was, there := b[k]; there && sameValue(was, v) {
					continue
				}
				if out == nil {
					out = map[string]json.RawMessage{}
				}
				out[k] = v
			}
			for k := range b {
				if _, kept := t[k]; !kept {
					delete(out, k)
				}
			}
			return out, nil
		})
	}
	return nil, fmt.Errorf("no reducer is called %q", name)
}

// losers tells whether a fork that waits until then has branches that do not count.
func losers(until string) bool {
	return until == workflow.UntilAny || until == workflow.UntilRace || until == workflow.UntilQuorum
}

// sumWhole is mine + theirs - base where all are whole numbers, whatever their size; floats would round them.
func sumWhole(base, mine, theirs Value) (Value, bool) {
	if sum, ok := sumSmall(base, mine, theirs); ok {
		return strconv.AppendInt(nil, sum, 10), true
	}
	sum := new(big.Int)
	for i, v := range []Value{mine, theirs, base} {
		n := new(big.Int)
		if string(v) == "null" { // a zero that an omitempty left out
			continue
		}
		if len(v) > 0 && len(v) < 100 {
			if _, ok := n.SetString(string(v), 10); !ok {
				return nil, false
			}
		} else if len(v) > 0 {
			return nil, false
		}
		if i == 2 {
			n.Neg(n)
		}
		sum.Add(sum, n)
	}
	return Value(sum.String()), true
}

// sumSmall is sumWhole for numbers so small that nothing can overflow.
func sumSmall(base, mine, theirs Value) (int64, bool) {
	var n [3]int64
	for i, v := range [3]Value{base, mine, theirs} {
		if len(v) == 0 {
			continue
		}
		if len(v) > 18 {
			return 0, false
		}
		var err error
		if n[i], err = strconv.ParseInt(string(v), 10, 64); err != nil {
			return 0, false
		}
	}
	return n[1] + n[2] - n[0], true
}

func reduceAs[T any](base, mine, theirs Value, f func(b, m, t T) (T, error)) (Value, error) {
	var b, m, t T
	for _, x := range []struct {
		from Value
		to   *T
	}{{base, &b}, {mine, &m}, {theirs, &t}} {
		if len(x.from) == 0 {
			continue
		}
		if err := json.Unmarshal(x.from, x.to); err != nil {
			return nil, err
		}
	}
	out, err := f(b, m, t)
	if err != nil {
		return nil, err
	}
	return plainJSON(out)
}

// plainJSON encodes a value whose texts stand as they are.
func plainJSON(v any) (Value, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// sameValue tells whether two JSON texts are the same value: a text may stand with escapes in one and without in the other, and the members of an object
// in another order.
func sameValue(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var plain [2]Value
	for i, raw := range [2]json.RawMessage{a, b} {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var v any
		if d.Decode(&v) != nil {
			return false
		}
		var err error
		if plain[i], err = plainJSON(v); err != nil {
			return false
		}
	}
	return bytes.Equal(plain[0], plain[1])
}

// retry asks the step's policy for another attempt and gives the time to wait before it.
func (r *Run) retry(id int, f Failure) (time.Duration, bool) {
	p := r.stepNode(id).Retry
	done := r.step(id).Retries
	if p == nil || done >= p.MaxRetries || (r.s.Ending != nil && !r.s.Ending.Limit) || !matches(p.On, f) {
		return 0, false
	}
	if p.Func != "" {
		ok := false
		err := r.plan.ask(p.Func, func(h Host) (err error) {
			ok, err = h.RetryOn(p.Func, f)
			return err
		})
		if err != nil || !ok {
			return 0, false
		}
	}
	return delay(p, done, f), true
}

// delay is the time to wait before retry number done+1: what the policy says, or longer where the other side asked for it (P14).
func delay(p *workflow.Retry, done int, f Failure) time.Duration {
	wait := float64(p.Delay)
	if p.Multiplier > 1 {
		wait *= math.Pow(p.Multiplier, float64(done))
	}
	d := maxDelay
	if wait < float64(maxDelay) {
		d = time.Duration(wait)
	}
	return max(d, min(time.Duration(f.RetryAfterMS)*time.Millisecond, maxDelay))
}

// maxDelay bounds the wait before a retry, whatever the policy or the other side says.
const maxDelay = 24 * time.Hour

// matches tells whether a failure is one of those that patterns name: part of its code or message, case aside, `_` and space equal (S4-22).
func matches(patterns []string, f Failure) bool {
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

// handledByProgram asks the node's error handler and does what it says (S2-42). f may be replaced. key is the call that failed, "" where the step did
// as a whole. False: the retry policy decides.
func (r *Run) handledByProgram(id int, key string, f *Failure) bool {
	n := r.stepNode(id)
	if n.OnError == "" {
		return false
	}
	var act ErrorAction
	err := r.plan.ask(n.OnError, func(h Host) (err error) {
		act, err = h.OnError(n.OnError, *f, r.view(id, nil))
		return err
	})
	for _, field := range sortedKeys(act.Update) {
		if err == nil {
			err = checkValues(fmt.Sprintf("function %q: field %q", n.OnError, field), act.Update[field])
		}
	}
	if err != nil {
		*f = Failure{Code: CodeFunc, Message: err.Error(), Node: f.Node}
		r.giveUp(id, *f)
		return true
	}
	switch act.Kind {
	case "skip":
		r.unwind(id, -1, *f)
		r.complete(id, &StepCompleted{Update: act.Update}, r.plan.out...)
	case "abort":
		if act.Failure != nil {
			*f = *act.Failure
		}
		r.giveUp(id, *f)
	case "goto":
		to := r.flowOf(id).w.Node(act.Node)
		switch {
		case to == nil:
			r.giveUp(id, Failure{Code: CodeNodeNotFound, Message: fmt.Sprintf("onError goto target %q not found in graph", act.Node), Node: f.Node})
		case !to.Recovery:
			r.giveUp(id, Failure{Code: CodeNodeNotFound, Message: fmt.Sprintf("onError goto target %q must set isRecoveryNode: true", act.Node), Node: f.Node})
		default:
			r.unwind(id, -1, *f)
			r.complete(id, &StepCompleted{Goto: []string{act.Node}})
		}
	case "retry": // bounded by the policy, whatever failures that is for
		p, done := n.Retry, r.step(id).Retries
		switch {
		case p == nil || done >= p.MaxRetries || r.s.Ending != nil && !r.s.Ending.Limit:
			r.giveUp(id, *f)
		case act.DelayMS != nil:
			r.retryCall(id, key, milliseconds(*act.DelayMS), *f)
		default:
			r.retryCall(id, key, delay(p, done, *f), *f)
		}
	default:
		return false
	}
	return true
}

// milliseconds gives n ms as a delay within its bounds.
func milliseconds(n int64) time.Duration {
	return time.Duration(min(max(0, n), maxDelay.Milliseconds()) * int64(time.Millisecond))
}

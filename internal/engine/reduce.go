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

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/typed"
)

// mergeBranches returns the state changes of the branches of a settled fork, merged in declared
// order (D5, D27).
func (s *state) mergeBranches(id int) (map[string]event.Value, *event.Failure) {
	st, n := s.graph.Step(id), s.graph.StepNode(id)
	out := map[string]event.Value{}
	by := map[string]string{}
	for _, scope := range st.Block.Scopes {
		sc := s.graph.Scope(scope)
		// A branch that ended before the join also changed the state, unless it lost.
		if o := sc.Outcome(); o != graph.BranchArrived && (o != graph.BranchEnded || graph.Losers(n.Fork.Until)) {
			continue
		}
		for _, name := range sortedKeys(sc.Writes) {
			w := sc.Writes[name]
			if by[name] == "" {
				out[name], by[name] = w.Value.JSON(), w.Node
				continue
			}
			reducer := s.graph.FlowOf(id).Workflow.Rules.Reducers[name]
			if reducer == "" {
				return nil, conflict(by[name], w.Node, name)
			}
			v, err := s.plan.reduce(reducer, st.Block.View.Get(name), out[name], w.Value.JSON())
			if err != nil {
				return nil, unmerged(name, err)
			}
			out[name] = v
		}
	}
	if name := n.Fork.Merge; name != "" {
		outputs := map[string]event.Value{}
		for _, scope := range st.Block.Scopes {
			if sc := s.graph.Scope(scope); sc.Outcome() == graph.BranchArrived && sc.Arrived > 0 {
				outputs[n.Fork.Branches[sc.Branch-1].ID] = s.graph.Value(sc.Arrived)
			}
		}
		v := s.view(id, nil)
		v.State = v.State.With(v.State.ChangesOf(out, nil, id)) // the function sees what the branches changed
		merged, err := s.plan.askUpdate(name, func(h Host) (map[string]event.Value, error) {
			return h.Merge(name, outputs, v)
		})
		if err != nil {
			return nil, &event.Failure{Code: event.CodeFunc, Message: err.Error()}
		}
		maps.Copy(out, merged)
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

// mergeConcurrent returns what a step changes if other steps of its scope have changed the state
// since it started; view is the state as it was then. This happens because nodes of one queue run
// concurrently if the flow is not serial. Fields that both changed are reduced, or are a conflict
// (P7).
//
// merged is nil if no other step changed a field that this step changes.
func (s *state) mergeConcurrent(id int, view typed.State, update map[string]event.Value, grown []typed.Growth) (
	merged map[string]event.Value, failure *event.Failure) {
	f, st := s.graph.FlowOf(id), s.graph.Step(id)
	now := s.graph.Scope(st.Scope).State
	if f.Workflow.Rules.Serial || now.Same(view) {
		return nil, nil
	}
	update = typed.Whole(update, grown)
	for _, name := range sortedKeys(update) {
		if now.Value(name).Equal(view.Value(name)) {
			continue
		}
		reducer := f.Workflow.Rules.Reducers[name]
		if reducer == "" {
			return nil, conflict(s.graph.Scope(st.Scope).Writes[name].Node, s.graph.StepNode(id).ID, name)
		}
		v, err := s.plan.reduce(reducer, view.Get(name), now.Get(name), update[name])
		if err != nil {
			return nil, unmerged(name, err)
		}
		if merged == nil {
			merged = maps.Clone(update)
		}
		merged[name] = v
	}
	return merged, nil
}

// reduce merges two changes of one field; base is its value at the fork. Built-in reducers are
// append, sum, merge and last.
func (p *Plan) reduce(name string, base, mine, theirs event.Value) (event.Value, error) {
	if f, ok := strings.CutPrefix(name, "func:"); ok {
		return p.askValue(f, func(h Host) (event.Value, error) { return h.Reduce(f, base, mine, theirs) })
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
		return reduceAs(base, mine, theirs,
			func(b, m, t map[string]json.RawMessage) (map[string]json.RawMessage, error) {
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
	return nil, fmt.Errorf("unknown reducer %q", name)
}

func conflict(one, other, field string) *event.Failure {
	return &event.Failure{
		Code: event.CodeStateConflict,
		Message: fmt.Sprintf("nodes %q and %q both changed field %q at the same time; declare how it is merged", one,
			other, field),
	}
}

func unmerged(field string, err error) *event.Failure {
	return &event.Failure{Code: event.CodeStateConflict, Message: fmt.Sprintf("merge field %q: %v", field, err)}
}

// sumWhole returns mine + theirs - base if all are whole numbers of any size; floats would round
// them.
func sumWhole(base, mine, theirs event.Value) (event.Value, bool) {
	if sum, ok := sumSmall(base, mine, theirs); ok {
		return strconv.AppendInt(nil, sum, 10), true
	}
	sum := new(big.Int)
	for i, v := range []event.Value{mine, theirs, base} {
		n := new(big.Int)
		if string(v) == "null" { // a zero dropped by omitempty
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
	return event.Value(sum.String()), true
}

// sumSmall is sumWhole for numbers small enough that nothing can overflow.
func sumSmall(base, mine, theirs event.Value) (int64, bool) {
	var n [3]int64
	for i, v := range [3]event.Value{base, mine, theirs} {
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

func reduceAs[T any](base, mine, theirs event.Value, f func(b, m, t T) (T, error)) (event.Value, error) {
	var b, m, t T
	for _, x := range []struct {
		from event.Value
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

// plainJSON encodes a value without escaping its strings.
func plainJSON(v any) (event.Value, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// sameValue reports whether two JSON texts are the same value, regardless of string escapes and of
// the order of object members.
func sameValue(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var plain [2]event.Value
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

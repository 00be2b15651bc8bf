package conformance_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// ended is a branch or an item that has ended.
type ended struct {
	at   int
	s    *xScope
	flow xFlow
}

// parallel runs the branches of a block concurrently (S4-12, X-17).
func (s *xScope) parallel(x *xStep, given any) xFlow {
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	ends := make(chan ended, len(x.steps))
	for i, c := range x.steps {
		in := s.inner(ctx)
		go func() { ends <- ended{i, in, in.path([]*xStep{c}, given)} }()
	}
	need := len(x.steps)
	switch x.join {
	case "any", "race":
		need = 1
	case "quorum":
		need = x.quorum
	}
	var good, bad []ended
	for range x.steps {
		e := <-ends
		switch {
		case e.flow.gone:
			continue
		case e.flow.fail != nil:
			bad = append(bad, e)
			if e.flow.fail.bound {
				return s.cancelRemaining(stop, e.flow)
			}
			if x.join == "race" || len(x.steps)-len(bad) < need {
				slices.SortFunc(bad, func(a, b ended) int { return a.at - b.at })
				return s.cancelRemaining(stop, xFlow{fail: bad[0].flow.fail})
			}
			continue
		}
		good = append(good, e)
		if len(good) == need {
			break
		}
	}
	if s.ctx.Err() != nil {
		return xFlow{gone: true}
	}
	stop()
	return xFlow{out: s.joined(x, good)}
}

// cancelRemaining cancels everything still running.
func (s *xScope) cancelRemaining(stop context.CancelFunc, f xFlow) xFlow {
	stop()
	if s.ctx.Err() != nil {
		return xFlow{gone: true}
	}
	return f
}

// joined builds the output of a block, and makes the outputs of its branches visible.
func (s *xScope) joined(x *xStep, good []ended) any {
	slices.SortFunc(good, func(a, b ended) int { return a.at - b.at })
	forget(s.seen, x.steps)
	inner, order := map[string]any{}, []any{}
	for _, e := range good {
		for _, id := range outputsOf(x.steps[e.at : e.at+1]) {
			got := e.s.completed[id]
			if got == nil || !got.done {
				continue
			}
			order = append(order, id)
			c := *got
			s.seen[id] = &c
			if m, ok := got.output.(map[string]any); ok && m["steps"] != nil && m["order"] != nil {
				inner[id] = m
				continue
			}
			agent := ""
			if strings.HasPrefix(id, "ag") {
				agent = "a"
			}
			inner[id] = map[string]any{"output": got.output, "agent": agent}
		}
	}
	return map[string]any{"steps": inner, "order": order}
}

// outputsOf returns the names of the steps whose outputs a list contains, in declared order.
func outputsOf(list []*xStep) []string {
	var out []string
	for _, x := range list {
		if x.kind != "condition" && x.kind != "sleep" {
			out = append(out, x.id)
		}
		if x.kind == "condition" || x.kind == "approval" {
			out = append(append(append(out, outputsOf(x.yes)...), outputsOf(x.no)...), outputsOf(x.limitSteps)...)
		}
		if x.kind == "approval" {
			out = append(out, outputsOf(x.steps)...)
		}
	}
	return out
}

func forget(seen map[string]*xEntry, list []*xStep) {
	for _, x := range list {
		delete(seen, x.id)
		forget(seen, x.yes)
		forget(seen, x.no)
		forget(seen, x.steps)
	}
}

// xItems is what a map keeps across its attempts.
type xItems struct {
	list []any
	out  []any
	done []bool
}

// each runs the steps of a map for each item.
func (s *xScope) each(x *xStep, given any, kept **xItems) xFlow {
	if *kept == nil {
		items := &xItems{list: []any{}, out: make([]any, len(x.list)), done: make([]bool, len(x.list))}
		for _, v := range x.list {
			got, ok := v.value(s, given)
			if !ok {
				return xFlow{fail: &xFail{code: "expression", node: x.id}}
			}
			items.list = append(items.list, got)
		}
		*kept = items
	}
	m := *kept
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	most := x.concurrency
	if most == 0 {
		most = 10
	}
	var left []int
	for i := range m.list {
		if !m.done[i] {
			left = append(left, i)
		}
	}
	ends := make(chan ended, len(left))
	failed := map[int]*xFail{}
	for working := 0; working > 0 || len(left) > 0; {
		for ; working < most && len(left) > 0; working++ {
			i := left[0]
			left = left[1:]
			in := s.inner(ctx)
			in.items[x.as()], in.items[x.as()+"_index"], in.items["\x00innermost"] = m.list[i], i, m.list[i]
			go func() { ends <- ended{i, in, in.path(x.steps, m.list[i])} }()
		}
		e := <-ends
		working--
		switch {
		case e.flow.gone:
			return xFlow{gone: true}
		case e.flow.fail == nil:
			m.out[e.at], m.done[e.at] = e.flow.out, true
		case e.flow.fail.bound || x.onItem == "" || x.onItem == "fail_fast":
			return s.cancelRemaining(stop, xFlow{fail: e.flow.fail})
		case x.onItem == "skip":
			m.done[e.at] = true
		default:
			failed[e.at] = e.flow.fail
		}
	}
	out := slices.Clone(m.out)
	if len(failed) == 0 {
		return xFlow{out: out}
	}
	first := ""
	for i := len(m.list) - 1; i >= 0; i-- {
		why := failed[i]
		if why == nil {
			continue
		}
		first = why.node
		out[i] = map[string]any{"error": map[string]any{"code": why.code, "message": "*", "node": why.node}}
	}
	return xFlow{fail: &xFail{code: "items_failed", node: first}, out: out}
}

// xWait is a step that waits for a person or a signal.
type xWait struct {
	x      *xStep
	s      *xScope
	answer chan any
}

type xSignal struct {
	name string
	v    int
}

// takes reports whether the step accepts a signal.
func (w *xWait) takes(g xSignal) bool {
	if w.x.kind != "signal" || w.x.signal != g.name || g.v < w.x.least {
		return false
	}
	if w.x.list == nil {
		return true
	}
	in := w.s.inner(w.s.ctx)
	in.items["signal"] = g.value()
	yes, ok := w.x.list[0].expr.holds(in)
	return yes && ok
}

func (g xSignal) value() any { return map[string]any{"v": g.v} }

// wait waits for a person or a signal.
func (s *xScope) wait(x *xStep, given any) xFlow {
	r := s.run
	w := &xWait{x, s, make(chan any, 1)}
	r.mu.Lock()
	if i := slices.IndexFunc(r.kept, w.takes); i >= 0 {
		w.answer <- r.kept[i].value()
		r.kept = slices.Delete(r.kept, i, i+1)
	} else {
		r.open = append(r.open, w)
	}
	r.mu.Unlock()
	var late <-chan time.Time
	if x.deadline > 0 {
		t := time.NewTimer(time.Duration(x.deadline) * time.Microsecond)
		defer t.Stop()
		late = t.C
	}
	var got any
	select {
	case got = <-w.answer:
	case <-late:
		r.shut(w)
		got = atDeadline(x.onDeadline)
	case <-s.ctx.Done():
		r.shut(w)
		return xFlow{gone: true}
	}
	return s.answered(x, given, got)
}

type atDeadline string

// answered continues after an answer or a deadline.
func (s *xScope) answered(x *xStep, given, got any) xFlow {
	why := &xFail{code: "rejected", node: x.id}
	decision := got
	switch got {
	case atDeadline("fail"):
		return xFlow{fail: &xFail{code: "deadline", node: x.id}}
	case atDeadline("goto"):
		return xFlow{out: given, jump: x.target}
	case atDeadline("default"):
		return xFlow{out: x.defaultOutput()}
	case atDeadline("approve"), atDeadline("reject"):
		decision = string(got.(atDeadline)) //nolint:forcetypeassert // as the case says
	}
	if x.kind != "approval" {
		return xFlow{out: got}
	}
	e := s.entry(x.id)
	e.decision, _ = decision.(string)
	switch {
	case decision == "approve":
		e.done, e.output, e.fail = true, given, nil
		s.completed[x.id] = e
		return xFlow{out: given}
	case x.reject == "list":
		f := s.list(x.steps, given)
		f.inside, f.ends = f.fail != nil, f.ends || !f.leaves()
		return f
	case x.reject == "jump":
		return xFlow{out: given, jump: x.rejectJump}
	}
	return xFlow{fail: why}
}

func (r *xRun) shut(w *xWait) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = slices.DeleteFunc(r.open, func(o *xWait) bool { return o == w })
}

// sendSignal sends the run a signal. It returns the step that took the signal, "" if no step did,
// or "refused".
func (r *xRun) sendSignal(g xSignal) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.names[g.name] {
		return "refused"
	}
	waiting, fits := 0, 0
	for i, w := range r.open {
		if w.takes(g) {
			r.open = slices.Delete(r.open, i, i+1)
			w.answer <- g.value()
			return w.x.id
		}
		if w.x.kind == "signal" && w.x.signal == g.name {
			waiting++
			if g.v >= w.x.least {
				fits++
			}
		}
	}
	if waiting > 0 && fits == 0 {
		return "refused"
	}
	r.kept = append(r.kept, g)
	return ""
}

// answers sends a person's answer to the step that has waited longest, and returns which step that
// is.
func (r *xRun) answers(n int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.open, func(w *xWait) bool { return w.x.kind != "signal" })
	if i < 0 {
		return ""
	}
	w := r.open[i]
	said := says(w.x, n)
	if m, ok := said.(map[string]any); ok &&
		m["v"].(int) < w.x.least { //nolint:forcetypeassert // the form that says returns
		return "refused " + w.x.id
	}
	r.open = slices.Delete(r.open, i, i+1)
	w.answer <- said
	return w.x.id
}

// says returns the n-th answer from people.
func says(x *xStep, n int) any {
	if x.kind == "approval" {
		return []string{"approve", "approve", "reject"}[hashOf(x.id+string(rune('a'+n)))%3]
	}
	return map[string]any{"v": int(hashOf(x.id+string(rune('a'+n))) % 7)}
}

// plainly converts a value into its JSON form, without the messages of failures.
func plainly(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return hush(out)
}

func hush(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if e, ok := v["error"].(map[string]any); ok && e["message"] != nil {
			e["message"] = "*"
		}
		for k, x := range v {
			v[k] = hush(x)
		}
	case []any:
		for i, x := range v {
			v[i] = hush(x)
		}
	}
	return v
}

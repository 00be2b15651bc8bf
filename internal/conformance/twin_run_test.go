package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

type xFail struct {
	code, node string
	bound      bool // a limit of the run: nothing handles it
}

// xFlow is the outcome of steps: the input for the next step, or a reason to leave.
type xFlow struct {
	out  any
	jump string // to a step in an enclosing list
	ends bool   // the path ends here
	over bool   // the run ends here
	gone bool   // it was cancelled
	fail *xFail
	// inside means that a step on the path after a rejection failed, not the approval itself.
	inside bool
}

func (f xFlow) leaves() bool { return f.jump != "" || f.ends || f.over || f.gone || f.fail != nil }

// xEntry is what expressions can read of a step.
type xEntry struct {
	done     bool // it has an output
	output   any
	fail     *xFail
	decision string
}

// xScope is what a step can see: the scope of the run, a branch or an item.
type xScope struct {
	ctx       context.Context
	run       *xRun
	doc       *xDocument
	seen      map[string]*xEntry
	items     map[string]any
	completed map[string]*xEntry // what the branch has completed
	loops     map[string]int
	back      string // the step to which a branch just led back
}

func (s *xScope) inner(ctx context.Context) *xScope {
	n := &xScope{ctx: ctx, run: s.run, doc: s.doc, seen: map[string]*xEntry{}, items: maps.Clone(s.items),
		completed: map[string]*xEntry{}, loops: map[string]int{}}
	for id, e := range s.seen {
		c := *e
		n.seen[id] = &c
	}
	return n
}

func (s *xScope) entry(id string) *xEntry {
	if s.seen[id] == nil {
		s.seen[id] = &xEntry{}
	}
	return s.seen[id]
}

// xRun is a run of the literal interpreter, with one goroutine for each branch and item, in the
// time of the test's bubble.
type xRun struct {
	input int
	acts  *xActs
	mu    sync.Mutex
	open  []*xWait
	kept  []xSignal
	names map[string]bool // names of signals
	steps atomic.Int64    // number so far
}

// xActs simulates the tool and records its calls.
type xActs struct {
	mu    sync.Mutex
	began time.Time
	times map[string]int
	calls []string
}

// next returns how long the next call with these arguments takes and whether it fails.
func (a *xActs) next(id, args string) (takes time.Duration, fails bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := id + " " + args
	a.times[key]++
	a.calls = append(a.calls, fmt.Sprintf("%d %s", time.Since(a.began).Microseconds(), key))
	h := hashOf(fmt.Sprint(key, a.times[key]))
	return time.Duration(1+h%10_000_000) * time.Microsecond, h>>32%4 == 0
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64() * 0x9e3779b97f4a7c15 >> 8
}

// document runs a document to the end.
func (r *xRun) document(ctx context.Context, doc *xDocument, input any) xFlow {
	s := &xScope{ctx: ctx, run: r, doc: doc, seen: map[string]*xEntry{}, items: map[string]any{},
		completed: map[string]*xEntry{}, loops: map[string]int{}}
	f := s.path(doc.steps, input)
	if f.fail == nil && !f.over && !f.gone && doc.output != nil {
		out, ok := valuesOf(doc.output, s, nil)
		if !ok {
			return xFlow{fail: &xFail{code: "expression"}}
		}
		f.out = out
	}
	return f
}

// path runs a list to the end of the path.
func (s *xScope) path(list []*xStep, given any) xFlow {
	f := s.list(list, given)
	if f.jump != "" {
		panic("a jump leads nowhere: " + f.jump)
	}
	f.ends = false
	return f
}

func (s *xScope) list(list []*xStep, given any) xFlow {
	f := xFlow{out: given}
	for i := 0; i < len(list); i++ {
		f = s.step(list[i], f.out)
		if f.jump != "" {
			to := slices.IndexFunc(list, func(x *xStep) bool { return x.id == f.jump })
			if to < 0 {
				return f
			}
			if to <= i {
				s.back = f.jump
			}
			f.jump, i = "", to-1
		}
		if f.leaves() {
			return f
		}
	}
	return f
}

// step runs one step and applies all its policies.
func (s *xScope) step(x *xStep, given any) xFlow {
	if s.ctx.Err() != nil {
		return xFlow{gone: true}
	}
	if s.run.steps.Add(1) > 20_000 { // far beyond a run's limit: a loop whose limit leads back into it
		return xFlow{fail: &xFail{code: "max_steps", node: x.id, bound: true}}
	}
	if x.kind == "condition" {
		return s.choose(x, given)
	}
	if s.back != x.id { // S4-35
		s.loops[x.id] = 0
	}
	s.back = ""
	if s.loops[x.id]++; s.loops[x.id] > s.doc.limit {
		if at := limitOf(s.doc.steps, x.id); at != nil {
			if x.onError != "" && x.onError != "fail" { // then it can be read
				s.entry(x.id).fail = &xFail{code: "max_loop_iterations", node: x.id}
			}
			f := s.list(at.limitSteps, given)
			if !f.leaves() {
				f.jump, f.ends = at.limitJump, at.limitJump == ""
			}
			return f
		}
		return xFlow{fail: &xFail{code: "max_loop_iterations", node: x.id, bound: true}}
	}
	if x.cond != nil {
		yes, ok := x.cond.holds(s)
		if !ok {
			return s.failed(x, given, &xFail{code: "condition", node: x.id}, nil)
		}
		if !yes {
			return xFlow{out: given}
		}
	}
	f := s.timed(x, given)
	switch {
	case f.inside:
		f.inside = false
		return f
	case f.fail != nil:
		return s.failed(x, given, f.fail, f.out)
	case f.gone:
		return f
	case x.kind == "approval" || x.kind == "end":
		return f
	case f.leaves(): // at a deadline
		return f
	}
	s.complete(x, f.out)
	return f
}

func (s *xScope) complete(x *xStep, out any) {
	e := s.entry(x.id)
	e.done, e.output, e.fail = true, out, nil
	s.completed[x.id] = e
}

// failed handles a failure.
func (s *xScope) failed(x *xStep, given any, why *xFail, collected any) xFlow {
	if why.bound || x.onError == "" || x.onError == "fail" {
		return xFlow{fail: why}
	}
	e := s.entry(x.id)
	e.fail = why
	if x.onError == "default" {
		e.done, e.output = true, x.defaultOutput()
		s.completed[x.id] = e
		return xFlow{out: e.output}
	}
	f := xFlow{out: given}
	if collected != nil {
		e.done, e.output = true, collected
		s.completed[x.id] = e
		f.out = collected
	}
	if x.onError == "goto" {
		f.jump = x.target
	}
	return f
}

// limitOf finds the step with the limit of the loop that starts at a step.
func limitOf(list []*xStep, id string) *xStep {
	for _, x := range list {
		if x.limit != "" && (x.yesTo == id || x.noTo == id) {
			return x
		}
		for _, inner := range [][]*xStep{x.yes, x.no, x.steps} {
			if found := limitOf(inner, id); found != nil {
				return found
			}
		}
	}
	return nil
}

func (s *xScope) choose(x *xStep, given any) xFlow {
	yes, ok := x.cond.holds(s)
	if !ok {
		return xFlow{fail: &xFail{code: "expression", node: x.id}}
	}
	branch, jump := x.no, x.noTo
	if yes {
		branch, jump = x.yes, x.yesTo
	}
	f := s.list(branch, given)
	if !f.leaves() {
		f.jump = jump
	}
	return f
}

// timed runs a step with its timeout.
func (s *xScope) timed(x *xStep, given any) xFlow {
	if x.timeout == 0 {
		return s.tries(x, given)
	}
	around := s.ctx
	ctx, stop := context.WithTimeout(around, time.Duration(x.timeout)*time.Microsecond)
	s.ctx = ctx
	f := s.tries(x, given)
	late := ctx.Err() != nil && around.Err() == nil
	stop()
	s.ctx = around
	if f.gone && late {
		return xFlow{fail: &xFail{code: "timeout", node: x.id}}
	}
	return f
}

// tries attempts a step as often as its retry allows.
func (s *xScope) tries(x *xStep, given any) xFlow {
	var items *xItems
	again := x.kind == "tool" // an unanswered call is repeated once: its tool allows it (docs/tools.md)
	for n := 0; ; n++ {
		f := s.once(x, given, &items)
		if f.fail != nil && f.fail.code == "timeout" && again {
			again = false
			f = s.once(x, given, &items)
		}
		if f.fail == nil || f.inside || f.fail.bound || f.fail.code == "expression" && f.fail.node == x.id ||
			n == x.retries {
			return f
		}
		if !s.sleep(time.Duration(x.pause) * time.Second) {
			return xFlow{gone: true}
		}
	}
}

// sleep waits for d and reports whether it waited without being cancelled.
func (s *xScope) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return s.ctx.Err() == nil
	case <-s.ctx.Done():
		return false
	}
}

func (s *xScope) once(x *xStep, given any, items **xItems) xFlow {
	switch x.kind {
	case "set", "end", "tool", "workflow":
		out, ok := valuesOf(x.values, s, given)
		if x.kind == "end" && x.status == "failed" {
			return xFlow{fail: &xFail{code: "ended", node: x.id, bound: true}}
		}
		if !ok {
			return xFlow{fail: &xFail{code: "expression", node: x.id}}
		}
		switch x.kind {
		case "end":
			return xFlow{out: out, over: true}
		case "tool":
			return s.call(x, out)
		case "workflow":
			f := s.run.document(s.ctx, x.child, asJSON(out))
			if f.fail != nil {
				f.fail = &xFail{code: "tool", node: x.id}
			}
			f.over = false
			return f
		}
		return xFlow{out: out}
	case "agent":
		return xFlow{out: "said " + s.defaultPrompt()}
	case "sleep":
		return xFlow{out: given, gone: !s.sleep(time.Duration(x.sleep) * time.Microsecond)}
	case "parallel":
		return s.parallel(x, given)
	case "map":
		return s.each(x, given, items)
	}
	return s.wait(x, given)
}

// defaultPrompt returns the prompt of an agent that declares none.
func (s *xScope) defaultPrompt() string {
	if v, ok := s.items["\x00innermost"]; ok {
		return fmt.Sprint(v)
	}
	return asJSON(map[string]any{"n": s.run.input})
}

func (s *xScope) call(x *xStep, args map[string]any) xFlow {
	args["id"] = x.id
	text, _ := json.Marshal(args)
	takes, fails := s.run.acts.next(x.id, string(text))
	late := x.callTimeout > 0 && takes > time.Duration(x.callTimeout)*time.Microsecond
	if late {
		takes = time.Duration(x.callTimeout) * time.Microsecond
	}
	switch ok := s.sleep(takes); {
	case !ok:
		return xFlow{gone: true}
	case late:
		return xFlow{fail: &xFail{code: "timeout", node: x.id}}
	case fails:
		return xFlow{fail: &xFail{code: "failed", node: x.id}}
	}
	return xFlow{out: args}
}

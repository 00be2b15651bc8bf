package graph

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/program"
)

// direct calls the functions of a graph that only change its state: those of [Do], and the
// conditions of decisions, ifs and loops. It is immutable.
type direct[S any] struct {
	c          *compiler[S]
	funcs      []*def[S]
	conditions []func(View[S]) bool
	numbers    map[string]int // of funcs, by name; conditions have names of their own
	checks     map[string]int
}

// newDirect returns the functions of c that can be called directly, or nil if there are none: values
// of S must survive JSON unchanged unless the codec notices, and nothing may check the state.
func newDirect[S any](c *compiler[S]) *direct[S] {
	if c.codec.slowPath || c.config.OutputSchema != nil {
		return nil
	}
	for i := range c.codec.fields {
		if f := &c.codec.fields[i]; f.form == nil || !f.stable {
			return nil
		}
	}
	d := &direct[S]{c: c, numbers: map[string]int{}, checks: map[string]int{}}
	check := func(name string, fn func(View[S]) bool) {
		d.checks[name] = len(d.conditions)
		d.conditions = append(d.conditions, fn)
	}
	for _, n := range c.nodes {
		switch {
		case n.shape == shapeIf:
			check(n.id+suffixIf, n.cond)
		case n.shape == shapeRoutes:
			for i, r := range n.routes {
				check(n.id+suffixRoute+routePort(i), r.When)
			}
		case n.shape == shapeLoopCheck:
			check(n.id+suffixContinue, n.loop.again)
		case n.do != nil && n.id != c.handler && n.opts.InputSchema == nil && n.opts.OutputSchema == nil:
			d.numbers[n.id] = len(d.funcs)
			d.funcs = append(d.funcs, n)
		}
	}
	if len(d.funcs) == 0 {
		return nil
	}
	return d
}

// Func implements program.Direct.
func (d *direct[S]) Func(name string) int { return numberOf(d.numbers, name) }

// Condition implements program.Direct.
func (d *direct[S]) Condition(name string) int { return numberOf(d.checks, name) }

func numberOf(numbers map[string]int, name string) int {
	if n, ok := numbers[name]; ok {
		return n
	}
	return -1
}

// Walk implements program.Direct.
func (d *direct[S]) Walk(s program.State) program.Walk {
	n := d.c.codec.base(s)
	if n == nil {
		return nil
	}
	w := &walk[S]{d: d, now: n, next: n, base: s}
	w.seen = w.outputs
	return w
}

// Changes implements program.Direct.
func (d *direct[S]) Changes(s program.State, before, after any) program.Result {
	was, _ := before.(*native[S])
	is, _ := after.(*native[S])
	if was == is {
		return program.Result{Native: after}
	}
	out, ok := d.c.codec.compare(&seen[S]{state: s, base: was}, &is.value)
	if !ok {
		return program.Result{Failure: failureOf(errors.New("encode state: a recorded state has no JSON"))}
	}
	out.Native = after
	return out
}

// walk is a state that functions change one after another. now is the state before the last call,
// next the one after it.
type walk[S any] struct {
	d         *direct[S]
	now, next *native[S]
	base      program.State // at the begin of the walk
	counts    []count
	last      *frame[S]
	frames    []frame[S]
	size      int
	err       error
	// seen is outputs, as a value that is made once.
	seen func() map[string]program.Value
	// asked means that a condition asked for more than the walk has.
	asked bool
}

// count is a counter that has changed since the begin of a walk.
type count struct {
	field string
	n     int
}

// frame is what one call of a function gets. A function may keep it.
type frame[S any] struct {
	state S
	with  program.CallerContext
}

// maxFrames is the maximum number of frames that share a block of memory. It is small because a
// function that keeps its frame keeps the whole block.
const maxFrames = 16

func (w *walk[S]) frame() *frame[S] {
	if len(w.frames) == 0 {
		w.size = min(max(2, 2*w.size), maxFrames)
		w.frames = make([]frame[S], w.size)
	}
	f := &w.frames[0]
	w.frames = w.frames[1:]
	return f
}

// Call implements program.Walk.
func (w *walk[S]) Call(ctx context.Context, caller program.Caller, fn int) (plain bool) {
	defer func() {
		if v := recover(); v != nil {
			w.err, plain = panicked("the state panicked when it was copied: %v", v), false
		}
	}()
	f := w.frame()
	f.with = program.CallerContext{Context: ctx, Caller: caller}
	w.now, w.last = w.next, f
	w.d.c.codec.lend(w.now, &f.state)
	if w.err = w.invoke(w.d.funcs[fn], f); w.err != nil {
		return false
	}
	w.next = w.d.c.codec.advance(w.now, &f.state)
	return w.next != nil
}

func (w *walk[S]) invoke(n *def[S], f *frame[S]) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked("node %q panicked: %v", n.id, v)
		}
	}()
	return n.do(&f.with, &f.state)
}

// Result implements program.Walk.
func (w *walk[S]) Result(ctx context.Context, s program.State) program.Result {
	out, err := program.Result{}, w.err
	if err == nil {
		out, err = w.changes(s)
	}
	if err == nil {
		return out
	}
	out = program.Result{Failure: failureOf(err)}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) { // the node stopped because the run did
		out.Failure.Code = codeCancelled
	}
	return out
}

func (w *walk[S]) changes(s program.State) (out program.Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked("the state panicked when it was encoded: %v", v)
		}
	}()
	return w.d.c.codec.changes(&seen[S]{state: s, base: w.now}, &w.last.state)
}

// Check implements program.Walk.
func (w *walk[S]) Check(condition int) (holds, ok bool) {
	defer func() {
		if recover() != nil { // it panics again for the engine, which reports it
			holds, ok = false, false
		}
	}()
	w.asked = false
	v := View[S]{graph: w.d.c, fields: (*walkState[S])(w), seen: w.seen}
	w.d.c.codec.lend(w.next, &v.State)
	holds = w.d.conditions[condition](v)
	return holds, !w.asked
}

// outputs is View.seen.
//
//nolint:unparam // the signature is that of View.seen
func (w *walk[S]) outputs() map[string]program.Value {
	w.asked = true
	return nil
}

// Count implements program.Walk.
func (w *walk[S]) Count(c program.Counter) bool {
	if w.d.c.codec.matchesFold(c.Field) {
		return false
	}
	var n int
	i := w.counted(c.Field)
	if i >= 0 {
		n = w.counts[i].n
	} else {
		n = passes(w.base, c.Field)
		i = len(w.counts)
		w.counts = append(w.counts, count{field: c.Field})
	}
	if n++; c.Reset {
		n = 0
	}
	w.counts[i].n = n
	return true
}

func (w *walk[S]) counted(field string) int {
	for i := range w.counts {
		if w.counts[i].field == field {
			return i
		}
	}
	return -1
}

// State implements program.Walk.
func (w *walk[S]) State() any { return w.next }

// End implements program.Walk.
func (w *walk[S]) End() program.State {
	return &walkedState{State: w.base, native: w.next, counts: w.counts}
}

// walkState is the state of a walk as conditions read it: the counters of loops, and nothing else.
type walkState[S any] walk[S]

// passes implements countedState.
func (s *walkState[S]) passes(field string) (int, bool) {
	w := (*walk[S])(s)
	if i := w.counted(field); i >= 0 {
		return w.counts[i].n, true
	}
	return 0, false
}

// Get implements program.State.
func (s *walkState[S]) Get(name string) json.RawMessage {
	w := (*walk[S])(s)
	if i := w.counted(name); i >= 0 {
		return strconv.AppendInt(nil, int64(w.counts[i].n), 10)
	}
	if !strings.HasPrefix(name, outputsPrefix) {
		w.asked = true
		return nil
	}
	return w.base.Get(name)
}

func (s *walkState[S]) Map() map[string]json.RawMessage {
	s.asked = true
	return nil
}

func (s *walkState[S]) Names() iter.Seq[string] {
	s.asked = true
	return func(func(string) bool) {}
}

func (*walkState[S]) Native() any         { return nil }
func (*walkState[S]) KeepNative(any)      {}
func (*walkState[S]) CanGrow(string) bool { return false }

// walkedState is the state after a walk: the program's own form of it, the counters of loops, and
// what a graph keeps next to the state of its user, which functions cannot change.
type walkedState struct {
	program.State
	native any
	counts []count
}

func (s *walkedState) Native() any    { return s.native }
func (s *walkedState) KeepNative(any) {}

func (s *walkedState) Get(name string) json.RawMessage {
	for _, c := range s.counts {
		if c.field == name {
			return strconv.AppendInt(nil, int64(c.n), 10)
		}
	}
	return s.State.Get(name)
}

func (s *walkedState) Map() map[string]json.RawMessage {
	out := maps.Clone(s.State.Map())
	if out == nil {
		out = map[string]json.RawMessage{}
	}
	for _, c := range s.counts {
		out[c.field] = s.Get(c.field)
	}
	return out
}

func (s *walkedState) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range s.State.Names() {
			if !yield(name) {
				return
			}
		}
		for _, c := range s.counts {
			if s.State.Get(c.field) == nil && !yield(c.field) {
				return
			}
		}
	}
}

// lend copies a state into s, which must be zero; n is unaffected by later changes to s. All fields
// must have forms.
func (c *codec[S]) lend(n *native[S], s *S) {
	if c.flat {
		*s = n.value
		return
	}
	c.copyState(n, nil, s, nil)
}

// advance returns the native form of the state after, which a function made of base, and base itself
// if nothing has changed. It returns nil if JSON would change or refuse the state.
func (c *codec[S]) advance(base *native[S], after *S) *native[S] {
	was, is := reflect.ValueOf(&base.value).Elem(), reflect.ValueOf(after).Elem()
	var space [8]difference
	list := space[:0]
	for i := range c.fields {
		f := &c.fields[i]
		before, v := f.in(was), f.in(is)
		if f.equal(before, v) {
			continue
		}
		d := difference{field: i, to: -1}
		if !f.isOmitted(v) {
			d.to, d.grew = 0, extends(f.form, before, v)
		}
		list = append(list, d)
	}
	if len(list) == 0 {
		return base
	}
	return c.next(base, list, is)
}

// extends reports whether a value is another one with something appended that JSON can hold.
func extends(f form, was, v reflect.Value) bool {
	switch f := f.(type) {
	case textForm:
		before, after := was.String(), v.String()
		return before != "" && len(after) > len(before) && strings.HasPrefix(after, before) &&
			utf8.ValidString(after[len(before):])
	case textsForm:
		return was.Len() > 0 && v.Len() > was.Len() && listForm{textForm{}}.begins(was, v)
	case listForm:
		return was.Len() > 0 && v.Len() > was.Len() && f.begins(was, v)
	}
	return false
}

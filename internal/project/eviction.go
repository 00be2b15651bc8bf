package project

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/hocket-run/hocket/workflow"
)

// windowSteps is the default number of most recently started steps that a forgetting folder always
// keeps.
const windowSteps = 2000

// Part is a range of a list, starting at an index.
type Part struct{ From, N int }

// AllOf is the range that covers the whole list.
var AllOf = Part{0, math.MaxInt32}

func (p Part) has(from, to int) bool { return to >= p.From && from-p.From < p.N }

// Keep specifies what a forgetting folder keeps of a run; see [Folder.Forget].
type Keep struct {
	// Steps and Trail are the ranges of the lists that are shown.
	Steps, Trail Part
	// Window is the number of most recently started steps that are always kept; 0 means 2,000.
	Window int
	// Pins holds the numbers of steps that are always kept.
	Pins map[int]bool
	// Leave, if not nil, is called with every step that leaves the window of the latest steps, in
	// the order in which they started.
	Leave func(l Leaving) error
}

// Leaving is a step that has left the window of the latest steps.
type Leaving struct {
	// Seq is its number. IsOpen means that later events may still change it.
	Seq    int
	IsOpen bool
	folder *Folder
	step   *step
}

// Step returns the step as it appears in the list, or false if the list does not show it.
func (l Leaving) Step() (Step, bool) {
	if l.step.def.Hidden {
		return Step{}, false
	}
	return l.folder.step(l.step), true
}

// Entry returns the step as it appears in the trail, without its position, or false if the trail
// does not show it.
func (l Leaving) Entry() (TrailEntry, bool) {
	if !l.folder.inTrail(l.step) {
		return TrailEntry{}, false
	}
	return l.folder.entry(l.step, 0), true
}

// Find returns the current state of a step, or false if the step was forgotten or does not exist.
func (f *Folder) Find(n int) (Leaving, bool) {
	st := f.steps[n]
	return Leaving{Seq: n, folder: f, step: st}, st != nil
}

// forgetting is the state of a forgetting folder in addition to its steps.
type forgetting struct {
	Keep
	retained       []*step     // steps kept although they left the window, in order
	owners         map[int]int // step that owned the scope, by scope number
	tokens         map[int]*step
	last           int // largest number of a started step
	trailForgotten int // forgotten trail entries
	missed         map[int]bool
	err            error
}

// Forget makes the folder forget steps that have settled, are not shown, and are not among the
// latest. Its memory is then bounded by the concurrent steps and the part that is shown.
// [Folder.Run] and [Folder.Trail] return the parts that are kept. Forget must be called before any
// event is added.
//
// Events that concern a forgotten step are rare; for such a step the views may be wrong.
// [Folder.Missed] reports these steps.
func (f *Folder) Forget(k Keep) {
	k.Window = cmp.Or(k.Window, windowSteps)
	f.forget = &forgetting{Keep: k, owners: map[int]int{}, tokens: map[int]*step{}, missed: map[int]bool{}}
}

// Missed returns the numbers of steps that were needed after they were forgotten; the caller must
// fold the events again with a folder that keeps them. Nil means that the views are correct.
func (f *Folder) Missed() []int {
	if f.forget == nil || len(f.forget.missed) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(f.forget.missed))
}

// Left passes the steps that are still among the latest to Keep.Leave and returns its first error.
// It is called after all events.
func (f *Folder) Left() error {
	g := f.forget
	for g.Leave != nil && len(f.order) > 0 && g.err == nil {
		f.evictStep()
	}
	return g.err
}

// LeaveError returns the first error that Keep.Leave returned.
func (f *Folder) LeaveError() error { return f.forget.err }

// find returns the step with the given number, or nil if there is none.
func (f *Folder) find(n int) *step {
	st := f.steps[n]
	if st != nil && st.reported {
		f.forget.missed[n] = true
	}
	if st != nil || !f.isForgotten(n) {
		return st
	}
	if last := f.scopes[0].last; last != nil && last.n == n {
		return last // only the end of the run looks it up
	}
	f.forget.missed[n] = true
	return nil
}

func (f *Folder) isForgotten(n int) bool {
	return f.forget != nil && n > 0 && n <= f.forget.last && f.steps[n] == nil
}

// scope returns the scope with the given number, or nil if there is none.
func (f *Folder) scope(n int) *scope {
	sc := f.scopes[n]
	if sc == nil && f.forget != nil {
		if owner, ok := f.forget.owners[n]; ok {
			f.forget.missed[owner] = true
		}
	}
	return sc
}

// trimWindow maintains the window after the start of a step that consumed tokens.
func (f *Folder) trimWindow(st *step) {
	g := f.forget
	if g == nil {
		return
	}
	if st.data.Recipe == nil {
		st.in = f.input(st)
	}
	if st.data.Kind == workflow.KindAgent {
		st.passed = f.passedInput(st)
	}
	for _, t := range st.data.Tokens {
		if from := g.tokens[t]; from != nil {
			from.pending--
			delete(g.tokens, t)
		}
	}
	if from := f.steps[st.data.From]; from != nil &&
		(st.def.Kind == workflow.KindFork || st.def.Kind == workflow.KindMap || st.def.Kind == workflow.KindSubflow) {
		from.pending++
		st.from = from
	}
	if g.last = max(g.last, st.n); len(f.order) > g.Window {
		f.evictStep()
	}
}

// releaseInput releases the input of a step and of the steps in its branches.
func (st *step) releaseInput() {
	if st.from != nil {
		st.from.pending--
		st.from = nil
	}
}

// retainOutput records that another step will begin with the output of st, which is needed until
// then.
func (f *Folder) retainOutput(st *step, n int) {
	if g := f.forget; g != nil && n > 0 {
		st.pending++
		g.tokens[n] = st
	}
}

// evictStep removes the first step from the window and forgets it if possible.
func (f *Folder) evictStep() {
	g, st := f.forget, f.order[0]
	f.order[0], f.order = nil, f.order[1:]
	isOpen := st.status == StepRunning || st.pending > 0 || st.waiting > 0 || g.Pins[st.n]
	if g.Leave != nil && g.err == nil {
		g.err = g.Leave(Leaving{st.n, isOpen, f, st})
	}
	st.before = g.trailForgotten
	switch {
	case isOpen, !st.def.Hidden && g.Steps.has(st.index, st.index), f.inTrail(st) &&
		g.Trail.has(g.trailForgotten, g.trailForgotten+len(g.retained)):
		g.retained = append(g.retained, st)
		st.reported = g.Leave != nil && !isOpen
		return
	case f.inTrail(st):
		g.trailForgotten++
	}
	delete(f.steps, st.n)
	f.texts.Forget(st.n)
	for _, sc := range append(slices.Collect(maps.Values(st.branches)), st.child) {
		if sc != nil {
			g.owners[sc.n] = st.n
			delete(f.scopes, sc.n)
		}
	}
}

// shows reports whether a step is in the range of the list that is shown.
func (f *Folder) shows(st *step) bool {
	return !st.def.Hidden && (f.forget == nil || f.forget.Steps.has(st.index, st.index))
}

// StepCount returns the number of steps in the list, including forgotten ones.
func (f *Folder) StepCount() int { return f.visible }

// kept returns the steps that were not forgotten, in start order.
func (f *Folder) kept() []*step {
	if f.forget == nil {
		return f.order
	}
	return slices.Concat(f.forget.retained, f.order)
}

package project

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/hocket-run/hocket/workflow"
)

// windowSteps is how many of the steps that started last a folder that forgets keeps in any case.
const windowSteps = 2000

// Part is a part of a list, from an index on.
type Part struct{ From, N int }

// AllOf is the part that is the whole list.
var AllOf = Part{0, math.MaxInt32}

func (p Part) has(from, to int) bool { return to >= p.From && from-p.From < p.N }

// Keep says what a folder that forgets keeps of a run: see [Folder.Forget].
type Keep struct {
	// Steps and Trail are the parts of the lists that are shown.
	Steps, Trail Part
	// Window is how many of the steps that started last are kept in any case; 0: 2,000.
	Window int
	// Pins are the numbers of steps that are kept in any case.
	Pins map[int]bool
	// Leave, if not nil, is given every step that is no longer among the latest, in the order in which they started.
	Leave func(l Leaving) error
}

// Leaving is a step that is no longer among the latest.
type Leaving struct {
	// Seq is its number. IsOpen: events may change it still.
	Seq    int
	IsOpen bool
	folder *Folder
	step   *step
}

// Step gives the step as the list shows it; false: the list does not.
func (l Leaving) Step() (Step, bool) {
	if l.step.def.Hidden {
		return Step{}, false
	}
	return l.folder.step(l.step), true
}

// Entry gives the step as the trail shows it, without its place in it; false: the trail does not.
func (l Leaving) Entry() (TrailEntry, bool) {
	if !l.folder.inTrail(l.step) {
		return TrailEntry{}, false
	}
	return l.folder.entry(l.step, 0), true
}

// Find gives a step that was not forgotten as it is now; false where it was, or there is none.
func (f *Folder) Find(n int) (Leaving, bool) {
	st := f.steps[n]
	return Leaving{Seq: n, folder: f, step: st}, st != nil
}

// forgetting is what a folder that forgets knows beside its steps.
type forgetting struct {
	Keep
	late   []*step     // steps that are kept although they are no longer among the latest, in their order
	owners map[int]int // step whose scope it was, by the number of the scope
	tokens map[int]*step
	last   int // the largest number of a step that started
	trail  int // entries of the trail that were forgotten
	missed map[int]bool
	err    error
}

// Forget makes the folder forget steps: those that have settled, are not shown, and are not among the latest. Its memory is then bounded by what goes on at the same
// time and what is shown. [Folder.Run] and [Folder.Trail] give the parts that are kept. It is called before anything is added.
//
// Events that concern a forgotten step are rare: what such a step says then is not what the views would show. [Folder.Missed] tells of it.
func (f *Folder) Forget(k Keep) {
	k.Window = cmp.Or(k.Window, windowSteps)
	f.forget = &forgetting{Keep: k, owners: map[int]int{}, tokens: map[int]*step{}, missed: map[int]bool{}}
}

// Missed gives the numbers of steps that were needed after they were forgotten: the events are to be folded again by a folder that keeps them. Nil: the views are right.
func (f *Folder) Missed() []int {
	if f.forget == nil || len(f.forget.missed) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(f.forget.missed))
}

// Left gives the first error of Keep.Leave. After all events it gives Leave the steps that are still among the latest.
func (f *Folder) Left() error {
	g := f.forget
	for g.Leave != nil && len(f.order) > 0 && g.err == nil {
		f.leave()
	}
	return g.err
}

// LeaveError gives the first error of Keep.Leave.
func (f *Folder) LeaveError() error { return f.forget.err }

// find gives a step by its number; nil where there is none.
func (f *Folder) find(n int) *step {
	st := f.steps[n]
	if st != nil && st.isGiven {
		f.forget.missed[n] = true
	}
	if st != nil || !f.isForgotten(n) {
		return st
	}
	if last := f.scopes[0].last; last != nil && last.n == n {
		return last // only the end of the run asks for it
	}
	f.forget.missed[n] = true
	return nil
}

func (f *Folder) isForgotten(n int) bool {
	return f.forget != nil && n > 0 && n <= f.forget.last && f.steps[n] == nil
}

// scope gives a scope by its number; nil where there is none.
func (f *Folder) scope(n int) *scope {
	sc := f.scopes[n]
	if sc == nil && f.forget != nil {
		if owner, ok := f.forget.owners[n]; ok {
			f.forget.missed[owner] = true
		}
	}
	return sc
}

// begun keeps the window when a step has started that consumed tokens.
func (f *Folder) begun(st *step) {
	g := f.forget
	if g == nil {
		return
	}
	if st.data.Recipe == nil {
		st.in = f.input(st)
	}
	for _, t := range st.data.Tokens {
		if from := g.tokens[t]; from != nil {
			from.pending--
			delete(g.tokens, t)
		}
	}
	if from := f.steps[st.data.From]; from != nil && (st.def.Kind == workflow.KindFork || st.def.Kind == workflow.KindMap || st.def.Kind == workflow.KindSubflow) {
		from.pending++
		st.from = from
	}
	if g.last = max(g.last, st.n); len(f.order) > g.Window {
		f.leave()
	}
}

// ended lets go of what a step and those in its branches begin with.
func (st *step) ended() {
	if st.from != nil {
		st.from.pending--
		st.from = nil
	}
}

// token notes that a step gave what another one begins with: it is needed until then.
func (f *Folder) token(st *step, n int) {
	if g := f.forget; g != nil && n > 0 {
		st.pending++
		g.tokens[n] = st
	}
}

// leave takes the first step out of the window, and forgets it if it can.
func (f *Folder) leave() {
	g, st := f.forget, f.order[0]
	f.order[0], f.order = nil, f.order[1:]
	isOpen := st.status == StepRunning || st.pending > 0 || st.waiting > 0 || g.Pins[st.n]
	if g.Leave != nil && g.err == nil {
		g.err = g.Leave(Leaving{st.n, isOpen, f, st})
	}
	st.before = g.trail
	switch {
	case isOpen, !st.def.Hidden && g.Steps.has(st.index, st.index), f.inTrail(st) && g.Trail.has(g.trail, g.trail+len(g.late)):
		g.late = append(g.late, st)
		st.isGiven = g.Leave != nil && !isOpen
		return
	case f.inTrail(st):
		g.trail++
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

// shows tells whether a step is in the part of the list that is shown.
func (f *Folder) shows(st *step) bool {
	return !st.def.Hidden && (f.forget == nil || f.forget.Steps.has(st.index, st.index))
}

// StepCount is how many steps the list has, those that were forgotten too.
func (f *Folder) StepCount() int { return f.visible }

// kept gives the steps that were not forgotten, as they started.
func (f *Folder) kept() []*step {
	if f.forget == nil {
		return f.order
	}
	return slices.Concat(f.forget.late, f.order)
}

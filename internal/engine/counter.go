package engine

import "github.com/hocket-run/hocket/internal/engine/plan"

// Counter is a node function that only counts.
type Counter = plan.Counter

// Counting is a [Host] with node functions that only count the passes of a loop. The engine does their work itself, in the activation that asks for it: what it records is what a
// call would give.
type Counting interface {
	// Counter tells how a node function counts; false: it does something else. The answer must always be the same.
	Counter(name string) (Counter, bool)
}

// counted gives the result of a call of a counter, which has just been recorded.
func (r *Run) counted(id int, key string, c *Counter) {
	call, seen := r.s.Loop.Call(key), r.step(id).View
	r.returned(key, call, &FuncResult{Update: map[string]Value{c.Field: c.Next(seen.Get(c.Field))}, Native: seen.Native()})
}

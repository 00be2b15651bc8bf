package engine

import "strconv"

// Counting is a [Host] with node functions that only count the passes of a loop. The engine does their work itself, in the activation that asks for it: what it records is what a
// call would give.
type Counting interface {
	// Counter tells how a node function counts; false: it does something else. The answer must always be the same.
	Counter(name string) (Counter, bool)
}

// Counter is a node function that counts in a field of the typed state, one that the program's own form of the state does not hold.
type Counter struct {
	Field string
	// Reset sets the field to 0, instead of adding 1 to it.
	Reset bool
}

// findCounters notes which nodes of a flow only count.
func (f *flow) findCounters(host Counting) {
	for i := range f.nodes {
		if n := &f.nodes[i]; n.Func != nil {
			if c, ok := host.Counter(n.Func.Func); ok {
				n.counter = &c
			}
		}
	}
	for _, sub := range f.flows {
		sub.findCounters(host)
	}
}

// next gives the value of the counter after v. What is not a number counts as 0.
func (c *Counter) next(v Value) Value {
	n, err := strconv.Atoi(string(v))
	if err != nil {
		n = 0
	}
	if n++; c.Reset {
		n = 0
	}
	return strconv.AppendInt(nil, int64(n), 10)
}

// counted gives the result of a call of a counter, which has just been recorded.
func (r *Run) counted(id int, key string, c *Counter) {
	call, seen := r.s.Loop.Call(key), r.step(id).View
	r.returned(key, call, &FuncResult{Update: map[string]Value{c.Field: c.next(seen.Get(c.Field))}, Native: seen.Native()})
}

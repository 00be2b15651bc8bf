package program

import (
	"context"
	"maps"
)

// Func is a node function.
type Func = func(ctx context.Context, c Call) Result

// Include adds the functions of an inner graph's table under their names with prefix prepended;
// node functions are wrapped with around. No map of t may be nil.
func (t *Table) Include(prefix string, inner *Table, around func(Func) Func) {
	include(t.Conditions, prefix, inner.Conditions)
	include(t.Values, prefix, inner.Values)
	include(t.Merges, prefix, inner.Merges)
	include(t.Reducers, prefix, inner.Reducers)
	include(t.OnErrors, prefix, inner.OnErrors)
	include(t.RetryOns, prefix, inner.RetryOns)
	include(t.Counters, prefix, inner.Counters)
	include(t.Brief, prefix, inner.Brief)
	calls := maps.Clone(inner.Calls)
	for name, f := range calls {
		calls[name] = around(f)
	}
	include(t.Calls, prefix, calls)
}

func include[F any](to map[string]F, prefix string, from map[string]F) {
	for name, f := range from {
		to[prefix+name] = f
	}
}

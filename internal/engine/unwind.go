package engine

import (
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/waits"
)

// unwind ends what is at work inside frame outer of a step, the whole step where outer is negative: calls are cancelled, questions about calls are
// closed, and every sub-agent inside fails, innermost first (S0-54).
func (r *Run) unwind(id, outer int, f Failure) {
	within := func(fr int) bool { return outer < 0 || r.step(id).Loop.Agent.Inside(fr, outer) }
	r.closeWaits(func(w *waits.Wait) bool {
		if w.Step != id {
			return false
		}
		c := r.s.Loop.Call(w.Call)
		return outer < 0 || c != nil && within(c.Frame)
	}, "cancelled")
	r.commands.cancelCalls(func(c *loop.Call) bool { return c.Step == id && within(c.Frame) })
	r.agents.failInside(id, outer, f)
}

package engine

import (
	"time"

	"github.com/hocket-run/hocket/internal/chat"
)

// SettleTime is how long an ending run waits for the calls that it cancelled (D10).
const SettleTime = 5 * time.Second

// DrainTime is how long it waits where only functions are left that cannot tell of any more use: those that heed their contexts have returned by then,
// others go on behind the run and count no more.
const DrainTime = 100 * time.Millisecond

// apply folds one event into the state. It decides nothing: whatever it does follows from the event and the state alone. It cannot fail: the engine made the event of the state,
// or validated it.
func (r *Run) apply(ev *Event) {
	if _, resumed := ev.Data.(*RunResumed); r.s.Status == StatusRunning && !resumed {
		r.s.Active += max(0, ev.At.Sub(r.s.At))
	}
	r.s.Seq, r.s.At = ev.Seq, ev.At
	kinds[ev.Data.Type()].apply(r, ev)
	if r.s.Limits.MaxBytes > 0 {
		r.s.Bytes = chat.AddTokens(r.s.Bytes, r.weight(ev))
	}
}

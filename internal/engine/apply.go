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
func (s *state) apply(ev *Event) {
	if _, resumed := ev.Data.(*RunResumed); s.Status == StatusRunning && !resumed {
		s.Active += max(0, ev.At.Sub(s.At))
	}
	s.Seq, s.At = ev.Seq, ev.At
	kinds[ev.Data.Type()].apply(s, ev)
	if s.Limits.MaxBytes > 0 {
		s.Bytes = chat.AddTokens(s.Bytes, s.weight(ev))
	}
}

package engine

import (
	"time"

	"github.com/hocket-run/hocket/internal/chat"
)

// SettleTime is how long an ending run waits for the calls that it cancelled (D10).
const SettleTime = 5 * time.Second

// DrainTime is how long an ending run waits if only functions are left that cannot report any more
// usage: functions that respect their contexts have returned by then, others continue after the run
// and no longer count.
const DrainTime = 100 * time.Millisecond

// apply folds one event into the state. It decides nothing: its effect follows from the event and
// the state alone. It cannot fail, because the engine created the event from the state, or
// validated it.
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

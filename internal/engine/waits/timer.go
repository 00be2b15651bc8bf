package waits

import (
	"slices"
	"strings"
	"time"
)

// Timer is a timer of an open wait that has not fired.
type Timer struct {
	ID       string // `deadline:` or `remind:` followed by the id of the wait
	At       time.Time
	Step     int
	Seq      uint64 // the event that opened the wait
	Wait     string
	IsRemind bool
}

// prefixes are the prefixes of timer ids, by their index in Wait.fired.
var prefixes = [2]string{"deadline:", "remind:"}

// timer returns one timer of a wait, or false if it is not running.
func (w *Wait) timer(i int) (Timer, bool) {
	at := [2]time.Time{w.Deadline, w.Remind}[i]
	return Timer{ID: prefixes[i] + w.Wait, At: at, Step: w.Step, Seq: w.seq, Wait: w.Wait, IsRemind: i == 1},
		w.IsOpen() && !w.fired[i] && !at.IsZero()
}

// Timers returns the running timers of the wait.
func (w *Wait) Timers() []Timer {
	var out []Timer
	for i := range prefixes {
		if t, ok := w.timer(i); ok {
			out = append(out, t)
		}
	}
	return out
}

// Timers returns the running timers, by id.
func (s *Waits) Timers() []Timer {
	var out []Timer
	for _, w := range s.Open(nil) {
		out = append(out, w.Timers()...)
	}
	slices.SortStableFunc(out, func(a, b Timer) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Timer returns a running timer by its id.
func (s *Waits) Timer(id string) (Timer, bool) {
	if w, i := s.timerOf(id); w != nil {
		return w.timer(i)
	}
	return Timer{}, false
}

// Fire ends a timer that is due.
func (s *Waits) Fire(id string) {
	if w, i := s.timerOf(id); w != nil {
		w.fired[i] = true
	}
}

func (s *Waits) timerOf(id string) (*Wait, int) {
	for i, prefix := range prefixes {
		if wait, ok := strings.CutPrefix(id, prefix); ok {
			return s.Get(wait), i
		}
	}
	return nil, 0
}

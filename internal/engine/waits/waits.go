package waits

import (
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// Waits holds the waits of one run. It is not safe for concurrent use.
type Waits struct {
	list   []Wait // in the order in which they were opened
	index  *index // nil before the first wait
	queues bool
	// The order in which a run with a queue continues after an answer (D18) is the branch of the
	// answer, then each entry of the queue. It is the turn of group if hasTurn.
	hasTurn bool
	group   int
	// kept are the signals that no wait has taken; nil before the first.
	kept *keptSignals
}

// index finds waits by their places in the list, so that the waits that have ended cost nothing.
type index struct {
	open   []int // oldest first
	byID   map[string]int
	byStep map[int]int    // the last wait that was the purpose of the step
	byKey  map[string]int // the first wait that was answered with the key
	last   int            // number of the wait for a person that ended last; 0 means none
}

// New returns the waits of a run that has not opened any. If queues, steps that become ready while
// a wait is open are queued (D18).
func New(queues bool) Waits { return Waits{queues: queues} }

// Wait is one wait, with the data that opened it. Input is only in the event, and Arguments are
// dropped once it has ended, unless the answer could change them.
type Wait struct {
	event.WaitOpened

	// Number is the number of the wait in the run, counted from 1.
	Number int
	Step   int
	Since  time.Time
	// Answer is nil and Closed is "" while the wait is open.
	Answer *event.WaitAnswered
	Closed string
	// Ended is the number of the event that ended the wait, 0 while it is open.
	Ended uint64
}

// IsOpen reports whether the wait accepts an answer.
func (w *Wait) IsOpen() bool { return w.Answer == nil && w.Closed == "" }

// OfNode reports whether the wait is the purpose of its step, rather than about a call or a budget.
func (w *Wait) OfNode() bool { return w.Call == "" && w.Limit == nil }

// Get returns a wait by its id, or nil if there is none. It must not be modified, and is valid
// until the next event.
func (s *Waits) Get(id string) *Wait {
	if s.index != nil {
		if i, ok := s.index.byID[id]; ok {
			return &s.list[i]
		}
	}
	return nil
}

// OfStep returns the wait that was the purpose of a step, or nil if there is none.
func (s *Waits) OfStep(step int) *Wait {
	if s.index != nil {
		if i, ok := s.index.byStep[step]; ok {
			return &s.list[i]
		}
	}
	return nil
}

// Len returns the number of waits of the run, including those that have ended.
func (s *Waits) Len() int { return len(s.list) }

// IsOpen reports whether any wait is open.
func (s *Waits) IsOpen() bool { return s.index != nil && len(s.index.open) > 0 }

// Open returns the open waits that match, oldest first; nil matches all. The waits are subject to
// the same rules as for Get.
func (s *Waits) Open(match func(*Wait) bool) []*Wait {
	if s.index == nil {
		return nil
	}
	var out []*Wait
	for _, i := range s.index.open {
		if w := &s.list[i]; match == nil || match(w) {
			out = append(out, w)
		}
	}
	return out
}

// Note returns the note of the answer to the wait with that number; "" if it has none, and for 0.
func (s *Waits) Note(number int) string {
	if number < 1 || s.list[number-1].Answer == nil {
		return ""
	}
	return s.list[number-1].Answer.Note
}

// Later returns the one of two waits, by number, that ended later; 0 means none.
func (s *Waits) Later(a, b int) int {
	if a == 0 || b > 0 && s.list[b-1].Ended > s.list[a-1].Ended {
		return b
	}
	return a
}

// CheckOpened returns why a wait cannot be opened, or "" if it can.
func (s *Waits) CheckOpened(d *event.WaitOpened) string {
	if s.Get(d.Wait) != nil {
		return "wait " + d.Wait + " already exists"
	}
	return ""
}

// ApplyOpened adds a wait. The queue waits for its answer.
func (s *Waits) ApplyOpened(ev *event.Event, d *event.WaitOpened) {
	w := Wait{WaitOpened: *d, Number: len(s.list) + 1, Step: ev.Step, Since: ev.At}
	w.Input = nil // only in the event
	place := len(s.list)
	s.list = append(s.list, w)
	if s.index == nil {
		s.index = &index{byID: map[string]int{}, byStep: map[int]int{}, byKey: map[string]int{}}
	}
	s.index.open = append(s.index.open, place)
	s.index.byID[w.Wait] = place
	if w.OfNode() {
		s.index.byStep[w.Step] = place
	}
	s.Pause()
}

// CheckOpen returns why an event of a step cannot refer to a wait, or "" if the wait is open.
func (s *Waits) CheckOpen(ev *event.Event, id string) string {
	if w := s.Get(id); w == nil || !w.IsOpen() || w.Step != ev.Step {
		return "wait " + id + " is not open"
	}
	return ""
}

// CheckAnswered returns why a wait cannot have that answer, or "" if it can.
func (s *Waits) CheckAnswered(ev *event.Event, d *event.WaitAnswered) string {
	if why := s.CheckOpen(ev, d.Wait); why != "" {
		return why
	}
	if d.Limits != nil && s.Get(d.Wait).Limit == nil {
		return "it is not an answer about a budget"
	}
	if d.Arguments != nil && !s.Get(d.Wait).IsEditable() {
		return "its arguments cannot be changed"
	}
	if d.Kept != 0 {
		return s.checkKept(d)
	}
	return ""
}

// ApplyAnswered ends a wait with an answer, and returns the wait. group is the group of the steps
// that continue with the answer; ok is false if the answer has no turn in the queue.
func (s *Waits) ApplyAnswered(ev *event.Event, d *event.WaitAnswered) (w *Wait, group int, ok bool) {
	w = s.Get(d.Wait)
	w.Answer = d
	s.release(d.Kept)
	s.end(w, ev)
	if !s.queues || !w.OfNode() && w.Binding == "" {
		return w, 0, false
	}
	if !s.hasTurn {
		s.hasTurn, s.group = true, -w.Step
	}
	return w, -w.Step, true
}

// ApplyClosed ends a wait without an answer.
func (s *Waits) ApplyClosed(ev *event.Event, d *event.WaitClosed) {
	w := s.Get(d.Wait)
	w.Closed = d.Reason
	s.end(w, ev)
}

func (s *Waits) end(w *Wait, ev *event.Event) {
	w.Ended = ev.Seq
	place := w.Number - 1
	if !w.isSignal() {
		s.index.last = w.Number
	}
	if w.Answer != nil && w.Answer.Key != "" {
		if first, ok := s.index.byKey[w.Answer.Key]; !ok || place < first {
			s.index.byKey[w.Answer.Key] = place
		}
	}
	if !w.IsEditable() { // otherwise the same answer may come again and is compared with them
		w.Arguments = nil
	}
	if i, ok := slices.BinarySearch(s.index.open, place); ok {
		s.index.open = slices.Delete(s.index.open, i, i+1)
	}
}

// Queues reports whether steps that become ready through a step of a group are queued (D18): while
// a wait is open, all are except those of the group whose turn it is.
func (s *Waits) Queues(group int) bool {
	if s.hasTurn {
		return group != s.group
	}
	return s.queues && s.IsOpen()
}

// Turn returns the group whose turn it is, or false if no answer has let the run continue or the
// run has paused since.
func (s *Waits) Turn() (group int, on bool) { return s.group, s.hasTurn }

// Take makes it the turn of a group that left the queue.
func (s *Waits) Take(group int) { s.group = group }

// Pause ends the turns.
func (s *Waits) Pause() { s.hasTurn, s.group = false, 0 }

// lastEnded returns the wait for a person that ended last, or nil if none has ended.
func (s *Waits) lastEnded() *Wait {
	if s.index == nil || s.index.last == 0 {
		return nil
	}
	return &s.list[s.index.last-1]
}

// answeredWith returns the wait whose answer came with that key, or nil if there is none or the key
// is "".
func (s *Waits) answeredWith(key string) *Wait {
	if s.index != nil {
		if i, ok := s.index.byKey[key]; ok {
			return &s.list[i]
		}
	}
	return nil
}

package waits

import (
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// Waits are the waits of one run. Not safe for concurrent use.
type Waits struct {
	list   []Wait // in the order in which they were opened
	open   int32
	queues bool
	turn   turn
	// kept are the signals that no wait has taken; nil before the first.
	kept *kept
}

// turn is the order in which a run with a queue continues after an answer (D18): the branch of the answer, then each entry of the queue.
type turn struct {
	on    bool
	group int
}

// New gives the waits of a run that has opened none. queues: while a wait is open, steps that become ready are queued (D18).
func New(queues bool) Waits { return Waits{queues: queues} }

// Wait is one wait, with what opened it. Input is in the event alone, and Arguments are gone once it has ended, unless the answer could change them.
type Wait struct {
	event.WaitOpened

	// Number counts the waits of the run from 1.
	Number int
	Step   int
	Since  time.Time
	// Answer is nil and Closed "" while the wait is open.
	Answer *event.WaitAnswered
	Closed string
	// Ended is the number of the event that ended it, 0 while it is open.
	Ended uint64

	seq   uint64 // of the event that opened it
	fired [2]bool
}

// IsOpen tells whether the wait takes an answer.
func (w *Wait) IsOpen() bool { return w.Answer == nil && w.Closed == "" }

// OfNode tells whether the wait is what its step is there for, and not about a call or a budget.
func (w *Wait) OfNode() bool { return w.Call == "" && w.Limit == nil }

// Get gives a wait by its id; nil where there is none. It must not be changed, and holds until the next event.
func (s *Waits) Get(id string) *Wait {
	for i := range s.list {
		if s.list[i].Wait == id {
			return &s.list[i]
		}
	}
	return nil
}

// OfStep gives the wait that a step was there for; nil: there is none.
func (s *Waits) OfStep(step int) *Wait {
	for i := len(s.list) - 1; i >= 0; i-- {
		if w := &s.list[i]; w.Step == step && w.OfNode() {
			return w
		}
	}
	return nil
}

// Len counts the waits of the run, those that ended included.
func (s *Waits) Len() int { return len(s.list) }

// IsOpen tells whether any wait is open.
func (s *Waits) IsOpen() bool { return s.open > 0 }

// Open gives the open waits that match, oldest first; nil matches all. As for Get.
func (s *Waits) Open(match func(*Wait) bool) []*Wait {
	if s.open == 0 {
		return nil
	}
	var out []*Wait
	for i := range s.list {
		if w := &s.list[i]; w.IsOpen() && (match == nil || match(w)) {
			out = append(out, w)
		}
	}
	return out
}

// Note gives the note of the answer to the wait of a number; "" where it has none, and for 0.
func (s *Waits) Note(number int) string {
	if number < 1 || s.list[number-1].Answer == nil {
		return ""
	}
	return s.list[number-1].Answer.Note
}

// Later gives the one of two waits, by number, that ended later; 0 is none.
func (s *Waits) Later(a, b int) int {
	if a == 0 || b > 0 && s.list[b-1].Ended > s.list[a-1].Ended {
		return b
	}
	return a
}

// CheckOpened tells why a wait cannot be opened; "" where it can.
func (s *Waits) CheckOpened(d *event.WaitOpened) string {
	if s.Get(d.Wait) != nil {
		return "wait " + d.Wait + " already exists"
	}
	return ""
}

// ApplyOpened adds a wait. The queue waits for its answer.
func (s *Waits) ApplyOpened(ev *event.Event, d *event.WaitOpened) {
	w := Wait{WaitOpened: *d, Number: len(s.list) + 1, Step: ev.Step, Since: ev.At, seq: ev.Seq}
	w.Input = nil // of the event alone
	s.list = append(s.list, w)
	s.open++
	s.turn = turn{}
}

// CheckOpen tells why an event of a step cannot say something of a wait; "" where the wait is open.
func (s *Waits) CheckOpen(ev *event.Event, id string) string {
	if w := s.Get(id); w == nil || !w.IsOpen() || w.Step != ev.Step {
		return "wait " + id + " is not open"
	}
	return ""
}

// CheckAnswered tells why a wait cannot have been answered so; "" where it can.
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

// ApplyAnswered ends a wait by an answer, and gives it. group is the group of the steps that go on with the answer; false: it has no turn in the queue.
func (s *Waits) ApplyAnswered(ev *event.Event, d *event.WaitAnswered) (w *Wait, group int, ok bool) {
	w = s.Get(d.Wait)
	w.Answer = d
	s.release(d.Kept)
	s.end(w, ev)
	if !s.queues || !w.OfNode() && w.Binding == "" {
		return w, 0, false
	}
	if !s.turn.on {
		s.turn = turn{on: true, group: -w.Step}
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
	if !w.IsEditable() { // else the same answer may come again, and is compared with them
		w.Arguments = nil
	}
	s.open--
}

// Queues tells whether steps that become ready through a step of a group are queued (D18): while a wait is open, all but the group whose turn it is.
func (s *Waits) Queues(group int) bool {
	if s.turn.on {
		return group != s.turn.group
	}
	return s.queues && s.open > 0
}

// Turn gives the group whose turn it is; false: no answer let the run go on, or the run has paused since.
func (s *Waits) Turn() (group int, on bool) { return s.turn.group, s.turn.on }

// Take gives the turn to a group that left the queue.
func (s *Waits) Take(group int) { s.turn.group = group }

// Pause ends the turns.
func (s *Waits) Pause() { s.turn = turn{} }

// lastEnded gives the wait for a person that ended last; nil where the run had none.
func (s *Waits) lastEnded() *Wait {
	var last *Wait
	for k := range s.list {
		if w := &s.list[k]; !w.isSignal() && (last == nil || w.Ended > last.Ended) {
			last = w
		}
	}
	return last
}

// answeredWith gives the wait whose answer came with a key; nil where none did, and for "".
func (s *Waits) answeredWith(key string) *Wait {
	i := slices.IndexFunc(s.list, func(w Wait) bool { return key != "" && w.Answer != nil && w.Answer.Key == key })
	if i < 0 {
		return nil
	}
	return &s.list[i]
}

package loop

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// Kind is what a call calls.
type Kind uint8

const (
	Model Kind = iota + 1
	Tool
	Func
)

// State is what a call waits for.
type State uint8

const (
	Open      State = iota // asked for, no result
	Failed                 // failed, and what follows is being decided
	Sleeping               // waits for its retry timer
	Asking                 // a person is asked what became of it
	Cancelled              // cancelled, has not settled
	Due                    // to be tried again as soon as there is a slot
)

// Call is a call without its last result.
type Call struct {
	Kind    Kind
	State   State
	Step    int
	Frame   int
	Attempt int
	Model   string
	Retries int    // how often this model was asked again
	Afresh  bool   // its next attempt begins with the model that the agent begins with
	Length  int    // messages of the conversation
	Tool    string // or the function's name
	ToolID  string // of the tool call of a reply; "" for nodes
	Args    json.RawMessage
	Seq     uint64 // the event that asked
	// Approved is the binding that a person approved; Unknown counts the attempts that gave no answer.
	Approved string
	Unknown  int
	// Held are the arguments with which the call was held, where the person who approved it changed them to Args; nil: they were not changed.
	Held json.RawMessage
	// Reserved is what a budget keeps for a model call that is out.
	Reserved *event.Reserved
	// Of a function: what the attempt before gave although it failed, how many attempts of the run had failed, and when the state had changed last.
	Last    json.RawMessage
	Kept    int // attempts that ended because a budget was used up: they are none to the function
	Errors  int
	Updated time.Time
	// Compaction is that of a model call which asks for a summary; nil: it is the agent's.
	Compaction *event.Compaction
	// Instead is that of the last attempt of a model call, and Until the end of the cooldown in which the call began; zero: it began with the agent's own model.
	Instead *event.Instead
	Until   time.Time
}

// maxBlock bounds a block of calls: what is kept of one call keeps its whole block.
const maxBlock = 32

// count adds n times a call to the counters that follow from the calls.
func (l *Loop) count(w World, c *Call, n int32) {
	st := w.Step(c.Step)
	st.Calls += n
	switch c.State {
	case Open:
		if st.Out == 0 {
			l.busy++
		}
		if st.Out += n; st.Out == 0 {
			l.busy--
		}
		l.out += n
	case Cancelled:
		l.late += n
	case Due:
		l.due += n
	}
}

// set changes the state of a call.
func (l *Loop) set(w World, c *Call, s State) {
	l.count(w, c, -1)
	c.State = s
	l.count(w, c, 1)
}

// begin opens a call, or a further attempt of one.
func (l *Loop) begin(w World, ev *event.Event, key string, c Call) {
	st := w.Step(ev.Step)
	l.undue(st)
	c.Step, c.Seq = ev.Step, ev.Seq
	if old := l.calls.get(key); old != nil {
		l.count(w, old, -1)
		c.Last, c.Approved, c.Unknown, c.Kept = old.Last, old.Approved, old.Unknown, old.Kept
		if c.Held = old.Held; c.Held != nil {
			c.Args = old.Args // what was approved stays together
		}
	} else {
		st.Numbered++
	}
	if st.Agent == nil {
		st.Tries = c.Attempt
	}
	p := l.place()
	*p = c
	l.calls.put(key, p)
	l.count(w, p, 1)
}

// place gives a place to a call, that of a function that has returned where there is one.
func (l *Loop) place() *Call {
	if n := len(l.spare); n > 0 {
		p := l.spare[n-1]
		l.spare = l.spare[:n-1]
		return p
	}
	if len(l.block) == 0 {
		l.size = min(max(1, 2*l.size), maxBlock)
		l.block = make([]Call, l.size)
	}
	p := &l.block[0]
	l.block = l.block[1:]
	return p
}

// end takes out a call that has its last result. It stays as it is until another one begins.
func (l *Loop) end(w World, key string) *Call {
	c := l.calls.get(key)
	l.count(w, c, -1)
	w.Settle(key, c, true)
	l.calls.drop(key)
	if c.Kind == Func {
		l.spare = append(l.spare, c)
	}
	return c
}

// fail keeps a failed call, for which is decided next whether it is made again. One that was cancelled is taken out.
func (l *Loop) fail(w World, key string, late bool) {
	if late {
		l.end(w, key)
		return
	}
	c := l.calls.get(key)
	w.Settle(key, c, false)
	l.set(w, c, Failed)
}

// drop marks calls that are out as cancelled and takes out those that wait for nothing outside.
func (l *Loop) drop(w World, at time.Time, match func(*Call) bool) {
	for key, c := range l.calls.all() {
		switch {
		case !match(c) || c.State == Cancelled:
		case c.State == Open:
			l.set(w, c, Cancelled)
			c.Args = nil
			l.cancelled = &at
		default:
			l.end(w, key)
			delete(l.timers, CallTimer(key))
		}
	}
}

// Ask keeps a call about which a person is asked.
func (l *Loop) Ask(w World, key string) { l.set(w, l.calls.get(key), Asking) }

// Edit changes the arguments of a call about which a person is asked; held are those that it had.
func (l *Loop) Edit(key string, held, arguments json.RawMessage) {
	c := l.calls.get(key)
	c.Args, c.Held = arguments, held
}

// Edited gives the arguments of a call that a person changed; nil where none did, or there is no such call.
func (l *Loop) Edited(key string) json.RawMessage {
	if c := l.calls.get(key); c != nil && c.Held != nil {
		return c.Args
	}
	return nil
}

// MakeDue has a call made again about which a person was asked. approved is the binding of the action, "" where the question was another one.
func (l *Loop) MakeDue(w World, key, approved string) {
	c := l.calls.get(key)
	if approved != "" {
		c.Approved = approved
	}
	l.set(w, c, Due)
}

// Arguments gives the arguments of a tool call of an agent: its own, or those in the reply that asked for it.
func (l *Loop) Arguments(w World, c *Call) json.RawMessage {
	if c.Args != nil {
		return c.Args
	}
	conv := l.convs[frame(w, c.Step, c.Frame).Conv]
	for i := range slices.Backward(conv) {
		if tc := conv[i].Asked(c.ToolID); tc != nil {
			return tc.Arguments
		}
	}
	return nil
}

package loop

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// Kind is the kind of a call: what it calls.
type Kind uint8

// The kinds of calls.
const (
	Model Kind = iota + 1
	Tool
	Func
)

// State is the state of a call: what it waits for.
type State uint8

// The states of a call.
const (
	Open      State = iota // requested, no result yet
	Failed                 // failed; the next action is being decided
	Sleeping               // waits for its retry timer
	Asking                 // a person is asked about its outcome
	Cancelled              // cancelled but not settled
	Due                    // to be retried as soon as there is a slot
	Queued                 // made once the calls before it in its reply have ended
)

// Call is a call without its final result.
type Call struct {
	Kind    Kind
	State   State
	Step    int
	Frame   int
	Attempt int
	Model   string
	Retries int    // number of retries with this model
	Afresh  bool   // the next attempt starts with the agent's initial model
	Length  int    // number of messages in the conversation
	Tool    string // name of the tool or function
	ToolID  string // of the tool call in a reply; "" for nodes
	// CheckOnly means that the attempt calls nothing, as in event.ToolCalled.
	CheckOnly bool
	Args      json.RawMessage
	Seq       uint64 // the event that requested the call
	// Approved is the binding that a person approved; Unknown counts the attempts that returned no
	// answer.
	Approved string
	Unknown  int
	// Held are the arguments with which the call was held, if the person who approved it changed
	// them to Args; nil means they were not changed.
	Held json.RawMessage
	// Reserved is what a budget has reserved for a model call in flight.
	Reserved *event.Reserved
	// For a function: what the previous attempt returned although it failed, how many attempts of
	// the run had failed, and when the state had last changed.
	Last    json.RawMessage
	Kept    int // attempts ended by an exhausted budget; the function does not see them
	Errors  int
	Updated time.Time
	// Compaction is set for a model call that requests a summary; nil if the call is the agent's
	// own.
	Compaction *event.Compaction
	// Instead is that of the last attempt of a model call; Until is the end of the cooldown in
	// which the call started, or zero if it started with the agent's own model.
	Instead *event.FallbackFrom
	Until   time.Time
}

// maxBlock is the maximum size of a block of calls. Blocks are small because one retained call
// keeps its whole block in memory.
const maxBlock = 32

// count adds a call n times to the counters that are derived from the calls.
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

// begin opens a call, or a further attempt of a call.
func (l *Loop) begin(w World, ev *event.Event, key string, c Call) {
	st := w.Step(ev.Step)
	l.clearDue(st)
	c.Step, c.Seq = ev.Step, ev.Seq
	if old := l.calls.get(key); old != nil {
		l.count(w, old, -1)
		c.Last, c.Approved, c.Unknown, c.Kept = old.Last, old.Approved, old.Unknown, old.Kept
		if c.Held = old.Held; c.Held != nil {
			c.Args = old.Args // keep what was approved together
		}
	} else {
		st.Numbered++
	}
	if st.Agent == nil {
		st.Tries = c.Attempt
	}
	p := l.allocCall()
	*p = c
	l.calls.put(key, p)
	l.count(w, p, 1)
}

// allocCall allocates a call, reusing that of a function that has returned if there is one.
func (l *Loop) allocCall() *Call {
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

// end removes a call that has its final result. The returned call stays unchanged until another
// call begins.
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

// fail keeps a failed call, to decide next whether it is made again. A cancelled call is removed.
func (l *Loop) fail(w World, key string, late bool) {
	if late {
		l.end(w, key)
		return
	}
	c := l.calls.get(key)
	w.Settle(key, c, false)
	l.set(w, c, Failed)
}

// drop marks calls in flight as cancelled and removes calls that wait for nothing outside the
// engine.
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
		}
	}
}

// Ask keeps a call that a person is asked about.
func (l *Loop) Ask(w World, key string) { l.set(w, l.calls.get(key), Asking) }

// Edit changes the arguments of a call that a person is asked about; held are its former arguments.
func (l *Loop) Edit(key string, held, arguments json.RawMessage) {
	c := l.calls.get(key)
	c.Args, c.Held = arguments, held
}

// Edited returns the arguments of a call as changed by a person; nil if they were not changed or
// there is no such call.
func (l *Loop) Edited(key string) json.RawMessage {
	if c := l.calls.get(key); c != nil && c.Held != nil {
		return c.Args
	}
	return nil
}

// MakeDue schedules a call that a person was asked about to be made again, in its turn. approved is
// the binding of the action, or "" if the question was a different one.
func (l *Loop) MakeDue(w World, key, approved string) {
	c := l.calls.get(key)
	if approved != "" {
		c.Approved = approved
	}
	if c.ToolID != "" && !l.IsTurn(w, c.Step, c.Frame, c.ToolID) {
		l.set(w, c, Queued)
		return
	}
	l.set(w, c, Due)
}

// Again returns the event of the next attempt of a tool call.
func (c *Call) Again(key string) *event.ToolCalled {
	return &event.ToolCalled{Call: key, Attempt: c.Attempt + 1, Frame: c.Frame, Tool: c.Tool, ToolCallID: c.ToolID,
		Arguments: c.Args}
}

// Arguments returns the arguments of a tool call of an agent: its own, or those in the reply that
// requested it.
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

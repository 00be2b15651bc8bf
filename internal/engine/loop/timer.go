package loop

import (
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// Timer is the retry timer of a call or a step. Seq is the event that started it.
type Timer struct {
	At   time.Time
	Step int
	Seq  uint64
}

const prefixRetry = "retry:"

// CallTimer returns the id of a call's retry timer.
func CallTimer(call string) string { return prefixRetry + call }

// StepTimer returns the id of a step's retry timer.
func StepTimer(step int) string { return prefixRetry + strconv.Itoa(step) }

// Timers returns the running retry timers by id. The map must not be modified.
func (l *Loop) Timers() map[string]Timer { return l.timers }

// Timer returns a running retry timer.
func (l *Loop) Timer(id string) (Timer, bool) {
	t, ok := l.timers[id]
	return t, ok
}

// IsAsleep reports whether a step waits for its retry timer.
func (l *Loop) IsAsleep(step int) bool {
	if len(l.timers) == 0 {
		return false
	}
	_, asleep := l.timers[StepTimer(step)]
	return asleep
}

// CheckRetrying returns why a call of a step cannot be retried, or "" if it can.
func (l *Loop) CheckRetrying(step int, d *event.StepRetrying) string {
	c := l.calls.get(d.Call)
	switch {
	case d.Call == "" && d.Model == "":
	case c == nil || c.Step != step || c.State != Failed:
		return "call " + d.Call + " has not failed"
	case d.Model != "" && (c.Kind != Model || c.Model != d.Model):
		return "call " + d.Call + " did not ask the model " + strconv.Quote(d.Model)
	}
	return ""
}

// Sleep starts the retry timer of a call, or of its whole step if the event names no call.
func (l *Loop) Sleep(w World, ev *event.Event, d *event.StepRetrying) {
	if l.timers == nil {
		l.timers = map[string]Timer{}
	}
	t := Timer{At: d.Until, Step: ev.Step, Seq: ev.Seq}
	if d.Call != "" {
		c := l.calls.get(d.Call)
		c.Afresh = c.Kind == Model && d.Model == ""
		l.set(w, c, Sleeping)
		l.timers[CallTimer(d.Call)] = t
		return
	}
	l.drop(w, ev.At, func(c *Call) bool { return c.Step == ev.Step })
	l.timers[StepTimer(ev.Step)] = t
}

// Rest starts the timer of a sleep step, which doubles as its retry timer: such a step has no
// other.
func (l *Loop) Rest(step int, seq uint64, until time.Time) {
	if l.timers == nil {
		l.timers = map[string]Timer{}
	}
	l.timers[StepTimer(step)] = Timer{At: until, Step: step, Seq: seq}
}

// Fire ends a retry timer: its call or step is due. The loop of an agent step starts again with the
// step's own agent, even if that agent had handed over.
func (l *Loop) Fire(w World, id string) {
	t := l.timers[id]
	delete(l.timers, id)
	if id != StepTimer(t.Step) {
		if c := l.calls.get(strings.TrimPrefix(id, prefixRetry)); c != nil && c.State == Sleeping {
			l.set(w, c, Due)
		}
		return
	}
	st, n := w.Step(t.Step), w.Node(t.Step)
	if Calls(n.Kind) && !st.Due {
		st.Due = true
		l.due++
	}
	if n.Kind != workflow.KindAgent || st.Agent == nil {
		return
	}
	old := st.Agent.Frames[st.Agent.Root]
	for i := range st.Agent.Frames {
		st.Agent.Frames[i].Done = true
	}
	st.Agent.Root = len(st.Agent.Frames)
	system := old.System
	if old.TurnsBy != nil {
		system = old.First
	}
	fr := openFrame(w, t.Step, n.Agent, system, -1)
	if old.Conv != Shared {
		l.Say(fr.Conv, chat.Message{Role: chat.RoleUser, Text: w.Text(t.Step)})
	}
}

// clearDue clears Step.Due: the step continues.
func (l *Loop) clearDue(st *Step) {
	if st.Due {
		st.Due = false
		l.due--
	}
}

// Calls reports whether steps of a kind of node make calls, which MaxConcurrency limits.
func Calls(k workflow.Kind) bool {
	switch k {
	case workflow.KindAgent, workflow.KindTool, workflow.KindFunc, workflow.KindExec:
		return true
	}
	return false
}

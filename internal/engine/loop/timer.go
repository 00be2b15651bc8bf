package loop

import (
	"strconv"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

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

// Sleep makes a call, or its whole step if the event names no call, wait for its retry timer.
func (l *Loop) Sleep(w World, ev *event.Event, d *event.StepRetrying) {
	if d.Call == "" {
		l.drop(w, ev.At, func(c *Call) bool { return c.Step == ev.Step })
		return
	}
	c := l.calls.get(d.Call)
	c.Afresh = c.Kind == Model && d.Model == ""
	l.set(w, c, Sleeping)
}

// Wake makes a call due whose retry timer has fired.
func (l *Loop) Wake(w World, key string) {
	if c := l.calls.get(key); c != nil && c.State == Sleeping {
		l.set(w, c, Due)
	}
}

// WakeStep makes a step due whose retry timer has fired. The loop of an agent step starts again with
// the step's own agent, even if that agent had handed over.
func (l *Loop) WakeStep(w World, step int) {
	st, n := w.Step(step), w.Node(step)
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
	fr := openFrame(w, step, n.Agent, system, -1)
	if old.Conv != Shared {
		l.Say(fr.Conv, chat.Message{Role: chat.RoleUser, Text: w.Text(step)})
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

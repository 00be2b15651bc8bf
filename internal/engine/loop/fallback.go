package loop

import (
	"slices"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// cooldown is how long an agent stays with a fallback that answered: place is the index of the
// fallback, and instead describes the model it replaces.
type cooldown struct {
	index   int
	until   time.Time
	instead event.FallbackFrom
}

// agentKey returns the key of an agent of a run; sub-flows have agents of their own.
func agentKey(w World, step int, agent string) string {
	return strconv.Itoa(w.Flow(step)) + "/" + agent
}

// Begins returns the model with which a call of an agent starts at that time: the fallback of its
// current cooldown, else its own model. instead is nil for its own model.
func (l *Loop) Begins(w World, step int, a *workflow.Agent, at time.Time) (model string, instead *event.FallbackFrom) {
	c, ok := l.cooling[agentKey(w, step, a.ID)]
	if !ok || !at.Before(c.until) || c.index >= len(a.Fallbacks) {
		return a.Model, nil
	}
	return a.Fallbacks[c.index], &c.instead
}

// Next returns the model to call after that of a call, or false if none is left. A model that is
// listed twice is called once.
func (c *Call) Next(a *workflow.Agent) (string, bool) {
	next := 0
	if c.Instead != nil {
		next = 1 + slices.Index(a.Fallbacks, c.Model)
	}
	for next < len(a.Fallbacks) && slices.Contains(a.Fallbacks[:next], a.Fallbacks[next]) {
		next++
	}
	if next >= len(a.Fallbacks) {
		return "", false
	}
	return a.Fallbacks[next], true
}

// beginModel sets what an attempt of a model call inherits from the attempts before it.
func (l *Loop) beginModel(w World, ev *event.Event, d *event.ModelCalled, c *Call) {
	old := l.calls.get(d.Call)
	switch {
	case c.Instead == nil:
	case old != nil && !old.Afresh:
		c.Until = old.Until
	default:
		c.Until = l.cooling[agentKey(w, ev.Step, d.Agent)].until
	}
	if old != nil && !old.Afresh && old.Model == c.Model {
		c.Retries = old.Retries + 1
	}
}

// answeredBy records which model of an agent answered. After a fallback has answered, the agent
// does not return to its own model until its cooldown has passed, which starts with the first
// answer.
func (l *Loop) answeredBy(w World, ev *event.Event, agent string, c *Call) {
	key, a := agentKey(w, c.Step, agent), w.Agent(c.Step, agent)
	switch {
	case c.Compaction != nil && a != nil && a.Compaction != nil && a.Compaction.Model != "":
		return // a model chosen for compaction says nothing about the agent's own
	case c.Instead == nil || a == nil:
		delete(l.cooling, key)
		return
	}
	until := c.Until
	if until.IsZero() {
		until = ev.At.Add(a.Cooldown())
	}
	if l.cooling == nil {
		l.cooling = map[string]cooldown{}
	}
	l.cooling[key] = cooldown{index: slices.Index(a.Fallbacks, c.Model), until: until, instead: *c.Instead}
}

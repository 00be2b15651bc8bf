package openaiapi

import (
	"strings"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// outputStream finds, while a run is active, the text that will be its output. Model output is
// passed on if all of these conditions hold, and held back otherwise:
//
//   - the node is an agent after which the run can only end, not inside a fork;
//   - one model call is its whole turn: it has no tools, sub-agents, handoffs or routing, and no
//     schema for its output;
//   - nothing is output twice: it has neither retries nor fallbacks, so that no text becomes void
//     (P22);
//   - no other step is open: if there are several ends, the one that is reached last provides the
//     output.
type outputStream struct {
	ends         map[string]*workflow.Agent // by node
	open         map[int]string             // nodes of open steps
	call         string                     // the call being streamed
	attempt      int
	received     int // bytes received of its output
	lost         bool
	sent         strings.Builder
	pendingSpace []byte // trailing whitespace so far: later text decides if it belongs to the output
}

func newLive(w *workflow.Workflow) *outputStream {
	return &outputStream{ends: endings(w), open: map[int]string{}}
}

// endings returns the agents whose whole text is the output of a run that ends with them.
func endings(w *workflow.Workflow) map[string]*workflow.Agent {
	agents := map[string]*workflow.Agent{}
	for i := range w.Agents {
		agents[w.Agents[i].ID] = &w.Agents[i]
	}
	hasNext := map[string]bool{}
	kinds := map[string]workflow.Kind{}
	for _, n := range w.Nodes {
		kinds[n.ID] = n.Kind
	}
	for _, e := range w.Edges {
		if kinds[e.To] != workflow.KindEnd {
			hasNext[e.From] = true
		}
	}
	out := map[string]*workflow.Agent{}
	for _, n := range w.Nodes {
		if n.Kind != workflow.KindAgent || n.Agent == nil || n.Parent != "" || n.Agent.Routing != nil ||
			n.Retry != nil || hasNext[n.ID] {
			continue
		}
		if a := agents[n.Agent.Agent]; a != nil && repliesOnce(a) {
			out[n.ID] = a
		}
	}
	return out
}

func repliesOnce(a *workflow.Agent) bool {
	return len(a.Tools) == 0 && len(a.Toolsets) == 0 && len(a.Subagents) == 0 && len(a.Handoffs) == 0 &&
		len(a.Fallbacks) == 0 && a.FallbackRetries <= 0 && a.Compaction == nil && a.Output == nil
}

// onEvent records the start or end of a step.
func (l *outputStream) onEvent(e event.Event) {
	if _, ok := e.Data.(*event.StepStarted); ok {
		l.open[e.Step] = e.Node
	} else if event.StepEnd(e.Data) != event.Running {
		delete(l.open, e.Step)
	}
}

// onDelta records a piece of model output and returns what can be sent of it, which may be nothing.
func (l *outputStream) onDelta(d driver.Delta) string {
	a := l.ends[d.Node]
	if l.lost || d.Text == "" || a == nil || len(l.open) != 1 || l.open[d.Step] != d.Node {
		return ""
	}
	if l.received == 0 {
		l.call, l.attempt = d.Call, d.Attempt
	}
	if d.Call != l.call || d.Attempt != l.attempt || d.Offset != l.received {
		l.lost = true // a slow watcher misses pieces; the end of the run brings the rest
		return ""
	}
	l.received += len(d.Text)
	text := d.Text
	if a.Trim && l.sent.Len() == 0 {
		text = strings.TrimLeft(text, blanks)
	}
	said := strings.TrimRight(text, blanks)
	if said == "" {
		l.pendingSpace = append(l.pendingSpace, text...)
		return ""
	}
	text, said = text[len(said):], string(l.pendingSpace)+said
	l.pendingSpace = append(l.pendingSpace[:0], text...)
	l.sent.WriteString(said)
	return said
}

const blanks = " \t\r\n"

// rest returns the part of the output that was not sent, or false if what was sent is not a prefix
// of it.
func (l *outputStream) rest(output string) (string, bool) {
	return strings.CutPrefix(output, l.sent.String())
}

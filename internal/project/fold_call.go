package project

import (
	"cmp"
	"fmt"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
)

// addCall folds events inside a step: calls and the loops of its agents.
func (f *Folder) addCall(st *step, e event.Event) {
	f.keepCall(st, e.Data)
	st.result(e.Data)
	f.countCalls(st, e.Data)
	switch d := e.Data.(type) {
	case *event.ModelCalled:
		f.open(d.Call, &call{step: st, frame: d.Frame, model: true})
		if d.Compaction != nil {
			return
		}
		st.noteFallback(d)
		if fr := st.frame(d.Frame); fr.sub == nil {
			st.root = d.Frame
			if d.Model != "" {
				st.model = d.Model
			}
		}
	case *event.ModelReplied:
		f.use(st, d.Usage, d.CostUSD)
		c := f.calls[d.Call]
		f.close(d.Call)
		if d.Late || c == nil || d.Compaction {
			return
		}
		st.warn(d.Warning)
		fr := st.frame(c.frame)
		fr.reply = &d.Message
		if fr.sub == nil {
			st.model = cmp.Or(d.Model, st.model)
			st.stop = d.Stop
		}
	case *event.ModelFailed:
		if c := f.calls[d.Call]; c != nil && d.Model != "" && st.frame(c.frame).sub == nil {
			st.model = d.Model
		}
		f.close(d.Call)
		st.modelError = d.Error.Message
		if !d.IsFree() {
			f.use(st, d.Usage, d.CostUSD)
		}
	case *event.ToolCalled:
		f.open(d.Call, &call{step: st, frame: d.Frame})
	case *event.ToolReturned:
		f.close(d.Call)
	case *event.ToolFailed:
		f.close(d.Call)
	case *event.ChildStarted:
		b := f.childRuns[d.Run]
		if b == nil {
			b = &childRun{}
			f.childRuns[d.Run] = b
		}
		b.setOpen(st, true)
	case *event.CallUsed:
		st.warn(d.Warning)
		f.addChildUsage(st, d)
	case *event.SubagentStarted:
		st.frame(d.Frame).sub = d
	case *event.AgentCompacted:
		f.close(d.Call)
		if d.Error != nil {
			st.warn(compactedText(d))
		}
	case *event.AgentHanded:
		if st.frame(d.Frame).sub == nil {
			st.handoffAgent = d.Agent
		}
	}
}

// open records a call without a result.
func (f *Folder) open(id string, c *call) {
	f.close(id)
	f.calls[id] = c
	c.step.pending++
}

// close removes a call that has its result.
func (f *Folder) close(id string) {
	if c := f.calls[id]; c != nil {
		c.step.pending--
		delete(f.calls, id)
	}
}

// setOpen records whether a child run started by st is still open.
func (b *childRun) setOpen(st *step, continues bool) {
	if b.isOpen {
		b.step.pending--
	}
	if b.step, b.ended, b.isOpen = st, !continues, continues; continues {
		st.pending++
	}
}

// countCalls counts the calls that an event adds.
func (f *Folder) countCalls(st *step, d event.Data) {
	models, tools := event.CallsOf(d)
	for _, t := range []*tally{&st.tally, &f.total} {
		t.models += models
		t.tools += tools
	}
}

// use adds the usage of a model call, including late and failed calls (D10).
func (f *Folder) use(st *step, u *chat.Usage, costUSD *float64) {
	for _, t := range []*tally{&st.tally, &f.total} {
		if u != nil {
			t.input = chat.AddTokens(t.input, u.InputTokens)
			t.output = chat.AddTokens(t.output, u.OutputTokens)
		}
		if costUSD != nil {
			t.cost = t.cost.Plus(chat.ToMoney(*costUSD))
		} else {
			t.unknown++
		}
	}
}

// addChildUsage adds what a child run has used since its last report, or the usage of a session.
func (f *Folder) addChildUsage(st *step, d *event.CallUsed) {
	now := tally{
		input: d.Used.InputTokens, output: d.Used.OutputTokens, cost: chat.ToMoney(d.Used.CostUSD),
		unknown: d.Used.UnknownCosts, models: d.Used.ModelCalls, tools: d.Used.ToolCalls,
	}
	var before tally
	if d.Run != "" {
		b := f.childRuns[d.Run]
		if b == nil {
			b = &childRun{step: st}
			f.childRuns[d.Run] = b
		}
		before = b.used
		now = tally{max(now.input, before.input), max(now.output, before.output), max(now.cost, before.cost),
			now.unknown, max(now.models, before.models), max(now.tools, before.tools)}
		b.used = now
		b.setOpen(b.step, !d.Ended) // a deleted run does not report its usage
	}
	for _, t := range []*tally{&st.tally, &f.total} {
		t.input = chat.AddTokens(t.input, now.input-before.input)
		t.output = chat.AddTokens(t.output, now.output-before.output)
		t.cost = t.cost.Plus(now.cost - before.cost)
		t.unknown += now.unknown - before.unknown
		t.models += now.models - before.models
		t.tools += now.tools - before.tools
	}
}

// maxWarnings is the maximum number of warnings kept per step.
const maxWarnings = 20

func (st *step) warn(text string) {
	if text != "" && len(st.warnings) < maxWarnings {
		st.warnings = append(st.warnings, text)
	}
}

// compactedText describes the outcome of an attempt to compact a conversation.
func compactedText(d *event.AgentCompacted) string {
	if d.Error != nil {
		return fmt.Sprintf("The conversation was not shortened (%s): %s", d.Error.Code, d.Error.Message)
	}
	gone := 0
	for _, r := range d.Left {
		gone += r.To - r.From
	}
	return fmt.Sprintf("A summary took the place of %d of the %d messages of the conversation", gone, d.Before)
}

// noteFallback adds a warning that names the fallback model and the model it replaces, once for all
// subsequent calls of the step.
func (st *step) noteFallback(d *event.ModelCalled) {
	text := ""
	if in := d.Instead; in != nil {
		text = fmt.Sprintf("The model %s is asked instead of %s, which failed (%s)", cmp.Or(d.Model, "without a name"),
			cmp.Or(in.Model, "the default"), in.Code)
		if d.Attempt > 1 && st.modelError != "" {
			text = fmt.Sprintf("%s: %s", text, st.modelError)
		}
		if st.fallbackWarning == text || d.Attempt == 1 && st.fallbackWarning != "" {
			return
		}
		st.warn(text)
	}
	st.fallbackWarning = text
}

func (st *step) frame(n int) *frame {
	if st.frames == nil {
		st.frames = map[int]*frame{}
	}
	fr := st.frames[n]
	if fr == nil {
		fr = &frame{}
		st.frames[n] = fr
	}
	return fr
}

// reply returns the last reply in a frame, or nil if there is none.
func (st *step) reply(frame int) *chat.Message {
	if fr := st.frames[frame]; fr != nil {
		return fr.reply
	}
	return nil
}

// replyText returns the text of the last reply in a frame, or nil if there is none.
func (st *step) replyText(frame int) event.Value {
	if m := st.reply(frame); m != nil {
		return expr.Quote(m.Text.String())
	}
	return nil
}

// arguments returns the arguments of a tool call from the reply that requested it. The reply is in
// the step's own frame or, for a step that executes another step's calls, in that step's root
// frame.
func (f *Folder) arguments(st *step, d *event.ToolCalled) event.Value {
	if d.ToolCallID == "" {
		return f.input(st)
	}
	if m := st.reply(d.Frame); m != nil {
		if tc := m.Asked(d.ToolCallID); tc != nil {
			return tc.Arguments
		}
	}
	if from := f.find(st.data.From); from != nil && from.reply(from.root) != nil {
		if tc := from.reply(from.root).Asked(d.ToolCallID); tc != nil {
			return tc.Arguments
		}
	}
	return nil
}

package project

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
)

// addCall folds what happens inside a step: calls, and the loops of its agents.
func (f *Folder) addCall(st *step, e engine.Event) {
	f.keepCall(st, e.Data)
	st.result(e.Data)
	switch d := e.Data.(type) {
	case *engine.ModelCalled:
		st.tally.models++
		f.total.models++
		f.open(d.Call, &call{step: st, frame: d.Frame, model: true})
		if fr := st.frame(d.Frame); fr.sub == nil {
			st.root = d.Frame
			if d.Model != "" {
				st.model = d.Model
			}
		}
	case *engine.ModelReplied:
		f.use(st, d.Usage, d.CostUSD)
		c := f.calls[d.Call]
		f.close(d.Call)
		if d.Late || c == nil {
			return
		}
		st.warn(d.Warning)
		fr := st.frame(c.frame)
		fr.reply = &d.Message
		if fr.sub == nil && d.Model != "" {
			st.model = d.Model
		}
	case *engine.ModelFailed:
		if d.Withheld() {
			st.tally.models--
			f.total.models--
		}
		if c := f.calls[d.Call]; c != nil && d.Model != "" && st.frame(c.frame).sub == nil {
			st.model = d.Model
		}
		f.close(d.Call)
		st.modelError = d.Error.Message
		if !d.Withheld() && (d.Usage != nil || d.Late || !isFree(d.Error.Code)) {
			f.use(st, d.Usage, d.CostUSD)
		}
	case *engine.ToolCalled:
		st.tally.tools++
		f.total.tools++
		f.open(d.Call, &call{step: st, frame: d.Frame})
	case *engine.ToolReturned:
		f.close(d.Call)
	case *engine.ToolFailed:
		f.close(d.Call)
	case *engine.ChildStarted:
		b := f.below[d.Run]
		if b == nil {
			b = &below{}
			f.below[d.Run] = b
		}
		b.goesOn(st, true)
	case *engine.CallUsed:
		st.warn(d.Warning)
		f.useBelow(st, d)
	case *engine.SubagentStarted:
		st.frame(d.Frame).sub = d
	case *engine.AgentHanded:
		if st.frame(d.Frame).sub == nil {
			st.by = d.Agent
		}
	}
}

// open notes a call without result.
func (f *Folder) open(id string, c *call) {
	f.close(id)
	f.calls[id] = c
	c.step.pending++
}

// close forgets a call that has its result.
func (f *Folder) close(id string) {
	if c := f.calls[id]; c != nil {
		c.step.pending--
		delete(f.calls, id)
	}
}

// goesOn notes whether a run that st started goes on.
func (b *below) goesOn(st *step, goesOn bool) {
	if b.isOpen {
		b.step.pending--
	}
	if b.step, b.ended, b.isOpen = st, !goesOn, goesOn; goesOn {
		st.pending++
	}
}

// isFree tells whether a model call that failed with this code was turned away before it cost anything. What one cost that was cut off, broke off or
// was withheld is not known (D10, D14). The codes are those of package model.
func isFree(code string) bool {
	switch code {
	case "rate_limit", "overloaded", "auth", "quota_exceeded", "invalid_request", "context_length_exceeded", "no_reply", engine.CodeWorkflowBudget:
		return true
	}
	return false
}

// use adds what a model call used, late ones and failed ones too (D10).
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

// useBelow adds what a run that a call started used since it was told last, or what a session used.
func (f *Folder) useBelow(st *step, d *engine.CallUsed) {
	now := tally{
		input: d.Used.InputTokens, output: d.Used.OutputTokens, cost: chat.ToMoney(d.Used.CostUSD), unknown: d.Used.UnknownCosts, models: d.Used.ModelCalls, tools: d.Used.ToolCalls,
	}
	var before tally
	if d.Run != "" {
		b := f.below[d.Run]
		if b == nil {
			b = &below{step: st}
			f.below[d.Run] = b
		}
		before = b.used
		now = tally{max(now.input, before.input), max(now.output, before.output), max(now.cost, before.cost), now.unknown, max(now.models, before.models), max(now.tools, before.tools)}
		b.used = now
		b.goesOn(b.step, !d.Ended) // a run that was deleted tells nothing of what it had used
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

// maxWarnings bounds those that are kept of a step.
const maxWarnings = 20

func (st *step) warn(text string) {
	if text != "" && len(st.warnings) < maxWarnings {
		st.warnings = append(st.warnings, text)
	}
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

// reply gives the last reply in a frame, nil where there is none.
func (st *step) reply(frame int) *chat.Message {
	if fr := st.frames[frame]; fr != nil {
		return fr.reply
	}
	return nil
}

// arguments finds the arguments of a tool call in the reply that asked for it: in the step's own frame, or, for a step that carries out the calls
// of another, in that one's.
func (f *Folder) arguments(st *step, d *engine.ToolCalled) engine.Value {
	if d.ToolCallID == "" {
		return f.input(st)
	}
	if v := argumentsIn(st.reply(d.Frame), d); v != nil {
		return v
	}
	if from := f.find(st.data.From); from != nil {
		return argumentsIn(from.reply(from.root), d)
	}
	return nil
}

func argumentsIn(m *chat.Message, d *engine.ToolCalled) engine.Value {
	if m == nil {
		return nil
	}
	for _, tc := range m.ToolCalls {
		if tc.ID == d.ToolCallID {
			return tc.Arguments
		}
	}
	return nil
}

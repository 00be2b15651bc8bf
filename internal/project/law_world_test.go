package project

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// drawRun returns a random run of a random workflow. The run has ended or was stopped after a
// number of steps.
func drawRun(t *testing.T, rt *rapid.T) *enginetest.World {
	t.Helper()
	s := enginetest.DrawWild(rt, 3)
	s.SetLoops(rapid.IntRange(1, 3).Draw(rt, "loops"))
	if rapid.IntRange(0, 2).Draw(rt, "functions") == 0 {
		toFunctions(s)
	}
	def := s.Compile()
	input := enginetest.Text("go")
	if rapid.IntRange(0, 2).Draw(rt, "typed") == 0 {
		def.Format, def.Rules, input = formatGraph, workflow.TypedRules(), event.Value(`{"n":1,"log":"begun"}`)
	}
	for i := range def.Nodes {
		if f := def.Nodes[i].Fork; f != nil {
			f.Shape = rapid.SampledFrom([]string{workflow.ShapeMap, workflow.ShapeSteps}).Draw(rt, "shape")
		}
	}
	def.Limits.MaxConcurrency = max(0, rapid.IntRange(-3, 2).Draw(rt, "concurrency"))
	def.Rules.HoldWhilePaused = rapid.IntRange(0, 3).Draw(rt, "hold") == 0
	def.Rules.OnFailure = rapid.SampledFrom([]string{"", workflow.FailDrain}).Draw(rt, "on failure")
	w := enginetest.New(t, def, enginetest.Host{})
	w.SkipLaws = true
	s.Answers(w)
	recorded(w)
	p := player{World: w, rt: rt, shape: s, reported: map[string]event.Used{}}
	switch rapid.IntRange(0, 5).Draw(rt, "limit") {
	case 0:
		p.limits.MaxSteps = new(rapid.IntRange(1, 5).Draw(rt, "most steps"))
	case 1:
		p.limits.MaxCalls = int64(rapid.IntRange(1, 5).Draw(rt, "most calls"))
	}
	w.StartWith(event.RunCreated{Input: input, Format: def.Format, Limits: p.limits})
	for range rapid.IntRange(1, 200).Draw(rt, "happenings") {
		if !p.next() {
			break
		}
	}
	return w
}

// toFunctions turns agents into functions that change the state, some of them concurrently.
func toFunctions(s *enginetest.Shape) {
	if s.Kind == "agent" && !s.Fixed {
		s.Kind = "func"
	}
	for _, p := range s.Parts {
		toFunctions(p)
	}
}

// recorded makes models report the usage of each call, so that budgets and views count the same,
// and makes functions append to a field.
func recorded(w *enginetest.World) {
	model, function := w.Model, w.Func
	w.Func = func(c *engine.CallFunc) *engine.FuncResult {
		r := function(c)
		if r.Failure == nil {
			r.Update = map[string]event.Value{
				"log": enginetest.Text(expr.Text(c.State.Get("log")) + strings.Repeat(c.Node+" ran. ", 20)),
			}
		}
		return r
	}
	w.Model = func(c *engine.CallModel) *engine.ModelResult {
		r := model(c)
		r.Usage, r.CostUSD = &chat.Usage{InputTokens: int64(len(c.Messages)), OutputTokens: 2}, new(0.25)
		return r
	}
}

type player struct {
	*enginetest.World
	rt       *rapid.T
	shape    *enginetest.Shape
	limits   workflow.Limits
	reported map[string]event.Used // reported usage of child runs
}

func (p *player) chance(n int, name string) bool { return rapid.IntRange(1, n).Draw(p.rt, name) == 1 }

// next performs one action and reports whether any was left.
func (p *player) next() bool {
	p.T.Helper()
	switch {
	case p.Run.Status().Ended():
		return p.reopen()
	case p.chance(60, "cancel"):
		p.Feed(engine.Cancel{Reason: "enough"})
		return true
	case p.chance(15, "crash"):
		p.Crash()
		return true
	}
	timers := slices.DeleteFunc(slices.Clone(p.Timers), func(t *engine.StartTimer) bool { return t.Deadline })
	waits := p.Run.Waits()
	n := len(p.Pending) + len(waits) + len(timers)
	if n == 0 {
		return false
	}
	switch i := rapid.IntRange(0, n-1).Draw(p.rt, "next"); {
	case i < len(p.Pending):
		p.answer(i)
	case i < len(p.Pending)+len(waits):
		p.Feed(enginetest.Decide(waits[i-len(p.Pending)]))
	default:
		p.Fire(timers[i-len(p.Pending)-len(waits)].ID)
	}
	return true
}

// answer answers a call or continues it with a child run or a question to a person.
func (p *player) answer(i int) {
	p.T.Helper()
	c := p.Pending[i]
	in := p.Answer(c)
	if c, ok := c.(*engine.CallTool); ok && !p.Cancelled[c.ID] {
		switch rapid.IntRange(0, 3).Draw(p.rt, "tool") {
		case 0:
			if held := p.shape.Hold(p.World, c, p.chance(2, "question")); held != nil {
				in = *held
			}
		case 1:
			p.child(c.ID, c.Key)
			return
		}
	}
	p.Pending = slices.Delete(p.Pending, i, i+1)
	p.Feed(in)
}

// child makes a call start or continue a run, and reports growing or unchanged usage of the run.
func (p *player) child(id, run string) {
	p.T.Helper()
	if p.Try(engine.ChildStart{ID: id, Run: run}) != nil {
		return // no budget is left for it
	}
	u := p.reported[run]
	n := rapid.IntRange(0, 3).Draw(p.rt, "used")
	u.InputTokens, u.ModelCalls, u.CostUSD = u.InputTokens+int64(n), u.ModelCalls+n, u.CostUSD+float64(n)/4
	u.Borne = event.Spent{Tokens: u.InputTokens, Calls: int64(u.ModelCalls), CostUSD: u.CostUSD}
	p.reported[run] = u
	p.Feed(engine.CallUse{ID: id, Run: run, Used: u, Ended: p.chance(2, "ended")})
}

// reopen resumes a run that ended at a limit with a higher limit.
func (p *player) reopen() bool {
	p.T.Helper()
	switch p.Run.EndedByLimit() {
	case event.CodeMaxSteps:
		p.limits.MaxSteps = new(*p.limits.MaxSteps + 5)
	case event.CodeBudget:
		p.limits.MaxCalls += 5
	default:
		return false
	}
	p.Pending, p.Timers, p.Cancelled = nil, nil, map[string]bool{}
	p.Now = p.Now.Add(time.Second)
	p.Feed(engine.Reopen{Limits: p.limits})
	return true
}

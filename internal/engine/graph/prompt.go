package graph

import (
	"cmp"
	"slices"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// recentTurns is the number of earlier turns that a prompt of mode turns shows (S1-3).
const recentTurns = 12

// IsGiven reports whether the text of a prompt equals the output of step from, which must also be a
// text.
func (g *Graph[L]) IsGiven(b *prompt.Builder, from int) bool {
	given := g.output(from)
	step, lone := b.Lone()
	return given.isText && (lone && step == from || b.Text().Equal(given.text))
}

// Context appends the visible prior outputs, and returns what the scope's next prompt shares.
func (s Sight[L]) Context(b *prompt.Builder, missing string) prompt.Context {
	s.stepsOnly = true
	top := s.Top()
	fixed := len(top)
	if s.overlay != nil { // a block may show changes made by the scope itself
		if i := slices.IndexFunc(top, func(e Entry) bool {
			return s.f.Nodes[e.Node].Kind == workflow.KindFork
		}); i >= 0 {
			fixed = i
		}
	}
	entries := make([]prompt.Entry, len(top))
	for i, e := range top {
		entries[i] = prompt.Entry(e)
	}
	priors := func(i int) []prompt.Prior {
		return appendPriors(nil, "", expr.Child{ID: plan.LocalID(s.f.Nodes[top[i].Node].ID), Entry: s.Entry(top[i])})
	}
	return s.g.Scope(s.scope).context.Build(b, s.g.Steps.Len()+1, entries, fixed, priors, s.g.innermostItem(s.scope),
		missing)
}

// appendPriors appends one step's output, or those of its branches under the full path of parallel
// ids (S4-13, S4-37).
func appendPriors(out []prompt.Prior, path string, c expr.Child) []prompt.Prior {
	if c.Entry.Children == nil {
		return append(out, prompt.Prior{Name: path + c.ID, Agent: c.Entry.Agent, Step: c.Entry.Step})
	}
	for _, sub := range c.Entry.Children {
		out = appendPriors(out, path+c.ID+"/", sub)
	}
	return out
}

// Turns returns the last turns of a scope, oldest first. It inspects only the last steps, so a long
// conversation is not reread for each turn.
func (g *Graph[L]) Turns(f *plan.Flow, scopeID int) []prompt.Turn {
	var turns []prompt.Turn
	for i := g.Steps.Len() - 1; i >= 0 && len(turns) < recentTurns; i-- {
		if st := g.Steps.At(i); st.Status == event.Completed && st.Scope == scopeID && isTurn(f.Nodes[st.Node].Node) {
			turns = append(turns, prompt.Turn{Speaker: cmp.Or(g.SpeakerName(f, i+1), f.Nodes[st.Node].Title()),
				Step: i + 1})
		}
	}
	slices.Reverse(turns)
	return turns
}

// isTurn reports whether the output of a node is a turn. Output that a step merely passes
// on is not.
func isTurn(n *workflow.Node) bool {
	switch n.Kind {
	case workflow.KindAgent, workflow.KindTool, workflow.KindSet:
		return true
	}
	return n.Wait != nil && n.Wait.Kind != workflow.WaitApproval
}

// checkPrompt returns the reason why the recipe of a step that starts is damaged.
func (g *Graph[L]) checkPrompt(id int, d *event.StepStarted) string {
	if d.Recipe == nil {
		return ""
	}
	if d.Input != nil {
		return "the step has an input and a recipe"
	}
	if err := g.texts.Check(id, d.Recipe, g.OutputText); err != nil {
		return err.Error()
	}
	return ""
}

// keepPrompt stores the text of a started step's recipe, and what the next prompt in its scope
// shares with it.
func (g *Graph[L]) keepPrompt(id int, n *plan.Node, d *event.StepStarted) {
	if d.Recipe == nil {
		return
	}
	if n.Kind == workflow.KindAgent && n.Agent.Prompt.Mode == workflow.PromptContext {
		b := g.NewPrompt()
		context := g.Sight(d.Scope).Context(b, n.Agent.Prompt.Text)
		if b.Keep(id, d.Recipe) {
			g.Scope(d.Scope).context = context
			return
		}
	}
	g.texts.Add(id, d.Recipe, g.OutputText)
}

// NewPrompt starts a prompt that may refer to outputs and to prompts of earlier steps.
func (g *Graph[L]) NewPrompt() *prompt.Builder { return prompt.NewBuilder(&g.texts, g.OutputText) }

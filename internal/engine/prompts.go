package engine

import (
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// Tokens in prompts: previousOutput is replaced by the step's input (S0-11), approvalNote by the note of the last approval on the path to the step.
const (
	approvalNote = "{{APPROVAL_NOTE}}"
)

// recentTurns is how many former turns a prompt of mode turns shows (S1-3).
const recentTurns = 12

// prompt makes the user message and the system prompt of an agent step.
func (r *Run) prompt(n *plan.Node, t token, d *StepStarted) *Failure {
	f := r.graph.flows[r.scope(t.Scope).Flow]
	a := f.Agents[n.Agent.Agent]
	if a.SystemTemplate != nil && a.SystemTemplate.Size(env{r: r, scope: t.Scope}, prompt.MaxBytes) > prompt.MaxBytes {
		return &Failure{Code: CodeValueTooLarge, Message: prompt.ErrTooLarge.Error()}
	}
	d.System = r.expandSystem(a, t.Scope)
	p := n.Agent.Prompt
	b := prompt.NewBuilder(&r.graph.texts, r.graph.outputText)
	switch p.Mode {
	case workflow.PromptContext:
		r.graph.context(b, t.Scope, p.Text)
	case workflow.PromptTurns:
		prompt.Turns(b, p.Text, r.graph.turns(f, t.Scope), loop.NoInput)
	case workflow.PromptShared:
		r.lastShared(b, a, t.From)
	case workflow.PromptFunc:
		v, err := r.plan.askValue(p.Text, func(h Host) (Value, error) {
			return h.Value(p.Text, View{Node: n.ID, Input: r.value(t.From), State: r.graph.stateAt(t.Scope), Outputs: r.outputsSeen(t.Scope)})
		})
		if err != nil {
			return &Failure{Code: CodeFunc, Message: err.Error()}
		}
		if string(v) != string(r.value(t.From)) {
			d.Input = v
		}
		return nil
	default:
		if strings.TrimSpace(p.Text) == "" {
			return nil
		}
		prompt.Template(b, p.Text, map[string]int{plan.PreviousOutput: t.From}, map[string]string{approvalNote: r.noteAt(t.From)})
	}
	recipe, err := b.Recipe()
	switch {
	case err != nil:
		return &Failure{Code: CodeValueTooLarge, Message: err.Error()}
	case r.graph.isGiven(b, t.From):
	case recipe == nil:
		d.Input = expr.Quote(b.Text().String())
	default:
		d.Recipe = recipe
	}
	return nil
}

// isGiven tells whether the text of a prompt is the output of step from, which is a text too.
func (g *graph) isGiven(b *prompt.Builder, from int) bool {
	given := g.runInput()
	if from > 0 {
		given = g.step(from).Output
	}
	step, lone := b.Lone()
	return given.isText && (lone && step == from || b.Text().Equal(given.text))
}

// context appends the prior outputs that a scope sees, and gives what the scope's next prompt shares.
func (g *graph) context(b *prompt.Builder, scopeID int, missing string) prompt.Context {
	s := g.sight(scopeID)
	s.bare = true
	top := s.top()
	fixed := len(top)
	if s.own != nil { // a block may show what the scope itself has changed in it
		if i := slices.IndexFunc(top, func(e entry) bool { return s.f.Nodes[e.Node].Kind == workflow.KindFork }); i >= 0 {
			fixed = i
		}
	}
	entries := make([]prompt.Entry, len(top))
	for i, e := range top {
		entries[i] = prompt.Entry(e)
	}
	priors := func(i int) []prompt.Prior {
		return appendPriors(nil, "", expr.Child{ID: plan.LocalID(s.f.Nodes[top[i].Node].ID), Entry: s.entry(top[i])})
	}
	return g.scope(scopeID).context.Build(b, g.Steps.len()+1, entries, fixed, priors, missing)
}

// appendPriors appends one step's output, or those of its branches under the whole path of parallel ids (S4-13, S4-37).
func appendPriors(out []prompt.Prior, path string, c expr.Child) []prompt.Prior {
	if c.Entry.Children == nil {
		return append(out, prompt.Prior{Name: path + c.ID, Agent: c.Entry.Agent, Step: c.Entry.Step})
	}
	for _, sub := range c.Entry.Children {
		out = appendPriors(out, path+c.ID+"/", sub)
	}
	return out
}

// turns gives the last turns of a scope, oldest first. It looks at the last steps alone: a long talk is not read anew for each turn.
func (g *graph) turns(f *plan.Flow, scopeID int) []prompt.Turn {
	var turns []prompt.Turn
	for i := g.Steps.len() - 1; i >= 0 && len(turns) < recentTurns; i-- {
		if st := g.Steps.at(i); st.Status == stepCompleted && st.Scope == scopeID && f.Nodes[st.Node].Kind == workflow.KindAgent {
			turns = append(turns, prompt.Turn{Speaker: g.speakerName(f, i+1), Step: i + 1})
		}
	}
	slices.Reverse(turns)
	return turns
}

// lastShared appends the last message of the shared conversation as an agent sees it. Where it ends with the output of step from, it refers to that.
func (r *Run) lastShared(b *prompt.Builder, a *plan.Agent, from int) {
	msgs := r.s.Loop.Conv(loop.Shared)
	at := max(0, len(msgs)-1)
	for at > 0 && msgs[at].Role != chat.RoleAssistant {
		at--
	}
	shown := loop.Show(msgs, at, a.Title())
	if len(shown) == 0 {
		return
	}
	said := shown[len(shown)-1].Text.String()
	if given, ok := r.graph.outputText(from); ok && !given.IsZero() {
		if head, ends := strings.CutSuffix(said, given.String()); ends {
			b.Literal(head)
			b.Output(from)
			return
		}
	}
	b.Literal(said)
}

// checkPrompt tells why the recipe of a step that starts is damaged.
func (g *graph) checkPrompt(id int, d *StepStarted) string {
	if d.Recipe == nil {
		return ""
	}
	if d.Input != nil {
		return "the step has an input and a recipe"
	}
	if err := g.texts.Check(id, d.Recipe, g.outputText); err != nil {
		return err.Error()
	}
	return ""
}

// keepPrompt keeps the text of a started step's recipe, and what the next prompt in its scope shares with it.
func (g *graph) keepPrompt(id int, n *plan.Node, d *StepStarted) {
	if d.Recipe == nil {
		return
	}
	if n.Kind == workflow.KindAgent && n.Agent.Prompt.Mode == workflow.PromptContext {
		b := prompt.NewBuilder(&g.texts, g.outputText)
		context := g.context(b, d.Scope, n.Agent.Prompt.Text)
		if b.Keep(id, d.Recipe) {
			g.scope(d.Scope).context = context
			return
		}
	}
	g.texts.Add(id, d.Recipe, g.outputText)
}

// expandSystem gives the system prompt of an agent where its templates make it differ from the definition's.
func (r *Run) expandSystem(a *plan.Agent, scope int) string {
	if a.SystemTemplate == nil {
		return ""
	}
	return a.SystemTemplate.Expand(env{r: r, scope: scope})
}

package engine

import (
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/jsontext"
	"github.com/hocket-run/hocket/workflow"
)

// StepText returns the text of a step's input.
func (r *Run) StepText(id int) string { return r.graph.StepText(id).String() }

// CopiedPrompt builds the prompt of the step that starts with a token by copying all outputs, as
// the slow twin of package prompt: the recipe of that step must yield the same text. The run must
// be in its state before the step. It returns false for prompts of functions and of shared
// conversations.
func (r *Run) CopiedPrompt(id int) (string, bool) {
	t, ok := r.graph.Waiting(id)
	if !ok {
		return "", false
	}
	f := r.graph.FlowIn(t.Scope)
	n := &f.Nodes[t.Node]
	if n.Kind != workflow.KindAgent {
		return "", false
	}
	input := expr.Text(r.graph.Value(t.From))
	switch p := n.Agent.Prompt; p.Mode {
	case workflow.PromptContext:
		return r.copiedContext(t.Scope, p.Text), true
	case workflow.PromptTurns:
		return r.copiedTurns(f, t, p.Text), true
	case workflow.PromptTemplate, "":
		if strings.TrimSpace(p.Text) == "" {
			return input, true
		}
		return expr.ExpandTokens(p.Text, plan.PreviousOutput, input, plan.ApprovalNote, r.state.noteAt(t.From)), true
	}
	return "", false
}

func (r *Run) copiedContext(scopeID int, missing string) string {
	input := expr.Text(r.state.Created.Input)
	for sc := r.graph.Scope(scopeID); sc.Owner > 0; sc = r.graph.StepScope(sc.Owner) {
		if m := r.graph.StepNode(sc.Owner).Map; m != nil { // the item replaces the input
			items, _ := jsontext.Items(r.graph.StepInput(sc.Owner))
			input = expr.Text(items[sc.Branch-1])
			break
		}
	}
	if input == "" {
		input = missing
	}
	var b strings.Builder
	s := r.graph.Sight(scopeID)
	for _, e := range s.Top() {
		copyPrior(&b, "", expr.Child{ID: plan.LocalID(r.graph.FlowIn(scopeID).Nodes[e.Node].ID), Entry: s.Entry(e)})
	}
	if b.Len() == 0 {
		return input
	}
	return "--- Prior Step Outputs ---\n\n" + b.String() + "--- End Prior Step Outputs ---\n\n" + input
}

func copyPrior(b *strings.Builder, path string, c expr.Child) {
	if c.Entry.Children != nil {
		for _, sub := range c.Entry.Children {
			copyPrior(b, path+c.ID+"/", sub)
		}
		return
	}
	text := expr.Text(c.Entry.Output)
	if text == "" {
		return
	}
	b.WriteString("[" + path + c.ID)
	if c.Entry.Agent != "" {
		b.WriteString(" (agent: " + c.Entry.Agent + ")")
	}
	b.WriteString("]:\n" + text + "\n\n")
}

func (r *Run) copiedTurns(f *plan.Flow, t graph.Token, instruction string) string {
	type turn struct{ name, text string }
	var turns []turn
	for i := r.graph.Steps.Len() - 1; i >= 0 && len(turns) < 12; i-- {
		if st := r.graph.Steps.At(i); st.Status == event.Completed && st.Scope == t.Scope &&
			f.Nodes[st.Node].Kind == workflow.KindAgent {
			turns = append(turns, turn{r.graph.SpeakerName(f, i+1), expr.Text(st.Output.Value())})
		}
	}
	var parts []string
	if strings.TrimSpace(instruction) != "" {
		parts = append(parts, instruction)
	}
	if input := expr.Text(r.state.Created.Input); strings.TrimSpace(input) != "" && len(turns) == 0 {
		parts = append(parts, input)
	}
	if len(turns) > 0 {
		lines := []string{"Recent turns:"}
		for _, x := range slices.Backward(turns) {
			lines = append(lines, x.name+": "+x.text)
		}
		parts = append(parts, strings.Join(lines, "\n"), "Output from "+turns[0].name+":\n"+turns[0].text)
	}
	if len(parts) == 0 {
		return loop.NoInput
	}
	return strings.Join(parts, "\n\n")
}

// GoOn decides as after an input, with all scopes awake, and returns the events: a folded run whose
// last activation left nothing to do has none.
func (r *Run) GoOn() []event.Event {
	r.out, r.now = nil, r.state.At
	r.beginCommands()
	r.graph.WakeAll()
	r.advance()
	return r.out
}

package engine

import (
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// prompt builds the user message and the system prompt of an agent step.
func (s *state) prompt(n *plan.Node, t graph.Token, d *event.StepStarted) *event.Failure {
	f := s.graph.FlowIn(t.Scope)
	a := f.Agents[n.Agent.Agent]
	if a.SystemTemplate != nil && a.SystemTemplate.Size(s.envBefore(t), prompt.MaxBytes) > prompt.MaxBytes {
		return &event.Failure{Code: event.CodeValueTooLarge, Message: prompt.ErrTooLarge.Error()}
	}
	var failed *event.Failure
	if d.System, failed = expandSystem(a, s.envBefore(t)); failed != nil {
		return failed
	}
	p := n.Agent.Prompt
	b := s.graph.NewPrompt()
	switch p.Mode {
	case workflow.PromptContext:
		s.graph.Sight(t.Scope).Context(b, p.Text)
	case workflow.PromptTurns:
		turns := s.graph.Turns(f, t.Scope)
		if n.Text == nil {
			prompt.Turns(b, p.Text, turns, loop.NoInput)
			break
		}
		if failed := s.insert(b, n, t); failed != nil {
			return failed
		}
		prompt.Recent(b, turns, loop.NoInput)
	case workflow.PromptShared:
		s.lastShared(b, a, t.From)
	case workflow.PromptFunc:
		v, err := s.plan.askValue(p.Text, func(h Host) (event.Value, error) { return h.Value(p.Text, s.before(n, t)) })
		if err != nil {
			return &event.Failure{Code: event.CodeFunc, Message: err.Error()}
		}
		if string(v) != string(s.graph.Value(t.From)) {
			d.Input = v
		}
		return nil
	default:
		if strings.TrimSpace(p.Text) == "" {
			if given, _ := s.graph.OutputText(t.From); p.Default != "" && given.IsBlank() {
				d.Input = expr.Quote(p.Default)
			}
			return nil
		}
		if n.Text != nil {
			if failed := s.insert(b, n, t); failed != nil {
				return failed
			}
			break
		}
		prompt.Template(b, p.Text, map[string]int{plan.PreviousOutput: t.From},
			map[string]string{plan.ApprovalNote: s.noteAt(t.From)})
	}
	recipe, err := b.Recipe()
	switch {
	case err != nil:
		return &event.Failure{Code: event.CodeValueTooLarge, Message: err.Error()}
	case s.graph.IsGiven(b, t.From):
	case recipe == nil:
		d.Input = expr.Quote(b.Text().String())
	default:
		d.Recipe = recipe
	}
	return nil
}

// insert appends a prompt with expressions. An output that is used as a whole is
// referenced, not copied.
func (s *state) insert(b *prompt.Builder, n *plan.Node, t graph.Token) *event.Failure {
	seen, copied := s.envBefore(t), int64(0)
	if n.Text.Size(seen, prompt.MaxBytes) > prompt.MaxBytes {
		return &event.Failure{Code: event.CodeValueTooLarge, Message: "prompt: " + prompt.ErrTooLarge.Error()}
	}
	err := n.Text.Insert(seen, func(text string) {
		copied += int64(len(text))
		b.Literal(text)
	}, func(ref expr.Ref) bool {
		step, ok := seen.whole(ref)
		if ok {
			b.Output(step)
		}
		return ok
	})
	if err != nil {
		return &event.Failure{Code: event.CodeExpression, Message: "prompt: " + err.Error()}
	}
	return s.checkSize(copied)
}

// whole returns the step whose output is the value of a reference: 0 for the run's input, a
// negative number for the item of a scope.
func (e viewEnv) whole(ref expr.Ref) (step int, ok bool) {
	switch {
	case len(ref.Path) > 0:
		return 0, false
	case ref.Var == expr.VarInput:
		return 0, len(e.graph.Input) > 0
	case ref.Var == expr.VarPrevious:
		return e.from, len(e.graph.Value(e.from)) > 0
	case ref.Var != "":
		return e.graph.ItemStep(e.scope, ref.Var)
	case len(ref.Steps) != 1 || ref.Field != expr.FieldOutput:
		return 0, false
	}
	out, ok := e.Step(ref.Step())
	return out.Step, ok && out.Step > 0 && out.Output != nil && out.Children == nil
}

// lastShared appends the last message of the shared conversation as an agent sees it. If the
// message ends with the output of step from, that part is a reference.
func (s *state) lastShared(b *prompt.Builder, a *plan.Agent, from int) {
	msgs := s.Loop.Conv(loop.Shared)
	at := max(0, len(msgs)-1)
	for at > 0 && msgs[at].Role != chat.RoleAssistant {
		at--
	}
	shown := loop.Show(msgs, at, a.Title())
	if len(shown) == 0 {
		return
	}
	said := shown[len(shown)-1].Text.String()
	if given, ok := s.graph.OutputText(from); ok && !given.IsZero() {
		if head, ends := strings.CutSuffix(said, given.String()); ends {
			b.Literal(head)
			b.Output(from)
			return
		}
	}
	b.Literal(said)
}

// expandSystem returns the system prompt of an agent if its templates make it differ from the
// definition's. It fails if a reference has no value (S4-15).
func expandSystem(a *plan.Agent, seen viewEnv) (string, *event.Failure) {
	if a.SystemTemplate == nil {
		return "", nil
	}
	text, err := a.SystemTemplate.Expand(seen)
	if err != nil {
		return "", &event.Failure{Code: event.CodeExpression,
			Message: "instruction of agent " + a.Title() + ": " + err.Error()}
	}
	return text, nil
}

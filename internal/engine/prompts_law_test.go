package engine_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// drawPrompts draws prompts of all assembled modes for the agent nodes of a workflow and its
// sub-flows.
func drawPrompts(rt *rapid.T) func(*workflow.Workflow) {
	var draw func(w *workflow.Workflow)
	draw = func(w *workflow.Workflow) {
		all := rapid.SampledFrom([]workflow.PromptMode{"", workflow.PromptContext, workflow.PromptContext,
			workflow.PromptTurns}).Draw(rt, "mode of all")
		for i := range w.Nodes {
			if w.Nodes[i].Agent == nil {
				continue
			}
			p := &w.Nodes[i].Agent.Prompt
			if p.Mode = all; all == "" {
				p.Mode = rapid.SampledFrom([]workflow.PromptMode{workflow.PromptTemplate, workflow.PromptContext,
					workflow.PromptTurns}).Draw(rt, "mode")
			}
			p.Text = rapid.SampledFrom([]string{"", "Please proceed.", "{{PREVIOUS_OUTPUT}}",
				"of {{PREVIOUS_OUTPUT}}{{APPROVAL_NOTE}}, {{PREVIOUS_OUTPUT}}", " "}).Draw(rt, "text")
		}
		for _, sub := range w.Flows {
			draw(sub)
		}
	}
	return draw
}

// TestPromptRecipe_MatchesText checks that references produce what copies produced, for any
// workflow, any order of events, and across crashes and reopenings: each prompt equals that of the
// slow twin, byte for byte, and has the SHA-256 and the length that its recipe states. The same
// holds for a fold of the journal, of any prefix of it, of a journal that has texts instead of
// recipes as inputs, and of one that was stored.
func TestPromptRecipe_MatchesText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWild(t, rt, 4, drawPrompts(rt))
		for n := 0; w.step() && n < 400; n++ {
			if n == 399 {
				return
			}
		}
		checkRecipes(w.World)
		whole := slices.Clone(w.Events)
		for i, e := range whole {
			d, ok := e.Data.(*event.StepStarted)
			if !ok || d.Recipe == nil || rapid.Bool().Draw(rt, "as recipe") {
				continue
			}
			c := *d
			c.Input, c.Recipe = expr.Quote(w.Run.StepText(e.Step)), nil
			if slices.ContainsFunc(whole[i:], func(later event.Event) bool { return extends(later, e.Step) }) {
				continue // it is a reference
			}
			whole[i].Data = &c
		}
		r := engine.New(w.Plan, "run1")
		if err := r.Apply(whole); err != nil {
			rt.Fatalf("a journal with inputs as texts: %v\n%s", err, w.Log())
		}
		for _, e := range w.Events {
			if _, ok := e.Data.(*event.StepStarted); ok && r.StepText(e.Step) != w.Run.StepText(e.Step) {
				rt.Fatalf("step %d was given %q, as text %q", e.Step, w.Run.StepText(e.Step), r.StepText(e.Step))
			}
		}
	})
}

func extends(e event.Event, step int) bool {
	d, ok := e.Data.(*event.StepStarted)
	return ok && d.Recipe != nil && slices.ContainsFunc(d.Recipe.Parts, func(p prompt.Part) bool {
		return p.Step == step && p.Parts > 0
	})
}

func checkRecipes(w *enginetest.World) {
	w.T.Helper()
	before := w.Fold(0)
	for i, e := range w.Events {
		d, ok := e.Data.(*event.StepStarted)
		if !ok {
			continue
		}
		if err := before.Apply(w.Events[before.Seq():i]); err != nil {
			w.T.Fatalf("fold to event %d: %v", i, err)
		}
		if c, asked := w.Events[i+1].Data.(*event.ConditionChecked); asked && c.Index < 0 && !c.Result {
			continue // a skipped step receives no prompt
		}
		want, ok := before.CopiedPrompt(d.Tokens[0])
		if got := w.Run.StepText(e.Step); ok && got != want {
			w.T.Fatalf("step %d was given\n%s\nthe twin gives\n%s\n%s", e.Step, got, want, w.Log())
		}
		if d.Recipe == nil {
			continue
		}
		if d.Recipe.Bytes != int64(len(want)) || d.Recipe.Check(text.Of(want)) != nil {
			w.T.Fatalf("the recipe of step %d tells of %d bytes with another SHA-256, want %d\n%s", e.Step,
				d.Recipe.Bytes, len(want), w.Log())
		}
		stored, err := json.Marshal(d.Recipe)
		var back prompt.Recipe
		if err != nil || json.Unmarshal(stored, &back) != nil || !slices.Equal(back.Parts, d.Recipe.Parts) {
			w.T.Fatalf("recipe %s comes back as %+v, %v", stored, back, err)
		}
	}
}

// TestPromptRecipe_Size checks that a step of a chain refers to the prompt before it and to what
// has completed since, and that a loop iteration does so from the first changed entry on.
func TestPromptRecipe_Size(t *testing.T) {
	t.Parallel()
	const n = 20
	var all []workflow.Node
	edges := ""
	for i := range n {
		id := "s" + strings.Repeat("i", i)
		all = append(all, agentNode(id, "w"))
		if i > 0 {
			edges += "; " + all[i-1].ID + " -> " + id
		}
	}
	w := enginetest.New(t, enginetest.Graph(all, edges[2:], workflow.Agent{ID: "w"}), nil)
	w.Model = func(c *engine.CallModel) *engine.ModelResult {
		return enginetest.Reply(c.Node + strings.Repeat("x", 1000))
	}
	w.Start("go")
	w.Go(nil)
	wantStatus(t, w, event.StatusCompleted)
	for _, e := range w.Events {
		d, ok := e.Data.(*event.StepStarted)
		if !ok || e.Step == 1 {
			continue
		}
		if d.Recipe == nil || len(d.Recipe.Parts) > 5 {
			t.Fatalf("step %d has the recipe %+v", e.Step, d.Recipe)
		}
		if e.Step > 2 && d.Recipe.Parts[0].Step != e.Step-1 {
			t.Errorf("step %d begins with %+v", e.Step, d.Recipe.Parts[0])
		}
	}
	checkRecipes(w)
}

// TestDamagedRecipes checks that a journal is rejected as damaged if a recipe refers to anything
// but an ended step before the recipe's own.
func TestDamagedRecipes(t *testing.T) {
	t.Parallel()
	w := enginetest.New(t, enginetest.Graph([]workflow.Node{agentNode("a", "w"), agentNode("b", "w"),
		agentNode("c", "w"), agentNode("d", "w")}, "a -> b; b -> c; c -> d", workflow.Agent{ID: "w"}), nil)
	w.Model = func(c *engine.CallModel) *engine.ModelResult { return enginetest.Reply("from " + c.Node) }
	w.Start("go")
	w.Go(nil)
	wantStatus(t, w, event.StatusCompleted)
	at := slices.IndexFunc(w.Events, func(e event.Event) bool {
		_, ok := e.Data.(*event.StepStarted)
		return ok && e.Step == 3
	})
	good := w.Events[at].Data.(*event.StepStarted).Recipe
	for name, change := range map[string]func(*prompt.Recipe){
		"no parts":             func(r *prompt.Recipe) { r.Parts = nil },
		"empty part":           func(r *prompt.Recipe) { r.Parts[1] = prompt.Part{} },
		"itself":               func(r *prompt.Recipe) { r.Parts[1] = prompt.Part{Step: 3} },
		"a later step":         func(r *prompt.Recipe) { r.Parts[1] = prompt.Part{Step: 4} },
		"a step far away":      func(r *prompt.Recipe) { r.Parts[1] = prompt.Part{Step: 1 << 40} },
		"a negative step":      func(r *prompt.Recipe) { r.Parts[1] = prompt.Part{Step: -1} },
		"negative parts":       func(r *prompt.Recipe) { r.Parts[1] = prompt.Part{Step: 2, Parts: -1} },
		"too many parts":       func(r *prompt.Recipe) { r.Parts[1] = prompt.Part{Step: 2, Parts: 99} },
		"parts of no recipe":   func(r *prompt.Recipe) { r.Parts[1] = prompt.Part{Step: 1, Parts: 1} },
		"two things":           func(r *prompt.Recipe) { r.Parts[1] = prompt.Part{Text: "x", Step: 1} },
		"two things, input":    func(r *prompt.Recipe) { r.Parts[1] = prompt.Part{Input: true, Step: 1} },
		"another length":       func(r *prompt.Recipe) { r.Bytes++ },
		"a negative length":    func(r *prompt.Recipe) { r.Bytes = -1 },
		"parts in wrong order": func(r *prompt.Recipe) { r.Parts = append(r.Parts, prompt.Part{Text: "more"}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := slices.Clone(w.Events)
			d := *events[at].Data.(*event.StepStarted)
			bad := *good
			bad.Parts = slices.Clone(good.Parts)
			change(&bad)
			d.Recipe = &bad
			events[at].Data = &d
			var damaged *engine.DivergenceError
			if err := engine.New(w.Plan, "run1").Apply(events); !errors.As(err, &damaged) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("both", func(t *testing.T) {
		events := slices.Clone(w.Events)
		d := *events[at].Data.(*event.StepStarted)
		d.Input = enginetest.Text("x")
		events[at].Data = &d
		if err := engine.New(w.Plan, "run1").Apply(events); err == nil {
			t.Error("an input and a recipe are taken")
		}
	})
}

// TestPrompt_MaxBytes checks that the size of a rendered text is limited before it is built,
// however little of it is stored.
func TestPrompt_MaxBytes(t *testing.T) {
	t.Parallel()
	b := enginetest.Agent("b")
	b.Agent.Prompt.Text = strings.Repeat("{{PREVIOUS_OUTPUT}}", 1000)
	w := enginetest.New(t, enginetest.Graph(nodes("a", b), "a -> b"), nil)
	w.Start("go")
	w.Finish("a", enginetest.Say("%s", strings.Repeat("x", 70_000)))
	wantStatus(t, w, event.StatusFailed)
	if got := w.Events[len(w.Events)-1].Data.(*event.RunFailed).Error; got.Code != event.CodeValueTooLarge ||
		!strings.Contains(got.Message, "64 MB") {
		t.Errorf("got %+v", got)
	}
}

package conformance_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
	"github.com/hocket-run/hocket/workflow"
)

// injectHeld checks that a call that needs a person waits for one, whatever texts say, models call
// or people answer elsewhere, that the person is shown the call itself, and that the question is in
// Hocket's own words (SEC12, D32).
func injectHeld(t *testing.T, poison string) {
	const doc = `{"permissions": {"ask": ["settle_invoice"]}, "agents": {
		"Payer": {"model": "openai/fake", "instruction": "Pay.", "tool_calls": "parallel", "tools": ` +
		`["lookup", "settle_invoice"], "toolsets": [{"type": "user_prompt"}]},
		"Echo": {"model": "openai/fake", "instruction": "Echo."}},
		"workflow": [{"type": "parallel", "id": "p", "steps": [{"type": "agent", "id": "pay", "name": "Payer"}, ` +
		`{"type": "agent", "id": "echo", "name": "Echo"}]}]}`
	args := asJSON(map[string]any{"to": poison, "sum": 5})
	for answer, want := range map[string]string{
		"approve": "tool: settled 77",
		"reject":  "tool: A person rejected the call of tool settle_invoice; it was not made. Reason: note 77",
	} {
		settle := &tooltest.Tool{Name: "settle_invoice", Fn: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{Text: "settled 77"}, nil
		}}
		w, called := poisonedWorld(t, poison, "lookup", settle)
		w.replies = func(q model.Request, n int) line {
			switch {
			case q.Agent == "Payer" && n == 1:
				return use("lookup", `{}`)
			case q.Agent == "Payer" && n == 2:
				return use(append([]string{"settle_invoice", args, "user_prompt",
					asJSON(map[string]string{"message": poison})}, injectedCalls(poison)...)...)
			}
			return say(poison)
		}
		r := w.runs(doc, "go")
		o := r.is(event.StatusPaused)
		// both open at the same time
		slices.SortFunc(o.Waiting, func(a, b project.Waiting) int { return strings.Compare(a.Kind, b.Kind) })
		if len(o.Waiting) != 2 || o.Waiting[0].Kind != workflow.WaitApproval ||
			o.Waiting[1].Kind != workflow.WaitQuestion {
			t.Fatalf("waiting %s, want the call and the question", asJSON(o.Waiting))
		}
		call, question := o.Waiting[0], o.Waiting[1]
		checkForbidden(t, r, called)
		same(t, "tool and prompt of the approval", call.Tool+": "+call.Prompt,
			`settle_invoice: Allow the tool "settle_invoice" for agent "Payer" with exactly these arguments?`)
		var shown struct {
			To  string
			Sum int
		}
		if err := json.Unmarshal(call.Arguments, &shown); err != nil || shown.To != poison || shown.Sum != 5 {
			t.Errorf("shown %s, want %s", call.Arguments, args)
		}
		same(t, "the agent's question", question.Prompt, `Agent "Payer" asks: `+poison)

		// A person's answer to the agent goes only to the agent and decides nothing else.
		if err := w.Answer(t.Context(), r.id, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
			Wait: question.ID, Value: expr.Quote(poison)}); err != nil {
			t.Fatal(err)
		}
		if o = r.is(event.StatusPaused); len(o.Waiting) != 1 || o.Waiting[0].ID != call.ID || len(settle.Calls()) > 0 {
			t.Fatalf("waiting %s with %d calls, want the one wait and no call", asJSON(o.Waiting), len(settle.Calls()))
		}
		if err := w.Answer(t.Context(), r.id, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
			Wait: call.ID, Value: expr.Quote(answer), Note: "note 77"}); err != nil {
			t.Fatal(err)
		}
		r.is(event.StatusCompleted)
		checkForbidden(t, r, called)
		read := transcript(w.of("Payer")[2])
		if !slices.Contains(read, want) || !slices.Contains(read, "tool: "+poison) {
			t.Errorf("the agent reads %q, want %q", read, want)
		}
		calls := settle.Calls()
		if made := len(calls) == 1 && string(calls[0].Arguments) == string(call.Arguments); len(calls) > 1 ||
			made != (answer == "approve") {
			t.Errorf("after %s these calls were made: %+v", answer, calls)
		}
	}
}

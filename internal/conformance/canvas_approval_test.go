package conformance_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
)

// gated returns a document with a writer, an approval, and an agent for either answer.
func gated() string {
	return canvas("s -> w -> ok; ok:approve -> yes; ok:reject -> no",
		append(agents("w yes no"), start(), approval("ok"))...)
}

// canvasFields returns the additional fields of a canvas run, as they are in its JSON (S0-37).
func canvasFields(t *testing.T, r *run) string {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(asJSON(r.show())), &all); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %s %s", all["waitingForInput"], all["currentNodeId"], all["state"])
}

var canvasApproval = []rule{
	{name: "S0-30 an approval pauses the run", test: func(t *testing.T) {
		w := newWorld(t)
		r := w.runs(gated(), "go")
		o := r.is(event.StatusPaused)
		if !o.WaitingForInput || o.CurrentNodeID == nil || *o.CurrentNodeID != "ok" {
			t.Errorf("waitingForInput is %t and currentNodeId %s, want true and ok", o.WaitingForInput,
				asJSON(o.CurrentNodeID))
		}
		same(t, "log", r.logOf("ok "),
			[]string{"ok step_start approval node", "ok wait_input Waiting for user approval"})
		same(t, "asked", w.asked(), []string{"w"})
		same(t, "wait", asJSON(o.Waiting[0].Options), `["approve","reject"]`)
	}},
	{name: "S0-31 what an answer means, and which answers are refused", test: func(t *testing.T) {
		for _, c := range []struct{ answer, decision, note string }{
			{`{"decision":"approve","note":""}`, "approve", ""},
			{`{"decision":"reject","note":"too long"}`, "reject", "too long"},
			{`{"decision":"APPROVE"}`, "approve", ""},
			{`{"decision":"Reject","note":7}`, "reject", ""},
			{`{"decision":"approve","note":null,"more":[1]}`, "approve", ""},
			{`"approve"`, "approve", ""}, {`"Approved."`, "approve", ""}, {`" yes! "`, "approve", ""},
			{`"Y"`, "approve", ""},
			{`"ok"`, "approve", ""}, {`"true"`, "approve", ""},
			{`"reject"`, "reject", ""}, {`"I REJECT this"`, "reject", ""}, {`"rejected"`, "reject", ""},
			{`"no"`, "reject", ""}, {`"N"`, "reject", ""},
			{`"deny"`, "reject", ""}, {`"false"`, "reject", ""},
		} {
			w := newWorld(t)
			r := w.runs(gated(), "go")
			r.answers(json.RawMessage(c.answer))
			o := r.is(event.StatusCompleted)
			same(t, "decision of "+c.answer, string(o.State["ok_approval"]),
				asJSON(map[string]string{"decision": c.decision, "note": c.note}))
		}
		w := newWorld(t)
		r := w.runs(gated(), "go")
		before, events := asJSON(r.show()), len(r.recorded().Events)
		for _, answer := range []string{
			``, `null`, `0`, `42`, `true`, `[]`, `["approve"]`, `{}`, `{"decision":42}`, `{"decision":null}`,
			`{"decision":""}`, `{"decision":"maybe"}`,
			`{"note":"approve"}`, `""`, `"  "`, `"maybe"`, `"I approve"`, `"approve it"`, `"disapproved"`, `"okay"`,
			`"not ok"`, `"👍"`,
		} {
			var v any
			if answer != "" {
				v = json.RawMessage(answer)
			}
			if err := r.answer(v); service.CodeOf(err) != service.CodeInvalid {
				t.Errorf("the answer %s: %v, want it refused", answer, err)
			}
		}
		same(t, "run after refused answers", asJSON(r.show()), before)
		same(t, "events after refused answers", len(r.recorded().Events), events)
		r.answers("approve")
		r.is(event.StatusCompleted)
	}},
	{name: "S0-32 the answer chooses the way on", test: func(t *testing.T) {
		for _, c := range []struct {
			edges, answer string
			want          []string
		}{
			{"ok:approve -> a; ok:reject -> b", "approve", []string{"a"}},
			{"ok:approve -> a; ok:reject -> b", "reject", []string{"b"}},
			{"ok:reject -> b", "approve", []string{}},
			{"ok:approve -> a", "reject", []string{}},
			{"ok -> a", "approve", []string{}},
			{"ok -> a; ok:Approve -> b; ok:output -> a", "approve", []string{}},
			{"ok:approve -> a; ok:approve -> b", "approve", []string{"a", "b"}},
		} {
			w := newWorld(t)
			r := w.runs(canvas("s -> ok; "+c.edges, append(agents("a b"), start(), approval("ok"))...), "go")
			r.is(event.StatusPaused)
			r.answers(c.answer)
			r.is(event.StatusCompleted)
			same(t, c.answer+" along "+c.edges, w.askedSorted(), c.want)
		}
	}},
	{name: "S0-33 what was there before the approval goes on, and the log tells the answer", test: func(t *testing.T) {
		for _, c := range []struct{ answer, line, who string }{
			{`"approve"`, "User approved this step.", "yes"},
			{`"no"`, "User rejected this step.", "no"},
			{`{"decision":"reject","note":"  Too long.\n"}`, "User rejected this step. Feedback: Too long.", "no"},
			{`{"decision":"approve","note":"fine"}`, "User approved this step. Feedback: fine", "yes"},
			{`{"decision":"approve","note":" \t"}`, "User approved this step.", "yes"},
		} {
			w := newWorld(t)
			w.says("w", "the draft")
			r := w.runs(gated(), "go")
			r.answers(json.RawMessage(c.answer))
			r.is(event.StatusCompleted)
			same(t, "prompt after "+c.answer, w.prompt(c.who), "the draft")
			same(t, "log of "+c.answer, r.logOf("ok input_received"), []string{"ok input_received " + c.line})
		}
		w := newWorld(t)
		r := w.runs(gated(), "go")
		if err := w.Answer(t.Context(), r.id, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
			Value: event.Value(`"approve"`), Note: " beside it "}); err != nil {
			t.Fatal(err)
		}
		r.is(event.StatusCompleted)
		same(t, "log of a note beside the answer", r.logOf("ok input_received"),
			[]string{"ok input_received User approved this step. Feedback: beside it"})
	}},
	{name: "S0-34 an answer to a run that does not wait changes nothing", test: func(t *testing.T) {
		w := newWorld(t)
		r := w.runs(gated(), "go")
		wait := r.show().Waiting[0].ID
		r.answers("approve")
		r.is(event.StatusCompleted)
		before, events := asJSON(r.show()), len(r.recorded().Events)
		for _, id := range []string{"", wait} {
			a := service.AnswerRequest{By: event.LocalBy(event.ChannelProgram), Wait: id,
				Value: event.Value(`"approve"`)}
			if err := w.Answer(t.Context(), r.id, a); err != nil {
				t.Errorf("the same answer again, to wait %q: %v (P24)", id, err)
			}
			a.Value = event.Value(`"reject"`)
			if err := w.Answer(t.Context(), r.id, a); service.CodeOf(err) != service.CodeConflict {
				t.Errorf("the opposite answer, to wait %q: %v, want a conflict (P24)", id, err)
			}
		}
		same(t, "run", asJSON(r.show()), before)
		same(t, "events", len(r.recorded().Events), events)
		if err := w.Answer(t.Context(), "nothere", service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
			Value: event.Value(`"approve"`)}); service.CodeOf(err) != service.CodeNotFound {
			t.Errorf("an unknown run: %v", err)
		}
		if err := w.Resume(t.Context(), r.id); err == nil {
			t.Error("an ended run is resumed")
		}
		w = newWorld(t)
		w.plays("w", fail(model.KindServer, "down"))
		r = w.runs(gated(), "go")
		r.is(event.StatusFailed)
		before = asJSON(r.show())
		if err := r.answer("approve"); err == nil {
			t.Error("a failed run takes an answer")
		}
		same(t, "failed run", asJSON(r.show()), before)
	}},
	{name: "S0-35 the same approval asks again and again", test: func(t *testing.T) {
		w := newWorld(t)
		w.says("w", "draft 1", "draft 2", "draft 3", "draft 4")
		r := w.runs(canvas("s -> w -> ok; ok:reject -> w; ok:approve -> pub", start(), agent("w"), approval("ok"),
			agent("pub")), "go")
		waits := map[string]bool{}
		for n := 1; n <= 4; n++ {
			o := r.is(event.StatusPaused)
			same(t, "current node", *o.CurrentNodeID, "ok")
			same(t, "output that is asked about", text(o.State["w"]), fmt.Sprintf("draft %d", n))
			waits[o.Waiting[0].ID] = true
			r.answers(map[bool]string{true: "approve", false: "reject"}[n == 4])
		}
		r.is(event.StatusCompleted)
		same(t, "waits", len(waits), 4)
		same(t, "prompts of the writer", w.prompts("w"), []string{"go", "draft 1", "draft 2", "draft 3"})
		same(t, "prompt of the publisher", w.prompt("pub"), "draft 4")
		same(t, "times asked", len(r.logOf("ok wait_input")), 4)
	}},
	{name: "S0-36 a paused run outlives its process", outside: true, test: func(t *testing.T) {
		w := newWorld(t, onDisk(filepath.Join(t.TempDir(), "hocket.db")))
		r := w.runs(canvas("s -> w -> ok:approve -> b -> ok2:approve -> c",
			append(agents("w b c"), start(), approval("ok"), approval("ok2"))...), "go")
		r.is(event.StatusPaused)
		for range 2 {
			before, log := asJSON(r.show()), r.log()
			w = w.restart()
			r = &run{w, r.id}
			same(t, "run in the new process", asJSON(r.show()), before)
			same(t, "log in the new process", r.log(), log)
			if heads, _, err := w.List(t.Context(), journal.Query{}); err != nil || len(heads) != 1 {
				t.Fatalf("runs in the store: %v, %v", heads, err)
			}
			r.answers("approve")
			r.waitSettled()
		}
		o := r.is(event.StatusCompleted)
		same(t, "asked", w.asked(), []string{"w", "b", "c"})
		same(t, "output", text(o.Output), "c said")
	}},
	{name: "S0-37 what the run objects of canvas documents show beside the others", test: func(t *testing.T) {
		w, hold := newWorld(t), make(chan struct{})
		w.plays("yes", say("published").behind(hold))
		r := w.runs(gated(), "go")
		same(t, "while paused", canvasFields(t, r), `true "ok" {"s":"go","w":"w said"}`)
		r.answers(map[string]any{"decision": "approve", "note": "fine"})
		same(t, "while running", canvasFields(t, r),
			`false null {"ok":"w said","ok_approval":{"decision":"approve","note":"fine"},"s":"go","w":"w said"}`)
		close(hold)
		r.is(event.StatusCompleted)
		same(t, "when completed", canvasFields(t, r),
			`false null {"ok":"w said","ok_approval":{"decision":"approve","note":"fine"},"s":"go","w":"w `+
				`said","yes":"published"}`)
		w = newWorld(t)
		r = w.runs(gated(), "go")
		if err := w.Cancel(t.Context(), r.id, ""); err != nil {
			t.Fatal(err)
		}
		r.is(event.StatusCancelled)
		same(t, "when cancelled", canvasFields(t, r), `false null {"s":"go","w":"w said"}`)
	}},
}

func TestCanvasApproval(t *testing.T) { check(t, canvasApproval) }

func TestCanvasApprovalCovered(t *testing.T) {
	covered(t, canvasApproval, "S0-30", "S0-31", "S0-32", "S0-33", "S0-34", "S0-35", "S0-36", "S0-37")
}

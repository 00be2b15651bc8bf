package project

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// TestRunObject checks that the run object has exactly the fields of docs/api.md, null if there is
// no value.
func TestRunObject(t *testing.T) {
	t.Parallel()
	def := definition("steps", workflow.Node{ID: "n2", Name: "Draft", Kind: workflow.KindAgent},
		node("n3", workflow.KindAgent))
	j := new(journal).run(&event.RunCreated{
		Version: 1, Workflow: "wf1", Name: "Texts", Digest: "d", Input: event.Value(`"hi"`), ParentRun: "p1",
		Meta: map[string]string{MetaVersion: "3"},
	}, &event.RunStarted{}).
		step(1, "n2", agentStarted("a", 0, `"Write: hi"`), called("1.0.1"), replied("1.0.1", "A draft"), reply,
			edge("n3")).
		step(2, "n3", agentStarted("b", 1, ""), called("2.0.1")).
		step(2, "n3", &event.ModelFailed{Call: "2.0.1", Attempt: 1,
			Error: event.Failure{Code: "rate_limit", Message: "slow down"}}).
		step(2, "n3", &event.StepRetrying{Attempt: 2, Call: "2.0.1",
			Error: event.Failure{Code: "rate_limit", Message: "slow down"}}).
		step(2, "n3", &event.ModelCalled{Call: "2.0.1", Attempt: 2, Model: "anthropic/claude-sonnet-4-5"},
			&event.ModelReplied{
				Call: "2.0.1", Attempt: 2, Message: chat.Message{Text: chat.NewText("Good")},
				Usage: &chat.Usage{InputTokens: 5, OutputTokens: 1}, CostUSD: new(0.2),
			}, &event.StepCompleted{Output: event.Value(`{"ok":true}`)}).
		run(&event.RunCompleted{OutputStep: 2})
	wantJSON(t, Fold("r1", def, j.events).Run(), `{
		"id": "r1", "workflow": {"id": "wf1", "name": "Texts", "format": "steps", "version": 3, "branch": null},
		"status": "completed", "input": "hi", "output": {"ok": true}, "outputs": {"n2": "A draft", "n3": {"ok": `+
		`true}}, "error": null, "waiting": [],
		"steps": [
			{"seq": 1, "node": "n2", "name": "Draft", "kind": "agent", "attempt": 1, "iteration": 1, "status": `+
		`"completed", "input": "Write: hi", "output": "A draft",
			 "error": null, "usage": {"inputTokens": 10, "outputTokens": 3, "costUSD": 0.1}, "model": `+
		`"openai/gpt-5-mini",
			 "startedAt": "2026-01-02T03:04:05.02Z", "durationMs": 30},
			{"seq": 2, "node": "n3", "name": "n3", "kind": "agent", "attempt": 2, "iteration": 1, "status": `+
		`"completed", "input": "A draft", "output": {"ok": true},
			 "error": null, "usage": {"inputTokens": 5, "outputTokens": 1, "costUSD": 0.2}, "model": `+
		`"anthropic/claude-sonnet-4-5",
			 "startedAt": "2026-01-02T03:04:05.07Z", "durationMs": 60}],
		"usage": {"inputTokens": 15, "outputTokens": 4, "costUSD": 0.3, "modelCalls": 3, "toolCalls": 0},
		"startedAt": "2026-01-02T03:04:05.01Z", "endedAt": "2026-01-02T03:04:05.14Z", "parentRun": "p1", `+
		`"forkedFrom": null, "interrupted": false}`)

	wantJSON(t, NewFolder("r1", nil).Run(),
		`{"id": "r1", "workflow": {"id": null, "name": null, "format": null, "version": null, "branch": null}, `+
			`"status": "pending",
		"input": null, "output": null, "outputs": {}, "error": null, "waiting": [], "steps": [],
		"usage": {"inputTokens": 0, "outputTokens": 0, "costUSD": 0, "modelCalls": 0, "toolCalls": 0},
		"startedAt": null, "endedAt": null, "parentRun": null, "forkedFrom": null, "interrupted": false}`)
}

// TestRunObjectOrder checks that the keys are in the order of docs/api.md.
func TestRunObjectOrder(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(NewFolder("r", nil).Run())
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, key := range []string{"id", "workflow", "status", "input", "output", "outputs", "error", "waiting", "steps",
		"usage", "startedAt", "endedAt", "parentRun", "forkedFrom", "interrupted"} {
		i := strings.Index(string(b[at+1:]), `"`+key+`":`)
		if i < 0 {
			t.Fatalf("%s does not come where it belongs in %s", key, b)
		}
		at += 1 + i
	}
}

// TestStatuses checks the statuses of the run and of its steps.
func TestStatuses(t *testing.T) {
	t.Parallel()
	def := definition("graph", approval("ok"), node("w", workflow.KindAgent),
		workflow.Node{ID: "hidden", Kind: workflow.KindJoin, Hidden: true})
	open := func() *journal {
		return begun(`"x"`).step(1, "ok", started(workflow.KindWait, 0),
			&event.WaitOpened{Wait: "w1", Kind: "approval", Prompt: "Sure?"}).
			step(2, "w", agentStarted("a", 0, `"x"`)).step(3, "hidden", started(workflow.KindJoin, 0))
	}
	limit := event.Failure{Code: event.CodeMaxLoopIterations, Message: "too often", Node: "trans"}
	tests := map[string]struct {
		journal        *journal
		status         event.Status
		steps, errors  []string
		err, waiting   string
		output, nulled bool
	}{
		"created": {new(journal).run(&event.RunCreated{}), "pending", nil, nil, `null`, `[]`, false, false},
		"waiting": {open(), "running", []string{"waiting", "running"}, nil, `null`,
			`[{"id":"w1","node":"ok","kind":"approval","prompt":"Sure?","options":["approve","reject"],` +
				`"since":"2026-01-02T03:04:05.03Z","input":"x"}]`, false, true},
		"paused": {open().run(&event.RunPaused{Wait: "w1"}), "paused", []string{"waiting", "running"}, nil,
			`null`,
			`[{"id":"w1","node":"ok","kind":"approval","prompt":"Sure?","options":["approve","reject"],` +
				`"since":"2026-01-02T03:04:05.03Z","input":"x"}]`, false, true},
		"resumed": {open().run(&event.RunPaused{Wait: "w1"}).step(1, "ok",
			&event.WaitAnswered{Wait: "w1", Decision: "approve"}).run(&event.RunResumed{Reason: "answer"}), "running",
			[]string{"running", "running"}, nil, `null`, `[]`, false, true},
		"failed": {open().run(&event.RunFailed{Error: limit}), "failed", []string{"cancelled", "cancelled"},
			[]string{"the run ended", "the run ended"},
			`{"code":"max_loop_iterations","message":"too often","node":"trans"}`, `[]`, false, false},
		"reopened": {open().run(&event.RunFailed{Error: limit}, &event.RunResumed{Reason: "reopened"}), "running",
			[]string{"waiting", "running"}, nil, `null`,
			`[{"id":"w1","node":"ok","kind":"approval","prompt":"Sure?","options":["approve","reject"],` +
				`"since":"2026-01-02T03:04:05.03Z","input":"x"}]`, false, true},
		"cancelled": {open().step(2, "w", &event.StepCancelled{Reason: "no time"}).run(&event.RunCancelled{}),
			"cancelled", []string{"cancelled", "cancelled"}, []string{"the run ended", "no time"},
			`{"code":"cancelled","message":"Run cancelled by user","node":null}`, `[]`, false, false},
		"for a reason": {begun(`1`).run(&event.RunCancelled{Reason: "late"}), "cancelled", nil, nil,
			`{"code":"cancelled","message":"late","node":null}`, `[]`, false, false},
		"step failed": {open().step(2, "w", &event.StepFailed{Error: event.Failure{Code: "x", Message: "boom"},
			Port: "error"}), "running", []string{"waiting", "failed"}, []string{"", "boom"}, `null`,
			`[{"id":"w1","node":"ok","kind":"approval","prompt":"Sure?","options":["approve","reject"],` +
				`"since":"2026-01-02T03:04:05.03Z","input":"x"}]`, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Fold("r", def, tt.journal.events).Run()
			if r.Status != tt.status {
				t.Errorf("status %s", r.Status)
			}
			wantJSON(t, r.Error, tt.err)
			wantJSON(t, r.Waiting, tt.waiting)
			var statuses, messages []string
			for _, s := range r.Steps {
				statuses = append(statuses, string(s.Status))
				if s.Error != nil {
					messages = append(messages, s.Error.Message)
				} else if tt.errors != nil {
					messages = append(messages, "")
				}
				if s.Output != nil {
					t.Errorf("step %d has output %s", s.Seq, s.Output)
				}
				ended := s.Status != StepRunning && s.Status != StepWaiting
				if ended != (s.DurationMS != nil) {
					t.Errorf("step %d is %s with duration %v", s.Seq, s.Status, s.DurationMS)
				}
			}
			if diff := cmp.Diff(statuses, tt.steps); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(messages, tt.errors); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestUsage checks P20, D10 and D14: late and failed calls and the calls of sub-agents count; an
// unknown part makes the total unknown.
func TestUsage(t *testing.T) {
	t.Parallel()
	def := definition("steps", node("w", workflow.KindAgent))
	base := func() *journal {
		return begun(`"x"`).step(1, "w", agentStarted("a", 0, `"x"`), called("c1"), replied("c1", "one"))
	}
	late := replied("c2", "two")
	late.Late = true
	free := replied("c2", "two")
	free.CostUSD = nil
	silent := replied("c2", "two")
	silent.Usage = nil
	failed := func(code string, late bool) *event.ModelFailed {
		return &event.ModelFailed{Call: "c2", Attempt: 1, Error: event.Failure{Code: code, Message: "m"}, Late: late}
	}
	sub := called("c2")
	sub.Frame = 1
	below := func(ended bool, u event.Used) *event.CallUsed {
		return &event.CallUsed{Call: "t", Attempt: 1, Run: "below", Ended: ended, Used: u}
	}
	calls, begins := &event.ToolCalled{Call: "t", Attempt: 1},
		&event.ChildStarted{Call: "t", Attempt: 1, Run: "below"}
	some := event.Used{InputTokens: 5, OutputTokens: 2, CostUSD: 0.1, ModelCalls: 1, ToolCalls: 1}
	tests := map[string]struct {
		journal *journal
		want    string
	}{
		"one call": {base(), `{"inputTokens":10,"outputTokens":3,"costUSD":0.1,"modelCalls":1,"toolCalls":0}`},
		"sub-agent": {base().step(1, "w", &event.SubagentStarted{Frame: 1, Agent: "sub", Call: "k"}, sub,
			replied("c2", "s")), `{"inputTokens":20,"outputTokens":6,"costUSD":0.2,"modelCalls":2,"toolCalls":0}`},
		"late": {base().step(1, "w", called("c2"), &event.StepCancelled{Reason: "r"}, late),
			`{"inputTokens":20,"outputTokens":6,"costUSD":0.2,"modelCalls":2,"toolCalls":0}`},
		"refused": {base().step(1, "w", called("c2"), failed("rate_limit", false)),
			`{"inputTokens":10,"outputTokens":3,"costUSD":0.1,"modelCalls":2,"toolCalls":0}`},
		"cut off": {base().step(1, "w", called("c2"), failed("cancelled", true)),
			`{"inputTokens":10,"outputTokens":3,"costUSD":null,"modelCalls":2,"toolCalls":0}`},
		"turned away": {base().step(1, "w", called("c2"), failed("rate_limit", true)),
			`{"inputTokens":10,"outputTokens":3,"costUSD":0.1,"modelCalls":2,"toolCalls":0}`},
		"withheld": {base().step(1, "w", called("c2"), failed("content_filter", false)),
			`{"inputTokens":10,"outputTokens":3,"costUSD":null,"modelCalls":2,"toolCalls":0}`},
		"broke off": {base().step(1, "w", called("c2"), failed("network", false)),
			`{"inputTokens":10,"outputTokens":3,"costUSD":null,"modelCalls":2,"toolCalls":0}`},
		"wrong key": {base().step(1, "w", called("c2"), failed("auth", false)),
			`{"inputTokens":10,"outputTokens":3,"costUSD":0.1,"modelCalls":2,"toolCalls":0}`},
		"timed out": {base().step(1, "w", called("c2"), failed("timeout", false)),
			`{"inputTokens":10,"outputTokens":3,"costUSD":null,"modelCalls":2,"toolCalls":0}`},
		"no price": {base().step(1, "w", called("c2"), free),
			`{"inputTokens":20,"outputTokens":6,"costUSD":null,"modelCalls":2,"toolCalls":0}`},
		"no usage": {base().step(1, "w", called("c2"), silent),
			`{"inputTokens":10,"outputTokens":3,"costUSD":0.2,"modelCalls":2,"toolCalls":0}`},
		"out": {base().step(1, "w", called("c2")),
			`{"inputTokens":10,"outputTokens":3,"costUSD":0.1,"modelCalls":2,"toolCalls":0}`},
		"never came": {base().step(1, "w", called("c2")).run(&event.RunCancelled{}),
			`{"inputTokens":10,"outputTokens":3,"costUSD":null,"modelCalls":2,"toolCalls":0}`},
		"tools": {base().step(1, "w", &event.ToolCalled{Call: "t", Attempt: 1}, &event.ToolFailed{Call: "t"},
			&event.ToolCalled{Call: "t", Attempt: 2}),
			`{"inputTokens":10,"outputTokens":3,"costUSD":0.1,"modelCalls":1,"toolCalls":2}`},
		"run below": {base().step(1, "w", calls, begins, below(false, some), below(true, some)),
			`{"inputTokens":15,"outputTokens":5,"costUSD":0.2,"modelCalls":2,"toolCalls":2}`},
		"deleted below": {base().step(1, "w", calls, begins, below(false, some), below(true, event.Used{})),
			`{"inputTokens":15,"outputTokens":5,"costUSD":0.2,"modelCalls":2,"toolCalls":2}`},
		"lost below": {base().step(1, "w", calls, begins, below(false, some)).run(&event.RunCancelled{}),
			`{"inputTokens":15,"outputTokens":5,"costUSD":null,"modelCalls":2,"toolCalls":2}`},
		"session": {base().step(1, "w", &event.CallUsed{Call: "t", Used: some}, &event.CallUsed{Call: "t",
			Used: some}), `{"inputTokens":20,"outputTokens":7,"costUSD":0.3,"modelCalls":3,"toolCalls":2}`},
		"no noise": {base().step(1, "w", called("c2"), replied("c2", ""), called("c3"), replied("c3", "")),
			`{"inputTokens":30,"outputTokens":9,"costUSD":0.3,"modelCalls":3,"toolCalls":0}`},
		"nothing costs": {begun(`1`), `{"inputTokens":0,"outputTokens":0,"costUSD":0,"modelCalls":0,"toolCalls":0}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Fold("r", def, tt.journal.events).Run()
			wantJSON(t, r.Usage, tt.want)
			ofStep, _, _ := strings.Cut(tt.want, `,"modelCalls"`)
			for _, s := range r.Steps {
				wantJSON(t, s.Usage, ofStep+"}")
			}
		})
	}
}

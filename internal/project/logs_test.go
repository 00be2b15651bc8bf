package project

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// entry is a log entry without its time.
type entry struct {
	Node    string
	Type    LogType
	Content string
}

func TestLogs(t *testing.T) {
	t.Parallel()
	def := definition("canvas", node("s", workflow.KindStart), node("if", workflow.KindDecide), approval("ok"),
		approval("ok2"), node("w", workflow.KindAgent),
		workflow.Node{ID: "q", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitQuestion}},
		workflow.Node{ID: "t", Name: "Count", Kind: workflow.KindTool},
		workflow.Node{ID: "dangling", Kind: workflow.KindStart, Notes: []workflow.Note{
			{Text: `Connection target "ghost" not found`, Target: "ghost"},
			{Port: "x", Text: `Connection target "other" not found`, Target: "other"}}},
		workflow.Node{ID: "glue", Kind: workflow.KindJoin, Hidden: true}, fork("par", "j", "", "w"))
	wait := func(id string) *event.WaitOpened {
		return &event.WaitOpened{Wait: id, Kind: "approval", Prompt: "Sure?", Options: []string{"approve", "reject"}}
	}
	modelError := event.Failure{Code: "rate_limit", Message: "429 slow down"}
	sub := func(frame, parent, depth int, agent, call, parentCall string) *event.SubagentStarted {
		return &event.SubagentStarted{Frame: frame, Parent: parent, Call: call, ParentCall: parentCall, Agent: agent,
			Depth: depth, Input: "i"}
	}
	tests := map[string]struct {
		rule    string
		journal *journal
		want    []entry
	}{
		"start": {"S0-19", begun(`"x"`).step(1, "s", started(workflow.KindStart, 0), same),
			[]entry{{"s", "step_start", "start node"}}},
		"agent": {"S0-14", begun(`"x"`).agentStep(1, "w", "a", 0, 0, `"Write \"x\""`, "Done.\n"), []entry{
			{"w", "step_start", "Writer agent node"}, {"w", "start_prompt", `Write "x"`},
			{"w", "llm_response", "Done.\n"}}},
		"object as prompt": {"S0-11", begun(`{"a": 1}`).step(1, "w", agentStarted("a", 0, "")), []entry{
			{"w", "step_start", "Writer agent node"}, {"w", "start_prompt", `{"a":1}`}}},
		"model error": {"S0-15", begun(`"x"`).step(1, "w", agentStarted("a", 0, ""), called("c"),
			&event.ModelFailed{Call: "c", Error: modelError},
			&event.StepFailed{Error: modelError}).run(&event.RunFailed{Error: modelError}), []entry{
			{"w", "step_start", "Writer agent node"}, {"w", "start_prompt", "x"}, {"w", "llm_error", "429 slow down"}}},
		"model error handled": {"S0-15", begun(`"x"`).step(1, "w", agentStarted("a", 0, ""), called("c"),
			&event.ModelFailed{Call: "c", Error: modelError},
			&event.StepRetrying{Attempt: 2, Call: "c", Error: modelError}, called("c"), replied("c", "ok"), reply),
			[]entry{
				{"w", "step_start", "Writer agent node"}, {"w", "start_prompt", "x"},
				{"w", "warn", "Attempt 2 follows: 429 slow down"}, {"w", "llm_response", "ok"}}},
		"other error": {"S0-15", begun(`"x"`).step(1, "w", agentStarted("a", 0, ""),
			&event.StepFailed{Error: event.Failure{Message: "no turns left"}}).
			run(&event.RunFailed{Error: event.Failure{Message: "no turns left", Node: "w"}}), []entry{
			{"w", "step_start", "Writer agent node"}, {"w", "start_prompt", "x"}, {"w", "error", "no turns left"}}},
		"failure goes outward once": {
			"S0-15", begun(`"x"`).step(1, "par", started(workflow.KindFork, 0), branch("w", 1, 1)).
				step(2, "w", inScope(agentStarted("a", 0, ""), 1), &event.ModelFailed{Call: "c", Error: modelError},
					&event.StepFailed{Error: modelError}).
				step(1, "par", &event.StepFailed{Error: modelError}).run(&event.RunFailed{Error: modelError}),
			[]entry{
				{"par", "step_start", "par fork node"}, {"w", "step_start", "Writer agent node"},
				{"w", "start_prompt", "x"}, {"w", "llm_error", "429 slow down"}}},
		"error of no node": {"S0-3",
			begun(`"x"`).run(&event.RunFailed{Error: event.Failure{Message: "Exceeded maximum steps (5)"}}), []entry{
				{"system", "error", "Exceeded maximum steps (5)"}}},
		"error of a node": {"S0-3",
			begun(`"x"`).run(&event.RunFailed{Error: event.Failure{Message: "too often", Node: "w"}}),
			[]entry{{"w", "error", "too often"}}},
		"conditions": {"S0-24", begun(`"dog"`).step(1, "if", started(workflow.KindDecide, 0),
			&event.ConditionChecked{Index: 0, Op: "equal", Text: `a "b"`},
			&event.ConditionChecked{Index: 1, Op: "contains", Text: "DOG", Result: true}, same), []entry{
			{"if", "step_start", "condition node"},
			{"if", "logic_check", `Condition 1 (equal "a "b"") evaluated as false`},
			{"if", "logic_check", `Condition 2 (contains "DOG") evaluated as true`}}},
		"expression": {"S0-24", begun(`1`).step(1, "if", started(workflow.KindDecide, 0),
			&event.ConditionChecked{Text: "{{ $steps.a.output }}"}), []entry{
			{"if", "step_start", "condition node"},
			{"if", "logic_check", `Condition 1 ({{ $steps.a.output }}) evaluated as false`}}},
		"approve": {"S0-30, S0-33", begun(`"x"`).step(1, "ok", started(workflow.KindWait, 0), wait("w1")).run(
			&event.RunPaused{Wait: "w1"}, &event.RunResumed{Reason: "answer"}).
			step(1, "ok", &event.WaitAnswered{Wait: "w1", Decision: "approve", Note: " \n"}, same), []entry{
			{"ok", "step_start", "approval node"}, {"ok", "wait_input", "Waiting for user approval"},
			{"ok", "input_received", "User approved this step."}}},
		"reject with note": {"S0-33", begun(`"x"`).step(1, "ok", started(workflow.KindWait, 0), wait("w1"),
			&event.WaitAnswered{Wait: "w1", Decision: "reject", Note: "  too long "}), []entry{
			{"ok", "step_start", "approval node"}, {"ok", "wait_input", "Waiting for user approval"},
			{"ok", "input_received", "User rejected this step. Feedback: too long"}}},
		"two approvals": {"S0-41, S0-44, D18", begun(`"x"`).step(1, "ok", started(workflow.KindWait, 0), wait("w1")).
			step(2, "ok2", started(workflow.KindWait, 0), wait("w2")).
			run(&event.RunPaused{Wait: "w1"}, &event.RunResumed{Reason: "answer"}).step(1, "ok",
			&event.WaitAnswered{Wait: "w1", Decision: "approve"}, same).
			agentStep(3, "w", "a", 1, 0, "", "hi").run(&event.RunPaused{Wait: "w2"},
			&event.RunResumed{Reason: "recovered"}), []entry{
			{"ok", "step_start", "approval node"}, {"ok", "wait_input", "Waiting for user approval"},
			{"ok2", "step_start", "approval node"},
			{"ok2", "wait_input", "Waiting for user approval"}, {"ok", "input_received", "User approved this step."},
			{"w", "step_start", "Writer agent node"},
			{"w", "start_prompt", "x"}, {"w", "llm_response", "hi"},
			{"ok2", "wait_input", "Waiting for user approval"}}},
		"approval again after rejection": {"S0-35", begun(`"x"`).step(1, "ok", started(workflow.KindWait, 0),
			wait("w1")).run(&event.RunPaused{Wait: "w1"}, &event.RunResumed{Reason: "answer"}).
			step(1, "ok", &event.WaitAnswered{Wait: "w1", Decision: "reject"}, same).step(2, "ok",
			started(workflow.KindWait, 1), wait("w2")).run(&event.RunPaused{Wait: "w2"}), []entry{
			{"ok", "step_start", "approval node"}, {"ok", "wait_input", "Waiting for user approval"},
			{"ok", "input_received", "User rejected this step."},
			{"ok", "step_start", "approval node"}, {"ok", "wait_input", "Waiting for user approval"}}},
		"question": {
			"", begun(`"x"`).step(1, "q", started(workflow.KindWait, 0), &event.WaitOpened{Wait: "w", Kind: "question",
				Prompt: "Which?"}, &event.WaitAnswered{Wait: "w", Answer: event.Value(`"blue"`)}), []entry{
				{"q", "step_start", "question node"}, {"q", "wait_input", "Which?"}, {"q", "input_received", "blue"}}},
		"missing target": {"S0-6", begun(`1`).step(1, "dangling", started(workflow.KindStart, 0), same), []entry{
			{"dangling", "step_start", "start node"}, {"dangling", "warn", `Connection target "ghost" not found`}}},
		"hidden node": {"D13", begun(`1`).step(1, "glue", started(workflow.KindJoin, 0), same), nil},
		"other kinds": {"", begun(`1`).step(1, "t", started(workflow.KindTool, 0), same),
			[]entry{{"t", "step_start", "Count tool node"}}},
		"sub-agents": {"S0-54", begun(`"x"`).step(1, "w", agentStarted("a", 0, ""), sub(1, 0, 1, "sub", "1.1", ""),
			sub(2, 1, 2, "sub2", "1.2", "1.1"),
			&event.SubagentCompleted{Frame: 2, Call: "1.2"}, &event.SubagentCompleted{Frame: 1, Call: "1.1"},
			called("c"), replied("c", "r"), reply), []entry{
			{"w", "step_start", "Writer agent node"}, {"w", "start_prompt", "x"},
			{"w", "subagent_call_start",
				`{"type":"subagent_call_start","parentNodeId":"w","subagentNodeId":"sub","subagentName":"Helper",` +
					`"callId":"1.1","depth":1}`},
			{"w", "subagent_call_start",
				`{"type":"subagent_call_start","parentNodeId":"w","subagentNodeId":"sub2","subagentName":"Deeper",` +
					`"callId":"1.2","parentCallId":"1.1","depth":2}`},
			{"w", "subagent_call_end",
				`{"type":"subagent_call_end","parentNodeId":"w","subagentNodeId":"sub2","subagentName":"Deeper",` +
					`"callId":"1.2","parentCallId":"1.1","depth":2}`},
			{"w", "subagent_call_end",
				`{"type":"subagent_call_end","parentNodeId":"w","subagentNodeId":"sub","subagentName":"Helper",` +
					`"callId":"1.1","depth":1}`},
			{"w", "llm_response", "r"}}},
		"sub-agents fail with their agent": {"S0-54, S0-56", begun(`"x"`).step(1, "w", agentStarted("a", 0, ""),
			sub(1, 0, 1, "sub", "1.1", ""), sub(2, 1, 2, "sub2", "1.2", "1.1"),
			&event.ModelFailed{Call: "c", Error: modelError},
			&event.StepFailed{Error: modelError}).run(&event.RunFailed{Error: modelError}), []entry{
			{"w", "step_start", "Writer agent node"}, {"w", "start_prompt", "x"},
			{"w", "subagent_call_start",
				`{"type":"subagent_call_start","parentNodeId":"w","subagentNodeId":"sub","subagentName":"Helper",` +
					`"callId":"1.1","depth":1}`},
			{"w", "subagent_call_start",
				`{"type":"subagent_call_start","parentNodeId":"w","subagentNodeId":"sub2","subagentName":"Deeper",` +
					`"callId":"1.2","parentCallId":"1.1","depth":2}`},
			{"w", "subagent_call_error",
				`{"type":"subagent_call_error","parentNodeId":"w","subagentNodeId":"sub2","subagentName":"Deeper",` +
					`"callId":"1.2","parentCallId":"1.1","depth":2,"message":"429 slow down"}`},
			{"w", "subagent_call_error",
				`{"type":"subagent_call_error","parentNodeId":"w","subagentNodeId":"sub","subagentName":"Helper",` +
					`"callId":"1.1","depth":1,"message":"429 slow down"}`},
			{"w", "llm_error", "429 slow down"}}},
		"a sub-agent's failure is reported": {"S0-54", begun(`"x"`).step(1, "w", agentStarted("a", 0, ""),
			sub(1, 0, 1, "sub", "1.1", ""), sub(2, 1, 2, "sub2", "1.2", "1.1"),
			&event.SubagentFailed{Frame: 1, Call: "1.1", Error: event.Failure{Message: "m"}},
			&event.StepCancelled{Reason: "r"}), []entry{
			{"w", "step_start", "Writer agent node"}, {"w", "start_prompt", "x"},
			{"w", "subagent_call_start",
				`{"type":"subagent_call_start","parentNodeId":"w","subagentNodeId":"sub","subagentName":"Helper",` +
					`"callId":"1.1","depth":1}`},
			{"w", "subagent_call_start",
				`{"type":"subagent_call_start","parentNodeId":"w","subagentNodeId":"sub2","subagentName":"Deeper",` +
					`"callId":"1.2","parentCallId":"1.1","depth":2}`},
			{"w", "subagent_call_error",
				`{"type":"subagent_call_error","parentNodeId":"w","subagentNodeId":"sub2","subagentName":"Deeper",` +
					`"callId":"1.2","parentCallId":"1.1","depth":2,"message":"m"}`},
			{"w", "subagent_call_error",
				`{"type":"subagent_call_error","parentNodeId":"w","subagentNodeId":"sub","subagentName":"Helper",` +
					`"callId":"1.1","depth":1,"message":"m"}`}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []entry
			logs := Logs(def, tt.journal.events)
			for i, l := range logs {
				got = append(got, entry{l.NodeID, l.Type, l.Content})
				if l.Timestamp.Before(start) || i > 0 && l.Timestamp.Before(logs[i-1].Timestamp) {
					t.Errorf("entry %d has time %s", i, l.Timestamp)
				}
			}
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("%s (-got +want):\n%s", tt.rule, diff)
			}
		})
	}
	wantJSON(t, Logs(def, begun(`"x"`).step(1, "s", started(workflow.KindStart, 0)).events),
		`[{"timestamp":"2026-01-02T03:04:05.02Z","nodeId":"s","type":"step_start","content":"start node"}]`)
	wantJSON(t, Logs(def, nil), `[]`)
}

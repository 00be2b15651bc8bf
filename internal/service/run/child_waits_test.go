package run_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// nestedReplies are the replies of three nested workflow tools, and of the innermost agent.
const nestedReplies = `
replies:
  - {agent: A1, toolCalls: [{name: run_w2, arguments: {input: x}}]}
  - {agent: A2, toolCalls: [{name: run_w3, arguments: {input: y}}]}
  - {agent: A3, toolCalls: [{name: run_w4, arguments: {input: z}}]}
  %s
  - {agent: A3, contains: four, text: three}
  - {agent: A2, contains: three, text: two}
  - {agent: A1, contains: two, text: one}
`

// nested stores workflows w2, w3 and w4, each a tool of the one before, and starts a run of a
// workflow that uses w2; inner is w4.
func nested(t *testing.T, s *service.Service, inner, replies string) {
	t.Helper()
	level := func(i int) string {
		return fmt.Sprintf("agents:\n  A%d: {model: openai/x, toolsets: [{type: workflow, workflow: w%d, tool: "+
			"run_w%d}]}\n", i, i+1, i+1)
	}
	apply(t, s, service.ApplyRequest{ID: "w4", Documents: []service.Document{{File: "w4.yaml", Data: []byte(inner)}}})
	storeAs(t, s, "w3", level(3))
	storeAs(t, s, "w2", level(2))
	startText(t, s, "r", level(1), fmt.Sprintf(nestedReplies, replies))
}

// chain returns a run with all its descendants, the outermost first.
func chain(t *testing.T, s *service.Service, run string) []string {
	t.Helper()
	out := []string{run}
	for _, h := range childrenOf(t, s, run) {
		out = append(out, chain(t, s, h.Run)...)
	}
	return out
}

// answers returns the answers in a run.
func answers(o project.Run) (out []string) {
	for _, a := range o.Answers {
		out = append(out, a.Decision+string(a.Answer))
	}
	return out
}

const (
	askedCall = "agents:\n  A4: {model: openai/x, toolsets: [{type: think}]}\npermissions: {ask: [think]}\n"
	askedNode = `{"nodes": [{"id": "s", "type": "start", "x": 0, "y": 0, "data": {}}, {"id": "ok", "type": ` +
		`"approval", "x": 0, "y": 0, "data": {"prompt": "Really?"}},
		{"id": "a", "type": "agent", "x": 0, "y": 0, "data": {"agentName": "A4"}}],
		"connections": [{"source": "s", "target": "ok"}, {"source": "ok", "target": "a", "sourceHandle": "approve"}]}`
)

// P8, SEC12: an approval inside three nested workflow tools is asked about once. The wait of each
// ancestor run shows the innermost action, and an answer to any of them reaches it.
func TestChildApproval_AskedOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, inner, replies, tool string
		at                         int // index of the answered run, from the outermost
		answer, out                string
	}{
		{"a call, outermost", askedCall, `- {agent: A4, toolCalls: [{name: think, arguments: {thought: hm}}]}` +
			"\n  - {agent: A4, contains: hm, text: four}", "think", 0, "approve", "one"},
		{"a call, in between", askedCall, `- {agent: A4, toolCalls: [{name: think, arguments: {thought: hm}}]}` +
			"\n  - {agent: A4, contains: hm, text: four}", "think", 2, "approve", "one"},
		{"a call, innermost", askedCall, `- {agent: A4, toolCalls: [{name: think, arguments: {thought: hm}}]}` +
			"\n  - {agent: A4, contains: hm, text: four}", "think", 3, "approve", "one"},
		{"a call, rejected", askedCall, `- {agent: A4, toolCalls: [{name: think, arguments: {thought: hm}}]}` +
			"\n  - {agent: A4, contains: rejected, text: four}", "think", 0, "reject", "one"},
		{"a node", askedNode, `- {agent: A4, text: four}`, "", 0, "approve", "one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := inMemory(t)
			nested(t, s, c.inner, c.replies)
			if o := ended(t, s, "r"); o.Status != event.StatusPaused {
				t.Fatalf("status %s, error %+v, output %s", o.Status, o.Error, o.Output)
			}
			runs := chain(t, s, "r")
			if len(runs) != 4 {
				t.Fatalf("runs %v", runs)
			}
			var prompts []string
			judged := map[string]bool{}
			for _, run := range runs {
				o := ended(t, s, run)
				if len(o.Waiting) != 1 || o.Waiting[0].Tool != c.tool || c.tool != "" &&
					!strings.Contains(string(o.Waiting[0].Arguments), "hm") {
					t.Fatalf("run %s waits for %+v", run, o.Waiting)
				}
				prompts = append(prompts, o.Waiting[0].Kind+" "+o.Waiting[0].Prompt)
				judged[string(o.Waiting[0].Input)] = true
			}
			if len(judged) != 1 || judged[""] != (c.tool != "") { // the input of the innermost node, in every run
				t.Errorf("to be judged: %v", judged)
			}
			if slices.Sort(prompts); prompts[0] != prompts[3] {
				t.Errorf("prompts %q", prompts)
			}
			yes := service.AnswerRequest{By: event.LocalBy(event.ChannelProgram), Value: service.Decide(c.answer),
				Note: "so"}
			for range 2 { // again: the same answer
				if err := s.Answer(t.Context(), runs[c.at], yes); err != nil {
					t.Fatal(err)
				}
			}
			for _, run := range slices.Backward(runs) {
				o := ended(t, s, run)
				if got := answers(o); len(o.Waiting) > 0 || !slices.Equal(got, []string{c.answer}) {
					t.Errorf("run %s: waits for %+v, answers %v", run, o.Waiting, got)
				}
			}
			if o := ended(t, s, "r"); string(o.Output) != `"`+c.out+`"` || o.Usage.ToolCalls > 4 {
				t.Errorf("status %s, output %s, error %+v, %d tool calls", o.Status, o.Output, o.Error,
					o.Usage.ToolCalls)
			}
		})
	}
}

// P8: a second approval in the innermost run is again asked about once; a different answer to a
// wait that was answered is rejected, whichever run receives it.
func TestChildApproval_Sequential(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	nested(t, s, askedCall, `- {agent: A4, toolCalls: [{name: think, arguments: {thought: hm}}]}`+
		"\n  - {agent: A4, contains: hm, toolCalls: [{name: think, arguments: {thought: ho}}]}\n  - {agent: A4, "+
		"contains: ho, text: four}")
	for i, thought := range []string{"hm", "ho"} {
		o := ended(t, s, "r")
		if len(o.Waiting) != 1 || !strings.Contains(string(o.Waiting[0].Arguments), thought) {
			t.Fatalf("%d: waits for %+v, status %s", i, o.Waiting, o.Status)
		}
		wait := o.Waiting[0].ID
		answerYes(t, s, "r")
		no := service.AnswerRequest{Wait: wait, By: event.LocalBy(event.ChannelProgram),
			Value: service.Decide("reject")}
		if err := s.Answer(t.Context(), "r", no); err == nil {
			t.Error("another answer is taken")
		}
	}
	if o := ended(t, s, "r"); string(o.Output) != `"one"` {
		t.Errorf("status %s, output %s, error %+v", o.Status, o.Output, o.Error)
	}
}

// D32: a caller who may not approve may not do so in an ancestor run either, whatever the kind of
// the wait.
func TestChildApproval_RequiresApprover(t *testing.T) {
	t.Parallel()
	if !service.NeedsPerson(&event.WaitOpened{Kind: "question", Call: "c", Binding: "b",
		Below: &event.Below{Run: "x", Wait: "w", Person: true}}) {
		t.Error("a question about an unknown outcome below is anybody's")
	}
}

// D10, D15: if a wait of a child run is closed without an answer, the ancestor runs continue when
// they are resumed.
func TestChildWait_Ended(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	nested(t, s, askedCall, `- {agent: A4, toolCalls: [{name: think, arguments: {thought: hm}}]}`+
		"\n  - {agent: A3, contains: cancelled, text: three}")
	ended(t, s, "r")
	runs := chain(t, s, "r")
	if err := s.Cancel(t.Context(), runs[3], "enough"); err != nil {
		t.Fatal(err)
	}
	// ancestor runs may have continued by themselves
	if err := s.Resume(t.Context(), "r"); err != nil && !errors.Is(err, engine.ErrEnded) {
		t.Fatal(err)
	}
	if o := ended(t, s, "r"); string(o.Output) != `"one"` {
		t.Errorf("status %s, output %s, error %+v, waiting %+v", o.Status, o.Output, o.Error, o.Waiting)
	}
}

// P9, SEC12: an answer in a fork does not apply to the run that it was forked from: the fork's call
// starts a separate run, which asks again.
func TestFork_ChildApproval(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	nested(t, s, askedCall, `- {agent: A4, toolCalls: [{name: think, arguments: {thought: hm}}], times: 2}`+
		"\n  - {agent: A4, contains: hm, text: four, times: 2}")
	ended(t, s, "r")
	rec, err := s.Read(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	last := rec.Head.LastSeq
	fork, err := s.Fork(t.Context(), "r", last, service.ForkRights{})
	if err != nil {
		t.Fatal(err)
	}
	answerYes(t, s, fork)
	ended(t, s, fork)
	for _, run := range chain(t, s, "r") {
		if o := ended(t, s, run); len(o.Waiting) != 1 || len(o.Answers) > 0 {
			t.Errorf("run %s waits for %+v, answers %+v", run, o.Waiting, o.Answers)
		}
	}
}

// P20: a larger budget for a child run is the answer to its question, which the ancestor runs
// mirror: given as limits or as an answer, it lets them continue.
func TestChildBudget_Raised(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	nested(t, s, "agents: {A4: {model: openai/x, instruction: Write.}}\nworkflow:\n  budget: {calls: 1, on_reached: "+
		"pause}\n  steps:\n"+
		"    - {id: a, type: agent, name: A4}\n    - {id: b, type: agent, name: A4}\n",
		`- {agent: A4, text: four, times: 2}`)
	ended(t, s, "r")
	runs := chain(t, s, "r")
	if len(runs) != 4 {
		t.Fatalf("runs %v", runs)
	}
	larger := workflow.Limits{MaxCalls: 2}
	if err := s.Reopen(t.Context(), runs[3], larger, event.LocalBy(event.ChannelProgram)); !errors.Is(err,
		engine.ErrNotReopenable) {
		t.Errorf("reopened while its question is open: %v", err)
	}
	withLimits(t, s, runs[3], larger)
	for _, run := range slices.Backward(runs) {
		if o := ended(t, s, run); o.Status != event.StatusCompleted {
			t.Errorf("run %s: status %s, error %+v, waiting %+v", run, o.Status, o.Error, o.Waiting)
		}
	}
}

package run_test

import (
	"fmt"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/service"
)

// TestWorkflowStepAfterRestart checks that a run that is interrupted while its workflow step runs
// another workflow finds that run again, in the version with which it began, and repeats no model
// call.
func TestWorkflowStepAfterRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := onDisk(t, dir)
	storeAs(t, s, "inner", innerDoc)
	const outer = `
workflow:
  - {id: call, type: workflow, workflow: inner, input: on rain}
  - {type: set, values: {got: "{{ $steps.call.output }}"}}
`
	startText(t, s, "r", outer, `
replies:
  - {agent: Poet, text: Rain.}
  - {agent: Critic, text: Slow., delayMs: 600000}
`)
	await(t, func() bool {
		for _, h := range childrenOf(t, s, "r") {
			if o, err := s.Show(t.Context(), h.Run); err == nil && len(o.Steps) == 2 &&
				o.Status == event.StatusRunning {
				return true
			}
		}
		return false
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = onDisk(t, dir)
	defer s.Close()
	storeAs(t, s, "inner", "agents: {Poet: {model: openai/x}}\nworkflow: [{type: agent, name: Poet}]\n")
	if err := s.Give("r", service.Files{Replies: []byte("replies:\n  - {agent: Critic, text: Good.}\n")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Resume(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	o := ended(t, s, "r")
	if o.Status != event.StatusCompleted || string(o.Output) != `{"got":"Good."}` {
		t.Fatalf("status %s, output %s, error %v", o.Status, o.Output, o.Error)
	}
	got := ""
	for _, h := range childrenOf(t, s, "r") {
		c := ended(t, s, h.Run)
		got += fmt.Sprintf("%s with %d steps, version %d; ", c.Status, len(c.Steps), *c.Workflow.Version)
	}
	if want := "completed with 2 steps, version 1; "; got != want {
		t.Errorf("runs below: %s, want %s", got, want)
	}
}

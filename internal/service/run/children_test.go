package run_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/service"
)

const oneBranch = `{"branches": [{"id": "one", "nodes": [{"id": "a", "type": "agent", "config": {"agentId": ` +
	`"ann"}}]}], "agents": [{"id": "ann", "model": "openai/x"}]}`

// D22, P8: cancelling a run cancels all its child runs, including those that wait for a person
// while no call of an ancestor is in flight.
func TestCancel_PausedChildRuns(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	nested(t, s, askedNode, `- {agent: A4, text: four}`)
	ended(t, s, "r")
	runs := chain(t, s, "r")
	if err := s.Cancel(t.Context(), "r", "enough"); err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		if o := ended(t, s, run); o.Status != event.StatusCancelled {
			t.Errorf("run %s is %s", run, o.Status)
		}
	}
}

// P11, P12: interrupting a run interrupts the workflow that runs as its tool, and resuming it
// resumes that workflow.
func TestInterrupt_ChildRuns(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	storeAs(t, s, "inner", innerDoc)
	startText(t, s, "r", outerDoc, `
replies:
  - {agent: Boss, toolCalls: [{name: ask_poets, arguments: {input: on rain}}]}
  - {agent: Poet, text: Slow., delayMs: 600000}
`)
	await(t, func() bool { return len(childrenOf(t, s, "r")) == 1 })
	if err := s.Interrupt(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	if below := childrenOf(t, s, "r")[0]; !below.Interrupted {
		t.Errorf("the run below is %s and not interrupted", below.Status)
	}
	if err := s.Cancel(t.Context(), "r", ""); err != nil {
		t.Fatal(err)
	}
	// calls in flight settle after Cancel
	if below := ended(t, s, childrenOf(t, s, "r")[0].Run); below.Status != event.StatusCancelled {
		t.Errorf("the run below is %s", below.Status)
	}
}

// P12: a call resumes the run that it started before, not another run that has the same id by
// chance or on purpose.
func TestChildRun_ForeignID(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	w, ds, err := s.Load(t.Context(), "one.json", []byte(oneBranch), service.LoadOptions{})
	if err != nil || ds.HasErrors() {
		t.Fatal(err, ds)
	}
	replies := service.Files{Replies: []byte("replies:\n  - {text: done, times: always}\n")}
	if _, err := s.Start(t.Context(), service.StartRequest{Workflow: w, Branch: "one", RunID: "r.one",
		Files: replies}); err != nil {
		t.Fatal(err)
	}
	ended(t, s, "r.one")
	if _, err := s.Start(t.Context(), service.StartRequest{Workflow: w, Branch: service.AllBranches, RunID: "r",
		Files: replies}); err != nil {
		t.Fatal(err)
	}
	o := ended(t, s, "r")
	if o.Status != event.StatusFailed || !strings.Contains(o.Error.Message, "run r.one is not a child of run r") {
		t.Errorf("status %s, output %s, error %+v", o.Status, o.Output, o.Error)
	}
}

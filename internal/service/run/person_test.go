package run_test

import (
	"errors"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// TestNeedsPerson checks that a caller who may not approve cannot answer an approval, decide the
// outcome of a call whose outcome is unknown (P12, D24), or grant money (P20); anyone may answer
// questions of the workflow and of its tools (SEC12, D32).
func TestNeedsPerson(t *testing.T) {
	t.Parallel()
	refusal := errors.New("only a person")
	for name, c := range map[string]struct {
		event.WaitOpened
		answer string
		person bool
	}{
		"approval": {event.WaitOpened{Kind: workflow.WaitApproval}, "approve", true},
		"approval of a call": {event.WaitOpened{Kind: workflow.WaitApproval, Call: "c1", Binding: "b"}, "approve",
			true},
		"unknown outcome": {event.WaitOpened{Kind: workflow.WaitQuestion, Call: "c1",
			Options: []string{"retry", "skip"}}, "retry", true},
		"budget": {event.WaitOpened{Kind: workflow.WaitQuestion, Limit: &event.LimitReached{}},
			"100 calls", true},
		"question":           {event.WaitOpened{Kind: workflow.WaitQuestion}, "blue", false},
		"question of a tool": {event.WaitOpened{Kind: workflow.WaitQuestion, Call: "c1", Binding: "b"}, "blue", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.Wait = "w1"
			rec := service.Recorded{Head: journal.Head{NewRun: journal.NewRun{}, Run: "r"},
				Workflow: &workflow.Workflow{}, Waits: []*service.Asked{{WaitOpened: &c.WaitOpened, Node: "n"}}}
			p := service.Proceed{By: event.LocalBy(event.ChannelProgram),
				Answer: &service.AnswerRequest{By: event.LocalBy(event.ChannelProgram), Wait: "w1",
					Value: expr.Quote(c.answer)}, MayApprove: func() error { return refusal }}
			if _, err := rec.Addressed(p); errors.Is(err, refusal) != c.person || !c.person && err != nil {
				t.Errorf("without the right: %v", err)
			}
			p.MayApprove = func() error { return nil }
			if _, err := rec.Addressed(p); err != nil {
				t.Errorf("with the right: %v", err)
			}
		})
	}
}

package engine

import (
	"slices"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/workflow"
)

// TestToolDefs_Transfer checks that transfer_task is offered to agents with sub-agents whose system
// prompt names it, and to no others.
func TestToolDefs_Transfer(t *testing.T) {
	t.Parallel()
	guide := []workflow.Subagent{{Agent: "guide", Tool: "transfer_task_guide"}}
	for system, want := range map[string]bool{
		"Use transfer_task(agent, task).": true, "Use `transfer_task`.": true,
		"Use transfer_task_guide.": false, "Delegate.": false,
	} {
		offers := func(subs []workflow.Subagent) bool {
			a := &plan.Agent{Agent: &workflow.Agent{System: system, Subagents: subs}}
			return slices.ContainsFunc(toolDefs(&plan.Flow{}, a), func(d chat.ToolDef) bool {
				return d.Name == workflow.TransferTool
			})
		}
		if got := offers(guide); got != want {
			t.Errorf("%q: offered: %t, want %t", system, got, want)
		}
		if offers(nil) {
			t.Errorf("%q: offered to an agent without sub-agents", system)
		}
	}
}

package hooks_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/api/hooks"
)

// TestWaitBelowIsToldOnce checks that for a wait in a workflow used as a tool one message is sent,
// with and without notifications of child runs (P8).
func TestWaitBelowIsToldOnce(t *testing.T) {
	t.Parallel()
	const outer = "agents:\n  A: {model: fake/x, toolsets: [{type: workflow, workflow: middle, tool: call}]}\n"
	const middle = "agents:\n  B: {model: fake/x, toolsets: [{type: workflow, workflow: gate, tool: call}]}\n"
	const replies = "replies:\n  - {agent: A, toolCalls: [{name: call, arguments: {input: x}}]}\n  - {agent: B, " +
		"toolCalls: [{name: call, arguments: {input: y}}]}\n"
	for _, children := range []bool{false, true} {
		r := newReceiver(t)
		w := newWorld(t, setup{config: operator(t, r, hooks.Endpoint{Children: children})})
		w.env["NOTIFY"] = operatorSecret
		w.apply("middle", middle, "yaml")
		stop := w.tend(t)
		run := w.start(outer, "yaml", replies, "go")
		told := r.wait(1)[0]
		if (told.Data.Run == run) == children {
			t.Errorf("children %t: notified of run %s", children, told.Data.Run)
		}
		if list := w.settled(t); len(list) != 1 {
			t.Errorf("children %t: %d messages, want 1", children, len(list))
		}
		stop()
	}
}

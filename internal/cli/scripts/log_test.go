package scripts_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestLogIDs checks that each log line about a run has the run's id, that each line about a step
// has the node and the step, and that no line contains anything that was said in the run.
func TestLogIDs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, stderr := command(t, dir, 0, nil, "run", "mcp.yaml", "--replies", "shout.yaml", "--trust", "--run-id", "r1",
		"-v", "--log-format", "json", canary)
	types := map[string]int{}
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "{") {
			continue // progress
		}
		var l struct {
			Run, Type, Node, Msg string
			Step                 int
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Run != "r1" {
			t.Errorf("no run in %s", line)
		}
		types[l.Msg+l.Type]++
		inStep := strings.HasPrefix(l.Type, "step.") || strings.HasPrefix(l.Type, "model.") ||
			strings.HasPrefix(l.Type, "tool.") && l.Type != "tools.pinned"
		if inStep && (l.Node == "" || l.Step == 0) {
			t.Errorf("no step in %s", line)
		}
		if strings.Contains(line, canary) {
			t.Errorf("content in %s", line)
		}
	}
	for _, want := range []string{"eventrun.started", "eventstep.started", "eventmodel.replied", "eventtool.returned",
		"eventstep.completed", "eventrun.completed", "mcp server"} {
		if types[want] == 0 {
			t.Errorf("nothing is logged of %s", want)
		}
	}
}

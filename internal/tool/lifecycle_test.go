package tool_test

import (
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/tool"
)

// TestReadSpec_Lifecycle checks that the timeouts of docker-agent's lifecycle have an effect, and that
// its other keys are warnings.
func TestReadSpec_Lifecycle(t *testing.T) {
	t.Parallel()
	s, problems, err := tool.ReadSpec([]byte(`{"type": "mcp", "command": "x", "lifecycle": {"profile": "resilient", ` +
		`"startup_timeout": "5s", "call_timeout": "2m", "max_restarts": -1, "backoff": {"initial": "1s"}}}`))
	if err != nil || problems.HasErrors() || len(problems) != 3 {
		t.Errorf("%v, %v", problems, err)
	}
	if s.ConnectTimeout != 5*time.Second || s.Timeout != 2*time.Minute {
		t.Errorf("timeouts %s and %s", s.ConnectTimeout, s.Timeout)
	}
	if _, problems, _ := tool.ReadSpec([]byte(`{"type": "mcp", "command": "x", "lifecycle": "resilient"}`)); !problems.
		HasErrors() {
		t.Error("a text is not refused")
	}
}

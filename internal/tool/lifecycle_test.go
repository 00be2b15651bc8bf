package tool_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/tool"
)

// TestReadSpec_Lifecycle checks that the timeouts of docker-agent's lifecycle have an effect, and
// that keys without one are warnings.
func TestReadSpec_Lifecycle(t *testing.T) {
	t.Parallel()
	s, problems, err := tool.ReadSpec([]byte(`{"type": "mcp", "command": "x", "lifecycle": {"profile": "resilient", ` +
		`"startup_timeout": "5s", "call_timeout": "2m", "max_restarts": -1, "backoff": {"initial": "1s"}}}`))
	if err != nil || problems.HasErrors() || len(problems) != 2 {
		t.Errorf("%v, %v", problems, err)
	}
	if s.ConnectTimeout != 5*time.Second || s.Timeout != 2*time.Minute {
		t.Errorf("timeouts %s and %s", s.ConnectTimeout, s.Timeout)
	}
	for _, wrong := range []string{`"resilient"`, `{"profile": "brave"}`, `{"required": "never"}`} {
		_, problems, _ := tool.ReadSpec([]byte(`{"type": "mcp", "command": "x", "lifecycle": ` + wrong + `}`))
		if !problems.HasErrors() {
			t.Errorf("%s is not refused", wrong)
		}
	}
}

// TestReadSpec_Required checks what decides whether a run continues without a toolset.
func TestReadSpec_Required(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		keys     string
		optional bool
	}{
		{`"type": "mcp"`, false},
		{`"type": "mcp", "required": true`, false},
		{`"type": "mcp", "required": false`, true},
		{`"type": "mcp", "required": null`, false},
		{`"type": "todo", "required": false`, true},
		{`"type": "mcp", "lifecycle": {}`, false},
		{`"type": "mcp", "lifecycle": {"required": null}`, false},
		{`"type": "mcp", "lifecycle": {"required": true}`, false},
		{`"type": "mcp", "lifecycle": {"required": false}`, true},
		{`"type": "mcp", "lifecycle": {"profile": "strict"}`, false},
		{`"type": "mcp", "lifecycle": {"profile": "resilient"}`, true},
		{`"type": "mcp", "lifecycle": {"profile": "best-effort"}`, true},
		{`"type": "mcp", "lifecycle": {"required": false, "profile": "strict"}`, true},
		{`"type": "mcp", "lifecycle": {"required": true, "profile": "resilient"}`, false},
		{`"type": "mcp", "required": true, "lifecycle": {"profile": "resilient"}`, false},
		{`"type": "mcp", "lifecycle": {"profile": "strict"}, "required": false`, true},
	} {
		text := `{` + tc.keys + `}`
		if strings.Contains(text, "mcp") {
			text = `{` + tc.keys + `, "command": "x"}`
		}
		s, problems, err := tool.ReadSpec([]byte(text))
		if err != nil || problems.HasErrors() || s.Optional != tc.optional {
			t.Errorf("%s: optional is %v, %v, %v", text, s.Optional, problems, err)
		}
		var again tool.Spec
		b, err := json.Marshal(s)
		if err != nil || json.Unmarshal(b, &again) != nil || again.Optional != s.Optional {
			t.Errorf("%s: written as %s (%v)", text, b, err)
		}
	}
}

package workflow_test

import (
	"strings"
	"testing"

	. "github.com/hocket-run/hocket/workflow"
)

// TestValidateFlowState checks that only a flow with typed state has a state that functions can
// produce and accept (S2-66).
func TestValidateFlowState(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		sub   Subflow
		typed bool
		want  string
	}{
		{"neither", Subflow{}, false, ""},
		{"input", Subflow{Input: "f"}, false, `node "inner": maps states, but flow "other" has no typed state`},
		{"mapper", Subflow{Mapper: "f"}, false, `node "inner": maps states, but flow "other" has no typed state`},
		{"typed", Subflow{Input: "f", Mapper: "g"}, true, ""},
	} {
		w := sample()
		tc.sub.Flow = "other"
		w.Node("inner").Subflow, w.Flows["other"].Rules.StateFlows = &tc.sub, tc.typed
		l := Validate(w)
		if got := l.Error(); got != "" && tc.want == "" || !strings.Contains(got, tc.want) || tc.want != "" &&
			l[0].Code != "untyped-flow" {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

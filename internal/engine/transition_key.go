package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/workflow"
)

// transitionKey returns a key for a transition and the output that came with it, so that repetition
// can be detected (S3-15); "" if no person would be asked. Tool calls count as part of the output,
// since agents that use tools say little.
func (s *state) transitionKey(id int, to string) string {
	handoff := s.plan.root.Workflow.Rules.Handoff
	if handoff == "" || to == handoff || id < 1 || s.graph.StepScope(id).Flow != 0 ||
		s.graph.StepNode(id).Kind == workflow.KindWait {
		return ""
	}
	h := sha256.New()
	h.Write(s.graph.Value(id))
	if k := s.graph.StepNode(id).Kind; s.plan.root.Workflow.Rules.SharedConversation &&
		(k == workflow.KindAgent || k == workflow.KindExec) {
		for _, m := range slices.Backward(s.Loop.Conv(loop.Shared)) {
			if m.Role == chat.RoleAssistant {
				for _, tc := range m.ToolCalls {
					fmt.Fprintf(h, "\x00%s\x00%s", tc.Name, tc.Arguments)
				}
				break
			}
		}
	}
	return s.graph.StepNode(id).ID + " " + to + " " + hex.EncodeToString(h.Sum(nil)[:8])
}

// maxTransitions is the maximum number of times the same transition may be taken.
const maxTransitions = 2

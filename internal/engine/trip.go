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

// trip names a transition with what went along, so that one that comes again and again is seen (S3-15); "" where no person would be asked. Calls of
// tools count as part of what was said: agents that work say little.
func (s *state) trip(id int, to string) string {
	handoff := s.plan.root.Workflow.Rules.Handoff
	if handoff == "" || to == handoff || id < 1 || s.graph.StepScope(id).Flow != 0 || s.graph.StepNode(id).Kind == workflow.KindWait {
		return ""
	}
	h := sha256.New()
	h.Write(s.graph.Value(id))
	if k := s.graph.StepNode(id).Kind; s.plan.root.Workflow.Rules.SharedConversation && (k == workflow.KindAgent || k == workflow.KindExec) {
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

// maxTrips is how often the same transition may be taken.
const maxTrips = 2

package project

import (
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/workflow"
)

// TrailEntry is one execution of an agent (S1-25).
type TrailEntry struct {
	NodeID string `json:"nodeId"`
	// AgentID and AgentName are the agent that answered: where the step's own handed over, the one that had the conversation last.
	AgentID   string `json:"agentId"`
	AgentName string `json:"agentName"`
	// Order counts from 0. Round counts full cycles from 0 (S1-10, S1-13).
	Order  int          `json:"order"`
	Round  int          `json:"round"`
	Input  engine.Value `json:"input"`
	Output engine.Value `json:"output"`
	// Error is null for executions that succeeded.
	Error *string `json:"error"`
	// SentToNodeID is where the output went first; absent at the end of a path.
	SentToNodeID string `json:"sentToNodeId,omitempty"`
}

// Trail gives the agent executions that have ended, in the order in which they started. In a run that ended that is all of them.
func (f *Folder) Trail() []TrailEntry {
	trail := []TrailEntry{}
	for _, st := range f.order {
		status := f.stepStatus(st)
		if st.data.Kind != workflow.KindAgent || st.def.Hidden || status == StepRunning || status == StepWaiting {
			continue
		}
		id := st.speaker()
		e := TrailEntry{
			NodeID: st.node, AgentID: id, AgentName: st.agent(id), Order: len(trail), Round: st.round, Input: f.input(st), SentToNodeID: st.sentTo,
		}
		if status == StepCompleted {
			e.Output = st.output
		}
		if err := f.stepError(st); err != nil {
			e.Error = &err.Message
		}
		trail = append(trail, e)
	}
	return trail
}

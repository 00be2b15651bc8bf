package project

import (
	"github.com/hocket-run/hocket/internal/engine/event"
)

// NodeStatus is the state of a node of the definition, which is the state of its last execution.
type NodeStatus string

// In a run that ended, every node has one of the last four statuses (P2).
const (
	NodePending   NodeStatus = "pending"
	NodeRunning   NodeStatus = "running"
	NodeWaiting   NodeStatus = "waiting"
	NodeSucceeded NodeStatus = "succeeded"
	NodeFailed    NodeStatus = "failed"
	NodeCancelled NodeStatus = "cancelled"
	NodeSkipped   NodeStatus = "skipped"
)

// NodeState is the state of a node.
type NodeState struct {
	Node   string     `json:"node"`
	Status NodeStatus `json:"status"`
	// Runs is the number of executions.
	Runs int `json:"runs"`
	// Reason is why a node was skipped or cancelled, or the message of its failure.
	Reason string `json:"reason,omitempty"`
}

// Nodes returns the state of every node of the document, in document order. A node that no path
// reached is skipped once the run has ended.
func (f *Folder) Nodes() []NodeState {
	last := map[string]*step{}
	runs := map[string]int{}
	for _, st := range f.order {
		last[st.node] = st
		if st.status != StepSkipped {
			runs[st.node]++
		}
	}
	out := make([]NodeState, 0, len(f.def.Nodes))
	for i := range f.def.Nodes {
		n := &f.def.Nodes[i]
		if n.Hidden {
			continue
		}
		s := NodeState{Node: n.ID, Status: NodePending, Runs: runs[n.ID]}
		if st := last[n.ID]; st != nil {
			s.Status = f.nodeStatus(st)
			s.Reason = st.reason
			if err := f.stepError(st); err != nil {
				s.Reason = err.Message
			}
		} else if f.status.Ended() {
			s.Status, s.Reason = NodeSkipped, "no path led here"
			if f.status != event.StatusCompleted {
				s.Reason = "the run ended before"
			}
		}
		out = append(out, s)
	}
	return out
}

func (f *Folder) nodeStatus(st *step) NodeStatus {
	switch f.stepStatus(st) {
	case StepCompleted:
		return NodeSucceeded
	case StepFailed:
		return NodeFailed
	case StepCancelled:
		return NodeCancelled
	case StepSkipped:
		return NodeSkipped
	case StepWaiting:
		return NodeWaiting
	}
	return NodeRunning
}

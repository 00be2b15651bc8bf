package project

import (
	"encoding/json"
	"slices"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// subagentLog is the content of a sub-agent entry (S0-54). ParentNodeID is the step's node,
// regardless of the depth of the call.
type subagentLog struct {
	Type           LogType `json:"type"`
	ParentNodeID   string  `json:"parentNodeId"`
	SubagentNodeID string  `json:"subagentNodeId"`
	SubagentName   string  `json:"subagentName"`
	CallID         string  `json:"callId"`
	ParentCallID   string  `json:"parentCallId,omitempty"`
	Depth          int     `json:"depth"`
	Message        string  `json:"message,omitempty"`
}

func (st *step) subagentText(t LogType, d *event.SubagentStarted, message string) string {
	b, err := json.Marshal(subagentLog{
		Type: t, ParentNodeID: st.node, SubagentNodeID: d.Agent, SubagentName: st.agent(d.Agent), CallID: d.Call,
		ParentCallID: d.ParentCall,
		Depth:        d.Depth, Message: message,
	})
	if err != nil {
		return "" // strings and numbers always marshal
	}
	return string(b)
}

// closeFrames logs the end of a sub-agent's call. Calls inside it that are still open end first, as
// failed.
func (st *step) closeFrames(log *entries, frame int, t LogType, message string) {
	for _, n := range st.openFrames() {
		if st.frames[n].sub.Parent == frame {
			st.closeFrames(log, n, LogSubagentError, message)
		}
	}
	if fr := st.frames[frame]; fr != nil && fr.sub != nil && !fr.closed {
		log.add(t, st.subagentText(t, fr.sub, message))
		fr.closed = true
	}
}

// failOpen logs the failure of every open call, innermost first (S0-54).
func (st *step) failOpen(log *entries, message string) {
	open := st.openFrames()
	for _, n := range slices.Backward(open) {
		log.add(LogSubagentError, st.subagentText(LogSubagentError, st.frames[n].sub, message))
		st.frames[n].closed = true
	}
}

// openFrames returns the frames of unfinished sub-agents, in the order in which they were opened.
func (st *step) openFrames() []int {
	var open []int
	for n, fr := range st.frames {
		if fr.sub != nil && !fr.closed {
			open = append(open, n)
		}
	}
	slices.Sort(open)
	return open
}

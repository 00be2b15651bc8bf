package event

// SubagentStarted opens the frame Frame inside the agent frame Parent, for the tool call ToolCallID
// of its model.
type SubagentStarted struct {
	Frame      int    `json:"frame"`
	Parent     int    `json:"parent"`
	ToolCallID string `json:"toolCallId"`
	// Call identifies this call of the sub-agent; ParentCall identifies that of the enclosing
	// sub-agent and is empty at depth 1.
	Call       string `json:"call"`
	ParentCall string `json:"parentCall,omitempty"`
	Agent      string `json:"agent"`
	Input      string `json:"input"`
	System     string `json:"system,omitempty"`
	Depth      int    `json:"depth"`
}

// SubagentCompleted closes a frame with its output.
type SubagentCompleted struct {
	Frame  int    `json:"frame"`
	Call   string `json:"call"`
	Output Value  `json:"output,omitempty"`
	// Reply means that the output is the unchanged text of the sub-agent's last reply, JSON that it
	// is the JSON in that text, as returned by [JSONOf].
	Reply bool `json:"reply,omitempty"`
	JSON  bool `json:"json,omitempty"`
}

// SubagentFailed closes a frame without an output.
type SubagentFailed struct {
	Frame int     `json:"frame"`
	Call  string  `json:"call"`
	Error Failure `json:"error"`
}

// AgentHanded hands the frame Frame over to another agent, through the tool call ToolCallID of its
// model, once all other calls of that reply have their results. From is the previous agent. System
// is the new agent's system prompt if it differs from the definition's.
type AgentHanded struct {
	Frame      int    `json:"frame,omitempty"`
	ToolCallID string `json:"toolCallId"`
	From       string `json:"from"`
	Agent      string `json:"agent"`
	System     string `json:"system,omitempty"`
}

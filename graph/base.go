package graph

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/program"
)

// BaseState holds the fields that the graph keeps next to S in snapshots and in JSON; nodes find
// them in their [Context]. No update of a node can change them: S must not have fields with these
// names.
type BaseState struct {
	ExecutionID string `json:"executionId"`
	// LastUpdated is the time at which the last node ended, or the run started.
	LastUpdated time.Time `json:"lastUpdated"`
	// Outputs holds the outputs of nodes by id, the outputs that the run started with, and the
	// counters of loops under `<loop_start id>_iteration`. Never null.
	Outputs map[string]json.RawMessage `json:"outputs"`
	// ContextWindowUsage is the usage last reported by an agent or context monitor node; nil if
	// none did.
	ContextWindowUsage *ContextWindowUsage `json:"contextWindowUsage,omitempty"`
	// WaitingForInput, WaitNodeID and AskUserRequestID describe the open question of an ask-user
	// node, the oldest if there are several; they are cleared once it is answered.
	WaitingForInput  bool   `json:"__waitingForInput,omitempty"`
	WaitNodeID       string `json:"__waitNodeId,omitempty"`
	AskUserRequestID string `json:"__askUserRequestId,omitempty"`
}

// Names of the fields that the graph keeps next to the user's fields.
const (
	outputsPrefix = "outputs." // also the name of a loop's counter
	caughtField   = "$caught"
	outputsField  = program.FieldOutputs
)

// baseFields lists the JSON names of BaseState's fields.
var baseFields = []string{
	"executionId", "lastUpdated", outputsField, "contextWindowUsage", "__waitingForInput", "__waitNodeId",
	"__askUserRequestId",
}

// reserved reports whether the graph itself keeps a field of that name. JSON matches names
// case-insensitively.
func reserved(name string) bool {
	for _, f := range baseFields {
		if strings.EqualFold(name, f) {
			return true
		}
	}
	// such as caughtField, and the names of package program
	return strings.HasPrefix(name, outputsPrefix) || strings.HasPrefix(name, "$")
}

// modelAt returns the model that a node resolves to, given the fields of the typed state that it
// sees. For a node of an inner graph, named by its path, that is the state of the inner graph.
func (c *Compiled[S]) modelAt(node string, state program.State) string {
	d, inner, rest := c.at(node)
	switch {
	case d != nil:
		return c.compiler.model(d, state)
	case inner != nil:
		return inner.modelAt(rest, state)
	}
	return ""
}

func (c *Compiled[S]) functions() *program.Table { return c.table }

// asks reports whether the node at a path is an ask-user node.
func (c *Compiled[S]) asks(node string) bool {
	d, inner, rest := c.at(node)
	return d != nil && d.typ == TypeAskUser || inner != nil && inner.asks(rest)
}

// at returns the node with the given id, or the inner graph into which the path leads and the rest
// of the path.
func (c *Compiled[S]) at(node string) (d *def[S], inner Subgraph, rest string) {
	if d := c.compiler.index[node]; d != nil {
		return d, nil, ""
	}
	id, rest, _ := strings.Cut(node, "/")
	if d := c.compiler.index[id]; d != nil && d.each != nil {
		rest = strings.TrimPrefix(rest, suffixItem[1:]+"/")
	}
	return nil, c.compiler.links[id], rest
}

func executionErrors(list []program.FailedAttempt) []ExecutionError {
	if len(list) == 0 {
		return nil
	}
	out := make([]ExecutionError, len(list))
	for i, a := range list {
		out[i] = ExecutionError{NodeID: a.Node, Message: a.Message, Timestamp: a.At, Attempt: a.Attempt}
	}
	return out
}

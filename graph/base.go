package graph

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/program"
)

// BaseState is what is beside S in snapshots and in JSON (S2-53, S2-75); nodes find it in their [Context]. No update of a node can change it: S must
// not have fields of these names.
type BaseState struct {
	ExecutionID string `json:"executionId"`
	// LastUpdated is when a node ended last, or when the run began.
	LastUpdated time.Time `json:"lastUpdated"`
	// Outputs are the outputs of nodes by id, those that the run began with, and the counters of loops under `<loop_start id>_iteration`. Never null.
	Outputs map[string]json.RawMessage `json:"outputs"`
	// ContextWindowUsage is what the last agent or context monitor node told; nil: none did.
	ContextWindowUsage *ContextWindowUsage `json:"contextWindowUsage,omitempty"`
	// The flags of an open question of an ask-user node, the oldest one where there are several; they are gone once it is answered.
	WaitingForInput  bool   `json:"__waitingForInput,omitempty"`
	WaitNodeID       string `json:"__waitNodeId,omitempty"`
	AskUserRequestID string `json:"__askUserRequestId,omitempty"`
}

// Names of what the graph keeps beside the user's fields.
const (
	outputsPrefix = "outputs." // and the name of a loop's counter
	caughtField   = "$caught"
	outputsField  = program.FieldOutputs
)

// baseFields are the names of BaseState in JSON.
var baseFields = []string{
	"executionId", "lastUpdated", outputsField, "contextWindowUsage", "__waitingForInput", "__waitNodeId", "__askUserRequestId",
}

// reserved tells whether the graph keeps a field of that name itself. JSON reads names whatever their case.
func reserved(name string) bool {
	for _, f := range baseFields {
		if strings.EqualFold(name, f) {
			return true
		}
	}
	return strings.HasPrefix(name, outputsPrefix) || strings.HasPrefix(name, "$") // such as caughtField, and the names of package program
}

// modelAt gives the model that a node resolves to (S2-79) where the typed state that it sees has these fields: for one of an inner graph, named by its
// path, that graph's.
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

// asks tells whether the node at a path is an ask-user node.
func (c *Compiled[S]) asks(node string) bool {
	d, inner, rest := c.at(node)
	return d != nil && d.typ == TypeAskUser || inner != nil && inner.asks(rest)
}

// at gives the node of that id, or the inner graph into which the path leads and the path there.
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

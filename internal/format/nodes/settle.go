package nodes

import (
	"slices"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Handles returns the handles of connections that leave a node of one of [Types], the usual one
// first; nil for other nodes.
func Handles(n *workflow.Node) []string {
	var out []string
	switch Type(n) {
	case "":
		return nil
	case Approval:
		out = []string{workflow.PortApprove, workflow.PortReject}
	case Ask:
		out = []string{HandleOutput, workflow.PortError}
	default:
		return []string{HandleOutput, workflow.PortError}
	}
	if n.Wait.Deadline > 0 {
		out = append(out, workflow.PortTimeout)
	}
	return out
}

// HandleOutput is the handle of the port out, which connections may omit.
const HandleOutput = "output"

// Port returns the port of a handle, or false if the node has no such handle.
func Port(n *workflow.Node, handle string) (string, bool) {
	handles := Handles(n)
	if (handle == "" || handle == HandleOutput) && slices.Contains(handles, HandleOutput) {
		return "", true
	}
	return handle, slices.Contains(handles, handle)
}

// Handle returns the handle of a port, or false if the node has none.
func Handle(n *workflow.Node, port string) (string, bool) {
	if port == workflow.PortOut {
		return "", slices.Contains(Handles(n), HandleOutput)
	}
	return port, slices.Contains(Handles(n), port)
}

// Settle sets what follows from the edges of w: a failure continues along an edge of the port
// error. It reports settings that contradict an edge. settings returns the settings of a node of
// one of [Types] as the document has them, which may be nil. gates means that an approval fails if
// a person rejects it and nothing else is specified.
func Settle(w *workflow.Workflow, gates bool, settings func(id string) *source.Node, diags *diag.List) {
	leaves := map[string]map[string]bool{}
	for _, e := range w.Edges {
		if leaves[e.From] == nil {
			leaves[e.From] = map[string]bool{}
		}
		leaves[e.From][e.PortName()] = true
	}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if Type(n) == "" || n.Hidden {
			continue
		}
		out := leaves[n.ID]
		at := settings(n.ID)
		twice := func(key, handle string) {
			if e := at.Entry(key); e != nil {
				diags.Errorf(e.KeySpan, e.Value.Path(), codeBadNode,
					"node %q: %s and a connection from the handle %q exclude "+
						"each other", n.ID, key, handle).Hint = "remove one of them"
			}
		}
		if out[workflow.PortError] {
			if n.Catch != nil || at.Get("on_error") != nil {
				twice("on_error", workflow.PortError)
			}
			n.Catch = &workflow.Catch{Port: workflow.PortError}
		}
		if n.Wait == nil {
			continue
		}
		if out[workflow.PortTimeout] && at.Get("on_deadline") != nil {
			twice("on_deadline", workflow.PortTimeout)
		}
		switch {
		case n.Wait.Kind != workflow.WaitApproval:
		case out[workflow.PortReject] && at.Get("on_reject") != nil:
			twice("on_reject", workflow.PortReject)
		case gates && !out[workflow.PortReject] && at.Get("on_reject").IsNull():
			n.Wait.FailReject = true
		}
		if e := at.Entry("on_deadline"); e != nil && n.Wait.OnDeadline == workflow.PortReject &&
			!out[workflow.PortReject] {
			diags.Errorf(e.KeySpan, e.Value.Path(), codeBadNode,
				"node %q: on_deadline: reject requires a connection from the handle reject", n.ID)
		}
	}
}

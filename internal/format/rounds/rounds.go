package rounds

import (
	"slices"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/internal/format/schedules"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Format is the name of this format.
const Format = "rounds"

// typeAgent is the one type of nodes of the reference format that runs (S1-6).
const typeAgent = "agent"

// types are all that run. Those of package nodes are extensions.
func types() []string { return append([]string{typeAgent}, nodes.Types()...) }

// Keys of documents that code speaks of in more than one place.
const (
	keyAgentID         = "agentId"
	keyExecutionMode   = "executionMode"
	keySchedule        = "schedule"
	keySchedules       = schedules.Name
	keyTimeZone        = "timeZone"
	keyTurnInstruction = "turnInstruction"
	keyMaxRounds       = "maxRounds"
	keySourceHandle    = "sourceHandle"
)

// Codes of this package's own diagnostics. Those of schedules are of package schedule.
const (
	codeNoNodes          = "no-nodes"
	codeUnknownType      = "unknown-node-type"
	codeMissingAgent     = "missing-agent"
	codeUnknownAgent     = "unknown-agent"
	codeUnusedAgent      = "unused-agent"
	codeDuplicateNode    = "duplicate-node"
	codeDuplicateBranch  = "duplicate-branch-id"
	codeMissingTarget    = "missing-target"
	codeMissingSource    = "missing-source"
	codeFanOut           = "fan-out"
	codeNoEdges          = "no-edges"
	codeEdgeCondition    = "edge-condition"
	codeTwoNames         = "two-names"
	codeMissingMaxRounds = "missing-max-rounds"
	codeUnusedSchedule   = "unused-schedule"
	codeUnknownHandle    = "unknown-handle"
)

// Options tell Read what the document itself does not. The zero Options is ready for use.
type Options struct {
	// Agents are agents from beside the document (`--agents`): those of the document win.
	Agents []workflow.Agent
}

// Detect tells whether a document is of this format: a map with `edges`, `branches`, `maxRounds` or `executionMode`, or with nodes that have a
// `config` or `parameters`. Routes documents have edges too: they are told before.
func Detect(root *source.Node) bool {
	for _, key := range []string{"edges", "branches", keyMaxRounds, keyExecutionMode} {
		if root.Get(key) != nil {
			return true
		}
	}
	list := root.Get("nodes")
	return list != nil && slices.ContainsFunc(list.Items, func(n *source.Node) bool { return n.Get("config") != nil || n.Get("parameters") != nil })
}

// Read compiles a document. The workflow is never nil: it holds what could be understood, and may run only where the list has no errors. The list
// is sorted by place. What [workflow.Validate] and [workflow.Lint] find in the graphs is the caller's to ask.
func Read(root *source.Node, opts Options) (*workflow.Workflow, diag.List) {
	r := &reader{agents: map[string]*agent{}}
	w := r.document(root, opts)
	r.diags.Sort()
	return w, r.diags
}

// reader is one reading of one document.
type reader struct {
	diags  diag.List
	agents map[string]*agent // by id
	ids    []string          // of agents, sorted
	broken bool              // the document's agents could not all be read
	shared nodes.Shared      // the tools of all graphs
	hints  int
}

// agent is one that nodes may name.
type agent struct {
	workflow.Agent
	span diag.Span // zero for agents from beside the document
	used bool
}

// maxHints bounds how many names are compared with all others, which is slow in a document that is wrong throughout.
const maxHints = 50

// similar gives a hint at the name that was meant, "" where there is none.
func (r *reader) similar(name string, names []string) string {
	if r.hints++; r.hints > maxHints {
		return ""
	}
	return diag.DidYouMean(name, names)
}

package rounds

import (
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/internal/format/schedules"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Format is the name of this format.
const Format = "rounds"

// typeAgent is the only type of nodes of the reference format that runs (S1-6).
const typeAgent = "agent"

// types returns all types that run. Those of package nodes are extensions.
func types() []string { return append([]string{typeAgent}, nodes.Types()...) }

// Keys of documents that the code uses in more than one place.
const (
	keyAgentID         = "agentId"
	keyExecutionMode   = "executionMode"
	keySchedule        = "schedule"
	keySchedules       = schedules.Name
	keyTimeZone        = "timeZone"
	keyTurnInstruction = "turnInstruction"
	keyMaxRounds       = "maxRounds"
	keySourceHandle    = "sourceHandle"
	keyContext         = "context"
)

// Values of keyContext: what an agent is sent after the instruction.
const (
	contextTurns    = "turns"    // the recent turns and the previous output; the default
	contextPrevious = "previous" // the previous output alone
)

// previousOutput is the token of prompts, with which the prompt of an agent ends if it is sent the
// previous output alone.
const previousOutput = "{{PREVIOUS_OUTPUT}}"

// previousPrompt returns the prompt of an agent that is sent an instruction and the previous
// output.
func previousPrompt(instruction string, expressions bool) workflow.Prompt {
	p := workflow.Prompt{Mode: workflow.PromptTemplate, Default: DefaultPrompt, Expressions: expressions}
	if strings.TrimSpace(instruction) != "" {
		p.Text = instruction + "\n\n" + previousOutput
	}
	return p
}

// DefaultPrompt is what an agent is sent if there is nothing else (S1-3).
const DefaultPrompt = "Execute your task."

// Codes of this package's own diagnostics. Codes of schedules are in package schedule.
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
	codeBadValue         = "bad-value"
	codeOutputTwice      = "output-twice"
)

// Options tells Read what the document itself does not contain. The zero Options is ready for use.
type Options struct {
	// Agents are agents from outside the document (`--agents`): agents of the document take
	// precedence.
	Agents []workflow.Agent
}

// Detect reports whether a document is of this format: a map with `edges`, `branches`, `maxRounds`
// or `executionMode`, or with nodes that have a `config` or `parameters`. Routes documents have
// edges too, but are detected first.
func Detect(root *source.Node) bool {
	for _, key := range []string{"edges", "branches", keyMaxRounds, keyExecutionMode} {
		if root.Get(key) != nil {
			return true
		}
	}
	list := root.Get("nodes")
	return list != nil && slices.ContainsFunc(list.Items, func(n *source.Node) bool {
		return n.Get("config") != nil || n.Get("parameters") != nil
	})
}

// Read compiles a document. The workflow is never nil: it contains what could be understood, and
// may only be run if the list has no errors. The list is sorted by position. The caller is
// responsible for calling [workflow.Validate] and [workflow.Lint] on the graphs.
func Read(root *source.Node, opts Options) (*workflow.Workflow, diag.List) {
	r := &reader{agents: map[string]*agent{}}
	w := r.document(root, opts)
	r.diags.Sort()
	return w, r.diags
}

// reader reads one document.
type reader struct {
	diags  diag.List
	agents map[string]*agent // by id
	ids    []string          // of agents, sorted
	broken bool              // not all of the document's agents could be read
	shared nodes.Shared      // the tools of all graphs
	hints  int
}

// agent is an agent that nodes may name.
type agent struct {
	workflow.Agent
	span diag.Span // zero for external agents
	used bool
}

// maxHints is the maximum number of names that are compared with all others, which is slow in a
// document that is wrong throughout.
const maxHints = 50

// similar returns a hint with the name that was probably meant, or "" if there is none.
func (r *reader) similar(name string, names []string) string {
	if r.hints++; r.hints > maxHints {
		return ""
	}
	return diag.DidYouMean(name, names)
}

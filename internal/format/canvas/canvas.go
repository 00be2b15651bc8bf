package canvas

import (
	"maps"
	"slices"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Format is the name of this format.
const Format = "canvas"

// Defaults of agents (S0-10, S0-16).
const (
	// DefaultSystem is the system prompt of agents without one, EmptyText the output of an agent
	// whose reply is empty.
	DefaultSystem = "You are a helpful assistant."
	EmptyText     = "Model returned no text output."
	defaultEffort = "low"
	effortAuto    = "auto" // the model chooses: no effort is sent
	contextAll    = "all"  // the user message starts with the outputs of all previous steps
	defaultName   = "Agent"
	maxTurns      = 20
)

// Types of nodes.
const (
	typeStart    = "start"
	typeAgent    = "agent"
	typeIf       = "if"
	typeApproval = "approval"
	typeInput    = "input" // legacy: approval (S0-2)
)

// types are the types that a document may contain, except the legacy one. Those of package nodes
// are extensions.
var types = []string{typeStart, typeAgent, typeIf, typeApproval, nodes.Tool, nodes.Workflow, nodes.Set, nodes.Ask}

// Handles, and the tools that are keys of an agent's `tools`.
const (
	handleOutput   = "output"
	handleInput    = "input"
	handleSubagent = "subagent"
	handleTrue     = "true" // legacy: condition-0 (S0-22)
	portCondition  = "condition-"

	toolSubagents = "subagents"
	toolWebSearch = "web_search"
)

// Codes of this package's diagnostics.
const (
	codeInvalidGraph  = "invalid-graph"
	codeNoStart       = "no-start"
	codeManyStarts    = "many-starts"
	codeUnknownType   = "unknown-node-type"
	codeDuplicateNode = "duplicate-node"
	codeMissingTarget = "missing-target"
	codeMissingSource = "missing-source"
	codeUnknownHandle = "unknown-handle"
	codeDuplicateLink = "duplicate-link"
	codeBadValue      = "bad-value"
	codeEmptyOperand  = "empty-operand"
	codeNoProvider    = "no-tool-provider"
	codeMisplacedKey  = "misplaced-key"
	codeNotReplaced   = "not-replaced"
	codeNoApproval    = "no-approval"

	codeSubagentSource    = "subagent-source"
	codeSubagentTarget    = "subagent-target"
	codeSubagentDisabled  = "subagent-disabled"
	codeSubagentHandle    = "subagent-handle"
	codeSubagentSelf      = "subagent-self"
	codeSubagentParents   = "subagent-parents"
	codeSubagentExecution = "subagent-execution"
	codeSubagentCycle     = "subagent-cycle"
)

// Options tells Read what the document itself does not contain. The zero Options is ready for use.
type Options struct {
	// Missing lists tools that are not available here: an agent that uses one gets a warning
	// (S0-55).
	Missing []string
}

// Detect reports whether a document is of this format: a map with `connections`, or with nodes of
// canvas types and no `edges`.
func Detect(root *source.Node) bool {
	if root == nil || root.Kind != source.Map {
		return false
	}
	if root.Get("connections") != nil {
		return true
	}
	list := root.Get("nodes")
	if list == nil || root.Get("edges") != nil || root.Get("branches") != nil {
		return false
	}
	return slices.ContainsFunc(list.Items, func(n *source.Node) bool {
		t := n.Get("type")
		return t != nil && slices.Contains([]string{typeStart, typeIf, typeApproval, typeInput}, t.Text)
	})
}

// Read compiles a document. The workflow is never nil: it contains what could be understood, and
// may only be run if the list has no errors. The list is sorted by position. The caller is
// responsible for calling [workflow.Validate] and [workflow.Lint] on the graph.
func Read(root *source.Node, opts Options) (*workflow.Workflow, diag.List) {
	r := &reader{opts: opts, nodes: map[string]*node{}, linkIDs: map[string]diag.Span{}}
	r.document(root)
	w := r.workflow(root)
	r.diags.Sort()
	return w, r.diags
}

// reader reads one document.
type reader struct {
	opts  Options
	diags diag.List

	id, name, description string
	labels                workflow.Labels
	concurrency           *workflow.Concurrency
	schedules             []workflow.Schedule
	doc                   *nodes.Document // inputs and output
	shared                nodes.Shared
	texts                 []*nodes.Texts // texts with expressions, of nodes of the run
	order                 []*node
	nodes                 map[string]*node // by id
	links                 []link           // execution connections
	linkIDs               map[string]diag.Span
	asks                  []link   // sub-agent links
	ids                   []string // sorted on first use
	hints                 int
	unclear               bool // the id or type of a node is unknown, so it was not understood
}

// maxHints is the maximum number of names that are compared with all others, which is slow in a
// document that is wrong throughout.
const maxHints = 50

// similar returns a hint with the name that was probably meant, or "" if there is none.
func (r *reader) similar(name string, names ...string) string {
	if r.hints++; r.hints > maxHints {
		return ""
	}
	return diag.DidYouMean(name, names)
}

// similarNode is similar for the ids of nodes.
func (r *reader) similarNode(id string) string {
	if r.ids == nil {
		r.ids = slices.Sorted(maps.Keys(r.nodes))
	}
	return r.similar(id, r.ids...)
}

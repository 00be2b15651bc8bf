package routes

import (
	"slices"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Format is the name of this format.
const Format = "routes"

// Types of nodes and of edges.
const (
	typeAgent    = "AGENT"
	typeExecutor = "TOOL_EXECUTOR"
	typeHuman    = "HUMAN"

	condConditional = "CONDITIONAL"
	condAlways      = "ALWAYS"
	condComplete    = "ON_COMPLETE" // routes like ALWAYS (S3-1)
)

// Values of the key routing: how agents name the next node.
const (
	routingTool   = "tool"
	routingOutput = "output"
	routingBoth   = "both" // the default
)

var (
	nodeTypes  = []string{typeAgent, typeExecutor, typeHuman}
	conditions = []string{condConditional, condAlways, condComplete}
	routings   = []string{routingTool, routingOutput, routingBoth}
)

// Defaults of a document.
const (
	defaultSteps     = 15     // S3-13
	defaultTimeoutMs = 90_000 // S3-14
	handoffName      = "human_handoff"
	defaultPrompt    = "A person is asked to go on. What was said last:\n{{PREVIOUS_OUTPUT}}"
	valueEnd         = "END" // S3-5
	endID            = "END" // of the hidden end node, unless another node has this id
	routeTool        = "route_to"
	endTool          = "end" // S3-6
)

// Codes of this package's own diagnostics.
const (
	codeNoEntry       = "no-entrypoint"
	codeUnknownEntry  = "unknown-entrypoint"
	codeBadEntry      = "bad-entrypoint"
	codeUnknownType   = "unknown-node-type"
	codeUnknownCond   = "unknown-condition-type"
	codeDuplicateNode = "duplicate-node"
	codeDuplicateEdge = source.CodeTwice
	codeForeignRow    = "foreign-row"
	codeUnknownAgent  = "unknown-agent"
	codeNoAgent       = "no-agent"
	codeNoAgentHere   = "agent-not-allowed"
	codeDangling      = "dangling-edge"
	codeManyAlways    = "many-always"
	codeNoValue       = "no-condition-value"
	codeUnusedValue   = "unused-condition-value"
	codeSameValue     = "same-condition-value"
	codeNoTarget      = "no-target"
	codeNothingToDo   = "nothing-to-execute"
	codeNoExecutor    = "no-tool-executor"
	codeHandoff       = "bad-handoff"
	codeBadValue      = "bad-value"
	codeSaidTwice     = "said-twice"
	codeSameName      = "same-agent-name"
	codeShadowed      = "shadowed-tool"
	codeMisplacedKey  = "misplaced-key"
)

// Options tells Read what the document itself does not contain. The zero Options is ready for use.
type Options struct {
	// Agents are agents from outside the document, those of `--agents` before those of the catalog.
	// Agents in the document take precedence, then the first match.
	Agents []workflow.Agent
}

// Detect reports whether a document is of this format: it names an entrypoint, or has nodes with a
// nodeType.
func Detect(root *source.Node) bool {
	for _, at := range []*source.Node{root, root.Get("workflow")} {
		if at == nil || at.Kind != source.Map {
			continue
		}
		if at.Get("entrypointNodeId") != nil || at.Get("entrypoint_node_id") != nil {
			return true
		}
		nodes := at.Get("nodes")
		if nodes != nil && slices.ContainsFunc(nodes.Items, func(n *source.Node) bool {
			return n.Get("nodeType") != nil || n.Get("node_type") != nil
		}) {
			return true
		}
	}
	return false
}

// Read compiles a document. The workflow is never nil: it contains what could be understood, and
// may only be run if the list has no errors. The list is sorted by position. The caller is
// responsible for calling [workflow.Validate] and [workflow.Lint] on the graph.
func Read(root *source.Node, opts Options) (*workflow.Workflow, diag.List) {
	r := &reader{opts: opts, nodes: map[string]*node{}, names: map[string]*node{}, edgeIDs: map[string]*source.Node{},
		agentAt: map[string]diag.Span{}}
	r.document(root)
	r.resolve()
	w := r.workflow(root)
	r.diags.Sort()
	return w, r.diags
}

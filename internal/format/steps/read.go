package steps

import (
	"encoding/json"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Format is the name of this format.
const Format = "steps"

// Options tell Read what the document itself does not. The zero Options is ready for use.
type Options struct {
	// Agents are agents from beside the document (`--agents`). One of the document with the same id wins; only those that the document
	// names become part of the workflow.
	Agents []workflow.Agent
	// Toolsets and Providers are the types of toolsets that the program can open, and the model providers that it knows; others get a
	// warning. Nil: nothing is said of them.
	Toolsets  []string
	Providers []string
	// Servers are MCP servers that the operator defines: a toolset may refer to one, and change nothing of what it starts, sends and offers (SEC5).
	Servers []string
}

// Codes of this package's own diagnostics.
const (
	codeUnsupported   = "not-supported-yet"
	codeUnknownKey    = "unknown-key"
	codeFixedServer   = "fixed-server"
	codeWrongType     = "wrong-type"
	codeMissingKey    = "missing-key"
	codeBadValue      = "bad-value"
	codeBadStep       = "bad-step"
	codeNoSteps       = "no-steps"
	codeNoAgents      = "no-agents"
	codeUnknownAgent  = "unknown-agent"
	codeDuplicateID   = "duplicate-id"
	codeUnknownTarget = "unknown-target"
	codeJumpIgnores   = "jump-ignores"
	codeUnreachable   = "unreachable-step"
	codeReadsLater    = "condition-reads-later"
	codeConstant      = "condition-constant"
	codeNoSchema      = "no-structured-output"
	codeBadSchema     = "bad-schema"
	codeUnknownPath   = "unknown-path"
	codeNotReplaced   = "not-replaced"
	CodeTooDeep       = "too-deep"
	codeVersion       = "unknown-version"
)

// MaxDepth bounds how deep steps may be nested, blocks and conditions alike.
const MaxDepth = workflow.MaxBlockDepth

// Detect tells whether a document is of this format: a map with a workflow of steps, or with agents by name and no graph.
func Detect(root *source.Node) bool {
	if root == nil || root.Kind != source.Map {
		return false
	}
	for _, other := range []string{"nodes", "connections", "edges"} {
		if root.Get(other) != nil {
			return false
		}
	}
	if w := root.Get("workflow"); w != nil {
		return w.Kind == source.List || w.Kind == source.Map && w.Get("nodes") == nil
	}
	a := root.Get("agents")
	return a != nil && a.Kind == source.Map
}

// Read compiles a document. The workflow is never nil: it holds what could be understood, and may run only where the list has no errors.
//
// References of conditions and instructions are checked here; ids, edges and agents once more by [workflow.Validate], which is the caller's.
func Read(root *source.Node, opts Options) (*workflow.Workflow, diag.List) {
	r := newReader(root, opts)
	r.document(root)
	r.diags.list.Sort()
	return r.w, r.diags.list
}

// reader is one reading of one document.
type reader struct {
	opts  Options
	w     *workflow.Workflow
	diags problems

	agents map[string]*agent // by id
	beside map[string]int    // in Options.Agents, by id
	models map[string]*model
	mcps   map[string]json.RawMessage
	made   map[string]workflow.Provider // providers that models say for themselves
	shares map[workflow.Provider]string // their names
	judged map[string]bool              // providers that were warned of

	inputs     []string // their names, those with errors too
	declares   bool     // the document has the key inputs, so that prompts hold expressions
	gives      field    // the output of the workflow; its value is nil where there is none
	root       *list
	cut        bool // lists were not read because they stand too deep: not all steps are known
	steps      *index
	permitted  []workflow.Permissions // of the document
	conditions map[*step]checked
	agentReads map[string][]string
}

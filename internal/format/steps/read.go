package steps

import (
	"encoding/json"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Format is the name of this format.
const Format = "steps"

// Options holds settings for Read that the document itself does not specify. The zero Options is
// ready for use.
type Options struct {
	// Agents are agents defined outside the document (`--agents`). An agent of the document with
	// the same id takes precedence; only agents that the document names become part of the
	// workflow.
	Agents []workflow.Agent
	// Toolsets and Providers are the toolset types that the program can open and the model
	// providers that it knows; any other gets a warning. Nil disables the warning.
	Toolsets  []string
	Providers []string
	// Servers are MCP servers that the operator defines: a toolset may refer to one, but cannot
	// change what it starts, sends or offers (SEC5).
	Servers []string
	// File returns the text of a file beside the document; nil means that the document is in no
	// folder.
	File func(name string) (string, error)
}

// Codes of the diagnostics defined by this package.
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
	codeUnknownToken  = "unknown-token"
	CodeTooDeep       = "too-deep"
	codeVersion       = "unknown-version"
	codeBadFile       = "bad-file"
)

// MaxDepth is the maximum nesting depth of steps, counting blocks and conditions alike.
const MaxDepth = workflow.MaxBlockDepth

// Detect reports whether a document is in this format: a map with a workflow of steps, or with
// agents by name and no graph.
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

// Read compiles a document. The workflow is never nil: it holds everything that could be
// understood, and may be run only if the list has no errors.
//
// References in conditions and instructions are checked here; the caller must check ids, edges and
// agents again with [workflow.Validate].
func Read(root *source.Node, opts Options) (*workflow.Workflow, diag.List) {
	r := newReader(root, opts)
	r.document(root)
	r.diags.list.Sort()
	return r.w, r.diags.list
}

// reader is the state of reading one document.
type reader struct {
	opts  Options
	w     *workflow.Workflow
	diags problems

	agents          map[string]*agent // by id
	externalAgents  map[string]int    // index into Options.Agents, by id
	models          map[string]*model
	mcps            map[string]json.RawMessage
	isTeam          bool                            // the document has no workflow, as docker-agent's
	shared          map[string]field                // toolsets of the document by name, for use_toolsets
	toolsetBytes    int                             // of all toolsets, each where it is used
	defaults        map[string]workflow.ModelParams // of the models of a provider, by its name
	aliases         map[string]string               // provider that another one stands for, by its name
	modelProviders  map[string]workflow.Provider    // providers that models define themselves
	shares          map[string]string               // names of the providers in modelProviders, by content
	warnedProviders map[string]bool                 // providers already warned about

	inputs      []string // names, including those of inputs with errors
	declares    bool     // the document has the key inputs, so prompts hold expressions
	outputField field    // the workflow's output; its value is nil if there is none
	root        *list
	truncated   bool // lists were nested too deep to be read, so not all steps are known
	steps       *index
	permitted   []workflow.Permissions // document-level permissions
	agentReads  map[string][]string
}

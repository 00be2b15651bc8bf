// Package documents is the port between the use cases and everything that only documents need:
// their formats, the expressions in them, and MCP.
//
// It links none of these, and knows nothing about a format beyond its [Traits]. Package linked has
// all of them; a program that runs only graphs of Go functions leaves them out. A [Kit] is a value
// that is passed down from the program's start. It is safe for concurrent use.
package documents

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// Kit is everything a program has for documents. With the zero Kit, documents and toolsets of type
// mcp are rejected.
type Kit struct {
	// Formats read documents.
	Formats Formats
	// Expressions compiles the expressions of documents.
	Expressions expr.Compiler
	// MCP opens toolsets of type mcp.
	MCP MCP
}

// Errors in programs that embed Hocket without one of its optional parts.
var (
	ErrNone = errors.New("this program reads no documents: import github.com/hocket-run/hocket/documents and give " +
		"documents.All() to hocket.Open")
	ErrNoMCP = errors.New("this program has no client of MCP: import github.com/hocket-run/hocket/toolsets and give " +
		"toolsets.All() to hocket.Open")
)

// Formats is the set of document formats.
type Formats interface {
	// Read reads a document. The workflow may run only if the list has no errors; it is nil if
	// nothing could be understood. The list is sorted by position and contains each problem once.
	Read(file string, data []byte, opts Options) (*workflow.Workflow, diag.List)
	// Of returns the traits of the documents of a workflow's format; false means that there is no
	// such format, as for a graph of a Go program.
	Of(format string) (Traits, bool)
}

// Traits holds the differences between formats that matter to the use cases.
type Traits struct {
	// Branches means that documents may contain branches.
	Branches bool
}

// Of calls Formats.Of. It returns false if there are no Formats.
func (k Kit) Of(format string) (Traits, bool) {
	if k.Formats == nil {
		return Traits{}, false
	}
	return k.Formats.Of(format)
}

// DefaultMaxNodes is the default maximum number of nodes of a document.
const DefaultMaxNodes = 20_000

// Options supply what the document does not specify. The zero Options is ready for use.
type Options struct {
	// Format is the name of the format; "" detects it.
	Format string
	// Agents are agents from outside the document (`--agents`); the document's own agents take
	// precedence.
	Agents []workflow.Agent
	// Toolsets and Providers are the types of toolsets that the program can open and the model
	// providers that it knows, for warnings. If nil, no warnings are issued.
	Toolsets  []string
	Providers []string
	// Servers are MCP servers that the operator defines and that documents may refer to by name.
	Servers []string
	// MissingTools are tools that nothing provides here: an agent of a canvas that lists one gets a
	// warning (S0-55).
	MissingTools []string
	// AllowUnknown turns errors about unknown keys and toolset types into warnings: misspellings of
	// known names, and anything that a strict part of a document does not know.
	AllowUnknown bool
	// File returns the text of a file that the document names by a path relative to it, inside of
	// its folder. If it is nil, the document is in no folder and cannot name files.
	File func(name string) (string, error)
	// MaxNodes is the maximum number of nodes, including those of flows and branches; 0 means
	// DefaultMaxNodes.
	MaxNodes int
}

// MCP returns the toolset type mcp for one run.
type MCP func(MCPConfig) tool.Type

// MCPConfig configures connections to MCP servers. Environ must be set.
type MCPConfig struct {
	// HTTPClient connects to remote servers; if nil, they are rejected.
	HTTPClient *http.Client
	// Lookup returns the values of the references in a spec; if nil, no reference has a value.
	Lookup func(name string) (string, bool)
	// Environ returns the process's environment, of which a server receives a few harmless
	// variables.
	Environ func() []string
	// Version is the client version sent to servers; "" means "dev".
	Version string
	// Logger receives what servers write to standard error; if nil, it is discarded.
	Logger *slog.Logger
}

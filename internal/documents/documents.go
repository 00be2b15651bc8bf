// Package documents is the port between the use cases and what only documents need: their formats, the expressions in them, and MCP.
//
// It links none of these, and refuses to know of a format more than [Traits]. Package linked has all of them; a program that runs graphs of Go functions alone leaves them out. A [Kit] is a value
// that is handed down from the program's start. It is safe for concurrent use.
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

// Kit is what a program has for documents. The zero Kit is nothing: documents are refused, and so are toolsets of type mcp.
type Kit struct {
	// Formats read documents.
	Formats Formats
	// Expressions compiles the expressions of documents.
	Expressions expr.Compiler
	// MCP opens toolsets of type mcp.
	MCP MCP
}

// Errors of programs that embed Hocket and lack a part of it.
var (
	ErrNone  = errors.New("this program reads no documents: import github.com/hocket-run/hocket/documents and give documents.All() to hocket.Open")
	ErrNoMCP = errors.New("this program has no client of MCP: import github.com/hocket-run/hocket/toolsets and give toolsets.All() to hocket.Open")
)

// Formats are the formats of documents.
type Formats interface {
	// Read reads a document. The workflow may run only where the list has no errors; it is nil where nothing could be understood. The list is sorted by place and holds each problem once.
	Read(file string, data []byte, opts Options) (*workflow.Workflow, diag.List)
	// Of gives what differs in the documents of the format of a workflow; false: there is no such format, as for a graph of a program.
	Of(format string) (Traits, bool)
}

// Traits are what differs between formats in the eyes of the use cases.
type Traits struct {
	// Branches: documents may hold branches.
	Branches bool
	// DefaultModel is the model of agents where nothing names one; "": none.
	DefaultModel string
}

// Of is Formats.Of; there is no format where there are no Formats.
func (k Kit) Of(format string) (Traits, bool) {
	if k.Formats == nil {
		return Traits{}, false
	}
	return k.Formats.Of(format)
}

// Options say what the document does not. The zero Options is ready for use.
type Options struct {
	// Format names the language; "" detects it.
	Format string
	// Agents are agents from beside the document (`--agents`): those of the document win.
	Agents []workflow.Agent
	// Toolsets and Providers are the types of toolsets that the program can open and the model providers that it knows, for warnings.
	// Nil: nothing is said of them.
	Toolsets  []string
	Providers []string
	// Servers are MCP servers that the operator defines and documents may refer to by name.
	Servers []string
	// MissingTools are tools that nothing offers here: an agent of a canvas that lists one gets a warning (S0-55).
	MissingTools []string
	// AllowUnknown makes unknown keys and types of toolsets warnings where they would be errors: misspellings of known names, and whatever a strict part of a
	// document does not know.
	AllowUnknown bool
}

// MCP makes the kind of toolsets of type mcp for one run.
type MCP func(MCPConfig) tool.Type

// MCPConfig is what servers of MCP are reached with. Environ must be set.
type MCPConfig struct {
	// HTTPClient reaches remote servers; nil refuses them.
	HTTPClient *http.Client
	// Lookup gives the values of the references in a spec; nil: none has a value.
	Lookup func(name string) (string, bool)
	// Environ gives our environment, of which a server gets a few harmless variables.
	Environ func() []string
	// Version is the version of the client that servers are sent; "": "dev".
	Version string
	// Logger gets what servers write to standard error; nil: dropped.
	Logger *slog.Logger
}

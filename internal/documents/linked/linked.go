// Package linked has the formats of documents, the compiler of their expressions and the client of MCP, all of which a program links that imports it.
//
// It refuses to hold state: [Kit] is made anew by each call.
package linked

import (
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/documents"
	"github.com/hocket-run/hocket/internal/documents/mcpclient"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/workflow"
)

// Kit gives everything that documents need.
func Kit() documents.Kit {
	return documents.Kit{Formats: formats{}, Expressions: celexpr.Compiler{}, MCP: mcpclient.Open}
}

// formats are those of package format.
type formats struct{}

// Read implements documents.Formats.
func (formats) Read(file string, data []byte, opts documents.Options) (*workflow.Workflow, diag.List) {
	return format.Read(file, data, opts)
}

// Of implements documents.Formats.
func (formats) Of(name string) (documents.Traits, bool) {
	f, ok := format.Of(name)
	return documents.Traits{Branches: f.Branches, DefaultModel: f.DefaultModel}, ok
}

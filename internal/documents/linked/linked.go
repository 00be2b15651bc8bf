// Package linked has the formats of documents, the compiler of their expressions and the MCP
// client; a program that imports it links all of them.
//
// It holds no state: each call builds a new [Kit].
package linked

import (
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/documents"
	"github.com/hocket-run/hocket/internal/documents/mcpclient"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/workflow"
)

// Kit returns everything that documents need.
func Kit() documents.Kit {
	return documents.Kit{Formats: formats{}, Expressions: celexpr.Compiler{}, MCP: mcpclient.Open}
}

// formats implements documents.Formats with package format.
type formats struct{}

// Read implements documents.Formats.
func (formats) Read(file string, data []byte, opts documents.Options) (*workflow.Workflow, diag.List) {
	return format.Read(file, data, opts)
}

// Of implements documents.Formats.
func (formats) Of(name string) (documents.Traits, bool) {
	f, ok := format.Of(name)
	return documents.Traits{Branches: f.Branches}, ok
}

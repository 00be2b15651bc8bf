// Package parts holds what options of other packages contribute to an engine: documents, model
// providers, stores on servers, carriers and pages.
//
// It creates none of them: a program that uses one links it by importing the package that creates
// it. A [Parts] is filled while an engine is opened, by one goroutine.
package parts

import (
	"github.com/hocket-run/hocket/internal/documents"
	"github.com/hocket-run/hocket/internal/driver/carry"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/tool/fetch"
)

// Parts are the parts of one engine. The zero Parts is empty.
type Parts struct {
	// Documents holds what documents and toolsets of type mcp need.
	Documents documents.Kit
	// Adapters are the adapters of the model protocols.
	Adapters model.Factories
	// Pages converts web pages to text; nil means there are no toolsets of type fetch.
	Pages fetch.Pages
	// Store is a store on a server; nil means there is none.
	Store *store.Place
	// Carrier is a server that executes runs; nil means the engine executes them itself.
	Carrier *carry.Server
	// Own is additional data of package hocket.
	Own any
}

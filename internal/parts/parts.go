// Package parts has what options of packages beside hocket give an engine: documents, providers of models, stores on servers, carriers and pages.
//
// It refuses to make any of them: a program that gives one links it by importing the package that makes it. A [Parts] is filled while an engine is opened, by one goroutine.
package parts

import (
	"github.com/hocket-run/hocket/internal/documents"
	"github.com/hocket-run/hocket/internal/driver/carry"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/tool/fetch"
)

// Parts are those of one engine. The zero Parts is none.
type Parts struct {
	// Documents is what documents and toolsets of type mcp need.
	Documents documents.Kit
	// Adapters serve the model protocols.
	Adapters model.Factories
	// Pages turns web pages into text; nil: there are no toolsets of type fetch.
	Pages fetch.Pages
	// Store is a store on a server; nil: there is none.
	Store *store.Place
	// Carrier is a server that carries runs; nil: the engine drives them itself.
	Carrier *carry.Server
	// Own is what package hocket has beside them.
	Own any
}

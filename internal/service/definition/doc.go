// Package definition is the part of the use cases that deals with documents: it loads them with all
// their problems, stores them in the catalog, publishes them, and loads them again. It also
// determines which graph of a document a run executes, which toolsets its agents list, and which
// facts its agents receive.
//
// The flow of a stored workflow: [Catalog.Apply] reads documents, and stores all of them or, if one
// has errors, none; [Catalog.LoadStored] reads the published document, or the draft, with the
// agents of the catalog after those of the document. Rows are read as the routes document that they
// represent.
//
// Package service composes it with runs, schedules and resources, which call it. It knows neither
// runs nor the models and tools that they call.
package definition

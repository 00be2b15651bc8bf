// Package api is the client that a generator creates from docs/openapi.json: requests and bodies of
// the operations that are not in the table of package op, as any user's generator would create
// them. config.yaml excludes the others, which the client calls by their entries. It is never
// edited by hand; a test fails if the document has operations that it lacks, and `go generate
// ./internal/client/api` regenerates it.
//
// The generator (oapi-codegen v2) reads OpenAPI 3.1 as the server serves it.
package api

//go:generate -command oapi-codegen go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2
//go:generate oapi-codegen -config config.yaml ../../../docs/openapi.json

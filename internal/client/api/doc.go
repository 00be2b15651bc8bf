// Package api is the client that a generator makes of docs/openapi.json: requests and bodies of all operations, as anybody's generator would make them. It is not edited; a test
// fails where the document has operations that it has not, and `go generate ./internal/client/api` makes it anew.
//
// The generator (oapi-codegen v2) reads OpenAPI 3.1 as the server gives it.
package api

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -config config.yaml ../../../docs/openapi.json

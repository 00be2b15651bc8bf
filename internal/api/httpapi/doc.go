// Package httpapi is the HTTP API: the JSON routes under /api/v1 and the OpenAPI document that
// describes them.
//
// It does not authenticate requests, limit them or log them: the server's guard does that and puts
// a [transport.Caller] into the request's context. It contains no use cases: a handler reads a
// request, calls the service of the caller's namespace, and maps the result.
//
// The flow: [New] registers every operation with its role; [API.ServeHTTP] finds the operation,
// rejects unknown query parameters, checks the role with [transport.Require], lets huma read and
// check the input, and calls the handler. Every error becomes a problem (RFC 9457) with the code
// that [transport.ProblemOf] assigns.
//
// Routes of the table of operations (package op) are derived from its entries, by [mount]. To add
// other routes, write a file with a method `func (a *API) registerX()`, call [add] in it for each
// operation, call the method in [New], and run `go test ./internal/api/httpapi -update`, which
// regenerates docs/openapi.json and the table of roles.
//
// Invariants: an operation declares the role that it needs where it is registered, and nowhere else
// (SEC2); [API.Operations] lists them all. A handler has access only to its caller's service
// (SEC10). Unknown query parameters and unknown fields of bodies are rejected (SEC7, SEC2).
package httpapi
